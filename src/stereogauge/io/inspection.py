"""What a disparity map looks like by itself: its size, its values, and what no disparity map should have.

The same checks are made of ground truth, of estimates and of single files; nothing is applied.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.disparity import DisparityMap
from stereogauge.io.content import Decoding, display_name, fetch
from stereogauge.io.encodings import encoding_of_content, is_depth
from stereogauge.io.files import DisparityFile, as_file

PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
USUAL_SCALES, SMALLEST_QUOTIENT = (256, 16), 0.25
"""Scales that are forgotten (KITTI's, OpenCV's), and the smallest median in px that they may leave."""
MOST_NEGATIVE = 0.9
BEYOND_WIDTH = 0.01
WIDE, WIDE_FROM = 0.75, 160
"""The part of the width that 99 % of the disparities of a real scene stay below, in images from this width on."""
SPIKE_SHARE, SPIKE_RATIO, SPIKE_PIXELS = 0.01, 10.0, 10
"""The share of the pixels that one value must fill to look like a code, how many times more than the next one, and the
pixels that are enough where it is far from all others."""
FAR, NEARBY, LEAST_ROUND = 2.0, 0.25, 127
"""The distance to the other values, in ranges of these, from which any value is taken for a code, and from which 0 and
whole powers of 2 or 10, or one less, from `LEAST_ROUND` on are."""
ALONE, SOME_LEVELS = 4.0, 4
"""How many times the largest distance between the smaller half of the other values, if these are more than a few, is
far, too."""
MOST_CODES = 3
MOST_VALUES = 50_000
"""Pixels that are looked at; of larger maps every second, third, …"""
SPARSE = 1000
"""Known values below which every pixel is looked at."""
DEPTH_NAME = re.compile(r"(?i)(?<![a-z])depths?(?![a-z])")


class Suspicion(NamedTuple):
    """What kind of mistake, and one sentence that names the setting that fixes it, if there is one."""

    kind: str
    sentence: str


class FileReport(Struct, frozen=True):
    """Size, range of values and problems of a disparity file.

    `minimum`, `maximum` and `percentiles` (percent → value) are in pixels and cover valid pixels only; without any
    valid pixel they are None or empty. `valid_share` is between 0 and 1. `problems` holds one sentence per problem.
    """

    name: str
    encoding: str
    width: int
    height: int
    valid_share: float
    minimum: float | None
    maximum: float | None
    percentiles: dict[int, float]
    problems: tuple[str, ...]


def inspect_disparity(
    path: str | os.PathLike[str],
    *,
    encoding: str | None = None,
    scale: float | None = None,
    offset: float = 0.0,
    unknown: Sequence[float] = (),
) -> FileReport:
    """Read a file as `read_disparity` does and report on it; what cannot be read raises that function's error."""
    file = DisparityFile(path, encoding, scale, offset, unknown=tuple(unknown))
    disparity = file.read()
    found = encoding or encoding_of_content(fetch(path), Decoding(scale, offset)).id
    name = display_name(path)
    values = disparity[np.isfinite(disparity)]
    height, width = disparity.shape
    quantiles = np.percentile(values, PERCENTILES) if values.size else np.empty(0)
    return FileReport(
        name=name,
        encoding=found,
        width=width,
        height=height,
        valid_share=values.size / disparity.size,
        minimum=float(values.min()) if values.size else None,
        maximum=float(values.max()) if values.size else None,
        percentiles={percent: float(value) for percent, value in zip(PERCENTILES, quantiles, strict=False)},
        problems=tuple(one.sentence for one in map_suspicions(disparity, replace(file, encoding=found))),
    )


