"""Whether truth, estimate and calibration can be what they claim to be.

These are the mistakes that give a score without an error message: depth instead of disparity, a forgotten scale or
offset, a reversed sign, a flipped map, the right view's map, one value that means "unknown". Each gets one sentence
that says what was measured and the setting that fixes it; nothing is applied. A setting is offered only where it was
tried: with it, at a round value, the map agrees clearly better with the ground truth. The command line, Python and the
site all ask `scene_doubts` and `map_doubts`.

Depth falls where disparity rises, Z = f·B / (d + doffs). With a calibration the values themselves tell which of the two
maps is depth, and in which unit; without one, the fit of 1/x, values that no disparity has, or the medians do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.datasets.misplaced import SampledPair, flipped, other_view, sampled, wrong_size
from stereogauge.errors import StereogaugeError, Unreachable
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
from stereogauge.io.png import KITTI_SCALE
from stereogauge.model import Calibration, DisparityMap, DisparitySource, Scene

TELLING = 0.25
"""A correction must bring the median error below this part of what it was."""
NEAR_ROUND = 0.05
"""How close a factor must be to a round one to be tried as it."""
ROUND_ERROR, ROUND_SHARE, ROUND_TIE = 1.25, 0.01, 0.002
"""The error that a round value may leave: this many times that of the best value and this part of the disparities;
round values whose errors differ by less than the last part are equally good."""
AS_GOOD, AS_NEAR = 1.5, 0.75
"""A simpler explanation is taken that leaves at most this many times the smallest error and this many px more."""
LARGEST_ROUND, ROUND_HALVES = 10, (1.5, 2.5)
"""Whole numbers up to this one are round factors, and these."""
SMALL_MISTAKE, SMALL_TELLING = 1.5, 0.2
"""A median error in px from which a round factor is noticed that leaves at most this part of it, even where the error
alone is no sign of a mistake."""
UNRELATED, WORSE = 0.3, 1.5
"""A map whose ranks correlate less than this, and whose error is this many times that of the best constant map, has
nothing to do with the ground truth as it was read."""
ONE_VALUE_SHARE, ONE_VALUE_WRONG, ONE_VALUE_OFTEN = 0.03, 0.95, 3.0
LARGEST_BASELINE = 20.0
"""Metres; the widest baseline that is not questioned."""
FOCAL_LENGTHS = (0.2, 20.0)
"""Focal lengths that are not questioned, in image widths: angles of view from 136° down to 3°."""
BEHIND, LARGEST_OFFSET = 0.01, 2.0
"""The share of the known pixels that a calibration may put behind the cameras, and how many times the largest disparity
doffs may be."""
CUT_SHARE, CUT_WRONG = 0.005, 0.8
LARGEST_8_BIT, WRAPPED_SHARE, WRAPPED_FIT = 255, 0.03, 0.6
MOST_LINES = 10
UNITS = {"depth-m": ("metres", 1.0), "depth-mm": ("millimetres", 1000.0)}
"""Encodings that hold depth, with their unit and how many of it make a metre."""
FALLING, RISING = -0.5, 0.3
"""The rank correlation below which one map falls where the other rises, and above which both rise."""
EXPLAINED = 0.5
"""A correction, or 1/x, must leave less than this part of the error that the best constant map has."""
NEAR = 0.1
"""How close depths of a calibration must be to the other map's disparities, as a part of these, to be taken for them.
Where neither map rises or falls: half of it, and half of what the maps differ by as they are."""
BETTER = 0.7
"""Part of the other fit's error that a fit must leave, for one map to be named as depth."""
APART = 3.0
"""How many times larger one median must be for the smaller one to be taken for metres."""
MOST_RANKED = 2_000
"""Values whose ranks are correlated."""

Values = NDArray[np.float64]


class Correction(NamedTuple):
    """One explanation of a map: what it makes of its values, how to say so, and the settings that do it, if any."""

    kind: str
    corrected: Callable[[Values], Values]
    words: str
    settings: str = ""
    otherwise: str = ""

    def said(self, further: str = "") -> str:
        """The sentence; `further` settings go after its own."""
        if not self.settings:
            return f"{self.words}{self.otherwise}"
        return f"{self.words}: set {', '.join(filter(None, (self.settings, further)))}."


