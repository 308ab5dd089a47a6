"""Whether truth, estimate and calibration can be what they claim to be.

These are the mistakes that give a score without an error message: depth instead of disparity, a forgotten scale or
offset, a reversed sign, a flipped map, the right view's map, one value that means "unknown". Each gets one sentence
that says what was measured and the setting that fixes it; nothing is applied. A setting is offered only where it was
tried: with it, at a round value, the map agrees clearly better with the ground truth. The command line, Python and the
site all ask `scene_doubts` and `map_doubts`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct

from stereogauge.datasets.agreement import SampledPair, flipped, other_view, rank_correlation, sampled, wrong_size
from stereogauge.datasets.corrections import CUT_SHARE, LARGEST_8_BIT, depth_doubt, round_factors, wrong_values
from stereogauge.disparity import Calibration, DisparityMap, median
from stereogauge.errors import StereogaugeError, Unreachable
from stereogauge.io.content import display_name
from stereogauge.io.files import DisparityFile, as_file
from stereogauge.io.images import is_lossy
from stereogauge.io.inspection import (
    MOST_CODES,
    Suspicion,
    code_values,
    fills,
    map_suspicions,
    nothing_to_measure,
    some_values,
    unknown_setting,
)
from stereogauge.model import DisparitySource, Scene

SMALL_MISTAKE, SMALL_TELLING = 1.5, 0.2
"""A median error in px from which a round factor is noticed that leaves at most this part of it, even where the error
alone is no sign of a mistake."""
UNRELATED, WORSE = 0.3, 1.2
"""A map whose error is this many times that of the best constant map is no map of these disparities; where its ranks
correlate less than this with them, it has nothing to do with the ground truth."""
ONE_VALUE_SHARE, ONE_VALUE_OFTEN = 0.03, 3.0
BASELINES = (0.001, 5.0)
"""Metres; the baselines that are not questioned."""
LARGEST_CENTIMETRES = 20
"""Numbers above this are rather millimetres than centimetres."""
FOCAL_LENGTHS = (0.2, 20.0)
"""Focal lengths that are not questioned, in image widths: angles of view from 136° down to 3°."""
BEHIND, LARGEST_OFFSET = 0.01, 2.0
"""The share of the known pixels that a calibration may put behind the cameras, and how many times the largest disparity
doffs may be."""
LEAST_BEYOND = 5
"""Samples from which a disparity beyond the image's width is noticed."""
SMALLEST_8_BIT, OPENCV_SCALE = -128, 16.0
CUT_WRONG, WRAPPED_SHARE, WRAPPED_FIT = 0.8, 0.03, 0.6
MOST_LINES = 10
PROBLEM, NOTE = "problem", "note"
QUESTIONS = ("one-value", "offset", "truth-one-value", "named-depth", "truth-named-depth", "lossy")
"""Findings that a map without any mistake may have: a matcher may find one disparity too often, or be biased."""


OUT_OF_RANGE, OF_VALUES = ("too-large", "too-small", "negated"), ("wrong-scale", "negated", "offset")
"""Findings about the ground truth by itself, and those about an estimate that it explains."""


class Finding(Struct, frozen=True):
    """One sentence about a map, about an algorithm (no scene), a scene (no algorithm), or files that belong to none."""

    kind: str
    sentence: str
    severity: str = PROBLEM
    algorithm: str = ""
    scene: str = ""
    file: str = ""


def _findings(suspicions: Iterable[Suspicion | None], **where: str) -> list[Finding]:
    return [Finding(*one, NOTE if one.kind in QUESTIONS else PROBLEM, **where) for one in suspicions if one is not None]


