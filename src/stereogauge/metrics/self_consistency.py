"""Metrics of a map by itself, without ground truth: its smoothness, and whether both views' maps agree.

A smooth map may be wrong everywhere, and a true depth edge is steep: read these beside a metric that knows the
truth.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import check_one_size
from stereogauge.metrics.costs import PixelCosts
from stereogauge.metrics.declaration import Parameter, percentage
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture, heat
from stereogauge.model import DisparityMap, Mask

CABEZAS = "described in Cabezas, Padilla & Trujillo, CIARP 2011"
SLOPE = Parameter("threshold", unit="px/px", description="steepest slope that is still smooth", low=0.0, high=1e4)
BEND = Parameter("threshold", unit="px/px²", description="strongest bend that is still smooth", low=0.0, high=1e4)
TOLERANCE = Parameter(
    "threshold", unit="px", description="largest disagreement that still counts as agreement", low=0.0, high=1e4
)


def gradient_length(disparity: NDArray[np.float32]) -> NDArray[np.float32]:
    """|∇E| by central differences in px per px; NaN at the image's edge and beside missing estimates."""
    length = np.full(disparity.shape, np.nan, np.float32)
    across = disparity[1:-1, 2:] - disparity[1:-1, :-2]
    down = disparity[2:, 1:-1] - disparity[:-2, 1:-1]
    inner = 0.5 * np.hypot(across, down)
    length[1:-1, 1:-1] = np.where(np.isfinite(disparity[1:-1, 1:-1]), inner, np.nan)
    return length


def acceleration(disparity: NDArray[np.float32]) -> NDArray[np.float32]:
    """|ΔE|, the absolute 4-neighbour Laplacian; NaN at the image's edge and beside missing estimates."""
    bend = np.full(disparity.shape, np.nan, np.float32)
    centre = disparity[1:-1, 1:-1]
    around = disparity[1:-1, 2:] + disparity[1:-1, :-2] + disparity[2:, 1:-1] + disparity[:-2, 1:-1]
    bend[1:-1, 1:-1] = np.abs(around - 4.0 * centre)
    return bend


def _share_above(values: NDArray[np.float32], threshold: float) -> PixelCosts:
    """Verdicts on the pixels that have four neighbours."""
    inner: Mask = np.zeros(values.shape, np.bool_)
    inner[1:-1, 1:-1] = True
    verdict = np.where(np.isnan(values), np.nan, values > threshold)
    return PixelCosts(verdict, defined=inner, empty="no pixel of region {region!r} has an estimate and four neighbours")


def _sizes(
    what: str, unit: str, values: Callable[[Measurement], NDArray[np.float32]]
) -> Callable[[Measurement, float], Picture]:
    """Draws the sizes that are compared with the threshold."""

    def picture(m: Measurement, threshold: float) -> Picture:
        return heat(m, None, f"{what}, limit {threshold:g}", values(m), unit, max(2.0 * threshold, 1.0))

    return picture


@percentage(
    id="smooth-gradient",
    name="Disparity gradient index",
    formula=r"\frac{100}{|V|} |\{x \in V : \|\nabla E(x)\| > t\}|",
    parameters=(SLOPE,),
    needs=(),
    source=CABEZAS,
    missing="left out",
    wrong=("slope of at most {0:g}", "steeper than {0:g}"),
    picture=_sizes("slope |∇E|", "px/px", lambda m: gradient_length(m.estimate)),
    examples=("smooth-gradient@1",),
    version=2,
)
def smooth_gradient(m: Measurement, threshold: float) -> PixelCosts:
    """Share of pixels steeper than the threshold, of those with an estimate and four known neighbours; 0 is a gentle
    map.

    Central differences. Needs no ground truth, and a constant map scores 0 whatever the scene.
    """
    return _share_above(gradient_length(m.estimate), threshold)


@percentage(
    id="smooth-acceleration",
    name="Disparity acceleration index",
    formula=r"\frac{100}{|V|} |\{x \in V : |\Delta E(x)| > t\}|",
    parameters=(BEND,),
    needs=(),
    source=CABEZAS,
    missing="left out",
    wrong=("bent by at most {0:g}", "bent by more than {0:g}"),
    picture=_sizes("bend |ΔE|", "px/px²", lambda m: acceleration(m.estimate)),
    examples=("smooth-acceleration@1",),
    version=2,
)
def smooth_acceleration(m: Measurement, threshold: float) -> PixelCosts:
    """Share of pixels whose 4-neighbour Laplacian exceeds the threshold; 0 where the map is piecewise planar without
    edges.

    Measured where the pixel and its four neighbours have estimates. Needs no ground truth.
    """
    return _share_above(acceleration(m.estimate), threshold)


def left_right_difference(left: DisparityMap, right: DisparityMap) -> NDArray[np.float32]:
    """|E_L(x) − E_R(round(x − E_L(x)))| in px; NaN where either is unknown or the target lies outside the image."""
    check_one_size("The left map", left.shape, "the right one", right.shape)
    width = left.shape[1]
    columns = np.arange(width, dtype=np.float64) - left
    known = (columns >= -0.5) & (columns < width - 0.5)
    target = np.floor(np.where(known, columns, 0.0) + 0.5).astype(np.intp)
    found = np.take_along_axis(right, target, axis=1)
    return np.where(known, np.abs(left - found), np.float32(np.nan))


@percentage(
    id="lr-consistency",
    name="Left–right inconsistency",
    formula=r"\frac{100}{|R|} |\{x \in R : |E_L(x) - E_R(x - E_L(x))| > t\}|",
    parameters=(TOLERANCE,),
    needs=("right_estimate",),
    source="Scharstein & Szeliski, IJCV 2002 (cross-checking)",
    missing="counted",
    wrong=("agree within {0:g} px", "disagree by more than {0:g} px, or cannot be compared"),
    picture=_sizes("left–right disagreement", "px", lambda m: left_right_difference(m.estimate, m.right_estimate)),
    examples=("lr-consistency@1",),
    version=2,
)
def lr_consistency(m: Measurement, threshold: float) -> PixelCosts:
    """Share of pixels whose two disparities disagree by more than the threshold; 0 is full agreement, even where both
    are wrong.

    A pixel that the right map cannot confirm (no estimate on either side, or a target outside the image) disagrees;
    with the invalid policy `exclude` it is left out. Missing are those without an estimate on either side. On `all` a
    perfect pair of maps scores the share of occluded pixels, on `nonocc` it scores 0.
    """
    difference = left_right_difference(m.estimate, m.right_estimate)
    width = m.estimate.shape[1]
    target = np.arange(width) - m.estimate
    outside = (target < -0.5) | (target >= width - 0.5)
    verdict = np.where(np.isnan(difference), np.nan, difference > threshold)
    empty = "no pixel of region {region!r} has two disparities to compare"
    if m.protocol.invalid == "exclude":
        return PixelCosts(verdict, defined=~outside, empty=empty)
    return PixelCosts(np.where(outside, 1.0, verdict), empty=empty)