class Doubt(NamedTuple):
    """What makes a map or its scene look misread; `algorithm` is empty where the scene itself does."""

    scene: str
    algorithm: str
    kind: str
    sentence: str


def doubt_lines(doubts: Iterable[Doubt], *, scenes: int = 2) -> list[str]:
    """One line per algorithm and kind of mistake, with the first sentence and how many scenes have it.

    `scenes` is the number that was looked at; a single one is not named.
    """
    groups: dict[tuple[str, str], list[Doubt]] = {}
    for doubt in doubts:
        groups.setdefault((doubt.algorithm, doubt.kind), []).append(doubt)
    lines = []
    for (algorithm, _), found in groups.items():
        named = f"{algorithm} on {found[0].scene}" if algorithm else f"scene {found[0].scene}"
        who = named if scenes > 1 else algorithm
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        lines.append(f"{who}{more}: {found[0].sentence}" if who else found[0].sentence)
    return lines[:MOST_LINES]


def scene_doubts(scene: Scene) -> list[Doubt]:
    """What looks wrong about the ground truth and the calibration of a scene; nothing where they cannot be read."""
    if not scene.has("gt"):
        return []
    try:
        truth = scene.gt
    except Unreachable:
        raise
    except StereogaugeError:
        return []  # an unreadable ground truth is reported by whatever needs it
    found = [
        Suspicion(f"truth-{kind}", f"Ground truth: {sentence}")
        for kind, sentence in map_suspicions(truth, scene.source("gt"), prefix="gt-")[:1]
    ]
    found += filter(None, [calibration_doubt(scene.calibration, truth)])
    return [Doubt(scene.id, "", *one) for one in found]


def map_doubts(
    algorithm: str, estimate: DisparityMap, scene: Scene, source: DisparitySource | None = None
) -> list[Doubt]:
    """What makes an estimate look misread; `source` is what it was read from.

    Pixels of the ground truth that hold a code for "unknown" are not compared with.
    """
    found = [lossy_doubt(source)]
    if scene.has("gt") and estimate.shape == scene.shape:
        found.insert(0, suspicion(estimate, without_codes(scene), scene.calibration, source))
    return [Doubt(scene.id, algorithm, *one) for one in found if one is not None]


def without_codes(scene: Scene) -> DisparityMap:
    """The ground truth of a scene with NaN for values that stand for "unknown"."""
    truth, file = scene.gt, as_file(scene.source("gt"))
    known = some_values(truth)
    codes = code_values(known, float if file is None else file.stored) if known.size else []
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
    limited = _of_8_bits(pair, scale)
    if rest.error > rest.tolerance or _clearly_scaled(rest):
        explained = limited or _wrong_values(pair, rest, codes, camera, file)
        return explained or (_one_value(pair, rest, codes, file) if codes else _unrelated(rest))
    placed = other_view(pair) or flipped(pair)
    # Depth in metres may differ from a small disparity by less than the tolerance.
    return placed or depth_doubt(pair, camera, file) or limited or _one_value(pair, rest, codes, file)


def calibration_doubt(calibration: Calibration, truth: DisparityMap) -> Suspicion | None:
    """Whether a calibration gives the ground truth depths that no camera pair sees: wrong units, a reversed sign."""
    known = some_values(truth)
    if not known.size:
        return None
    height, width = truth.shape
    return (
        _baseline_doubt(calibration, known)
        or _focal_doubt(calibration, width)
        or _centre_doubt(calibration, width, height)
        or _offset_doubt(calibration, known)
    )


def _baseline_doubt(calibration: Calibration, known: DisparityMap) -> Suspicion | None:
    baseline, product = calibration.baseline, calibration.focal_baseline
    if baseline is None or product is None or baseline <= LARGEST_BASELINE:
        return None
    shifted = float(np.median(known)) + calibration.doffs
    seen = f", and the ground truth at a median depth of {product / shifted:.3g} m" if shifted > 0 else ""
    return Suspicion(
        "baseline-unit",
        f"The calibration puts the cameras {baseline:g} m apart{seen}: is the baseline in millimetres? Set "
        f"baseline to {baseline / 1000:g}.",
    )