def map_suspicions(disparity: DisparityMap, source: Any = None, *, prefix: str = "") -> list[Suspicion]:
    """What is odd about a map by itself, the most basic first.

    `source` is what it was read from; `prefix` goes before the names of settings ("gt-").
    """
    values = some_values(disparity)
    empty = nothing_to_measure(values, disparity.size)
    if empty is not None:
        return [empty]
    file = as_file(source)
    found = [] if file is None else _named_depth(file, prefix)
    codes = code_values(values, file)
    if codes:
        at, width = np.isin(values, np.asarray(codes, np.float32)), disparity.shape[1]
        wide = f" and as large as the image is wide ({width} px) or larger" if max(codes) >= width else ""
        advice = (
            f"if {'it means' if len(codes) == 1 else 'they mean'} unknown, set {unknown_setting(codes, file, prefix)}"
        )
        sentence = f"{fills(codes, float(np.mean(at)))}, far from all others{wide}: {advice}."
        found.append(Suspicion("one-value", sentence))
        values = values[~at]
    return found + _out_of_range(values, disparity.shape[1], file.encoding if file else None)


def fills(codes: Sequence[float], share: float) -> str:
    """How much of a map some values fill: `The value 0 fills 12.0% of the map`."""
    named, one = ", ".join(f"{code:g}" for code in codes), len(codes) == 1
    return f"The {'value' if one else 'values'} {named} {'fills' if one else 'fill'} {share:.1%} of the map"


def unknown_setting(codes: Sequence[float], file: DisparityFile | None, prefix: str = "") -> str:
    """The setting that makes values unknown, in numbers as the file stores them."""
    numbers = (code if file is None else file.stored(code) for code in codes)
    stored = ",".join(f"{number + 0.0:.9g}" for number in numbers)  # −0 is 0
    return f"{prefix}unknown to {stored}" + (", or make it NaN in the array" if file is None else "")


def nothing_to_measure(values: DisparityMap, pixels: int) -> Suspicion | None:
    """Whether a map of this many pixels has no known value, or one and the same everywhere."""
    if values.size == 0:
        return Suspicion("no-values", "No pixel has a disparity.")
    low, high = float(values.min()), float(values.max())
    question = "; was the map ever computed?" if low == 0 else "."
    return Suspicion("no-values", f"Every disparity is {low:g}{question}") if low == high and pixels > 1 else None


