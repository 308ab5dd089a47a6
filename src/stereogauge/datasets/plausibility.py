"""Whether a map can be what it claims to be, found by measuring it against the ground truth.

These are the mistakes that give a score without an error message: depth instead of disparity, a forgotten scale or
offset, a reversed sign, a flipped map, the right view's map, one value that means "unknown". Each gets one sentence
that says what was measured and the option that fixes it; nothing is applied.

Depth falls where disparity rises, Z = f·B / (d + doffs). With a calibration the values themselves tell which of the two
maps is depth, and in which unit; without one, the fit of 1/x, values that no disparity has, or the medians do.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.datasets.misplaced import SampledPair, Suspicion, flipped, other_view, sampled, wrong_size
from stereogauge.io.files import DisparityFile
from stereogauge.io.images import is_lossy
from stereogauge.io.png import KITTI_SCALE
from stereogauge.model import Calibration, DisparityMap, DisparitySource

MOST_PIXELS = 10_000_000
"""Of larger maps every second, third, … row is looked at."""
TELLING = 0.25
"""A correction must bring the median error below this part of what it was."""
NEAR_POWER, NEAR_WHOLE = 0.03, 0.005
"""How close a factor must be to a power of two, or to a whole number, to be taken for it."""
AS_GOOD, AS_NEAR = 1.5, 0.75
"""A simpler explanation is taken that leaves at most this many times the smallest error and this many px more."""
ONE_VALUE_SHARE, ONE_VALUE_WRONG, ONE_VALUE_OFTEN = 0.03, 0.95, 3.0
LARGEST_BASELINE = 20.0
"""Metres; the widest baseline that is not questioned."""
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
MOST_RANKED = 10_000
"""Values whose ranks are correlated."""

Values = NDArray[np.float64]


class Correction(NamedTuple):
    """One explanation of a map: the values that it would make right, and how to say so."""

    values: Values
    kind: str
    said: Callable[[], str]


def suspicion(
    estimate: DisparityMap,
    truth: DisparityMap,
    calibration: Calibration | None = None,
    source: DisparitySource | None = None,
) -> Suspicion | None:
    """The likeliest mistake, or None. `source` is the file that the estimate was read from, for the option to give."""
    if estimate.shape != truth.shape:
        return wrong_size(estimate, truth, _scale(source))
    if not np.isfinite(estimate).any():
        return Suspicion("no-values", "No pixel has a disparity.")
    low, high = float(np.nanmin(estimate)), float(np.nanmax(estimate))
    if low == high and estimate.size > 1:
        question = "; was the map ever computed?" if low == 0 else "."
        return Suspicion("no-values", f"Every disparity is {low:g}{question}")
    # Whole rows, since the view is judged along them.
    step = max(1, estimate.size // MOST_PIXELS)
    estimate, truth = estimate[::step], truth[::step]
    pair = sampled(estimate, truth)
    if not pair.found.size:
        return None
    camera = calibration or Calibration()
    if pair.error > pair.tolerance:
        return _wrong_values(pair, camera, source) or _one_value(pair)
    placed = other_view(estimate, truth) or flipped(pair)
    # Depth in metres may differ from a small disparity by less than the tolerance.
    return placed or depth_doubt(pair, camera, source, _scale(source)) or _one_value(pair)


def calibration_doubt(calibration: Calibration, truth: DisparityMap) -> Suspicion | None:
    """Whether a calibration gives the ground truth depths that no camera pair sees: a baseline in millimetres."""
    baseline, product = calibration.baseline, calibration.focal_baseline
    if baseline is None or product is None or baseline <= LARGEST_BASELINE:
        return None
    known = truth[np.isfinite(truth)]
    if not known.size:
        return None
    shifted = float(np.median(known)) + calibration.doffs
    seen = f", and the ground truth at a median depth of {product / shifted:.3g} m" if shifted > 0 else ""
    return Suspicion(
        "baseline-unit",
        f"The calibration puts the cameras {baseline:g} m apart{seen}: is the baseline in millimetres? Set "
        f"baseline to {baseline / 1000:g}.",
    )


def lossy_doubt(source: DisparitySource | None) -> Suspicion | None:
    """Whether the map was read from a file whose compression changes values."""
    path = getattr(source, "path", source)
    if not isinstance(path, str | os.PathLike) or not is_lossy(path):
        return None
    return Suspicion(
        "lossy",
        "The file's lossy compression changes values, most of all beside depth edges: errors may be those of the file; "
        "save the map as PFM, PNG, NPY or TIFF.",
    )


def _wrong_values(pair: SampledPair, calibration: Calibration, source: DisparitySource | None) -> Suspicion | None:
    """Mirrored, depth, or the simplest of the explanations that leave the smallest error, where it is small."""
    other = flipped(pair) or depth_doubt(pair, calibration, source, _scale(source))
    if other is not None:
        return other
    candidates = [*_one_number(pair, calibration, source), *_line(pair, source)]
    remaining = [_median_error(candidate.values, pair.known) for candidate in candidates]
    spread = float(np.mean(np.abs(pair.known - np.median(pair.known))))
    enough = min(TELLING * pair.error, pair.tolerance, EXPLAINED * spread + 1e-3 * pair.typical)
    if not min(remaining) <= enough:
        return None
    best = next(place for place, left in enumerate(remaining) if left <= AS_GOOD * min(remaining) + AS_NEAR)
    return Suspicion(candidates[best].kind, candidates[best].said())


def _median_error(found: Values, known: Values) -> float:
    error = np.abs(found - known)
    return float(np.median(np.where(np.isfinite(error), error, np.inf)))


def _one_number(pair: SampledPair, calibration: Calibration, source: DisparitySource | None) -> list[Correction]:
    """The map as a·d and as d + b."""
    scale, offset = _scale(source), float(getattr(source, "offset", 0.0))
    nonzero = pair.known != 0
    ratio = _rounded(float(np.median(pair.found[nonzero] / pair.known[nonzero]))) if nonzero.any() else 0.0
    shift = float(np.median(pair.found - pair.known))
    found = []
    if ratio:
        words = "negated" if ratio == -1 else "wrong-scale"
        option = _settings(source, scale * ratio, offset / ratio)
        found.append(Correction(pair.found / ratio, words, lambda: _scale_said(pair, ratio, option)))
    option_of_shift = _settings(source, scale, offset - shift)
    found.append(
        Correction(pair.found - shift, "offset", lambda: _offset_said(pair, shift, calibration, option_of_shift))
    )
    return found


def _line(pair: SampledPair, source: DisparitySource | None) -> list[Correction]:
    """The map as a·d + b."""
    slope = _rounded(robust_line(pair.known, pair.found)[0])
    if slope <= 0:
        return []
    rest = float(np.median(pair.found - slope * pair.known))
    offset = float(getattr(source, "offset", 0.0))
    both = _settings(source, _scale(source) * slope, (offset - rest) / slope)
    said = f"The disparities are scaled and shifted ({medians(pair)}): set {both}."
    return [Correction((pair.found - rest) / slope, "wrong-scale", lambda: said)]


def _scale_said(pair: SampledPair, ratio: float, option: str) -> str:
    if ratio == -1:
        return f"The sign is reversed ({medians(pair)}): set {option}."
    size = abs(ratio)
    words = f"{size:.3g} times too large" if size > 1 else f"{1 / size:.3g} times too small"
    sign = " and of the wrong sign" if ratio < 0 else ""
    return f"The disparities are about {words}{sign} ({medians(pair)}): set {option}."


def _offset_said(pair: SampledPair, shift: float, calibration: Calibration, option: str) -> str:
    doffs = calibration.doffs
    words = f"{abs(shift):.4g} px too {'large' if shift > 0 else 'small'}"
    if doffs and math.isclose(abs(shift), abs(doffs), rel_tol=0.05):
        done = "added to" if shift * doffs > 0 else "subtracted from"
        words += f", as if the calibration's doffs of {doffs:g} px had been {done} them"
    return f"The disparities are {words} ({medians(pair)}): set {option}."


def _rounded(ratio: float) -> float:
    """The ratio, or the power of two or whole number, or the reciprocal of one, that it is close to."""
    if not math.isfinite(ratio) or ratio == 0:
        return 0.0
    size, sign = abs(ratio), math.copysign(1.0, ratio)
    whole = size if size >= 1 else 1 / size
    power = 2.0 ** round(math.log2(whole))
    if abs(whole - power) <= NEAR_POWER * whole:
        whole = power
    elif abs(whole - round(whole)) <= NEAR_WHOLE * whole:
        whole = float(round(whole))
    return sign * (whole if size >= 1 else 1 / whole)


def _scale(source: Any) -> float:
    """The stored value per pixel of disparity with which a source was read."""
    if not isinstance(source, DisparityFile):
        source = DisparityFile(source) if isinstance(source, str) or hasattr(source, "__fspath__") else None
    if source is None or source.scale is not None:
        return 1.0 if source is None else float(source.scale or 1.0)
    return KITTI_SCALE if _is_kitti(source) else 1.0


def _is_kitti(source: Any) -> bool:
    path, encoding = str(getattr(source, "path", source)), getattr(source, "encoding", None)
    return encoding == "kitti" or (encoding is None and path.lower().endswith(".png"))


def _settings(source: Any, scale: float, offset: float) -> str:
    """The settings that read the source with another scale and offset."""
    parts = ["encoding to middlebury"] if _is_kitti(source) and not getattr(source, "scale", None) else []
    parts += [f"scale to {_rounded(scale):.6g}"] if scale != 1 or parts or not offset else []
    parts += [f"offset to {offset:.4g}"] if abs(offset) > 1e-6 else []
    return ", ".join(parts)


def _one_value(pair: SampledPair) -> Suspicion | None:
    """A value outside the range of all others that fills several percent of the map and is wrong there."""
    values, counts = np.unique(pair.found, return_counts=True)
    if values.size < 3:
        return None
    value, next_one, rest, often = values[0], values[1], values[1:], counts[0] / counts[1]
    if counts[-1] > counts[0]:
        value, next_one, rest, often = values[-1], values[-2], values[:-1], counts[-1] / counts[-2]
    at = pair.found == value
    share, wrong = float(np.mean(at)), float(np.mean(np.abs(value - pair.known[at]) > pair.tolerance))
    apart = value <= 0 or abs(value - next_one) > 0.1 * np.ptp(rest)
    if share < ONE_VALUE_SHARE or wrong < ONE_VALUE_WRONG or often < ONE_VALUE_OFTEN or not apart:
        return None
    return Suspicion(
        "one-value",
        f"The value {value:g} fills {share:.1%} of the map and is wrong at {wrong:.0%} of these pixels: if it means "
        f"that nothing was found, set unknown to {value:g}.",
    )


class DepthMap(NamedTuple):
    """Which of the two maps holds depth, "estimate", "truth" or "" (not known), and its encoding or ""."""

    which: str
    encoding: str = ""


def depth_doubt(pair: SampledPair, calibration: Calibration, source: Any, stored_per_px: float) -> Suspicion | None:
    """One sentence if either map holds depth, else None.

    `source` is what the estimate was read from, `stored_per_px` the divisor it was read with.
    """
    encoding = getattr(source, "encoding", None)
    if encoding in UNITS:
        return _other_unit(pair, calibration, encoding) or _truth_too(pair)
    usable = (pair.found > 0) & (pair.known > 0)
    if usable.mean() <= 0.5:
        return None
    found, known = pair.found[usable], pair.known[usable]
    trend = _trend(found, known)
    stored = (found - float(getattr(source, "offset", 0.0))) * stored_per_px
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
    scales = (1.0, KITTI_SCALE) if _is_stored_in_256ths(known) else (1.0,)
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


def _is_stored_in_256ths(values: Values) -> bool:
    return bool((values * KITTI_SCALE == np.rint(values * KITTI_SCALE)).all())


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
