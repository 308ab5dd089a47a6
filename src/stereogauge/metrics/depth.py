"""Metrics of depth Z = f·B / (d + doffs), in metres, and the Sigma-Z-Error.

Metrics of depth need a calibration. They are taken over the pixels V of the region whose true and estimated points both
lie in front of the cameras; an estimated point that does not counts as missing.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence_measures.sparsification import LOWER_LIMIT, bad_depth
from stereogauge.kernels.pixelwise import literal_depth
from stereogauge.metrics.costs import Costs, PixelCosts, emptiness, mean, plain_sum, root_mean
from stereogauge.metrics.declaration import Parameter, Statistic, map_metric, metric, percentage
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture, heat, usual_limit
from stereogauge.metrics.statistics import PassRequest
from stereogauge.protocol import EITHER_UNIT

NEEDS = ("gt", "calibration")
EIGEN = "Eigen, Puhrsch & Fergus, NIPS 2014"
CABEZAS = "Cabezas, Padilla & Trujillo, CIARP 2011"
NO_DEPTH = "no pixel of region {region!r} has a true and an estimated depth"
DISTANCE = (
    Parameter("tolerance", unit="m", description="largest depth error that is good", low=0.0, high=1e6),
    Parameter("limit", unit="px", description="disparity error that is always good", low=0.0, default=LOWER_LIMIT),
)
Depths = NDArray[np.float64]


def _depths(m: Measurement) -> tuple[Depths, Depths]:
    """True and estimated depth, NaN where undefined; the estimated one clipped to the protocol's range.

    With a largest depth, a disparity of 0 is a point at infinity, and is clipped to it.
    """
    calibration, limits = m.scene.calibration, m.protocol.depth
    truth, estimate = calibration.depth(m.gt), calibration.depth(m.estimate)
    if limits.most is not None:
        estimate = np.where(m.estimate + calibration.doffs == 0, np.inf, estimate)
    return truth, np.clip(estimate, limits.least or None, limits.most) if limits.least or limits.most else estimate


def _compared(m: Measurement, cost: Callable[[Depths, Depths], Depths]) -> PixelCosts:
    """The cost of the true and the estimated depth, defined where the true point lies in front of the cameras."""
    truth, estimate = _depths(m)
    return PixelCosts(cost(truth, estimate), defined=np.isfinite(truth), empty=NO_DEPTH)


def _difference_picture(m: Measurement, *_: float) -> Picture:
    truth, estimate = _depths(m)
    difference = estimate - truth
    limit = usual_limit(np.where(m.regions.known, difference, np.nan), 0.95)
    return heat(m, None, "depth error Z_E − Z_D", difference, "m", limit, signed=True)


_depth_metric = functools.partial(
    metric, source=EIGEN, missing="left out", needs=NEEDS, picture=_difference_picture, version=2
)


@_depth_metric(
    id="z-mae",
    name="Mean absolute depth error",
    formula=r"\frac{1}{|V|}\sum_V |Z_E - Z_D|",
    unit="m",
    reduce=mean,
    worst_pixel=lambda scene: scene.far - scene.near,
)
def z_mae(m: Measurement) -> PixelCosts:
    """Mean size of the depth error."""
    return _compared(m, lambda truth, estimate: np.abs(estimate - truth))


@_depth_metric(
    id="z-rms",
    name="Root mean squared depth error",
    formula=r"\sqrt{\tfrac{1}{|V|}\sum_V (Z_E - Z_D)^2}",
    unit="m",
    reduce=root_mean,
    worst_pixel=lambda scene: (scene.far - scene.near) ** 2,
)
def z_rms(m: Measurement) -> PixelCosts:
    """Root of the mean squared depth error."""
    return _compared(m, lambda truth, estimate: (estimate - truth) ** 2)


@_depth_metric(
    id="z-abs-rel",
    name="Mean relative depth error",
    formula=r"\frac{1}{|V|}\sum_V |Z_E - Z_D| / Z_D",
    unit="",
    reduce=mean,
    worst_pixel=lambda scene: (scene.far - scene.near) / scene.near,
)
def z_abs_rel(m: Measurement) -> PixelCosts:
    """Mean depth error relative to the true depth."""
    return _compared(m, lambda truth, estimate: np.abs(estimate - truth) / truth)


@_depth_metric(
    id="z-sq-rel",
    name="Mean squared relative depth error",
    formula=r"\frac{1}{|V|}\sum_V (Z_E - Z_D)^2 / Z_D",
    unit="m",
    reduce=mean,
    worst_pixel=lambda scene: (scene.far - scene.near) ** 2 / scene.near,
)
def z_sq_rel(m: Measurement) -> PixelCosts:
    """Mean squared depth error over the true depth."""
    return _compared(m, lambda truth, estimate: (estimate - truth) ** 2 / truth)


@_depth_metric(
    id="z-log-rms",
    name="Root mean squared log depth error",
    formula=r"\sqrt{\tfrac{1}{|V|}\sum_V (\ln Z_E - \ln Z_D)^2}",
    unit="",
    reduce=root_mean,
    worst_pixel=lambda scene: math.log(scene.far / scene.near) ** 2,
)
def z_log_rms(m: Measurement) -> PixelCosts:
    """Root of the mean squared difference of the depths' logarithms."""
    return _compared(m, lambda truth, estimate: np.log(estimate / truth) ** 2)


