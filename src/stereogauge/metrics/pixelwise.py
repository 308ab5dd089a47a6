"""Errors of disparity against ground truth: their sizes, shares of wrong pixels, and how many estimates there are.

Notation: D the ground truth, E the estimate, e = E − D, R the pixels of the region (ground truth known), V ⊆ R those
with an estimate. What a pixel of R∖V means is the protocol's invalid policy: `count` (and what `fill` leaves open)
counts it as wrong, `exclude` leaves it out.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.pixelwise import GUARD
from stereogauge.masks.declaration import LIGHT_FIELDS
from stereogauge.metrics.costs import PixelCosts, Sums, mean, quantile, root_mean
from stereogauge.metrics.declaration import Parameter, PixelMetric, metric, percentage
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


def _exceeding(*, as_given: bool = False) -> Callable[..., Sums | None]:
    """Numbers of errors above a threshold, from the shared pass, which compares in the usual way only."""

    def fused(m: Measurement, region: str, threshold: float) -> Sums | None:
        if not m.protocol.errors.usual:
            return None
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


def _fused_quantile(m: Measurement, region: str, percentage: float) -> Sums | None:
    if m.protocol.errors.quantiles != "linear":
        return None
    pixels, statistics = m.pixels(region), m.statistics(region)
    if not pixels.valid:
        return Sums(0.0, pixels.size, pixels.missing)
    value, whole = (statistics.quantile(region, percentage / 100, charged=charged) for charged in (False, True))
    return Sums(value, pixels.size, pixels.missing, whole=None if math.isnan(whole) else whole)


def is_above(m: Measurement, errors: NDArray[np.float32], threshold: float) -> Mask:
    """Whether the size of an error exceeds the threshold, or reaches it where the protocol says so.

    Equality holds in spite of rounding.
    """
    size, rule = np.abs(errors).astype(np.float64), m.protocol.errors
    if rule.comparison == ">=":
        return np.asarray(size >= threshold - rule.rounding)
    return np.asarray(size > threshold + float(np.float32(rule.rounding)))


def is_outlier(
    m: Measurement, errors: NDArray[np.float32], pixels: float = 3.0, share: float = 0.05, floor: float = 0.0
) -> Mask:
    """KITTI's rule: off by more than 3 px and by more than 5 % of the largest of the true disparities.

    Both limits are free; the share is one of at least `floor` px, and a share of 0 is no limit.
    """
    rule = m.protocol.errors
    truth = np.maximum(m.largest_truth, np.float32(floor))
    inverse = np.float32(1 / share if share else 0)  # |e| > D/20, written as a product: 0.05 has no exact float
    if rule.comparison == ">=":
        size = np.abs(errors) + np.float32(rule.rounding)
        return np.asarray((size >= np.float32(pixels)) & ((size * inverse >= truth) | (share == 0)))
    size = np.abs(errors) - np.float32(rule.rounding)
    return np.asarray((size > np.float32(pixels)) & ((size * inverse > truth) | (share == 0)))


def _known(wrong: Mask, estimate: DisparityMap) -> PixelCosts:
    """Verdicts where there is an estimate."""
    return PixelCosts(np.where(np.isnan(estimate), np.nan, wrong))


_mean_of = functools.partial(
    metric, unit="px", source=TAXONOMY, missing="left out", reduce=mean, worst_pixel=lambda scene: scene.span
)
_mean_square = functools.partial(
    _mean_of, worst_pixel=lambda scene: scene.span**2, fused=_summed(lambda pixels: pixels.squared)
)


@_mean_of(
    id="mae",
    name="Mean absolute error",
    formula=r"\frac{1}{|V|}\sum_V |e|",
    fused=_summed(lambda pixels: pixels.absolute),
)
def mae(m: Measurement) -> NDArray[np.float32]:
    """Mean size of the error over the estimated pixels; also called EPE and avgErr."""
    return np.abs(m.error)


@_mean_of(
    id="mae-valid",
    name="Mean absolute error among the estimated",
    formula=r"\frac{1}{|V|}\sum_V |e|",
    source="Geiger, Lenz & Urtasun, CVPR 2012 (est)",
    fused=_summed(lambda pixels: pixels.absolute, as_given=True),
)
def mae_valid(m: Measurement) -> NDArray[np.float32]:
    """Mean size of the error over the pixels that the algorithm itself estimated, before any filling."""
    return np.asarray(np.abs(m.clipped - m.gt))


@_mean_square(id="mse", name="Mean squared error", formula=r"\frac{1}{|V|}\sum_V e^2", unit="px²")
def mse(m: Measurement) -> NDArray[np.float64]:
    """Mean squared error over the estimated pixels."""
    return m.error.astype(np.float64) ** 2


@_mean_square(
    id="rms",
    name="Root mean squared error",
    formula=r"\sqrt{\tfrac{1}{|V|}\sum_V e^2}",
    heuristic_range=(0.0, 70.0),
    reduce=root_mean,
)
def rms(m: Measurement) -> NDArray[np.float64]:
    """Root of the mean squared error over the estimated pixels."""
    return m.error.astype(np.float64) ** 2


@_mean_of(
    id="bias",
    name="Bias",
    formula=r"\frac{1}{|V|}\sum_V e",
    direction="zero",
    range=(-math.inf, math.inf),
    source="mean signed error",
    fused=_summed(lambda pixels: pixels.signed),
)
def bias(m: Measurement) -> NDArray[np.float32]:
    """Mean signed error: positive means that the map lies too near."""
    return m.error


def _relative(factor: float, **facts: Any) -> PixelMetric:
    """A mean of |e| / D, `factor` times."""
    return _mean_of(
        source=VAN_DER_MARK,
        worst_pixel=lambda scene: factor * scene.span / scene.low if scene.low > 0 else math.nan,
        fused=_relative_sums(factor),
        version=2,
        **facts,
    )


def _relative_error(m: Measurement, factor: float) -> PixelCosts:
    """|e| / |D|, not defined where D = 0."""
    truth = np.abs(m.gt.astype(np.float64))
    defined = truth > 0
    shares = np.abs(m.error).astype(np.float64) / np.where(defined, truth, np.nan)
    return PixelCosts(shares, defined=defined, undefined=ZERO_TRUTH, factor=factor)


@_relative(1.0, id="mre", name="Mean relative error", formula=r"\frac{1}{|V|}\sum_V \frac{|e|}{D}", unit="")
def mre(m: Measurement) -> PixelCosts:
    """Mean error relative to the true disparity; pixels with D = 0 are left out and counted in the note."""
    return _relative_error(m, 1.0)


@_relative(
    100.0,
    id="mape",
    name="Mean absolute percentage error",
    formula=r"\frac{100}{|V|}\sum_V \frac{|e|}{D}",
    unit="%",
)
def mape(m: Measurement) -> PixelCosts:
    """100 times the mean relative error, over estimated pixels only."""
    return _relative_error(m, 100.0)


_quantile = functools.partial(
    metric,
    missing="left out",
    parameters=(
        Parameter("percentage", unit="%", description="share of pixels with a smaller error", low=0.0, high=100.0),
    ),
    reduce=quantile(lambda percentage: percentage / 100),
)


@_quantile(
    id="quantile",
    name="Error quantile",
    formula=r"Q_q(|e|) \text{ over } V",
    unit="px",
    source="Middlebury evaluation v3 (A50, A90, A95, A99)",
    worst_pixel=lambda scene, _: scene.span,
    request=percentiles,
    fused=_fused_quantile,
    examples=("quantile@50", "quantile@95"),
)
def error_quantile(m: Measurement, percentage: float) -> NDArray[np.float32]:
    """The q-th percentile of the error over the estimated pixels, exact; does not pool over scenes."""
    return np.abs(m.error)


@percentage(
    id="density",
    name="Density",
    formula=r"100\,|V|/|R|",
    direction="higher",
    source=TAXONOMY,
    missing="always counted",
    wrong=("estimated", "missing"),
    fused=_summed(lambda pixels: pixels.valid, as_given=True),
)
def density(m: Measurement) -> NDArray[np.float64]:
    """Share of the region for which the algorithm gave an estimate, before any filling."""
    return np.where(np.isnan(m.clipped), np.nan, 1.0)


@percentage(
    id="invalid",
    name="Missing estimates",
    formula=r"100\,(1 - |V|/|R|)",
    source="Middlebury evaluation v3",
    missing="always counted",
    wrong=("estimated", "missing"),
    fused=_summed(lambda pixels: 0.0, as_given=True),
)
def invalid(m: Measurement) -> NDArray[np.float64]:
    """Share of the region without an estimate, before any filling."""
    return np.where(np.isnan(m.clipped), np.nan, 0.0)


_above_threshold = functools.partial(percentage, parameters=(THRESHOLD,), wrong=(WITHIN, BEYOND), request=thresholds)


@_above_threshold(
    id="bad",
    name="Bad pixels",
    formula=r"\frac{100}{|R|}\,|\{x \in R : |e(x)| > \delta\}|",
    heuristic_range=(0.0, 80.0),
    source=TAXONOMY,
    missing="counted",
    fused=_exceeding(),
    examples=("bad@1", "bad@2", "bad@0.5"),
)
def bad(m: Measurement, threshold: float) -> Mask:
    """Percentage of bad matched pixels (BMP): error strictly greater than δ, unless the protocol takes ≥.

    Missing estimates by the invalid policy.
    """
    return is_above(m, m.error, threshold)


@_above_threshold(
    id="wrong",
    name="Wrong pixels",
    formula=r"\frac{100}{|R|}\,|\{x \in V : |e(x)| > \delta\}|",
    source="Middlebury evaluation v3 (its column bad; bad + invalid is our bad)",
    missing="only in the count",
    fused=_exceeding(),
    examples=("wrong@2",),
)
def wrong(m: Measurement, threshold: float) -> Mask:
    """Estimates off by more than δ as a percentage of all pixels of the region.

    Missing ones count in the denominator only, and under the invalid policy `exclude` not at all.
    """
    return is_above(m, m.error, threshold)


@_above_threshold(
    id="bad-valid",
    name="Bad pixels among the estimated",
    formula=r"\frac{100}{|V|}\,|\{x \in V : |e(x)| > \delta\}|",
    source="Geiger, Lenz & Urtasun, CVPR 2012 (est)",
    missing="left out",
    fused=_exceeding(as_given=True),
    examples=("bad-valid@3",),
)
def bad_valid(m: Measurement, threshold: float) -> PixelCosts:
    """Bad pixels among those that the algorithm itself estimated, before any filling."""
    return _known(is_above(m, m.clipped - m.gt, threshold), m.clipped)


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
    """Numbers of outliers, from the shared pass, which knows one true disparity per pixel and the usual comparison."""
    summed = _summed(lambda pixels: float(pixels.d1), as_given=as_given)

    def fused(m: Measurement, region: str) -> Sums | None:
        return None if m.regions.four_truths is not None or not m.protocol.errors.usual else summed(m, region)

    return fused


_d1_outliers = functools.partial(percentage, source=KITTI_2015, missing="counted", wrong=OUTLIER, picture=kitti_picture)


@_d1_outliers(
    id="d1",
    name="D1 outliers",
    formula=r"\frac{100}{|R|}\,|\{x \in R : |e| > 3 \wedge |e| > 0.05\,D\}|",
    fused=_outliers(),
)
def d1(m: Measurement) -> Mask:
    """KITTI 2015's outliers: off by more than 3 px and by more than 5 % of the true disparity, both strictly."""
    return is_outlier(m, m.error)


