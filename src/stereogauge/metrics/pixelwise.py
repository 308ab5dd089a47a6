"""Errors of disparity against ground truth: their sizes, shares of wrong pixels, and how many estimates there are.

Notation: D the ground truth, E the estimate, e = E − D, R the pixels of the region (ground truth known), V ⊆ R those
with an estimate. What a pixel of R∖V means is the protocol's invalid policy: `count` (and what `fill` leaves open)
counts it as wrong, `exclude` leaves it out.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.pixelwise import D1_PIXELS, D1_SHARE, GUARD
from stereogauge.metrics.costs import PixelCosts, Sums, mean, percent, quantile, root_mean
from stereogauge.metrics.declaration import Parameter, metric
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture, on_scene
from stereogauge.metrics.statistics import RegionStatistics, percentiles, thresholds
from stereogauge.model import DisparityMap, Mask

TAXONOMY = "Scharstein & Szeliski, IJCV 2002"
VAN_DER_MARK = "Van der Mark & Gavrila, T-ITS 2006"
KITTI_2015 = "Menze & Geiger, CVPR 2015"
THRESHOLD = Parameter("threshold", unit="px", description="largest error that is still good", low=0.0, high=1e4)
WITHIN, BEYOND = "within {0:g} px", "off by more than {0:g} px"
ZERO_TRUTH = "pixels with D = 0"
Fused = Callable[..., Sums]


def _summed(read: Callable[[RegionStatistics], float], *, as_given: bool = False) -> Fused:
    """Sums over the estimated pixels of a region, from the shared pass; `as_given` before any filling."""

    def fused(m: Measurement, region: str) -> Sums:
        pixels = m.statistics(region, as_given=as_given)[region]
        return Sums(read(pixels), pixels.size, pixels.missing)

    return fused


def _exceeding(*, as_given: bool = False) -> Fused:
    """Numbers of errors above a threshold, from the shared pass."""

    def fused(m: Measurement, region: str, threshold: float) -> Sums:
        statistics = m.statistics(region, as_given=as_given)
        pixels = statistics[region]
        return Sums(float(statistics.above(region, threshold)), pixels.size, pixels.missing)

    return fused


def _relative_sums(factor: float) -> Fused:
    def fused(m: Measurement, region: str) -> Sums:
        pixels = m.pixels(region)
        missing = pixels.missing - pixels.zero_truth_missing
        note = f"{pixels.zero_truth} {ZERO_TRUTH} left out" if pixels.zero_truth else ""
        return Sums(factor * pixels.relative, pixels.size - pixels.zero_truth, missing, note=note)

    return fused


def _fused_quantile(m: Measurement, region: str, percentage: float) -> Sums:
    pixels = m.pixels(region)
    value = m.statistics(region).quantile(region, percentage / 100) if pixels.valid else 0.0
    return Sums(value, pixels.size, pixels.missing)


def is_above(errors: NDArray[np.float32], threshold: float) -> Mask:
    """Whether the size of an error exceeds the threshold, equality being good in spite of rounding."""
    return np.asarray(np.abs(errors).astype(np.float64) > threshold + float(GUARD))


def is_outlier(m: Measurement, errors: NDArray[np.float32]) -> Mask:
    """KITTI's rule: off by more than 3 px and by more than 5 % of the largest of the true disparities."""
    size = np.abs(errors) - GUARD
    return np.asarray((size > D1_PIXELS) & (size * D1_SHARE > m.largest_truth))


def _known(wrong: Mask, estimate: DisparityMap) -> PixelCosts:
    """Verdicts where there is an estimate."""
    return PixelCosts(np.where(np.isnan(estimate), np.nan, wrong))


@metric(
    id="mae",
    name="Mean absolute error",
    formula=r"\frac{1}{|V|}\sum_V |e|",
    unit="px",
    source=TAXONOMY,
    missing="left out",
    reduce=mean,
    fused=_summed(lambda pixels: pixels.absolute),
)
def mae(m: Measurement) -> NDArray[np.float32]:
    """Mean size of the error over the estimated pixels; also called EPE and avgErr."""
    return np.abs(m.error)