def doubt_lines(doubts: Iterable[Finding], *, scenes: int = 2) -> list[str]:
    """One line per algorithm and kind of mistake, with the first sentence and how many scenes have it.

    `scenes` is the number that was looked at; a single one is not named.
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for doubt in doubts:
        groups.setdefault((doubt.algorithm, doubt.kind), []).append(doubt)
    lines = []
    for (algorithm, _), found in groups.items():
        named = f"{algorithm} on {found[0].scene}" if algorithm else f"scene {found[0].scene}"
        who = named if scenes > 1 else algorithm
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        lines.append(f"{who}{more}: {found[0].sentence}" if who else found[0].sentence)
    return lines[:MOST_LINES]


def scene_doubts(scene: Scene) -> list[Finding]:
    """What looks wrong about the ground truth and the calibration of a scene; nothing where they cannot be read."""
    if not scene.has("gt"):
        return []
    try:
        truth = scene.gt
    except Unreachable:
        raise
    except StereogaugeError:
        return []  # an unreadable ground truth is reported by whatever needs it
    odd = map_suspicions(truth, scene.source("gt"), prefix="gt-")[:1]
    found = [Suspicion(f"truth-{kind}", f"Ground truth: {sentence}") for kind, sentence in odd]
    return _findings([*found, calibration_doubt(scene.calibration, truth)], scene=scene.id)


def map_doubts(
    algorithm: str, estimate: DisparityMap, scene: Scene, source: DisparitySource | None = None, *, sized: bool = True
) -> list[Finding]:
    """What makes an estimate look misread; `source` is what it was read from.

    Pixels of the ground truth that hold a code for "unknown" are not compared with. A map of another size than the
    ground truth is not compared either, or with `sized` false its size is explained.
    """
    file = as_file(source)
    found = [_lossy_doubt(file)]
    if scene.has("gt") and (estimate.shape == scene.shape or not sized):
        doubt = suspicion(estimate, without_codes(scene), scene.calibration, source)
        # What does not fit a ground truth that is wrong itself is not the estimate's mistake.
        if doubt is None or doubt.kind not in OF_VALUES or not _is_out_of_range(scene):
            found.insert(0, doubt)
    name = "array" if file is None else display_name(file.path)
    return _findings(found, algorithm=algorithm, scene=scene.id, file=name)


def _is_out_of_range(scene: Scene) -> bool:
    """Whether the ground truth's own values cannot be disparities in pixels."""
    return any(one.kind in OUT_OF_RANGE for one in map_suspicions(scene.gt, scene.source("gt")))


def without_codes(scene: Scene) -> DisparityMap:
    """The ground truth of a scene with NaN for values that mean "unknown"."""
    truth, file = scene.gt, as_file(scene.source("gt"))
    known = some_values(truth)
    codes = code_values(known, file) if known.size else []
    return np.where(np.isin(truth, np.asarray(codes, np.float32)), np.float32(np.nan), truth) if codes else truth


def suspicion(
    estimate: DisparityMap,
    truth: DisparityMap,
    calibration: Calibration | None = None,
    source: DisparitySource | None = None,
) -> Suspicion | None:
    """The likeliest mistake, or None. `source` is the file that the estimate was read from, for the option to give."""
    file = as_file(source)
    scale = 1.0 if file is None else file.per_px
    if estimate.shape != truth.shape:
        return wrong_size(estimate, truth, scale)
    empty = nothing_to_measure(estimate[np.isfinite(estimate)], estimate.size)
    if empty is not None:
        return empty
    pair = sampled(estimate, truth)
    if not pair.found.size:
        return None
    camera = calibration or Calibration()
    codes = _codes(pair, file)
    rest = pair.without(codes) if codes else pair
    scales = (scale,) if scale != 1 else (1.0, OPENCV_SCALE)  # an array may have been divided after it overflowed
    limited = next(filter(None, (_of_8_bits(pair, one) for one in scales)), None)
    if rest.error > rest.tolerance or _clearly_scaled(rest):
        explained = limited or wrong_values(pair, rest, codes, camera, file)
        return explained or (_one_value(pair, rest, codes, file) if codes else _unexplained(rest))
    placed = other_view(pair) or flipped(pair)
    # Depth in metres may differ from a small disparity by less than the tolerance.
    return placed or depth_doubt(pair, camera, file) or limited or _one_value(pair, rest, codes, file) or _beyond(pair)


def calibration_doubt(calibration: Calibration, truth: DisparityMap) -> Suspicion | None:
    """Whether a calibration gives the ground truth depths that no camera pair sees: wrong units, a reversed sign."""
    known = some_values(truth)
    return next(_calibration_doubts(calibration, known, truth.shape), None) if known.size else None


