"""Whether one of two maps holds depth where the other holds disparities.

Depth falls where disparity rises, Z = f·B / (d + doffs). With a calibration the values themselves tell which of the two
maps is depth, and in which unit; without one, the fit of 1/x, values that no disparity has, or the medians do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stereogauge.datasets.agreement import (
    SampledPair,
    Values,
    bare_medians,
    rank_correlation,
    relative_error,
    unexplained,
)
from stereogauge.io.files import DisparityFile
from stereogauge.io.inspection import Suspicion
from stereogauge.io.png import KITTI_SCALE
from stereogauge.model import Calibration

UNITS = {"depth-m": ("metres", 1.0), "depth-mm": ("millimetres", 1000.0)}
"""Encodings that hold depth, with their unit and how many of it make a metre."""
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
    if relative_error(disparity, pair.known) > NEAR:
        return None
    return Suspicion(
        "depth", f"The depths are in {UNITS[other][0]}, not in {UNITS[encoding][0]}: set encoding to {other}."
    )


def _truth_too(pair: SampledPair) -> Suspicion | None:
    """Disparities made of depths that fall where the ground truth rises."""
    if rank_correlation(pair.found, pair.known) > FALLING or unexplained(pair.found, pair.known) > EXPLAINED:
        return None
    return Suspicion(
        "depth",
        f"The disparities fall where those of the ground truth rise ({bare_medians(pair)}): if the ground truth is "
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
        errors[DepthMap("estimate", name)] = relative_error(of_estimate, known)
        errors[DepthMap("truth", name)] = min(
            relative_error(product * per_metre / (known * scale) - calibration.doffs, found) for scale in scales
        )
    best = min(errors, key=lambda depth: errors[depth])
    falls = trend <= FALLING
    if errors[best] > (NEAR if falls else min(NEAR, relative_error(found, known)) / 2):
        return None
    other = DepthMap("truth" if best.which == "estimate" else "estimate", best.encoding)
    if errors[best] < BETTER * errors[other]:
        return best
    return DepthMap(_larger_or_smaller(found, known, larger=best.encoding == "depth-mm"), best.encoding)


def _by_shape(found: Values, known: Values, width: int) -> DepthMap | None:
    """The map that is depth, where one of the two falls where the other rises."""
    of_estimate, of_truth = unexplained(1 / found, known), unexplained(1 / known, found)
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
    fall = f"The values fall where those of the ground truth rise ({bare_medians(pair)})"
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
            f"{whose} are depths in {unit}, not disparities ({bare_medians(pair)}): set {settings}, which takes the "
            "calibration."
        )
    return f"{fall}: {'the ground truth looks' if truth else 'they look'} like depth; set {settings} and give {camera}."


def _depth_settings(name: str, depth: DepthMap) -> str:
    return f"{name} to {' or '.join([depth.encoding] if depth.encoding else UNITS)}"