@metric(
    id="mae-valid",
    name="Mean absolute error among the estimated",
    formula=r"\frac{1}{|V|}\sum_V |e|",
    unit="px",
    source="Geiger, Lenz & Urtasun, CVPR 2012 (est)",
    missing="left out",
    reduce=mean,
    fused=_summed(lambda pixels: pixels.absolute, as_given=True),
)
def mae_valid(m: Measurement) -> NDArray[np.float32]:
    """Mean size of the error over the pixels that the algorithm itself estimated, before any filling."""
    return np.asarray(np.abs(m.clipped - m.gt))


@metric(
    id="mse",
    name="Mean squared error",
    formula=r"\frac{1}{|V|}\sum_V e^2",
    unit="px²",
    source=TAXONOMY,
    missing="left out",
    reduce=mean,
    fused=_summed(lambda pixels: pixels.squared),
)
def mse(m: Measurement) -> NDArray[np.float64]:
    """Mean squared error over the estimated pixels."""
    return m.error.astype(np.float64) ** 2


@metric(
    id="rms",
    name="Root mean squared error",
    formula=r"\sqrt{\tfrac{1}{|V|}\sum_V e^2}",
    unit="px",
    source=TAXONOMY,
    missing="left out",
    heuristic_range=(0.0, 70.0),
    reduce=root_mean,
    fused=_summed(lambda pixels: pixels.squared),
)
def rms(m: Measurement) -> NDArray[np.float64]:
    """Root of the mean squared error over the estimated pixels."""
    return m.error.astype(np.float64) ** 2


@metric(
    id="bias",
    name="Bias",
    formula=r"\frac{1}{|V|}\sum_V e",
    unit="px",
    direction="zero",
    range=(-math.inf, math.inf),
    source="mean signed error",
    missing="left out",
    reduce=mean,
    fused=_summed(lambda pixels: pixels.signed),
)
def bias(m: Measurement) -> NDArray[np.float32]:
    """Mean signed error: positive means that the map lies too near."""
    return m.error


def _relative_error(m: Measurement, factor: float) -> PixelCosts:
    """|e| / |D|, not defined where D = 0."""
    truth = np.abs(m.gt.astype(np.float64))
    defined = truth > 0
    shares = np.abs(m.error).astype(np.float64) / np.where(defined, truth, np.nan)
    return PixelCosts(shares, defined=defined, undefined=ZERO_TRUTH, factor=factor)


@metric(
    id="mre",
    name="Mean relative error",
    formula=r"\frac{1}{|V|}\sum_V \frac{|e|}{D}",
    unit="",
    source=VAN_DER_MARK,
    missing="left out",
    reduce=mean,
    fused=_relative_sums(1.0),
    version=2,
)
def mre(m: Measurement) -> PixelCosts:
    """Mean error relative to the true disparity; pixels with D = 0 are left out and counted in the note."""
    return _relative_error(m, 1.0)


@metric(
    id="mape",
    name="Mean absolute percentage error",
    formula=r"\frac{100}{|V|}\sum_V \frac{|e|}{D}",
    unit="%",
    source=VAN_DER_MARK,
    missing="left out",
    reduce=mean,
    fused=_relative_sums(100.0),
    version=2,
)
def mape(m: Measurement) -> PixelCosts:
    """100 times the mean relative error, over estimated pixels only."""
    return _relative_error(m, 100.0)


@metric(
    id="quantile",
    name="Error quantile",
    formula=r"Q_q(|e|) \text{ over } V",
    unit="px",
    source="Middlebury evaluation v3 (A50, A90, A95, A99)",
    missing="left out",
    parameters=(
        Parameter("percentage", unit="%", description="share of pixels with a smaller error", low=0.0, high=100.0),
    ),
    reduce=quantile(lambda percentage: percentage / 100),
    request=percentiles,
    fused=_fused_quantile,
    examples=("quantile@50", "quantile@95"),
)
def error_quantile(m: Measurement, percentage: float) -> NDArray[np.float32]:
    """The q-th percentile of the error over the estimated pixels, exact; does not pool over scenes."""
    return np.abs(m.error)