def _calibration_doubts(calibration: Calibration, known: DisparityMap, shape: tuple[int, ...]) -> Iterator[Suspicion]:
    """What is odd about a calibration beside these true disparities of a map, the most basic first."""
    height, width = shape
    focal, baseline, doffs = calibration.focal, calibration.baseline, calibration.doffs
    if focal is not None and baseline is not None and not BASELINES[0] <= baseline <= BASELINES[1]:
        shifted = median(known) + doffs
        far = f", and the ground truth at a median depth of {focal * baseline / shifted:.3g} m" if shifted > 0 else ""
        unit, factor = ("centimetres", 100) if baseline <= LARGEST_CENTIMETRES else ("millimetres", 1000)
        question = (
            f"is the baseline in {unit}? Set baseline to {baseline / factor:g}."
            if baseline > BASELINES[1]
            else f"was a baseline in metres read as millimetres? Set baseline to {baseline * 1000:g}."
        )
        yield Suspicion("baseline-unit", f"The calibration puts the cameras {baseline:g} m apart{far}: {question}")
    if focal is not None and not FOCAL_LENGTHS[0] * width <= focal <= FOCAL_LENGTHS[1] * width:
        angle = 2 * math.degrees(math.atan(width / (2 * focal)))
        yield Suspicion(
            "focal-unit",
            f"A focal length of {focal:g} px and images {width} px wide mean an angle of view of {angle:.3g}°: is it "
            "in metres or millimetres, or of another image size? In px it is f divided by the width of a pixel.",
        )
    x, y = calibration.centre or (0.0, 0.0)
    if not (0 <= x <= width and 0 <= y <= height):  # a point outside of the image is one of a larger image
        yield Suspicion(
            "centre",
            f"The calibration's principal point ({x:g}, {y:g}) lies outside of the images of {width} × {height} "
            "pixels: is it the calibration of another image size? Its focal length and doffs are in pixels of that "
            "size.",
        )
    behind, otherwise = (float(np.mean(known + np.float32(shift) <= 0)) for shift in (doffs, -doffs))
    largest = float(known.max())
    if doffs and behind > BEHIND:
        sign = f": is its sign reversed? Set doffs to {-doffs:g}." if otherwise < BEHIND else "."
        yield Suspicion(
            "doffs",
            f"The calibration's doffs of {doffs:g} px puts {behind:.0%} of the known pixels behind the cameras "
            f"(d + doffs ≤ 0){sign}",
        )
    elif doffs > LARGEST_OFFSET * max(largest, 1.0):
        yield Suspicion(
            "doffs",
            f"The calibration's doffs of {doffs:g} px is {doffs / largest:.2g} times the largest disparity: is it in "
            "pixels of another image size?",
        )


def _lossy_doubt(file: DisparityFile | None) -> Suspicion | None:
    """Whether the map was read from a file whose compression changes values."""
    if file is None or not is_lossy(file.path):
        return None
    return Suspicion(
        "lossy",
        "The file's lossy compression changes values, most of all beside depth edges: errors may be those of the file; "
        "save the map as PFM, PNG, NPY or TIFF.",
    )


def _codes(pair: SampledPair, file: DisparityFile | None) -> list[float]:
    """Values of an estimate that look like codes for "unknown" and are wrong nearly everywhere."""
    levels, counts = np.unique(pair.found, return_counts=True)
    if levels.size < 3:
        return []
    suspects = code_values(pair.found, file)
    often = counts >= ONE_VALUE_SHARE * counts.sum()
    nothing = levels <= 0
    suspects += levels[nothing & often].tolist() if nothing.sum() <= MOST_CODES else []
    for end, next_one, rest in ((0, 1, levels[1:]), (-1, -2, levels[:-1])):
        apart = levels[end] <= 0 or abs(levels[end] - levels[next_one]) > 0.1 * np.ptp(rest)
        if often[end] and apart and counts[end] >= ONE_VALUE_OFTEN * counts[next_one]:
            suspects.append(float(levels[end]))
    return [value for value in sorted(set(suspects)) if pair.is_wrong(value)]


def _clearly_scaled(pair: SampledPair) -> bool:
    """Whether a round factor explains an error that may be an ordinary one where disparities are small."""
    if pair.error <= SMALL_MISTAKE * pair.fineness:
        return False
    left = [pair.error_of(pair.found / factor) for factor in round_factors(pair)]
    return min(left, default=math.inf) <= SMALL_TELLING * pair.error