def _focal_doubt(calibration: Calibration, width: int) -> Suspicion | None:
    focal = calibration.focal
    if focal is None or FOCAL_LENGTHS[0] * width <= focal <= FOCAL_LENGTHS[1] * width:
        return None
    angle = 2 * math.degrees(math.atan(width / (2 * focal)))
    return Suspicion(
        "focal-unit",
        f"A focal length of {focal:g} px and images {width} px wide mean an angle of view of {angle:.3g}°: is it in "
        "metres or millimetres, or of another image size? In px it is f divided by the width of a pixel.",
    )


def _centre_doubt(calibration: Calibration, width: int, height: int) -> Suspicion | None:
    """A principal point outside of the image is one of a larger image."""
    if calibration.centre is None:
        return None
    x, y = calibration.centre
    if 0 <= x <= width and 0 <= y <= height:
        return None
    return Suspicion(
        "centre",
        f"The calibration's principal point ({x:g}, {y:g}) lies outside of the images of {width} × {height} pixels: is "
        "it the calibration of another image size? Its focal length and doffs are in pixels of that size.",
    )


def _offset_doubt(calibration: Calibration, known: DisparityMap) -> Suspicion | None:
    behind = float(np.mean(known + np.float32(calibration.doffs) <= 0)) if calibration.doffs else 0.0
    largest = float(known.max())
    if behind <= BEHIND and calibration.doffs > LARGEST_OFFSET * max(largest, 1.0):
        return Suspicion(
            "doffs",
            f"The calibration's doffs of {calibration.doffs:g} px is {calibration.doffs / largest:.2g} times the "
            "largest disparity: is it in pixels of another image size?",
        )
    if behind <= BEHIND:
        return None
    other = float(np.mean(known - np.float32(calibration.doffs) <= 0))
    sign = f": is its sign reversed? Set doffs to {-calibration.doffs:g}." if other < BEHIND < behind else "."
    return Suspicion(
        "doffs",
        f"The calibration's doffs of {calibration.doffs:g} px puts {behind:.0%} of the known pixels behind the "
        f"cameras (d + doffs ≤ 0){sign}",
    )


def lossy_doubt(source: DisparitySource | None) -> Suspicion | None:
    """Whether the map was read from a file whose compression changes values."""
    file = as_file(source)
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
    suspects = code_values(pair.found, float if file is None else file.stored)
    often = counts >= ONE_VALUE_SHARE * counts.sum()
    nothing = levels <= 0
    suspects += levels[nothing & often].tolist() if nothing.sum() <= MOST_CODES else []
    for end, next_one, rest in ((0, 1, levels[1:]), (-1, -2, levels[:-1])):
        apart = levels[end] <= 0 or abs(levels[end] - levels[next_one]) > 0.1 * np.ptp(rest)
        if often[end] and apart and counts[end] >= ONE_VALUE_OFTEN * counts[next_one]:
            suspects.append(float(levels[end]))
    return [value for value in sorted(set(suspects)) if _is_wrong(value, pair)]


def _is_wrong(value: float, pair: SampledPair, corrected: Callable[[Values], Values] | None = None) -> bool:
    """Whether a value is wrong at nearly all of its pixels, as it is or as a correction makes it."""
    at = pair.found == value
    found = pair.found[at] if corrected is None else corrected(pair.found[at])
    return float(np.mean(np.abs(found - pair.known[at]) > pair.tolerance)) >= ONE_VALUE_WRONG


def _clearly_scaled(pair: SampledPair) -> bool:
    """Whether a round factor explains an error that may be an ordinary one where disparities are small."""
    if pair.error <= SMALL_MISTAKE:
        return False
    left = [_median_error(pair.found / factor, pair.known) for factor in _round_factors(_ratio(pair))]
    return min(left, default=math.inf) <= SMALL_TELLING * pair.error


def _unrelated(pair: SampledPair) -> Suspicion | None:
    """A map that is worse than one value everywhere, and does not rise where the ground truth does."""
    constant = float(np.median(np.abs(pair.known - np.median(pair.known))))
    if _trend(pair.found, pair.known) > UNRELATED or pair.error < WORSE * constant + pair.tolerance:
        return None
    return Suspicion(
        "unrelated",
        f"The map does not agree with the ground truth at all ({medians(pair)}, median error {pair.error:.3g} px; one "
        f"value everywhere would have {constant:.3g} px), and no setting was found that explains it: is it the map of "
        "another scene, or did its values overflow?",
    )


