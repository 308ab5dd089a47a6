"""Metrics of depth Z = f·B / (d + doffs), in metres; they need a calibration.

Over V_Z: the pixels of the region whose true and estimated points both lie in front of the cameras; an estimated
point that does not counts as missing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence_measures.sparsification import LOWER_LIMIT, bad_depth
from stereogauge.metrics.costs import Costs, by_policy
from stereogauge.metrics.declaration import Parameter, Statistic, metric
from stereogauge.metrics.error_pictures import signed_picture, two_class_picture
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture
from stereogauge.metrics.pooling import mean, percent, root_mean

NEEDS = ("gt", "calibration")
EIGEN = "Eigen, Puhrsch & Fergus, NIPS 2014"
Depths = NDArray[np.float64]


def depth_pair(m: Measurement) -> tuple[Depths, Depths]:
    """True and estimated depth, NaN where undefined."""
    return m.scene.calibration.depth(m.gt), m.scene.calibration.depth(m.estimate)


def _averaged(
    m: Measurement,
    region: str,
    error: Callable[[Depths, Depths], Depths],
) -> Statistic:
    inside = m.mask(region)
    truth, estimate = (depth[inside] for depth in depth_pair(m))
    values = error(truth, estimate)
    defined = np.isfinite(values)
    missing = int(np.count_nonzero(np.isnan(estimate) & np.isfinite(truth)))
    count = int(np.count_nonzero(defined))
    if count == 0:
        return Statistic.empty(f"no pixel of region {region!r} has a true and an estimated depth", missing)
    return Statistic(float(values[defined].sum()), count, missing)


def _absolute(truth: Depths, estimate: Depths) -> Depths:
    return np.abs(estimate - truth)


def _squared(truth: Depths, estimate: Depths) -> Depths:
    return (estimate - truth) ** 2


def _relative(truth: Depths, estimate: Depths) -> Depths:
    return np.abs(estimate - truth) / truth


def _squared_relative(truth: Depths, estimate: Depths) -> Depths:
    return (estimate - truth) ** 2 / truth


def _squared_log(truth: Depths, estimate: Depths) -> Depths:
    return np.log(estimate / truth) ** 2


def _within(ratio: float) -> Callable[[Depths, Depths], Depths]:
    def within(truth: Depths, estimate: Depths) -> Depths:
        ratios = np.maximum(estimate / truth, truth / estimate)
        return np.where(np.isnan(ratios), np.nan, ratios < ratio)

    return within


def _costs(error: Callable[[Depths, Depths], Depths]) -> Callable[[Measurement, str], Costs]:
    return lambda m, region: error(*depth_pair(m))


def _difference_picture(m: Measurement, *_: float) -> Picture:
    truth, estimate = depth_pair(m)
    difference = estimate - truth
    inside = np.abs(difference[m.regions.known & np.isfinite(difference)])
    limit = float(np.quantile(inside, 0.95)) if inside.size else 1.0
    return signed_picture(m, "depth error Z_E − Z_D", difference, "m", limit or 1.0)


@metric(
    id="z-mae",
    name="Mean absolute depth error",
    formula=r"\frac{1}{|V|}\sum_V |Z_E - Z_D|",
    unit="m",
    source=EIGEN,
    missing="left out",
    needs=NEEDS,
    finalize=mean,
    picture=_difference_picture,
    costs=_costs(_absolute),
    version=2,
)
def z_mae(m: Measurement, region: str) -> Statistic:
    """Mean size of the depth error."""
    return _averaged(m, region, _absolute)


@metric(
    id="z-rms",
    name="Root mean squared depth error",
    formula=r"\sqrt{\tfrac{1}{|V|}\sum_V (Z_E - Z_D)^2}",
    unit="m",
    source=EIGEN,
    missing="left out",
    needs=NEEDS,
    finalize=root_mean,
    picture=_difference_picture,
    costs=_costs(_squared),
    version=2,
)
def z_rms(m: Measurement, region: str) -> Statistic:
    """Root of the mean squared depth error."""
    return _averaged(m, region, _squared)


@metric(
    id="z-abs-rel",
    name="Mean relative depth error",
    formula=r"\frac{1}{|V|}\sum_V |Z_E - Z_D| / Z_D",
    unit="",
    source=EIGEN,
    missing="left out",
    needs=NEEDS,
    finalize=mean,
    picture=_difference_picture,
    costs=_costs(_relative),
    version=2,
)
def z_abs_rel(m: Measurement, region: str) -> Statistic:
    """Mean depth error relative to the true depth."""
    return _averaged(m, region, _relative)


@metric(
    id="z-sq-rel",
    name="Mean squared relative depth error",
    formula=r"\frac{1}{|V|}\sum_V (Z_E - Z_D)^2 / Z_D",
    unit="m",
    source=EIGEN,
    missing="left out",
    needs=NEEDS,
    finalize=mean,
    picture=_difference_picture,
    costs=_costs(_squared_relative),
    version=2,
)
def z_sq_rel(m: Measurement, region: str) -> Statistic:
    """Mean squared depth error over the true depth."""
    return _averaged(m, region, _squared_relative)


@metric(
    id="z-log-rms",
    name="Root mean squared log depth error",
    formula=r"\sqrt{\tfrac{1}{|V|}\sum_V (\ln Z_E - \ln Z_D)^2}",
    unit="",
    source=EIGEN,
    missing="left out",
    needs=NEEDS,
    finalize=root_mean,
    picture=_difference_picture,
    costs=_costs(_squared_log),
    version=2,
)
def z_log_rms(m: Measurement, region: str) -> Statistic:
    """Root of the mean squared difference of the depths' logarithms."""
    return _averaged(m, region, _squared_log)


