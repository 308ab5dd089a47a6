"""Whether a map can be what it claims to be, judged against the ground truth: sign, scale, view.

These are the mistakes that give a score without an error message: values never divided by 256, a scale of 4 forgotten,
a negated map, the right view's map handed in for the left one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.model import DisparityMap

FACTORS = (256, 128, 64, 32, 16, 8, 4, 3, 2)
MOST_PIXELS = 10_000_000
"""Of larger maps every second, third, … row is looked at."""
SMALL_ERROR = 3.0
SMALL_SHARE = 0.15
TELLING = 0.25
"""A correction must bring the median error below this part of what it was."""
SWAP_DIFFERENCE, SWAP_RATIO = 0.08, 1.4
CLEAR_SWAP_SHARE, CLEAR_SWAP_RATIO = 0.01, 4.0


def suspicion(estimate: DisparityMap, truth: DisparityMap) -> tuple[str, str] | None:
    """(kind, sentence) of the likeliest mistake, or None; maps of one size, where both have values."""
    # Whole rows, since the view is judged along them.
    step = max(1, estimate.size // MOST_PIXELS)
    estimate, truth = estimate[::step], truth[::step]
    both = np.isfinite(estimate) & np.isfinite(truth)
    if not both.any():
        return None
    found, known = estimate[both].astype(np.float64), truth[both].astype(np.float64)
    error = _median_error(found, known)
    typical = float(np.median(np.abs(known)))
    if error > max(SMALL_ERROR, SMALL_SHARE * typical):
        return _negated(found, known, error) or _wrong_scale(found, known, error, typical)
    return _other_view(estimate, truth)


def _median_error(found: NDArray[np.float64], known: NDArray[np.float64]) -> float:
    return float(np.median(np.abs(found - known)))


def _negated(found: NDArray[np.float64], known: NDArray[np.float64], error: float) -> tuple[str, str] | None:
    if _median_error(-found, known) > TELLING * error:
        return None
    return (
        "negated",
        f"The sign is reversed: the median is {np.median(found):.4g} px where the ground truth has "
        f"{np.median(known):.4g} px.",
    )


def _wrong_scale(
    found: NDArray[np.float64], known: NDArray[np.float64], error: float, typical: float
) -> tuple[str, str] | None:
    candidates = [*FACTORS, *(1 / factor for factor in FACTORS)]
    remaining = {factor: _median_error(found / factor, known) for factor in candidates}
    best = min(candidates, key=lambda factor: remaining[factor])
    if remaining[best] > min(TELLING * error, max(SMALL_ERROR, SMALL_SHARE * typical)):
        return None
    nonzero = known != 0
    ratio = float(np.median(found[nonzero] / known[nonzero]))
    words = (
        f"{ratio:.3g} times too large"
        if ratio > 1
        else f"{1 / ratio:.3g} times too small"
        if ratio > 0
        else "wrongly scaled"
    )
    return (
        "wrong-scale",
        f"The disparities are about {words} (median {np.median(found):.4g} px, ground truth {np.median(known):.4g} "
        "px): give the right encoding, scale and offset.",
    )


def _other_view(estimate: DisparityMap, truth: DisparityMap) -> tuple[str, str] | None:
    """Whether the map fits the right view better, in which (x, y) with disparity d lies at (x − d, y)."""
    rows, columns = np.nonzero(np.isfinite(truth))
    known = truth[rows, columns]
    targets = columns - np.rint(known).astype(np.int64)
    inside = (targets >= 0) & (targets < truth.shape[1])
    rows, columns, targets, known = rows[inside], columns[inside], targets[inside], known[inside]
    if not known.size:
        return None
    tolerance = max(1.0, 0.05 * float(np.median(np.abs(known))))
    fits_left = np.abs(estimate[rows, columns] - known) <= tolerance
    fits_right = np.abs(estimate[rows, targets] - known) <= tolerance
    only_left, only_right = float(np.mean(fits_left & ~fits_right)), float(np.mean(fits_right & ~fits_left))
    clear = only_right > CLEAR_SWAP_SHARE and only_right > CLEAR_SWAP_RATIO * only_left
    likely = only_right - only_left > SWAP_DIFFERENCE and only_right > SWAP_RATIO * only_left
    if not (clear or likely):
        return None
    return (
        "swapped-views",
        f"The map fits the right view better than the left one ({np.mean(fits_right):.0%} against "
        f"{np.mean(fits_left):.0%} of the known pixels): were the views swapped?",
    )