def _wrong_values(
    pair: SampledPair, rest: SampledPair, codes: Sequence[float], calibration: Calibration, file: DisparityFile | None
) -> Suspicion | None:
    """Mirrored, depth, or the simplest of the explanations that leave the smallest error, where it is small.

    `rest` is what is not a code; codes that are wrong under the explanation too are said to be unknown.
    """
    rest = _without_end(rest)
    if not rest.found.size:
        return None
    other = flipped(rest) or depth_doubt(rest, calibration, file)
    if other is not None:
        return other
    exact, inexact = _explanations(rest, calibration, file)
    errors = [_median_error(one.corrected(rest.found), rest.known) for one in (*exact, *inexact)]
    spread = float(np.mean(np.abs(rest.known - np.median(rest.known))))
    enough = min(TELLING * rest.error, rest.tolerance, EXPLAINED * spread + 1e-3 * rest.typical)
    if not min(errors, default=math.inf) <= enough:
        return None
    left = {one: _clipped_error(one.corrected(rest.found), rest) for one in (*exact, *inexact)}
    good = AS_GOOD * min(left.values()) + AS_NEAR
    best = min(exact, key=lambda one: left[one], default=None)
    if best is None or left[best] > good:
        good = AS_GOOD * min(left[one] for one in inexact) + ROUND_SHARE * rest.typical
        best = next(one for one in inexact if left[one] <= good)
    lost = [code for code in codes if _is_wrong(code, pair, best.corrected)]
    return Suspicion(best.kind, best.said(unknown_setting(lost, file) if lost else ""))


def _clipped_error(found: Values, pair: SampledPair) -> float:
    """The mean error, of which no pixel counts more than the tolerance."""
    return float(np.mean(np.fmin(np.abs(found - pair.known), pair.tolerance)))


def _median_error(found: Values, known: Values) -> float:
    error = np.abs(found - known)
    return float(np.median(np.where(np.isfinite(error), error, np.inf)))


def _ratio(pair: SampledPair) -> float:
    """The median quotient of estimate and truth; 0 where there is none."""
    nonzero = pair.known != 0
    found = float(np.median(pair.found[nonzero] / pair.known[nonzero])) if nonzero.any() else 0.0
    return found if math.isfinite(found) else 0.0


def _explanations(
    pair: SampledPair, calibration: Calibration, file: DisparityFile | None
) -> tuple[list[Correction], list[Correction]]:
    """The map as a·d or d + b with a round value, and what no setting corrects: a·d + b, or with an odd value."""
    scale, offset = (1.0, 0.0) if file is None else (file.per_px, file.offset)
    exact: list[Correction] = []
    inexact: list[Correction] = []
    ratio, shift = _ratio(pair), float(np.median(pair.found - pair.known))
    if ratio and abs(ratio - 1) > NEAR_ROUND:
        rounded = _first_as_good(ratio, _round_factors(ratio), lambda factor: pair.found / factor, pair)
        factor = ratio if rounded is None else rounded
        settings = "" if rounded is None else _settings(file, scale * rounded, offset / rounded)
        one = Correction(
            "negated" if factor == -1 else "wrong-scale",
            lambda values: values / factor,
            _scale_words(pair, factor),
            settings,
            "; no round scale explains it.",
        )
        (inexact if rounded is None else exact).append(one)
    if _trend(pair.found, pair.known) < -UNRELATED:
        return exact, inexact  # no shift makes a map rise that falls
    steps = [math.copysign(calibration.doffs, shift)] if _is_doffs(shift, calibration) else [float(round(shift))]
    whole = _first_as_good(shift, steps, lambda step: pair.found - step, pair)
    settings = "" if whole is None else _settings(file, scale, offset - whole)
    step = shift if whole is None else whole
    one = Correction("offset", lambda values: values - step, _offset_words(pair, shift, calibration), settings, ".")
    (inexact if whole is None else exact).append(one)
    return exact, inexact + _line(pair)


def _first_as_good(
    best: float, candidates: Sequence[float], corrected: Callable[[float], Values], pair: SampledPair
) -> float | None:
    """The best of the round values, where it corrects the map about as well as the best of all values; else None."""
    errors = {value: _median_error(corrected(value), pair.known) for value in candidates}
    enough = ROUND_ERROR * _median_error(corrected(best), pair.known) + ROUND_SHARE * pair.typical
    smallest = min(errors.values(), default=math.inf)
    if smallest > enough:
        return None
    return next(value for value in candidates if errors[value] <= smallest + ROUND_TIE * pair.typical)


