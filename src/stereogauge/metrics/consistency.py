"""Agreement of an algorithm's two maps with each other; needs no ground truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import SizeError
from stereogauge.metrics.costs import Costs
from stereogauge.metrics.declaration import Parameter, Statistic, metric
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture
from stereogauge.metrics.pooling import percent
from stereogauge.model import DisparityMap

TOLERANCE = Parameter(
    "threshold", unit="px", description="largest disagreement that still counts as agreement", low=0.0, high=1e4
)


def left_right_difference(left: DisparityMap, right: DisparityMap) -> NDArray[np.float32]:
    """|E_L(x) − E_R(round(x − E_L(x)))| in px; NaN where either is unknown or the target lies outside the image."""
    if left.shape != right.shape:
        raise SizeError(
            f"The left map is {left.shape[1]}×{left.shape[0]} and the right one {right.shape[1]}×{right.shape[0]}; "
            "both must have one size."
        )
    width = left.shape[1]
    columns = np.arange(width, dtype=np.float64) - left
    known = (columns >= -0.5) & (columns < width - 0.5)
    target = np.floor(np.where(known, columns, 0.0) + 0.5).astype(np.intp)
    found = np.take_along_axis(right, target, axis=1)
    return np.where(known, np.abs(left - found), np.float32(np.nan))


def _picture(m: Measurement, threshold: float) -> Picture:
    difference = left_right_difference(m.estimate, m.right_estimate)
    return Picture(
        f"left–right disagreement, limit {threshold:g} px",
        difference,
        "sequential",
        "px",
        (0.0, max(2.0 * threshold, 1.0)),
        missing=np.isnan(difference),
    )


def _costs(m: Measurement, region: str, threshold: float) -> Costs:
    difference = left_right_difference(m.estimate, m.right_estimate)
    unconfirmed = np.nan if m.protocol.invalid == "exclude" else 1.0
    return np.where(np.isnan(difference), unconfirmed, (difference > threshold).astype(np.float64))


@metric(
    id="lr-consistency",
    name="Left–right inconsistency",
    formula=r"\frac{100}{|R|} |\{x \in R : |E_L(x) - E_R(x - E_L(x))| > t\}|",
    unit="%",
    range=(0.0, 100.0),
    parameters=(TOLERANCE,),
    needs=("right_estimate",),
    source="Scharstein & Szeliski, IJCV 2002 (cross-checking)",
    missing="counted",
    finalize=percent,
    picture=_picture,
    costs=_costs,
    examples=("lr-consistency@1",),
    version=2,
)
def lr_consistency(m: Measurement, region: str, threshold: float) -> Statistic:
    """Share of pixels whose two disparities disagree by more than the threshold; 0 is full agreement, even where both
    are wrong.

    A pixel that the right map cannot confirm (no estimate on either side, or a target outside the image) disagrees;
    with the invalid policy `exclude` it is left out. Missing are those without an estimate on either side. On `all` a
    perfect pair of maps scores the share of occluded pixels, on `nonocc` it scores 0.
    """
    inside = m.mask(region)
    difference = left_right_difference(m.estimate, m.right_estimate)[inside]
    width = m.estimate.shape[1]
    target = (np.arange(width) - m.estimate)[inside]
    outside = (target < -0.5) | (target >= width - 0.5)
    compared = int(np.count_nonzero(np.isfinite(difference)))
    unconfirmed = difference.size - compared
    missing = unconfirmed - int(np.count_nonzero(outside))
    wrong = int(np.count_nonzero(difference > threshold))
    excluding = m.protocol.invalid == "exclude"
    count = compared if excluding else difference.size
    if count == 0:
        return Statistic.empty(f"no pixel of region {region!r} has two disparities to compare", missing)
    return Statistic(float(wrong if excluding else wrong + unconfirmed), count, missing)
