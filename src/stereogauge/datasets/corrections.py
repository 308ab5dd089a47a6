"""Scales, offsets, signs and depths that make a map agree with its ground truth, and the settings that apply them.

Depth falls where disparity rises, Z = f·B / (d + doffs). With a calibration the values themselves tell which of the two
maps is depth, and in which unit; without one, the fit of 1/x, values that no disparity has, or the medians do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from stereogauge.datasets.agreement import SampledPair, Values, flipped, median_error, rank_correlation
from stereogauge.disparity import Calibration, median
from stereogauge.io.encodings import DEPTH_UNITS
from stereogauge.io.files import DisparityFile
from stereogauge.io.inspection import Suspicion, unknown_setting
from stereogauge.io.png import KITTI_SCALE

TELLING = 0.25
"""A correction must bring the median error below this part of what it was."""
EXPLAINED = 0.5
"""And below this part of the error that the best constant map has."""
CLEARER = 0.65
"""And the mean error, of which no pixel counts much, below this part of that of the best constant map: otherwise the
median of a map that is mostly one plane would explain anything."""
NEAR_ROUND = 0.05
"""How close a factor must be to a round one to be tried as it."""
ROUND_ERROR, ROUND_SHARE, ROUND_TIE = 1.25, 0.01, 0.002
"""The error that a round value may leave: this many times that of the best value and this part of the disparities;
round values whose errors differ by less than the last part are equally good."""
AS_GOOD, AS_NEAR = 1.5, 0.75
"""A simpler explanation is taken that leaves at most this many times the smallest error and this many px more."""
LARGEST_ROUND, ROUND_HALVES = 10, (1.5, 2.5)
"""Whole numbers up to this one are round factors, and these."""
FALLS = -0.3
"""The rank correlation below which no shift explains a map."""
CUT_SHARE = 0.005
"""The share of values at 255 from which 8 bits seem to have cut them off."""
LARGEST_8_BIT = 255
FALLING, RISING = -0.5, 0.3
"""The rank correlation below which one map falls where the other rises, and above which both rise."""
NEAR = 0.1
"""How close depths of a calibration must be to the other map's disparities, as a part of these, to be taken for them.
Where neither map rises or falls: half of it, and half of what the maps differ by as they are."""
BETTER = 0.7
"""Part of the other fit's error that a fit must leave, for one map to be named as depth."""
APART = 3.0
"""How many times larger one median must be for the smaller one to be taken for metres."""


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


