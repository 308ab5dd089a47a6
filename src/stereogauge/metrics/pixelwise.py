"""Measures of single pixels against ground truth.

Notation: D the ground truth, E the estimate, e = E − D, R the pixels of the criterion (ground truth known), V ⊆ R those
with an estimate. What a pixel of R∖V means is the protocol's invalid policy: `count` (and what `fill` leaves open)
counts it as bad, `exclude` leaves it out. Magnitudes are over V always.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from stereogauge.kernels.pixelwise import GUARD, literal_depth
from stereogauge.metrics.declaration import Parameter, Statistic, metric
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture

THRESHOLD = Parameter("threshold", unit="px", description="largest error that is still good", low=0.0, high=1e4)
TAXONOMY = "Scharstein & Szeliski, IJCV 2002"
CABEZAS = "Cabezas, Padilla & Trujillo, CIARP 2011"
GOOD, BAD = "#0072b2", "#e69f00"


def percent(total: float, count: int) -> float:
    """100·sum / count."""
    return 100.0 * total / count


def mean(total: float, count: int) -> float:
    """sum / count."""
    return total / count


def root_mean(total: float, count: int) -> float:
    """√(sum / count)."""
    return math.sqrt(total / count)


def _share(m: Measurement, region: str, wrong: int, *, excluding: bool | None = None) -> Statistic:
    """Share of R that is wrong or missing, or of V where missing pixels are left out."""
    pixels = m.pixels(region)
    leave_out = m.protocol.invalid == "exclude" if excluding is None else excluding
    count = pixels.valid if leave_out else pixels.size
    if count == 0:
        return Statistic.empty(_emptiness(region, pixels.size), pixels.missing)
    total = float(wrong if leave_out else wrong + pixels.missing)
    return Statistic(total, count, pixels.missing, percent(total, count))


def _emptiness(region: str, size: int) -> str:
    return f"no estimate in criterion {region!r}" if size else f"criterion {region!r} has no pixel"


def _mean(m: Measurement, region: str, total: float, *, root: bool = False) -> Statistic:
    pixels = m.pixels(region)
    if pixels.valid == 0:
        return Statistic.empty(_emptiness(region, pixels.size), pixels.missing)
    value = root_mean(total, pixels.valid) if root else mean(total, pixels.valid)
    return Statistic(total, pixels.valid, pixels.missing, value)


def absolute_error(m: Measurement) -> np.ndarray:
    """|e| in float32, NaN where either map is unknown."""
    error: np.ndarray = np.abs(m.estimate - m.gt)
    return error


def _error_picture(m: Measurement, title: str, values: np.ndarray, unit: str, limit: float) -> Picture:
    return Picture(
        title=title,
        values=values,
        kind="sequential",
        unit=unit,
        limits=(0.0, limit),
        unknown=~m.criteria.known,
        missing=m.criteria.known & np.isnan(m.estimate),
    )


def _clip_limit(m: Measurement) -> float:
    """Where error pictures are clipped: 5 px at 741 px width, growing with it."""
    return max(2.0, float(np.round(5.0 * m.gt.shape[1] / 741, 1)))


def _bad_picture(m: Measurement, threshold: float) -> Picture:
    wrong = absolute_error(m) > threshold + float(GUARD)
    missing = m.criteria.known & np.isnan(m.estimate)
    return Picture(
        title=f"bad pixels, |e| > {threshold:g} px",
        values=np.where(wrong | missing, 1, 0).astype(np.uint8),
        kind="labels",
        legend={0: (f"within {threshold:g} px", GOOD), 1: (f"off by more than {threshold:g} px", BAD)},
        unknown=~m.criteria.known,
        missing=missing,
    )


@metric(
    id="bad",
    name="Bad pixels",
    formula=r"\frac{100}{|R|}\,|\{x \in R : |e(x)| > \delta\}|",
    unit="%",
    range=(0.0, 100.0),
    source=TAXONOMY,
    parameters=(THRESHOLD,),
    finalize=percent,
    picture=_bad_picture,
    heuristic_range=(0.0, 80.0),
    examples=("bad@1", "bad@2", "bad@0.5"),
)
def bad(m: Measurement, region: str, threshold: float) -> Statistic:
    """Percentage of bad matched pixels (BMP): error strictly greater than δ.

    Missing estimates by the invalid policy.
    """
    return _share(m, region, m.statistics(region).above(region, threshold))


@metric(
    id="wrong",
    name="Wrong pixels",
    formula=r"\frac{100}{|R|}\,|\{x \in V : |e(x)| > \delta\}|",
    unit="%",
    range=(0.0, 100.0),
    source="Middlebury evaluation v3 (its column bad; bad + invalid is our bad)",
    parameters=(THRESHOLD,),
    finalize=percent,
    picture=_bad_picture,
    examples=("wrong@2",),
)
def wrong(m: Measurement, region: str, threshold: float) -> Statistic:
    """Estimates off by more than δ as a percentage of all pixels of the criterion.

    Missing ones count in the denominator only.
    """
    pixels = m.pixels(region)
    if pixels.size == 0:
        return Statistic.empty(_emptiness(region, 0))
    total = float(m.statistics(region).above(region, threshold))
    return Statistic(total, pixels.size, pixels.missing, percent(total, pixels.size))


@metric(
    id="bad-valid",
    name="Bad pixels among the estimated",
    formula=r"\frac{100}{|V|}\,|\{x \in V : |e(x)| > \delta\}|",
    unit="%",
    range=(0.0, 100.0),
    source="Geiger, Lenz & Urtasun, CVPR 2012 (est)",
    parameters=(THRESHOLD,),
    finalize=percent,
    picture=_bad_picture,
    examples=("bad-valid@3",),
)
def bad_valid(m: Measurement, region: str, threshold: float) -> Statistic:
    """Bad pixels among those that the algorithm itself estimated, before any filling."""
    statistics = m.statistics(region, as_given=True)
    pixels = statistics[region]
    if pixels.valid == 0:
        return Statistic.empty(_emptiness(region, pixels.size), pixels.missing)
    total = float(statistics.above(region, threshold))
    return Statistic(total, pixels.valid, pixels.missing, percent(total, pixels.valid))


KITTI_LEVELS = (0.0, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
KITTI_COLOURS = (
    "#313695", "#4575b4", "#74add1", "#abd9e9", "#e0f3f8", "#fee090", "#fdae61", "#f46d43", "#d73027", "#a50026",
)  # fmt: skip


def _d1_picture(m: Measurement) -> Picture:
    """KITTI's logarithmic colours: |e| as a multiple of the D1 tolerance, which is the larger of 3 px and 5 %."""
    error = np.maximum(absolute_error(m) - float(GUARD), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        multiple = np.minimum(error / 3.0, 20.0 * error / np.abs(m.gt))
    level = np.searchsorted(KITTI_LEVELS, np.nan_to_num(multiple), side="left") - 1
    legend = {}
    for index, (low, colour) in enumerate(zip(KITTI_LEVELS, KITTI_COLOURS, strict=True)):
        high = KITTI_LEVELS[index + 1] if index + 1 < len(KITTI_LEVELS) else math.inf
        legend[index] = (f"{low:g} – {high:g} × tolerance" if math.isfinite(high) else f"over {low:g} ×", colour)
    return Picture(
        title="error in multiples of 3 px or 5 %; outliers from 1",
        values=np.clip(level, 0, len(KITTI_LEVELS) - 1).astype(np.uint8),
        kind="labels",
        legend=legend,
        unknown=~m.criteria.known,
        missing=m.criteria.known & np.isnan(m.estimate),
    )


@metric(
    id="d1",
    name="D1 outliers",
    formula=r"\frac{100}{|R|}\,|\{x \in R : |e| > 3 \wedge |e| > 0.05\,D\}|",
    unit="%",
    range=(0.0, 100.0),
    source="Menze & Geiger, CVPR 2015",
    finalize=percent,
    picture=_d1_picture,
)
def d1(m: Measurement, region: str) -> Statistic:
    """KITTI 2015's outliers: off by more than 3 px and by more than 5 % of the true disparity, both strictly."""
    return _share(m, region, m.pixels(region).d1)


@metric(
    id="d1-bg",
    name="D1 outliers, background",
    formula=r"\mathrm{d1} \text{ on } \mathrm{bg}",
    unit="%",
    range=(0.0, 100.0),
    source="Menze & Geiger, CVPR 2015",
    finalize=percent,
    picture=_d1_picture,
    region="bg",
    needs=("gt", "mask:bg"),
)
def d1_background(m: Measurement, region: str) -> Statistic:
    """D1 outliers where the object map names no object."""
    return _share(m, region, m.pixels(region).d1)


@metric(
    id="d1-fg",
    name="D1 outliers, foreground",
    formula=r"\mathrm{d1} \text{ on } \mathrm{fg}",
    unit="%",
    range=(0.0, 100.0),
    source="Menze & Geiger, CVPR 2015",
    finalize=percent,
    picture=_d1_picture,
    region="fg",
    needs=("gt", "mask:fg"),
)
def d1_foreground(m: Measurement, region: str) -> Statistic:
    """D1 outliers on the objects of the object map."""
    return _share(m, region, m.pixels(region).d1)


@metric(
    id="d1-valid",
    name="D1 outliers among the estimated",
    formula=r"\frac{100}{|V|}\,|\{x \in V : |e| > 3 \wedge |e| > 0.05\,D\}|",
    unit="%",
    range=(0.0, 100.0),
    source="Menze & Geiger, CVPR 2015 (est)",
    finalize=percent,
    picture=_d1_picture,
)
def d1_valid(m: Measurement, region: str) -> Statistic:
    """D1 outliers among the pixels that the algorithm itself estimated, before any filling."""
    pixels = m.statistics(region, as_given=True)[region]
    if pixels.valid == 0:
        return Statistic.empty(_emptiness(region, pixels.size), pixels.missing)
    return Statistic(float(pixels.d1), pixels.valid, pixels.missing, percent(pixels.d1, pixels.valid))


def _absolute_picture(m: Measurement, *_: float) -> Picture:
    return _error_picture(m, "absolute error |e|", absolute_error(m), "px", _clip_limit(m))


@metric(
    id="mae",
    name="Mean absolute error",
    formula=r"\frac{1}{|V|}\sum_V |e|",
    unit="px",
    source=TAXONOMY,
    finalize=mean,
    picture=_absolute_picture,
)
def mae(m: Measurement, region: str) -> Statistic:
    """Mean size of the error over the estimated pixels; also called EPE and avgErr."""
    return _mean(m, region, m.pixels(region).absolute)


@metric(
    id="mae-valid",
    name="Mean absolute error among the estimated",
    formula=r"\frac{1}{|V|}\sum_V |e|",
    unit="px",
    source="Geiger, Lenz & Urtasun, CVPR 2012 (est)",
    finalize=mean,
    picture=_absolute_picture,
)
def mae_valid(m: Measurement, region: str) -> Statistic:
    """Mean size of the error over the pixels that the algorithm itself estimated, before any filling."""
    pixels = m.statistics(region, as_given=True)[region]
    if pixels.valid == 0:
        return Statistic.empty(_emptiness(region, pixels.size), pixels.missing)
    return Statistic(pixels.absolute, pixels.valid, pixels.missing, mean(pixels.absolute, pixels.valid))


def _squared_picture(m: Measurement) -> Picture:
    return _error_picture(m, "squared error e²", absolute_error(m) ** 2, "px²", _clip_limit(m) ** 2)


@metric(
    id="mse",
    name="Mean squared error",
    formula=r"\frac{1}{|V|}\sum_V e^2",
    unit="px²",
    source=TAXONOMY,
    finalize=mean,
    picture=_squared_picture,
)
def mse(m: Measurement, region: str) -> Statistic:
    """Mean squared error over the estimated pixels."""
    return _mean(m, region, m.pixels(region).squared)


@metric(
    id="rms",
    name="Root mean squared error",
    formula=r"\sqrt{\tfrac{1}{|V|}\sum_V e^2}",
    unit="px",
    source=TAXONOMY,
    finalize=root_mean,
    heuristic_range=(0.0, 70.0),
    picture=_absolute_picture,
)
def rms(m: Measurement, region: str) -> Statistic:
    """Root of the mean squared error over the estimated pixels."""
    return _mean(m, region, m.pixels(region).squared, root=True)


def _signed_picture(m: Measurement) -> Picture:
    limit = _clip_limit(m)
    return Picture(
        title="signed error e = E − D",
        values=m.estimate - m.gt,
        kind="diverging",
        unit="px",
        limits=(-limit, limit),
        unknown=~m.criteria.known,
        missing=m.criteria.known & np.isnan(m.estimate),
    )


@metric(
    id="bias",
    name="Bias",
    formula=r"\frac{1}{|V|}\sum_V e",
    unit="px",
    direction="zero",
    range=(-math.inf, math.inf),
    source="mean signed error",
    finalize=mean,
    picture=_signed_picture,
)
def bias(m: Measurement, region: str) -> Statistic:
    """Mean signed error: positive means that the map lies too near."""
    return _mean(m, region, m.pixels(region).signed)


def _relative(m: Measurement, region: str, factor: float) -> Statistic:
    pixels = m.pixels(region)
    count = pixels.valid - pixels.without_relative
    note = f"{pixels.without_relative} pixels with D = 0 left out" if pixels.without_relative else ""
    if count == 0:
        return Statistic.empty(note or _emptiness(region, pixels.size), pixels.missing)
    total = factor * pixels.relative
    return Statistic(total, count, pixels.missing, total / count, note)


def _relative_picture(m: Measurement) -> Picture:
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 100.0 * absolute_error(m) / np.abs(m.gt)
    return _error_picture(m, "relative error |e| / D", np.where(np.isfinite(share), share, np.nan), "%", 10.0)


@metric(
    id="mre",
    name="Mean relative error",
    formula=r"\frac{1}{|V|}\sum_V \frac{|e|}{D}",
    unit="",
    source="Van der Mark & Gavrila, T-ITS 2006",
    finalize=mean,
    picture=_relative_picture,
)
def mre(m: Measurement, region: str) -> Statistic:
    """Mean error relative to the true disparity; pixels with D = 0 are left out and counted in the note."""
    return _relative(m, region, 1.0)


@metric(
    id="mape",
    name="Mean absolute percentage error",
    formula=r"\frac{100}{|V|}\sum_V \frac{|e|}{D}",
    unit="%",
    source="Van der Mark & Gavrila, T-ITS 2006",
    finalize=mean,
    picture=_relative_picture,
)
def mape(m: Measurement, region: str) -> Statistic:
    """100 times the mean relative error, over estimated pixels only."""
    return _relative(m, region, 100.0)


def _sigma_z_scale(m: Measurement) -> tuple[float, float]:
    """f·B and doffs as the protocol wants them."""
    calibration = m.scene.calibration
    if m.protocol.sigma_z.metric and calibration.focal_baseline is not None:
        return calibration.focal_baseline, calibration.doffs
    return 1.0, 0.0


def sigma_z_map(m: Measurement) -> np.ndarray:
    """|fB/(D+μ) − fB/(E+μ)| per pixel, NaN where it is not defined."""
    focal_baseline, doffs = _sigma_z_scale(m)
    mu = m.protocol.sigma_z.mu
    truth = m.gt.astype(np.float64) + doffs
    estimate = m.estimate.astype(np.float64) + doffs
    if m.protocol.sigma_z.literal:
        estimate = np.nan_to_num(estimate, nan=0.0)
    else:
        truth, estimate = (np.where(v > 0, v, np.nan) for v in (truth, estimate))
    return np.abs(focal_baseline / (truth + mu) - focal_baseline / (estimate + mu))


def _sigma_z(m: Measurement, region: str) -> tuple[float, int, str]:
    """Sum, count and note of the Sigma-Z-Error on a criterion."""
    pixels = m.pixels(region)
    parameters = m.protocol.sigma_z
    if parameters.literal:
        (labels,) = m.criteria.labels((region,))
        sums = np.zeros(len(labels.values))
        focal_baseline, doffs = _sigma_z_scale(m)
        literal_depth(m.estimate, m.gt, labels.labels, labels.slots, focal_baseline, doffs + parameters.mu, sums)
        return float(sums[labels.values == 1].sum()), pixels.size, ""
    left_out = pixels.without_depth
    remarks = [f"{left_out} pixels behind the cameras left out"] if left_out else []
    if parameters.metric and not m.scene.calibration.metric:
        remarks.append("no calibration: f·B = 1, so in 1/px")
    return pixels.depth, pixels.valid - left_out, "; ".join(remarks)


def _sigma_z_statistic(m: Measurement, region: str, finalize: Callable[[float, int], float]) -> Statistic:
    total, count, note = _sigma_z(m, region)
    pixels = m.pixels(region)
    if count == 0:
        return Statistic.empty(note if pixels.without_depth else _emptiness(region, pixels.size), pixels.missing)
    return Statistic(total, count, pixels.missing, finalize(total, count), note)


def _sigma_z_unit(m: Measurement) -> str:
    return "m" if m.protocol.sigma_z.metric and m.scene.calibration.metric else "1/px"


def _sigma_z_picture(m: Measurement) -> Picture:
    values = sigma_z_map(m)
    inside = values[m.criteria.known & np.isfinite(values)]
    limit = float(np.quantile(inside, 0.98)) if inside.size else 1.0
    return _error_picture(m, "depth error (Sigma-Z)", values, _sigma_z_unit(m), limit or 1.0)


def _plain_sum(total: float, count: int) -> float:
    return total


@metric(
    id="sze",
    name="Sigma-Z-Error",
    formula=r"\sum_R \left|\frac{fB}{D+\mu} - \frac{fB}{E+\mu}\right|",
    unit="m, 1/px",
    source=CABEZAS,
    finalize=_plain_sum,
    picture=_sigma_z_picture,
)
def sze(m: Measurement, region: str) -> Statistic:
    """Sum of depth errors in metres with calibration (doffs added to both disparities), else with f·B = 1 in 1/px.

    Estimates that are missing or not in front of the cameras are left out and counted, unless the protocol asks for the
    literal form.
    """
    return _sigma_z_statistic(m, region, _plain_sum)


@metric(
    id="sze-mean",
    name="Mean Sigma-Z-Error",
    formula=r"\frac{1}{|V|}\sum_V \left|\frac{fB}{D+\mu} - \frac{fB}{E+\mu}\right|",
    unit="m, 1/px",
    source=CABEZAS,
    finalize=mean,
    picture=_sigma_z_picture,
)
def sze_mean(m: Measurement, region: str) -> Statistic:
    """The Sigma-Z-Error divided by the number of pixels that it sums over."""
    return _sigma_z_statistic(m, region, mean)


@metric(
    id="quantile",
    name="Error quantile",
    formula=r"Q_q(|e|) \text{ over } V",
    unit="px",
    source="Middlebury evaluation v3 (A50, A90, A95, A99)",
    parameters=(
        Parameter("percentage", unit="%", description="share of pixels with a smaller error", low=0.0, high=100.0),
    ),
    picture=_absolute_picture,
    examples=("quantile@50", "quantile@95"),
)
def quantile(m: Measurement, region: str, percentage: float) -> Statistic:
    """The q-th percentile of the error over the estimated pixels, exact; does not pool over scenes."""
    pixels = m.pixels(region)
    if pixels.valid == 0:
        return Statistic.empty(_emptiness(region, pixels.size), pixels.missing)
    value = m.statistics(region).quantile(region, percentage / 100)
    return Statistic(value * pixels.valid, pixels.valid, pixels.missing, value)


def _density_picture(m: Measurement) -> Picture:
    missing = m.criteria.known & np.isnan(m.clipped)
    return Picture(
        title="where the algorithm gave an estimate",
        values=missing.astype(np.uint8),
        kind="labels",
        legend={0: ("estimated", GOOD), 1: ("missing", BAD)},
        unknown=~m.criteria.known,
    )


@metric(
    id="density",
    name="Density",
    formula=r"100\,|V|/|R|",
    unit="%",
    direction="higher",
    range=(0.0, 100.0),
    source=TAXONOMY,
    finalize=percent,
    picture=_density_picture,
)
def density(m: Measurement, region: str) -> Statistic:
    """Share of the criterion for which the algorithm gave an estimate, before any filling."""
    pixels = m.statistics(region, as_given=True)[region]
    if pixels.size == 0:
        return Statistic.empty(_emptiness(region, 0))
    return Statistic(float(pixels.valid), pixels.size, pixels.missing, percent(pixels.valid, pixels.size))


@metric(
    id="invalid",
    name="Missing estimates",
    formula=r"100\,(1 - |V|/|R|)",
    unit="%",
    range=(0.0, 100.0),
    source="Middlebury evaluation v3",
    finalize=percent,
    picture=_density_picture,
)
def invalid(m: Measurement, region: str) -> Statistic:
    """Share of the criterion without an estimate, before any filling."""
    pixels = m.statistics(region, as_given=True)[region]
    if pixels.size == 0:
        return Statistic.empty(_emptiness(region, 0))
    return Statistic(float(pixels.missing), pixels.size, pixels.missing, percent(pixels.missing, pixels.size))