@_d1_outliers(
    id="d1-bg",
    name="D1 outliers, background",
    formula=r"\mathrm{d1} \text{ on } \mathrm{bg}",
    region="bg",
    needs=("gt", "mask:bg"),
)
def d1_background(m: Measurement) -> Mask:
    """D1 outliers where the object map names no object."""
    return is_outlier(m, m.error)


@_d1_outliers(
    id="d1-fg",
    name="D1 outliers, foreground",
    formula=r"\mathrm{d1} \text{ on } \mathrm{fg}",
    region="fg",
    needs=("gt", "mask:fg"),
)
def d1_foreground(m: Measurement) -> Mask:
    """D1 outliers on the objects of the object map."""
    return is_outlier(m, m.error)


@_d1_outliers(
    id="d1-valid",
    name="D1 outliers among the estimated",
    formula=r"\frac{100}{|V|}\,|\{x \in V : |e| > 3 \wedge |e| > 0.05\,D\}|",
    source="Menze & Geiger, CVPR 2015 (est)",
    missing="left out",
    fused=_outliers(as_given=True),
)
def d1_valid(m: Measurement) -> PixelCosts:
    """D1 outliers among the pixels that the algorithm itself estimated, before any filling."""
    return _known(is_outlier(m, m.clipped - m.gt), m.clipped)