def _unexplained(pair: SampledPair) -> Suspicion | None:
    """A map that is worse than one value everywhere, for which no setting was found."""
    constant = median(np.abs(pair.known - median(pair.known)))
    if pair.error < WORSE * constant:
        return None
    errors = f"{pair.medians} px, median error {pair.error:.3g} px; one value everywhere would have {constant:.3g} px"
    sentence = (
        f"The map does not agree with the ground truth at all ({errors}), and no setting was found that explains it: "
        "is it the map of another scene, or did its values overflow?"
    )
    if rank_correlation(pair.found, pair.known) > UNRELATED:
        sentence = (
            f"The values rise where those of the ground truth do, but are far from these ({errors}), and neither a "
            "scale nor an offset explains it: are they disparities in pixels?"
        )
    return Suspicion("unrelated", sentence)


def _of_8_bits(pair: SampledPair, scale: float) -> Suspicion | None:
    """Values that 8 bits could not hold: cut off at 255, or wrapped around."""
    stored = pair.found * scale
    if stored.min() < SMALLEST_8_BIT or stored.max() > LARGEST_8_BIT + 0.5:
        return None
    behind = (pair.known - pair.found) * scale
    tolerance = max(1.0, 0.05 * pair.typical) * scale
    at_end = np.rint(stored) == LARGEST_8_BIT
    share = float(np.mean(at_end))
    if share > CUT_SHARE and float(np.mean(behind[at_end] > tolerance)) > CUT_WRONG:
        return Suspicion(
            "saturated",
            f"{share:.1%} of the values are 255, the largest of 8 bits, and the ground truth is larger there: the "
            "values were cut off; save the map with 16 bits, as PFM or NPY.",
        )
    turns = np.rint(behind / (LARGEST_8_BIT + 1))
    fits = np.abs(behind - turns * (LARGEST_8_BIT + 1)) <= tolerance
    wrapped = float(np.mean(fits & (turns >= 1)))
    below = stored < 0
    signed = float(np.mean(below)) > CUT_SHARE and float(np.mean((fits & (turns == 1))[below])) > CUT_WRONG
    fitting = signed or (wrapped >= WRAPPED_SHARE and float(np.mean(fits)) >= WRAPPED_FIT)
    if 4 * tolerance > LARGEST_8_BIT or not fitting:
        return None
    return Suspicion(
        "overflow",
        f"{wrapped:.1%} of the values are too small by multiples of 256: they overflowed 8 bits; save the map with 16 "
        "bits, as PFM or NPY.",
    )


def _beyond(pair: SampledPair) -> Suspicion | None:
    """Some values that are as large as the image is wide, in a map that agrees with the ground truth elsewhere."""
    width = pair.truth.shape[1]
    sizes = np.abs(pair.found)
    share = float(np.mean(sizes >= width))
    if share * sizes.size < LEAST_BEYOND:
        return None
    return Suspicion(
        "too-large",
        f"{share:.2%} of the disparities are as large as the image is wide ({width} px) or larger, up to "
        f"{sizes.max():.3g}, and no point has such a disparity: make what is not known NaN.",
    )


def _one_value(
    pair: SampledPair, rest: SampledPair, codes: Sequence[float], file: DisparityFile | None
) -> Suspicion | None:
    """Values that are wrong nearly wherever they are, and what to do with them."""
    if not codes:
        return None
    at = np.isin(pair.found, codes)
    wrong = float(np.mean(np.abs(pair.found[at] - pair.known[at]) > pair.tolerance))
    are, they_mean = ("is", "it means") if len(codes) == 1 else ("are", "they mean")
    rest_of_it = (
        f": if {they_mean} that nothing was found, set {unknown_setting(codes, file)}."
        if rest.error <= rest.tolerance
        else ", and the rest of the map does not agree with the ground truth either: were the input images swapped, or "
        "is it the map of another scene?"
    )
    filled = fills(codes, float(np.mean(at)))
    return Suspicion("one-value", f"{filled} and {are} wrong at {wrong:.0%} of these pixels{rest_of_it}")
