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

CABEZAS = "Cabezas, Padilla & Trujillo, CIARP 2011"


def _sigma_z_scale(m: Measurement) -> tuple[float, float]:
    """f·B and doffs as the protocol wants them."""
    calibration = m.scene.calibration
    if m.protocol.sigma_z.metric and calibration.focal_baseline is not None:
        return calibration.focal_baseline, calibration.doffs
    return 1.0, 0.0


def sigma_z_map(m: Measurement) -> NDArray[np.float64]:
    """|fB/(D+μ) − fB/(E+μ)| per pixel, NaN where it is not defined."""
    focal_baseline, doffs = _sigma_z_scale(m)
    mu = m.protocol.sigma_z.mu
    given = np.nan_to_num(m.estimate, nan=0.0) if m.protocol.sigma_z.literal else m.estimate
    truth = m.gt.astype(np.float64) + doffs
    estimate = given.astype(np.float64) + doffs
    if not m.protocol.sigma_z.literal:
        truth, estimate = (np.where(v > 0, v, np.nan) for v in (truth, estimate))
    return np.abs(focal_baseline / (truth + mu) - focal_baseline / (estimate + mu))


def _sigma_z(m: Measurement, region: str) -> tuple[float, int, str]:
    """Sum, count and note of the Sigma-Z-Error on a region."""
    pixels = m.pixels(region)
    parameters = m.protocol.sigma_z
    if parameters.literal:
        (labels,) = m.regions.labels((region,))
        sums = np.zeros(len(labels.values))
        focal_baseline, doffs = _sigma_z_scale(m)
        literal_depth(m.estimate, m.gt, labels.labels, labels.slots, focal_baseline, doffs + parameters.mu, sums)
        return float(sums[labels.values == 1].sum()), pixels.size, ""
    left_out = pixels.without_depth
    remarks = [f"{left_out} pixels behind the cameras left out"] if left_out else []
    if parameters.metric and not m.scene.calibration.metric:
        remarks.append("no calibration: f·B = 1, so in 1/px")
    return pixels.depth, pixels.valid - left_out, "; ".join(remarks)


def _sigma_z_statistic(m: Measurement, region: str) -> Statistic:
    total, count, note = _sigma_z(m, region)
    pixels = m.pixels(region)
    missing = pixels.missing if m.protocol.sigma_z.literal else pixels.missing + pixels.without_estimated_depth
    if count == 0:
        return Statistic.empty(note if pixels.without_depth else emptiness(region, pixels.size), missing)
    return Statistic(total, count, missing, note)


def _sigma_z_unit(m: Measurement) -> str:
    return "m" if m.protocol.sigma_z.metric and m.scene.calibration.metric else "1/px"


def _sigma_z_picture(m: Measurement) -> Picture:
    values = sigma_z_map(m)
    inside = values[m.regions.known & np.isfinite(values)]
    limit = float(np.quantile(inside, 0.98)) if inside.size else 1.0
    return heat_picture(m, "depth error (Sigma-Z)", values, _sigma_z_unit(m), limit or 1.0)


@metric(
    id="sze",
    name="Sigma-Z-Error",
    formula=r"\sum_R \left|\frac{fB}{D+\mu} - \frac{fB}{E+\mu}\right|",
    unit="m, 1/px",
    source=CABEZAS,
    missing="left out",
    scaling="none",
    finalize=plain_sum,
    picture=_sigma_z_picture,
)
def sze(m: Measurement, region: str) -> Statistic:
    """Sum of depth errors in metres with calibration (doffs added to both disparities), else with f·B = 1 in 1/px.

    Estimates that are missing or not in front of the cameras are left out and counted as missing, unless the protocol
    asks for the literal form.
    """
    return _sigma_z_statistic(m, region)


@metric(
    id="sze-mean",
    name="Mean Sigma-Z-Error",
    formula=r"\frac{1}{|V|}\sum_V \left|\frac{fB}{D+\mu} - \frac{fB}{E+\mu}\right|",
    unit="m, 1/px",
    source=CABEZAS,
    missing="left out",
    scaling="none",
    finalize=mean,
    picture=_sigma_z_picture,
)
def sze_mean(m: Measurement, region: str) -> Statistic:
    """The Sigma-Z-Error divided by the number of pixels that it sums over."""
    return _sigma_z_statistic(m, region)