def wrong_values(
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
    explanations = _explanations(rest, calibration, file)
    errors = [rest.error_of(one.corrected(rest.found)) for one in explanations]
    spread = float(np.mean(np.abs(rest.known - median(rest.known))))
    enough = min(TELLING * rest.error, rest.tolerance, EXPLAINED * spread + 1e-3 * rest.typical)
    if not min(errors, default=math.inf) <= enough:
        return None
    left = {one: rest.clipped_error(one.corrected(rest.found)) for one in explanations}
    constant = rest.clipped_error(np.full_like(rest.known, median(rest.known)))
    explained = CLEARER * constant
    if min(left.values()) > explained:
        return None
    exact = [one for one in explanations if one.settings and left[one] <= explained]
    best = min(exact, key=lambda one: left[one], default=None)
    if best is None or left[best] > AS_GOOD * min(left.values()) + AS_NEAR:
        inexact = [one for one in explanations if not one.settings]
        good = AS_GOOD * min(left[one] for one in inexact) + ROUND_SHARE * rest.typical
        best = next(one for one in inexact if left[one] <= good)
    lost = [code for code in codes if pair.is_wrong(code, best.corrected)]
    return Suspicion(best.kind, best.said(unknown_setting(lost, file) if lost else ""))


def _explanations(pair: SampledPair, calibration: Calibration, file: DisparityFile | None) -> list[Correction]:
    """The map as a·d, d + b or a·d + b; settings correct it where the value of the first two is a round one."""
    scale, offset = (1.0, 0.0) if file is None else (file.per_px, file.offset)
    found: list[Correction] = []
    ratio, shift = pair.ratio, median(pair.found - pair.known)
    if ratio and abs(ratio - 1) > NEAR_ROUND:
        rounded = _first_as_good(ratio, round_factors(pair), lambda factor: pair.found / factor, pair)
        factor = ratio if rounded is None else rounded
        size, sign = abs(factor), " and of the wrong sign" if factor < 0 else ""
        times = f"{size:.3g} times too large" if size > 1 else f"{1 / size:.3g} times too small"
        kind, words = "wrong-scale", f"The disparities are about {times}{sign} ({pair.medians} px)"
        if factor == -1:
            kind, words = "negated", f"The sign is reversed ({pair.medians} px)"
        settings = "" if rounded is None else _settings(file, scale * rounded, offset / rounded)
        found.append(Correction(kind, lambda values: values / factor, words, settings, "; no round scale explains it."))
    if rank_correlation(pair.found, pair.known) < FALLS:
        return found + _line(pair)  # no shift makes a map rise that falls
    steps = [math.copysign(calibration.doffs, shift)] if _is_doffs(shift, calibration) else [float(round(shift))]
    whole = _first_as_good(shift, steps, lambda step: pair.found - step, pair)
    step, words = shift if whole is None else whole, _offset_words(pair, shift, calibration)
    settings = "" if whole is None else _settings(file, scale, offset - whole)
    found.append(Correction("offset", lambda values: values - step, words, settings, "."))
    return found + _line(pair)


def _first_as_good(
    best: float, candidates: Sequence[float], corrected: Callable[[float], Values], pair: SampledPair
) -> float | None:
    """The best of the round values, where it corrects the map about as well as the best of all values; else None."""
    errors = {value: pair.error_of(corrected(value)) for value in candidates}
    enough = ROUND_ERROR * pair.error_of(corrected(best)) + ROUND_SHARE * pair.typical
    smallest = min(errors.values(), default=math.inf)
    if smallest > enough:
        return None
    return next(value for value in candidates if errors[value] <= smallest + ROUND_TIE * pair.typical)


def round_factors(pair: SampledPair) -> list[float]:
    """The round factors near the ratio of two maps: powers of two and of ten, 255, small whole numbers, the width of
    the image, by which normalised disparities were divided; or their reciprocals.
    """
    if not pair.ratio:
        return []
    size, sign = abs(pair.ratio), math.copysign(1.0, pair.ratio)
    whole = size if size >= 1 else 1 / size
    near = [2.0 ** round(math.log2(whole)), 10.0 ** round(math.log10(whole)), float(LARGEST_8_BIT), *ROUND_HALVES]
    near += [float(pair.truth.shape[1]), *([float(round(whole))] if whole <= LARGEST_ROUND + 0.5 else [])]
    close = [value for value in near if abs(value - whole) <= NEAR_ROUND * whole]
    factors = [sign * (value if size >= 1 else 1 / value) for value in dict.fromkeys(close)]
    return [factor for factor in factors if factor != 1]


def _line(pair: SampledPair) -> list[Correction]:
    """The map as a·d + b: stretched or inverted for display, or normalised."""
    slope, _ = _robust_line(pair.known, pair.found)
    if not slope:
        return []
    shift = median(pair.found - slope * pair.known)
    done = "stretched" if slope > 0 else "inverted"
    words = (
        f"The disparities are scaled and shifted ({pair.medians} px), about {slope:.3g} times the true ones and "
        f"{shift:+.3g}: was the map {done} for display? Save the disparities themselves."
    )
    return [Correction("wrong-scale", lambda values: (values - shift) / slope, words)]


def _robust_line(x: Values, y: Values) -> tuple[float, float]:
    """Slope and rest of y over x, by least squares without the pixels that are far from the line; (0, 0) = none."""
    kept = np.ones(x.size, bool)
    slope = rest = 0.0
    for _ in range(5):
        if kept.sum() < 2 or np.ptp(x[kept]) == 0:
            return 0.0, 0.0
        slope, rest = np.polyfit(x[kept], y[kept], 1)
        error = np.abs(y - slope * x - rest)
        kept = error <= 2 * median(error) + 1e-9
    return float(slope), float(rest)


def _unexplained(x: Values, y: Values) -> float:
    """What the best line through x and y leaves of the error that the best constant has; 1 = all of it."""
    slope, rest = _robust_line(x, y)
    spread = float(np.mean(np.abs(y - median(y))))
    return median(np.abs(y - slope * x - rest)) / spread if slope and spread else 1.0


def _relative_error(found: Values, known: Values) -> float:
    """The median error as a part of the median true value."""
    return median_error(found, known) / median(known)


def _is_doffs(shift: float, calibration: Calibration) -> bool:
    return bool(calibration.doffs) and math.isclose(abs(shift), abs(calibration.doffs), rel_tol=0.05)


def _offset_words(pair: SampledPair, shift: float, calibration: Calibration) -> str:
    words = f"{abs(shift):.4g} px too {'large' if shift > 0 else 'small'}"
    if _is_doffs(shift, calibration):
        done = "added to" if shift * calibration.doffs > 0 else "subtracted from"
        words += f", as if the calibration's doffs of {calibration.doffs:g} px had been {done} them"
    return f"The disparities are {words} ({pair.medians} px)"


def _without_end(pair: SampledPair) -> SampledPair:
    """The samples without those at 255, where there are enough of these to suggest that 8 bits cut them off."""
    at_end = pair.estimates == LARGEST_8_BIT
    if not pair.found.size or pair.found.max() > LARGEST_8_BIT or not CUT_SHARE < np.mean(at_end) < 1 - CUT_SHARE:
        return pair
    return pair.without([LARGEST_8_BIT])


def _settings(file: DisparityFile | None, scale: float, offset: float) -> str:
    """The settings that read the file with another scale and offset."""
    parts = ["encoding to middlebury"] if file is not None and file.is_kitti and not file.scale else []
    parts += [f"scale to {scale:.6g}"] if scale != 1 or parts or not offset else []
    parts += [f"offset to {offset:.4g}"] if abs(offset) > 1e-6 else []
    return ", ".join(parts)


class DepthMap(NamedTuple):
    """Which of the two maps holds depth, "estimate", "truth" or "" (not known), and its encoding or ""."""

    which: str
    encoding: str = ""


def depth_doubt(pair: SampledPair, calibration: Calibration, file: DisparityFile | None) -> Suspicion | None:
    """One sentence if either map holds depth, else None; `file` is what the estimate was read from."""
    encoding = None if file is None else file.encoding
    if encoding in DEPTH_UNITS:
        return _other_unit(pair, calibration, encoding) or _truth_too(pair)
    usable = (pair.found > 0) & (pair.known > 0)
    if usable.mean() <= 0.5:
        return None
    found, known = pair.found[usable], pair.known[usable]
    trend = rank_correlation(found, known)
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
    wrong, right = DEPTH_UNITS[encoding][0], DEPTH_UNITS[other][0]
    return Suspicion("depth", f"The depths are in {right}, not in {wrong}: set encoding to {other}.")


def _truth_too(pair: SampledPair) -> Suspicion | None:
    """Disparities made of depths that fall where the ground truth rises."""
    if rank_correlation(pair.found, pair.known) > FALLING or _unexplained(pair.found, pair.known) > EXPLAINED:
        return None
    return Suspicion(
        "depth",
        f"The disparities fall where those of the ground truth rise ({pair.medians}): if the ground truth is "
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
    for name, (_, per_metre) in DEPTH_UNITS.items():
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
    smaller = min(of_estimate, of_truth)
    if smaller > EXPLAINED or _unexplained(found, known) < BETTER * smaller:
        return None  # what a line explains better was inverted for display
    if max(median(found), median(known)) > width:  # no disparity is wider than the image
        return DepthMap(_larger_or_smaller(found, known, larger=True), "depth-mm")
    which = _larger_or_smaller(found, known, larger=False)
    if not which and min(of_estimate, of_truth) < BETTER * max(of_estimate, of_truth):
        which = "estimate" if of_estimate < of_truth else "truth"
    return DepthMap(which)


def _larger_or_smaller(found: Values, known: Values, *, larger: bool) -> str:
    """The map with the larger or smaller median: millimetres are larger than disparities, metres mostly smaller."""
    ratio = median(found) / median(known)
    if 1 / APART < ratio < APART:
        return ""
    return "estimate" if (ratio > 1) == larger else "truth"


def _said(pair: SampledPair, depth: DepthMap, calibration: Calibration) -> str:
    known = calibration.focal_baseline is not None
    camera = "the calibration" if known else "the calibration (focal length and baseline)"
    fall = f"The values fall where those of the ground truth rise ({pair.medians})"
    if not depth.which:
        either, or_truth = _depth_settings("encoding", depth), _depth_settings("gt-encoding", depth)
        give = f"set {either}, or {or_truth} if it is the ground truth, with {camera}"
        return f"{fall}: one of the two maps is depth; {give}."
    truth = depth.which == "truth"
    settings = _depth_settings("gt-encoding" if truth else "encoding", depth)
    if known and depth.encoding:
        whose = "The values of the ground truth" if truth else "The values"
        unit = DEPTH_UNITS[depth.encoding][0]
        return (
            f"{whose} are depths in {unit}, not disparities ({pair.medians}): set {settings}, which takes the "
            "calibration."
        )
    return f"{fall}: {'the ground truth looks' if truth else 'they look'} like depth; set {settings} and give {camera}."


def _depth_settings(name: str, depth: DepthMap) -> str:
    return f"{name} to {' or '.join([depth.encoding] if depth.encoding else DEPTH_UNITS)}"