def some_values(disparity: DisparityMap) -> DisparityMap:
    """The known values of a map, or of a part of its pixels where there are many."""
    flat = disparity.reshape(-1)
    some = flat[:: max(1, flat.size // MOST_VALUES) | 1]
    known = some[np.isfinite(some)]
    return known if known.size > SPARSE or some.size == flat.size else flat[np.isfinite(flat)]


def code_values(values: NDArray[Any], file: DisparityFile | None = None) -> list[float]:
    """The values that mean "unknown" rather than a disparity: 0, −1, 999, …; none in an ordinary map.

    They are the smallest ones and not positive, or the largest ones and far above the others, and fill many times more
    of the map than their neighbour does. In the `file` that the map is from, they may be round numbers such as 255.

    >>> code_values(np.float32([0] * 50 + [-1] * 20 + list(range(5, 60))))
    [-1.0, 0.0]
    """
    levels, counts = np.unique(values, return_counts=True)
    low = _codes_below(levels, counts)
    high = _codes_above(levels[low:], counts[low:], float if file is None else file.stored)
    return [float(level) for level in (*levels[:low], *levels[len(levels) - high :])]


def _codes_below(levels: NDArray[Any], counts: NDArray[Any]) -> int:
    """How many of the smallest values are codes: a single negative one, or values up to 0 that many pixels have."""
    if len(levels) < MOST_CODES:
        return 0
    alone = levels[0] < 0 <= levels[1] and counts[0] >= SPIKE_PIXELS and levels[-1] > -FAR * levels[0]
    share = SPIKE_SHARE * counts.sum()
    for number in range(min(MOST_CODES, len(levels) - 2), int(alone), -1):
        last, rest, fewest = levels[number - 1], levels[number:], counts[int(alone) : number].min()
        gap, usual = rest[0] - last, np.diff(rest[: len(rest) // 2 + 1])
        far = gap > NEARBY * (rest[-1] - rest[0]) or (len(usual) >= SOME_LEVELS and gap > ALONE * usual.max())
        more = SPIKE_RATIO * counts[number]
        least = max(SPIKE_PIXELS, more) if far else max(share, more)
        if far and number == 1 and rest[0] > 0:  # nothing else is near 0, however often other values occur
            least = min(share / 4, least)
        if last <= 0 and fewest >= least:
            return number
    return int(alone)


def _codes_above(levels: NDArray[Any], counts: NDArray[Any], stored: Callable[[float], float]) -> int:
    """How many of the largest values are codes."""
    for number in range(min(MOST_CODES, len(levels) - 2), 0, -1):
        code, rest = levels[-number], levels[:-number]
        spread, gap, fewest = rest[-1] - rest[0], code - rest[-1], counts[-number:].min()
        round_one = gap > NEARBY * spread and _is_round(stored(float(code)))
        often = fewest >= max(SPIKE_RATIO * counts[-number - 1], SPIKE_SHARE * counts.sum())
        if fewest >= SPIKE_PIXELS and (gap > FAR * spread or (round_one and often)):
            return number
    return 0


def _is_round(number: float) -> bool:
    """Whether this is a large power of 2 or 10, or one less, as codes and the ends of integer types are."""
    near = {base ** round(np.log(number) / np.log(base)) for base in (2, 10)} if number >= LEAST_ROUND else set()
    return number in near or number + 1 in near


def _named_depth(file: DisparityFile, prefix: str) -> list[Suspicion]:
    if is_depth(file.encoding) or not DEPTH_NAME.search(PurePath(os.fspath(file.path)).stem):
        return []
    sentence = (
        f"{display_name(file.path)} is called depth and was read as disparities: if it holds depths, set "
        f"{prefix}encoding to depth-m or depth-mm and give the calibration."
    )
    return [Suspicion("named-depth", sentence)]


def _out_of_range(values: DisparityMap, width: int, encoding: str | None) -> list[Suspicion]:
    sizes = np.sort(np.abs(values))
    median, nearly_all, largest = (float(sizes[int(share * (sizes.size - 1))]) for share in (0.5, 0.99, 1.0))
    negative, beyond = float(np.mean(values < 0)), float(np.mean(sizes >= width))
    missing = "is a scale missing, or are these depths?"
    found: dict[str, str] = {}
    if negative > MOST_NEGATIVE:
        found["negated"] = (
            f"{negative:.0%} of the disparities are negative; positive means that the right pixel is at x − d: is the "
            "sign reversed?"
        )
    if median > width:
        usual = [
            f"by {scale} (half would be above {median / scale:.3g} px)"
            for scale in USUAL_SCALES
            if SMALLEST_QUOTIENT < median / scale < width / 2
        ]
        undivided = f"look like values never divided {' or '.join(usual)}, or like depths"
        found["too-large"] = (
            f"Half of the disparities are above {median:g} px, in an image {width} px wide; they "
            f"{undivided if usual else 'cannot be in pixels of this image'}."
        )
    elif beyond > BEYOND_WIDTH:
        large = f"as large as the image is wide ({width} px) or larger"
        found["too-large"] = f"{beyond:.1%} of the disparities are {large}: {missing}"
    elif nearly_all > WIDE * width and width >= WIDE_FROM:
        found["too-large"] = f"Disparities reach {nearly_all:.4g} px in an image {width} px wide: {missing}"
    elif encoding == "kitti" and largest < 2:
        found["too-small"] = (
            f"The largest disparity is {largest:g} px; the file may hold whole pixels that were never multiplied by "
            "256 (encoding middlebury and scale 1 read those)."
        )
    elif largest <= 1:
        found["too-small"] = (
            f"No disparity is larger than {largest:.3g} px: is the map normalised, as shares of the image width or of "
            "its largest value?"
        )
    return [Suspicion(*one) for one in found.items()]