def _round_factors(ratio: float) -> list[float]:
    """The round factors near a ratio: powers of two and of ten, 255, small whole numbers; or their reciprocals."""
    if not ratio:
        return []
    size, sign = abs(ratio), math.copysign(1.0, ratio)
    whole = size if size >= 1 else 1 / size
    near = [2.0 ** round(math.log2(whole)), 10.0 ** round(math.log10(whole)), float(LARGEST_8_BIT), *ROUND_HALVES]
    near += [float(round(whole))] if whole <= LARGEST_ROUND + 0.5 else []
    close = [value for value in near if abs(value - whole) <= NEAR_ROUND * whole]
    factors = [sign * (value if size >= 1 else 1 / value) for value in dict.fromkeys(close)]
    return [factor for factor in factors if factor != 1]


def _line(pair: SampledPair) -> list[Correction]:
    """The map as a·d + b: stretched for display, or normalised."""
    slope, _ = robust_line(pair.known, pair.found)
    if slope <= 0:
        return []
    shift = float(np.median(pair.found - slope * pair.known))
    words = (
        f"The disparities are scaled and shifted ({medians(pair)}), about {slope:.3g} times the true ones and "
        f"{shift:+.3g}: was the map stretched for display? Save the disparities themselves."
    )
    return [Correction("wrong-scale", lambda values: (values - shift) / slope, words)]


def _scale_words(pair: SampledPair, ratio: float) -> str:
    if ratio == -1:
        return f"The sign is reversed ({medians(pair)})"
    size = abs(ratio)
    words = f"{size:.3g} times too large" if size > 1 else f"{1 / size:.3g} times too small"
    sign = " and of the wrong sign" if ratio < 0 else ""
    return f"The disparities are about {words}{sign} ({medians(pair)})"


def _is_doffs(shift: float, calibration: Calibration) -> bool:
    return bool(calibration.doffs) and math.isclose(abs(shift), abs(calibration.doffs), rel_tol=0.05)


def _offset_words(pair: SampledPair, shift: float, calibration: Calibration) -> str:
    words = f"{abs(shift):.4g} px too {'large' if shift > 0 else 'small'}"
    if _is_doffs(shift, calibration):
        done = "added to" if shift * calibration.doffs > 0 else "subtracted from"
        words += f", as if the calibration's doffs of {calibration.doffs:g} px had been {done} them"
    return f"The disparities are {words} ({medians(pair)})"


def _without_end(pair: SampledPair) -> SampledPair:
    """The samples without those at 255, where so many are that 8 bits seem to have cut them off."""
    at_end = pair.estimates == LARGEST_8_BIT
    if not pair.found.size or pair.found.max() > LARGEST_8_BIT or not CUT_SHARE < np.mean(at_end) < 1 - CUT_SHARE:
        return pair
    return pair.without([LARGEST_8_BIT])


def _of_8_bits(pair: SampledPair, scale: float) -> Suspicion | None:
    """Values that 8 bits could not hold: cut off at 255, or wrapped around."""
    stored = pair.found * scale
    if stored.min() < 0 or stored.max() > LARGEST_8_BIT + 0.5:
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
    if 4 * tolerance > LARGEST_8_BIT or wrapped < WRAPPED_SHARE or float(np.mean(fits)) < WRAPPED_FIT:
        return None
    return Suspicion(
        "overflow",
        f"{wrapped:.1%} of the values are too small by multiples of 256: they overflowed 8 bits; save the map with 16 "
        "bits, as PFM or NPY.",
    )


def _settings(file: DisparityFile | None, scale: float, offset: float) -> str:
    """The settings that read the file with another scale and offset."""
    parts = ["encoding to middlebury"] if file is not None and file.is_kitti and not file.scale else []
    parts += [f"scale to {scale:.6g}"] if scale != 1 or parts or not offset else []
    parts += [f"offset to {offset:.4g}"] if abs(offset) > 1e-6 else []
    return ", ".join(parts)