@metric(
    id="density",
    name="Density",
    formula=r"100\,|V|/|R|",
    unit="%",
    direction="higher",
    range=(0.0, 100.0),
    source=TAXONOMY,
    missing="always counted",
    reduce=percent,
    wrong=("estimated", "missing"),
    fused=_summed(lambda pixels: pixels.valid, as_given=True),
)
def density(m: Measurement) -> NDArray[np.float64]:
    """Share of the region for which the algorithm gave an estimate, before any filling."""
    return np.where(np.isnan(m.clipped), np.nan, 1.0)


@metric(
    id="invalid",
    name="Missing estimates",
    formula=r"100\,(1 - |V|/|R|)",
    unit="%",
    range=(0.0, 100.0),
    source="Middlebury evaluation v3",
    missing="always counted",
    reduce=percent,
    wrong=("estimated", "missing"),
    fused=_summed(lambda pixels: 0.0, as_given=True),
)
def invalid(m: Measurement) -> NDArray[np.float64]:
    """Share of the region without an estimate, before any filling."""
    return np.where(np.isnan(m.clipped), np.nan, 0.0)


@metric(
    id="bad",
    name="Bad pixels",
    formula=r"\frac{100}{|R|}\,|\{x \in R : |e(x)| > \delta\}|",
    unit="%",
    range=(0.0, 100.0),
    heuristic_range=(0.0, 80.0),
    source=TAXONOMY,
    missing="counted",
    parameters=(THRESHOLD,),
    reduce=percent,
    wrong=(WITHIN, BEYOND),
    request=thresholds,
    fused=_exceeding(),
    examples=("bad@1", "bad@2", "bad@0.5"),
)
def bad(m: Measurement, threshold: float) -> Mask:
    """Percentage of bad matched pixels (BMP): error strictly greater than δ.

    Missing estimates by the invalid policy.
    """
    return is_above(m.error, threshold)


@metric(
    id="wrong",
    name="Wrong pixels",
    formula=r"\frac{100}{|R|}\,|\{x \in V : |e(x)| > \delta\}|",
    unit="%",
    range=(0.0, 100.0),
    source="Middlebury evaluation v3 (its column bad; bad + invalid is our bad)",
    missing="only in the count",
    parameters=(THRESHOLD,),
    reduce=percent,
    wrong=(WITHIN, BEYOND),
    request=thresholds,
    fused=_exceeding(),
    examples=("wrong@2",),
)
def wrong(m: Measurement, threshold: float) -> Mask:
    """Estimates off by more than δ as a percentage of all pixels of the region.

    Missing ones count in the denominator only, and under the invalid policy `exclude` not at all.
    """
    return is_above(m.error, threshold)


@metric(
    id="bad-valid",
    name="Bad pixels among the estimated",
    formula=r"\frac{100}{|V|}\,|\{x \in V : |e(x)| > \delta\}|",
    unit="%",
    range=(0.0, 100.0),
    source="Geiger, Lenz & Urtasun, CVPR 2012 (est)",
    missing="left out",
    parameters=(THRESHOLD,),
    reduce=percent,
    wrong=(WITHIN, BEYOND),
    request=thresholds,
    fused=_exceeding(as_given=True),
    examples=("bad-valid@3",),
)
def bad_valid(m: Measurement, threshold: float) -> PixelCosts:
    """Bad pixels among those that the algorithm itself estimated, before any filling."""
    return _known(is_above(m.clipped - m.gt, threshold), m.clipped)


