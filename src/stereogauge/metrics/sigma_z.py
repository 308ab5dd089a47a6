"""The Sigma-Z-Error: disparity errors as the depth errors that they cause."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.pixelwise import literal_depth
from stereogauge.metrics.declaration import Statistic, metric
from stereogauge.metrics.error_pictures import heat_picture
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture
from stereogauge.metrics.pooling import emptiness, mean, plain_sum
from stereogauge.metrics.statistics import PassRequest
from stereogauge.protocol.parameters import EITHER_UNIT

CABEZAS = "Cabezas, Padilla & Trujillo, CIARP 2011"


def _sigma_z_scale(m: Measurement) -> tuple[float, float]:
    """f·B and doffs as the protocol wants them."""
    calibration = m.scene.calibration
    if m.protocol.sigma_z.metric and calibration.focal_baseline is not None:
        return calibration.focal_baseline, calibration.doffs
    return 1.0, 0.0


def sigma_z_map(m: Measurement) -> NDArray[np.float64]:
    """|fB/(D+μ) − fB/(E+μ)| per pixel, charges included; NaN where it is not defined."""
    focal_baseline, doffs = _sigma_z_scale(m)
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


def _asks_for_depth() -> PassRequest:
    return PassRequest(depth=True)


def _literal(m: Measurement, region: str) -> Statistic:
    """The paper's own form: a missing estimate is a disparity of 0, a point behind the cameras one like any other."""
    pixels = m.pixels(region)
    charge = m.protocol.invalid != "exclude"
    (labels,) = m.regions.labels((region,))
    sums = np.zeros(len(labels.values))
    focal_baseline, doffs = _sigma_z_scale(m)
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
    missing = pixels.missing - depth.truth_behind_missing + depth.estimates_behind
    size = pixels.size - depth.truth_behind
    remarks = []
    if missing and charge:
        near, far = m.in_front(_sigma_z_scale(m)[1])
        if near == far:
            return Statistic.empty("all true disparities are equal: no range to charge missing estimates by", missing)
        remarks.append(f"{missing} missing estimates charged the worst depth error inside the scene's range")
    if depth.truth_behind:
        remarks.append(f"{depth.truth_behind} pixels with true points behind the cameras left out")
    if depth.estimates_behind and not charge:
        remarks.append(f"{depth.estimates_behind} pixels with estimates behind the cameras left out")
    if parameters.metric and not m.scene.calibration.metric:
        remarks.append("no calibration: f·B = 1, so in 1/px")
    count = size if charge else size - missing
    if count == 0:
        behind = depth.truth_behind or depth.estimates_behind
        return Statistic.empty("; ".join(remarks) if behind else emptiness(region, pixels.size), missing)
    return Statistic(depth.total, count, missing, "; ".join(remarks))


def _sigma_z_unit(m: Measurement) -> str:
    return m.protocol.sigma_z.unit(calibrated=m.scene.calibration.metric)


def _sigma_z_picture(m: Measurement) -> Picture:
    values = sigma_z_map(m)
    inside = values[m.regions.known & np.isfinite(values)]
    limit = float(np.quantile(inside, 0.98)) if inside.size else 1.0
    return heat_picture(m, "depth error (Sigma-Z)", values, _sigma_z_unit(m), limit or 1.0)


@metric(
    id="sze",
    name="Sigma-Z-Error",
    formula=r"\sum_R \left|\frac{fB}{D+\mu} - \frac{fB}{E+\mu}\right|",
    unit=EITHER_UNIT,
    source=CABEZAS,
    missing="charged",
    finalize=plain_sum,
    picture=_sigma_z_picture,
    costs=lambda m, region: sigma_z_map(m),
    shares=_asks_for_depth,
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


@metric(
    id="sze-mean",
    name="Mean Sigma-Z-Error",
    formula=r"\frac{1}{|R|}\sum_R \left|\frac{fB}{D+\mu} - \frac{fB}{E+\mu}\right|",
    unit=EITHER_UNIT,
    source=CABEZAS,
    missing="charged",
    finalize=mean,
    picture=_sigma_z_picture,
    costs=lambda m, region: sigma_z_map(m),
    shares=_asks_for_depth,
    version=2,
)
def sze_mean(m: Measurement, region: str) -> Statistic:
    """The Sigma-Z-Error divided by the number of pixels that it sums over, the charged ones included."""
    return _sigma_z(m, region)
