"""Whether a map or its ground truth holds depth instead of disparity, found by measuring one against the other.

Depth falls where disparity rises, Z = f·B / (d + doffs). With a calibration the values themselves tell which of the two
maps is depth, and in which unit; without one, the fit of 1/x, values that no disparity has, or the medians do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.datasets.misplaced import SampledPair, Suspicion
from stereogauge.model import Calibration

UNITS = {"depth-m": ("metres", 1.0), "depth-mm": ("millimetres", 1000.0)}
"""Encodings that hold depth, with their unit and how many of it make a metre."""
KITTI_SCALE = 256.0
"""What a 16-bit PNG is divided by where no encoding is given, also when it holds millimetres."""
FALLING, RISING = -0.5, 0.3
"""The rank correlation below which one map falls where the other rises, and above which both rise."""
EXPLAINED = 0.5
"""1/x must leave less than this part of the error that the best constant map has."""
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


class DepthMap(NamedTuple):
    """Which of the two maps holds depth, "estimate", "truth" or "" when it cannot be told, and its encoding or ""."""

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
    """The map that is depth, of two of which one falls where the other rises."""
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
        either, or_truth = _settings("encoding", depth), _settings("gt-encoding", depth)
        give = f"set {either}, or {or_truth} if it is the ground truth, with {camera}"
        return f"{fall}: one of the two maps is depth; {give}."
    truth = depth.which == "truth"
    settings = _settings("gt-encoding" if truth else "encoding", depth)
    if known and depth.encoding:
        whose = "The values of the ground truth" if truth else "The values"
        unit = UNITS[depth.encoding][0]
        return (
            f"{whose} are depths in {unit}, not disparities ({_bare_medians(pair)}): set {settings}, which takes the "
            "calibration."
        )
    return f"{fall}: {'the ground truth looks' if truth else 'they look'} like depth; set {settings} and give {camera}."


def _settings(name: str, depth: DepthMap) -> str:
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
    error = np.abs(found - known)
    return float(np.median(np.where(np.isfinite(error), error, np.inf))) / float(np.median(known))


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