def _one_value(
    pair: SampledPair, rest: SampledPair, codes: Sequence[float], file: DisparityFile | None
) -> Suspicion | None:
    """Values that are wrong nearly wherever they are, and what to do with them."""
    if not codes:
        return None
    at = np.isin(pair.found, codes)
    wrong = float(np.mean(np.abs(pair.found[at] - pair.known[at]) > pair.tolerance))
    words = f"{fills(codes, float(np.mean(at)))} and {'is' if len(codes) == 1 else 'are'} wrong at {wrong:.0%} of these"
    if rest.error <= rest.tolerance:
        means = "if it means" if len(codes) == 1 else "if they mean"
        return Suspicion(
            "one-value", f"{words} pixels: {means} that nothing was found, set {unknown_setting(codes, file)}."
        )
    return Suspicion(
        "one-value",
        f"{words} pixels, and the rest of the map does not agree with the ground truth either: were the input images "
        "swapped, or is it the map of another scene?",
    )


class DepthMap(NamedTuple):
    """Which of the two maps holds depth, "estimate", "truth" or "" (not known), and its encoding or ""."""

    which: str
    encoding: str = ""


def depth_doubt(pair: SampledPair, calibration: Calibration, file: DisparityFile | None) -> Suspicion | None:
    """One sentence if either map holds depth, else None; `file` is what the estimate was read from."""
    encoding = None if file is None else file.encoding
    if encoding in UNITS:
        return _other_unit(pair, calibration, encoding) or _truth_too(pair)
    usable = (pair.found > 0) & (pair.known > 0)
    if usable.mean() <= 0.5:
        return None
    found, known = pair.found[usable], pair.known[usable]
    trend = _trend(found, known)
    stored = found if file is None else file.stored(found)
    depth = _by_calibration(stored, found, known, calibration, trend)
    if depth is None and trend <= FALLING:
        depth = _by_shape(found, known, pair.truth.shape[1])
    if depth is None:
        return None
    return Suspicion("truth-depth" if depth.which == "truth" else "depth", _said(pair, depth, calibration))


def _other_unit(pair: SampledPair, calibration: Calibration, encoding: str) -> Suspicion | None:
    """Depths that were read as those of the other unit."""
    other, factor = ("depth-mm", 1000.0) if encoding == "depth-m" else ("depth-m", 0.001)
    disparity = (pair.found + calibration.doffs) * factor - calibration.doffs
    if _relative_error(disparity, pair.known) > NEAR:
        return None
    return Suspicion(
        "depth", f"The depths are in {UNITS[other][0]}, not in {UNITS[encoding][0]}: set encoding to {other}."
    )


def _truth_too(pair: SampledPair) -> Suspicion | None:
    """Disparities made of depths that fall where the ground truth rises."""
    if _trend(pair.found, pair.known) > FALLING or _unexplained(pair.found, pair.known) > EXPLAINED:
        return None
    return Suspicion(
        "depth",
        f"The disparities fall where those of the ground truth rise ({_bare_medians(pair)}): if the ground truth is "
        "depth, too, set gt-encoding to depth-m or depth-mm.",
    )


def _by_calibration(
    stored: Values, found: Values, known: Values, calibration: Calibration, trend: float
) -> DepthMap | None:
    """The map whose values, as depths in metres or millimetres, are the disparities of the other one.

    Where the scene is nearly flat, neither map rises nor falls; then the values must agree more closely. Without doffs,
    Z·d = f·B holds for both maps alike, and the size of the values decides.
    """
    product = calibration.focal_baseline
    if product is None or trend >= RISING:
        return None
    errors: dict[DepthMap, float] = {}
    in_256ths = bool((known * KITTI_SCALE == np.rint(known * KITTI_SCALE)).all())
    scales = (1.0, KITTI_SCALE) if in_256ths else (1.0,)
    for name, (_, per_metre) in UNITS.items():
        of_estimate = product * per_metre / np.where(stored > 0, stored, np.nan) - calibration.doffs
        errors[DepthMap("estimate", name)] = _relative_error(of_estimate, known)
        errors[DepthMap("truth", name)] = min(
            _relative_error(product * per_metre / (known * scale) - calibration.doffs, found) for scale in scales
        )
    best = min(errors, key=lambda depth: errors[depth])
    falls = trend <= FALLING
    if errors[best] > (NEAR if falls else min(NEAR, _relative_error(found, known)) / 2):
        return None
    other = DepthMap("truth" if best.which == "estimate" else "estimate", best.encoding)
    if errors[best] < BETTER * errors[other]:
        return best
    return DepthMap(_larger_or_smaller(found, known, larger=best.encoding == "depth-mm"), best.encoding)