@_depth_metric(
    id="z-delta",
    name="Depth within a ratio",
    formula=r"\frac{1}{|V|}\,|\{x \in V : \max(Z_E/Z_D, Z_D/Z_E) < t\}|",
    unit="",
    direction="higher",
    range=(0.0, 1.0),
    parameters=(Parameter("ratio", description="largest ratio of the two depths", low=1.0, high=1e3),),
    reduce=mean,
    wrong=("within a ratio of {0:g}", "off by a larger ratio"),
    examples=("z-delta@1.25",),
)
def z_delta(m: Measurement, ratio: float) -> PixelCosts:
    """Share of pixels whose depth is right to within a ratio."""

    def within(truth: Depths, estimate: Depths) -> Depths:
        ratios = np.maximum(estimate / truth, truth / estimate)
        return np.where(np.isnan(ratios), np.nan, ratios < ratio)

    return _compared(m, within)


@percentage(
    id="bad-z",
    name="Bad depth",
    formula=r"\frac{100}{|R|}\,|\{x : |Z_E - Z_D| > t \wedge |E - D| > l\}|",
    source="a tolerance in physical distance with a lower limit in disparity",
    missing="counted",
    needs=NEEDS,
    parameters=DISTANCE,
    wrong=("within {0:g} m or {1:g} px", "off by more than {0:g} m and {1:g} px"),
    examples=("bad-z@0.1", "bad-z@1,3"),
    version=3,
)
def bad_z(m: Measurement, tolerance: float, limit: float) -> PixelCosts:
    """Share of pixels whose depth is off by more than t metres and whose disparity is off by more than l px."""
    calibration = m.scene.calibration
    wrong = bad_depth(m.estimate, m.gt, calibration, tolerance, limit)
    in_front = m.gt + np.float32(calibration.doffs) > 0
    return PixelCosts(np.where(np.isnan(m.estimate), np.nan, wrong), defined=in_front, empty=NO_DEPTH)


def sigma_z_map(m: Measurement, region: str = "all") -> Costs:
    """|fB/(D+μ) − fB/(E+μ)| per pixel, charges included; NaN where it is not defined."""
    focal_baseline, doffs = m.depth_scale
    parameters = m.protocol.sigma_z
    excluding = m.protocol.invalid == "exclude"
    truth, estimate = m.gt.astype(np.float64) + doffs, m.estimate.astype(np.float64) + doffs
    if parameters.literal:
        estimate = estimate if excluding else np.where(np.isnan(estimate), doffs, estimate)
        return np.abs(focal_baseline / (truth + parameters.mu) - focal_baseline / (estimate + parameters.mu))
    truth, estimate = (focal_baseline / (np.where(v > 0, v, np.nan) + parameters.mu) for v in (truth, estimate))
    error = np.abs(truth - estimate)
    if excluding:
        return error
    ends = focal_baseline / (np.array(m.in_front(doffs)) + parameters.mu)
    return np.where(np.isnan(estimate), np.maximum(np.abs(truth - ends[0]), np.abs(truth - ends[1])), error)