@metric(
    id="z-delta",
    name="Depth within a ratio",
    formula=r"\frac{1}{|V|}\,|\{x \in V : \max(Z_E/Z_D, Z_D/Z_E) < t\}|",
    unit="",
    direction="higher",
    range=(0.0, 1.0),
    source=EIGEN,
    missing="left out",
    needs=NEEDS,
    finalize=mean,
    picture=_difference_picture,
    costs=lambda m, region, ratio: 1.0 - _within(ratio)(*depth_pair(m)),
    parameters=(Parameter("ratio", description="largest ratio of the two depths", low=1.0, high=1e3),),
    examples=("z-delta@1.25",),
    version=2,
)
def z_delta(m: Measurement, region: str, ratio: float) -> Statistic:
    """Share of pixels whose depth is right to within a ratio."""
    return _averaged(m, region, _within(ratio))


def _bad_depth_costs(m: Measurement, region: str, tolerance: float, limit: float) -> Costs:
    in_front = m.gt + np.float32(m.scene.calibration.doffs) > 0
    wrong = bad_depth(m.estimate, m.gt, m.scene.calibration, tolerance, limit)
    return np.where(in_front, by_policy(m, wrong), np.nan)


def _bad_depth_picture(m: Measurement, tolerance: float, limit: float) -> Picture:
    title = f"depth off by more than {tolerance:g} m, disparity by more than {limit:g} px"
    wrong = bad_depth(m.estimate, m.gt, m.scene.calibration, tolerance, limit)
    return two_class_picture(m, title, wrong, "within tolerance", "beyond tolerance")


@metric(
    id="bad-z",
    name="Bad depth",
    formula=r"\frac{100}{|R|}\,|\{x : |Z_E - Z_D| > \max(t,\, Z(D - l) - Z(D))\}|",
    unit="%",
    range=(0.0, 100.0),
    source="a tolerance in physical distance with a lower limit in disparity",
    missing="counted",
    needs=NEEDS,
    finalize=percent,
    parameters=(
        Parameter("tolerance", unit="m", description="largest depth error that is good", low=0.0, high=1e6),
        Parameter("limit", unit="px", description="disparity error that is always good", low=0.0, default=LOWER_LIMIT),
    ),
    picture=_bad_depth_picture,
    costs=_bad_depth_costs,
    examples=("bad-z@0.1", "bad-z@1,3"),
)
def bad_z(m: Measurement, region: str, tolerance: float, limit: float) -> Statistic:
    """Share of pixels whose depth is off by more than t metres and by more than the depth of l px, by default half a
    pixel.
    """
    inside = m.mask(region) & (m.gt + np.float32(m.scene.calibration.doffs) > 0)
    missing = int(np.count_nonzero(inside & np.isnan(m.estimate)))
    size = int(np.count_nonzero(inside))
    leave_out = m.protocol.invalid == "exclude"
    count = size - missing if leave_out else size
    if count == 0:
        return Statistic.empty(f"no pixel of region {region!r} has a depth to compare", missing)
    wrong = bad_depth(m.estimate, m.gt, m.scene.calibration, tolerance, limit)
    bad = int(np.count_nonzero(wrong & inside)) + (0 if leave_out else missing)
    return Statistic(float(bad), count, missing)