KITTI_LEVELS = (0.0, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
KITTI_COLOURS = (
    "#313695", "#4575b4", "#74add1", "#abd9e9", "#e0f3f8", "#fee090", "#fdae61", "#f46d43", "#d73027", "#a50026",
)  # fmt: skip
OUTLIER = ("within 3 px or 5 %", "off by more than 3 px and 5 %")


def kitti_picture(m: Measurement) -> Picture:
    """KITTI's logarithmic colours: |e| as a multiple of the D1 tolerance, which is the larger of 3 px and 5 %."""
    error = np.maximum(np.abs(m.error) - float(GUARD), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        multiple = np.minimum(error / 3.0, 20.0 * error / np.abs(m.gt))
    level = np.searchsorted(KITTI_LEVELS, np.nan_to_num(multiple), side="left") - 1
    legend = {}
    for index, (low, colour) in enumerate(zip(KITTI_LEVELS, KITTI_COLOURS, strict=True)):
        high = KITTI_LEVELS[index + 1] if index + 1 < len(KITTI_LEVELS) else math.inf
        legend[index] = (f"{low:g} – {high:g} × tolerance" if math.isfinite(high) else f"over {low:g} ×", colour)
    values = np.clip(level, 0, len(KITTI_LEVELS) - 1).astype(np.uint8)
    title = "error in multiples of 3 px or 5 %; outliers from 1"
    return on_scene(m, None, title=title, values=values, kind="labels", legend=legend)


def _outliers(*, as_given: bool = False) -> Callable[..., Sums | None]:
    """Numbers of outliers, from the shared pass, which knows one true disparity per pixel."""
    summed = _summed(lambda pixels: float(pixels.d1), as_given=as_given)
    return lambda m, region: None if m.regions.four_truths is not None else summed(m, region)


@metric(
    id="d1",
    name="D1 outliers",
    formula=r"\frac{100}{|R|}\,|\{x \in R : |e| > 3 \wedge |e| > 0.05\,D\}|",
    unit="%",
    range=(0.0, 100.0),
    source=KITTI_2015,
    missing="counted",
    reduce=percent,
    wrong=OUTLIER,
    fused=_outliers(),
    picture=kitti_picture,
)
def d1(m: Measurement) -> Mask:
    """KITTI 2015's outliers: off by more than 3 px and by more than 5 % of the true disparity, both strictly."""
    return is_outlier(m, m.error)


@metric(
    id="d1-bg",
    name="D1 outliers, background",
    formula=r"\mathrm{d1} \text{ on } \mathrm{bg}",
    unit="%",
    range=(0.0, 100.0),
    source=KITTI_2015,
    missing="counted",
    region="bg",
    needs=("gt", "mask:bg"),
    reduce=percent,
    wrong=OUTLIER,
    picture=kitti_picture,
)
def d1_background(m: Measurement) -> Mask:
    """D1 outliers where the object map names no object."""
    return is_outlier(m, m.error)


@metric(
    id="d1-fg",
    name="D1 outliers, foreground",
    formula=r"\mathrm{d1} \text{ on } \mathrm{fg}",
    unit="%",
    range=(0.0, 100.0),
    source=KITTI_2015,
    missing="counted",
    region="fg",
    needs=("gt", "mask:fg"),
    reduce=percent,
    wrong=OUTLIER,
    picture=kitti_picture,
)
def d1_foreground(m: Measurement) -> Mask:
    """D1 outliers on the objects of the object map."""
    return is_outlier(m, m.error)


@metric(
    id="d1-valid",
    name="D1 outliers among the estimated",
    formula=r"\frac{100}{|V|}\,|\{x \in V : |e| > 3 \wedge |e| > 0.05\,D\}|",
    unit="%",
    range=(0.0, 100.0),
    source="Menze & Geiger, CVPR 2015 (est)",
    missing="left out",
    reduce=percent,
    wrong=OUTLIER,
    fused=_outliers(as_given=True),
    picture=kitti_picture,
)
def d1_valid(m: Measurement) -> PixelCosts:
    """D1 outliers among the pixels that the algorithm itself estimated, before any filling."""
    return _known(is_outlier(m, m.clipped - m.gt), m.clipped)