def _request_depth() -> PassRequest:
    return PassRequest(depth=True)


def _literal(m: Measurement, region: str) -> Statistic:
    """The paper's own form: a missing estimate is a disparity of 0, a point behind the cameras one like any other."""
    pixels = m.pixels(region)
    charge = m.protocol.invalid != "exclude"
    (labels,) = m.regions.labels((region,))
    sums = np.zeros(len(labels.values))
    focal_baseline, doffs = m.depth_scale
    mu = doffs + m.protocol.sigma_z.mu
    estimate, truth = np.ascontiguousarray(m.estimate), np.ascontiguousarray(m.gt)
    literal_depth(estimate, truth, labels.slots, focal_baseline, mu, charge, sums)
    count = pixels.size if charge else pixels.valid
    if count == 0:
        return Statistic.empty(emptiness(region, pixels.size), pixels.missing)
    return Statistic(float(sums[labels.values == 1].sum()), count, pixels.missing)


def _sigma_z(m: Measurement, region: str) -> Statistic:
    parameters = m.protocol.sigma_z
    if parameters.literal:
        return _literal(m, region)
    pixels, depth = m.pixels(region), m.statistics(region).depth(region)
    charge = m.protocol.invalid != "exclude"
    # An estimate at infinity or behind the cameras is an estimate: it has no depth, and is not missing.
    missing, behind = pixels.missing - depth.truth_behind_missing, depth.estimates_behind
    size = pixels.size - depth.truth_behind
    remarks = []
    if (missing or behind) and charge:
        near, far = m.in_front(m.depth_scale[1])
        if near == far:
            said = "all true disparities are equal: no range to charge missing estimates by"
            return Statistic.empty(said, missing + behind)
        charged = [(missing, "missing estimates"), (behind, "estimates at infinity or behind the cameras")]
        counted = " and ".join(f"{number} {what}" for number, what in charged if number)
        remarks.append(f"{counted} charged the worst depth error inside the scene's range")
    if depth.truth_behind:
        remarks.append(f"{depth.truth_behind} pixels with true points behind the cameras left out")
    if behind and not charge:
        remarks.append(f"{behind} pixels with estimates at infinity or behind the cameras left out")
    if parameters.metric and not m.scene.calibration.metric:
        remarks.append("no calibration: f·B = 1, so in 1/px")
    count = size if charge else size - missing - behind
    if count == 0:
        said = "; ".join(remarks) if depth.truth_behind or behind else emptiness(region, pixels.size)
        return Statistic.empty(said, missing + behind)
    return Statistic(depth.total, count, missing, "; ".join(remarks))


@map_metric(
    id="sze",
    name="Sigma-Z-Error",
    formula=r"\sum_R \left|\frac{fB}{D+\mu} - \frac{fB}{E+\mu}\right|",
    unit=EITHER_UNIT,
    source=CABEZAS,
    missing="charged",
    pooled=plain_sum,
    costs=sigma_z_map,
    request=_request_depth,
    version=2,
)
def sze(m: Measurement, region: str) -> Statistic:
    """Sum of depth errors in metres with calibration (doffs added to both disparities), else with f·B = 1 in 1/px.

    An estimate that is missing or not in front of the cameras costs the larger of |Z − Z_near| and |Z − Z_far|, with
    Z_near and Z_far the depths of the scene's largest and smallest true disparity: at least what any estimate inside
    that range would cost. The policy `exclude` leaves it out; the literal form takes it as a disparity of 0. NaN where
    a charge is due and all true disparities are equal.
    """
    return _sigma_z(m, region)


@map_metric(
    id="sze-mean",
    name="Mean Sigma-Z-Error",
    formula=r"\frac{1}{|R|}\sum_R \left|\frac{fB}{D+\mu} - \frac{fB}{E+\mu}\right|",
    unit=EITHER_UNIT,
    source=CABEZAS,
    missing="charged",
    pooled=mean,
    costs=sigma_z_map,
    request=_request_depth,
    version=2,
)
def sze_mean(m: Measurement, region: str) -> Statistic:
    """The Sigma-Z-Error divided by the number of pixels that it sums over, the charged ones included."""
    return _sigma_z(m, region)
