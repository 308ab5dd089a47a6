"""Reports on disparity files: size, range of values, and signs that a file was read wrongly."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stereogauge.disparity import DisparityMap
from stereogauge.io.content import Decoding, display_name, fetch
from stereogauge.io.disparity import read_disparity
from stereogauge.io.encodings import encoding_of_content

PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
KITTI_FACTOR = 256.0
SMALLEST_KITTI_QUOTIENT = 0.25


@dataclass(frozen=True)
class FileReport:
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
    disparity = read_disparity(path, encoding=encoding, scale=scale, offset=offset, unknown=unknown)
    found = encoding or encoding_of_content(fetch(path), Decoding(scale, offset)).id
    return report(disparity, display_name(path), found)


def report(disparity: DisparityMap, name: str, encoding: str) -> FileReport:
    """The report on a map that has been read already."""
    values = disparity[np.isfinite(disparity)]
    height, width = disparity.shape
    quantiles = np.percentile(values, PERCENTILES) if values.size else np.empty(0)
    return FileReport(
        name=name,
        encoding=encoding,
        width=width,
        height=height,
        valid_share=values.size / disparity.size,
        minimum=float(values.min()) if values.size else None,
        maximum=float(values.max()) if values.size else None,
        percentiles={percent: float(value) for percent, value in zip(PERCENTILES, quantiles, strict=False)},
        problems=tuple(_problems(disparity, values, encoding)),
    )


def _problems(disparity: DisparityMap, values: DisparityMap, encoding: str) -> list[str]:
    width = disparity.shape[1]
    if values.size == 0:
        return ["No pixel has a disparity."]
    if not values.any():
        return ["Every disparity is 0; was the map ever computed?"]
    if values.size > 1 and values.min() == values.max():
        return [f"Every disparity is {values[0]:g}."]
    problems = []
    negative = float(np.mean(values < 0))
    if negative > 0.5:
        problems.append(
            f"{negative:.0%} of the disparities are negative; "
            "positive means that the right pixel is at x − d: is the sign reversed?"
        )
    median = float(np.median(np.abs(values)))
    if median > width:
        problems.append(_too_large(median, width))
    elif encoding == "kitti" and float(values.max()) < 2:
        problems.append(
            f"The largest disparity is {values.max():g} px; the file may hold whole pixels that were "
            "never multiplied by 256 (encoding middlebury and scale 1 read those)."
        )
    beyond = float(np.mean(values >= width))
    if median <= width and beyond > 0.01:
        problems.append(f"{beyond:.1%} of the disparities are as large as the image is wide ({width} px) or larger.")
    return problems


def _too_large(median: float, width: int) -> str:
    sentence = f"Half of the disparities are above {median:g} px, in an image {width} px wide"
    if SMALLEST_KITTI_QUOTIENT < median / KITTI_FACTOR < width:
        divided = median / KITTI_FACTOR
        return f"{sentence}; they look like values never divided by 256 (half would be above {divided:.3g} px)."
    return f"{sentence}; they cannot be in pixels of this image."