OUTLIER_PARAMETERS = (
    Parameter("pixels", unit="px", description="largest error that is still good", low=0.0, high=1e4),
    Parameter("share", description="largest share of the true disparity that is still good; 0: any", low=0.0, high=1e3),
    Parameter("floor", unit="px", description="least true disparity that the share is taken of", low=0.0, default=0.0),
)
OFF_BY_BOTH = ("within {0:g} px or {1:g} of D", "off by more than {0:g} px and {1:g} of D")


_free_outliers = functools.partial(percentage, parameters=OUTLIER_PARAMETERS, wrong=OFF_BY_BOTH)


@_free_outliers(
    id="outlier",
    name="Outliers",
    formula=r"\frac{100}{|R|}\,|\{x \in R : |e| > \delta \wedge |e| > \rho\,\max(D, f)\}|",
    source=f"{KITTI_2015}, with both limits free; Argoverse's takes at least 1 px for D",
    missing="counted",
    examples=("outlier@3,0.05", "outlier@10,0.1,1"),
)
def outlier(m: Measurement, pixels: float, share: float, floor: float) -> Mask:
    """Pixels off by more than δ px and by more than the share ρ of the true disparity, taken as at least f px.

    δ = 0 leaves only the relative limit, ρ = 0 only the absolute one. The protocol may take ≥ for both.
    """
    return is_outlier(m, m.error, pixels, share, floor)