def _by_shape(found: Values, known: Values, width: int) -> DepthMap | None:
    """The map that is depth, where one of the two falls where the other rises."""
    of_estimate, of_truth = _unexplained(1 / found, known), _unexplained(1 / known, found)
    if min(of_estimate, of_truth) > EXPLAINED:
        return None
    if max(np.median(found), np.median(known)) > width:  # no disparity is wider than the image
        return DepthMap(_larger_or_smaller(found, known, larger=True), "depth-mm")
    which = _larger_or_smaller(found, known, larger=False)
    if not which and min(of_estimate, of_truth) < BETTER * max(of_estimate, of_truth):
        which = "estimate" if of_estimate < of_truth else "truth"
    return DepthMap(which)


def _larger_or_smaller(found: Values, known: Values, *, larger: bool) -> str:
    """The map with the larger or smaller median: millimetres are larger than disparities, metres mostly smaller."""
    ratio = float(np.median(found) / np.median(known))
    if 1 / APART < ratio < APART:
        return ""
    return "estimate" if (ratio > 1) == larger else "truth"


def _said(pair: SampledPair, depth: DepthMap, calibration: Calibration) -> str:
    known = calibration.focal_baseline is not None
    camera = "the calibration" if known else "the calibration (focal length and baseline)"
    fall = f"The values fall where those of the ground truth rise ({_bare_medians(pair)})"
    if not depth.which:
        either, or_truth = _depth_settings("encoding", depth), _depth_settings("gt-encoding", depth)
        give = f"set {either}, or {or_truth} if it is the ground truth, with {camera}"
        return f"{fall}: one of the two maps is depth; {give}."
    truth = depth.which == "truth"
    settings = _depth_settings("gt-encoding" if truth else "encoding", depth)
    if known and depth.encoding:
        whose = "The values of the ground truth" if truth else "The values"
        unit = UNITS[depth.encoding][0]
        return (
            f"{whose} are depths in {unit}, not disparities ({_bare_medians(pair)}): set {settings}, which takes the "
            "calibration."
        )
    return f"{fall}: {'the ground truth looks' if truth else 'they look'} like depth; set {settings} and give {camera}."


def _depth_settings(name: str, depth: DepthMap) -> str:
    return f"{name} to {' or '.join([depth.encoding] if depth.encoding else UNITS)}"


def _bare_medians(pair: SampledPair) -> str:
    return f"median {np.median(pair.found):.4g}, ground truth {np.median(pair.known):.4g}"


def medians(pair: SampledPair) -> str:
    """The medians of both maps in words."""
    return f"{_bare_medians(pair)} px"


def robust_line(x: Values, y: Values) -> tuple[float, float]:
    """Slope and rest of y over x, by least squares without the pixels that are far from the line; (0, 0) = none."""
    kept = np.ones(x.size, bool)
    slope = rest = 0.0
    for _ in range(5):
        if kept.sum() < 2 or np.ptp(x[kept]) == 0:
            return 0.0, 0.0
        slope, rest = np.polyfit(x[kept], y[kept], 1)
        error = np.abs(y - slope * x - rest)
        kept = error <= 2 * np.median(error) + 1e-9
    return float(slope), float(rest)


def _unexplained(x: Values, y: Values) -> float:
    """What the best line through x and y leaves of the error that the best constant has; 1 = all of it."""
    slope, rest = robust_line(x, y)
    spread = float(np.mean(np.abs(y - np.median(y))))
    return float(np.median(np.abs(y - slope * x - rest))) / spread if slope and spread else 1.0


def _relative_error(found: Values, known: Values) -> float:
    return _median_error(found, known) / float(np.median(known))


def _trend(found: Values, known: Values) -> float:
    """Spearman's rank correlation, which is −1 for d and any c / (d + b); 0 where a map has one value only."""
    step = max(1, found.size // MOST_RANKED)
    ranks_found, ranks_known = _ranks(found[::step]), _ranks(known[::step])
    if np.ptp(ranks_found) == 0 or np.ptp(ranks_known) == 0:
        return 0.0
    return float(np.corrcoef(ranks_found, ranks_known)[0, 1])


def _ranks(values: Values) -> Values:
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")).astype(np.float64)