@_free_outliers(
    id="outlier-valid",
    name="Outliers among the estimated",
    formula=r"\frac{100}{|V|}\,|\{x \in V : |e| > \delta \wedge |e| > \rho\,\max(D, f)\}|",
    source="Argoverse stereo (its columns with *)",
    missing="left out",
    examples=("outlier-valid@10,0.1,1",),
)
def outlier_valid(m: Measurement, pixels: float, share: float, floor: float) -> PixelCosts:
    """Outliers among the pixels that the algorithm itself estimated, before any filling."""
    return _known(is_outlier(m, m.clipped - m.gt, pixels, share, floor), m.clipped)


@_mean_of(
    id="mse-100",
    name="Mean squared error × 100",
    formula=r"\frac{100}{|V|}\sum_V e^2",
    unit="px²/100",
    source=f"{LIGHT_FIELDS} (MSE)",
    worst_pixel=lambda scene: 100 * scene.span**2,
)
def mse_100(m: Measurement) -> PixelCosts:
    """100 times the mean squared error, as the 4D light field benchmark prints it."""
    return PixelCosts(m.error.astype(np.float64) ** 2, factor=100.0)


@_quantile(
    id="quantile-100",
    name="Error quantile × 100",
    formula=r"100\,Q_q(|e|) \text{ over } V",
    unit="px/100",
    source=f"{LIGHT_FIELDS} (Q25)",
    worst_pixel=lambda scene, _: 100 * scene.span,
    examples=("quantile-100@25",),
)
def error_quantile_100(m: Measurement, percentage: float) -> PixelCosts:
    """100 times the q-th percentile of the error over the estimated pixels, as the 4D light field benchmark has it."""
    return PixelCosts(np.abs(m.error), factor=100.0)
