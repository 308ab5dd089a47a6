"""Sizes of errors against ground truth, over the estimated pixels V of a region R; and how many there are.

Notation: D the ground truth, E the estimate, e = E − D.
"""

from __future__ import annotations

import math

import numpy as np

from stereogauge.metrics.costs import (
    Costs,
    absolute_costs,
    given_costs,
    missing_costs,
    relative_costs,
    signed_costs,
    squared_costs,
)
from stereogauge.metrics.declaration import Parameter, Statistic, metric
from stereogauge.metrics.error_pictures import BAD, GOOD, absolute_error, clip_limit, heat_picture, signed_picture
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture
from stereogauge.metrics.pooling import emptiness, mean, over_all, over_estimated, percent, root_mean
from stereogauge.metrics.statistics import percentiles

TAXONOMY = "Scharstein & Szeliski, IJCV 2002"


def _absolute_picture(m: Measurement, *_: float) -> Picture:
    return heat_picture(m, "absolute error |e|", absolute_error(m), "px", clip_limit(m))


@metric(
    id="mae",
    name="Mean absolute error",
    formula=r"\frac{1}{|V|}\sum_V |e|",
    unit="px",
    source=TAXONOMY,
    missing="left out",
    scaling="length",
    finalize=mean,
    picture=_absolute_picture,
    costs=absolute_costs,
)
def mae(m: Measurement, region: str) -> Statistic:
    """Mean size of the error over the estimated pixels; also called EPE and avgErr."""
    return over_estimated(m.pixels(region), region, m.pixels(region).absolute)


@metric(
    id="mae-valid",
    name="Mean absolute error among the estimated",
    formula=r"\frac{1}{|V|}\sum_V |e|",
    unit="px",
    source="Geiger, Lenz & Urtasun, CVPR 2012 (est)",
    missing="left out",
    scaling="length",
    finalize=mean,
    picture=_absolute_picture,
    costs=given_costs,
)
def mae_valid(m: Measurement, region: str) -> Statistic:
    """Mean size of the error over the pixels that the algorithm itself estimated, before any filling."""
    pixels = m.statistics(region, as_given=True)[region]
    return over_estimated(pixels, region, pixels.absolute)


def _squared_picture(m: Measurement) -> Picture:
    return heat_picture(m, "squared error e²", absolute_error(m) ** 2, "px²", clip_limit(m) ** 2)


@metric(
    id="mse",
    name="Mean squared error",
    formula=r"\frac{1}{|V|}\sum_V e^2",
    unit="px²",
    source=TAXONOMY,
    missing="left out",
    scaling="area",
    finalize=mean,
    picture=_squared_picture,
    costs=squared_costs,
)
def mse(m: Measurement, region: str) -> Statistic:
    """Mean squared error over the estimated pixels."""
    return over_estimated(m.pixels(region), region, m.pixels(region).squared)


@metric(
    id="rms",
    name="Root mean squared error",
    formula=r"\sqrt{\tfrac{1}{|V|}\sum_V e^2}",
    unit="px",
    source=TAXONOMY,
    missing="left out",
    scaling="length",
    finalize=root_mean,
    heuristic_range=(0.0, 70.0),
    picture=_absolute_picture,
    costs=squared_costs,
)
def rms(m: Measurement, region: str) -> Statistic:
    """Root of the mean squared error over the estimated pixels."""
    return over_estimated(m.pixels(region), region, m.pixels(region).squared)


def _signed_picture(m: Measurement) -> Picture:
    return signed_picture(m, "signed error e = E − D", m.estimate - m.gt, "px", clip_limit(m))


@metric(
    id="bias",
    name="Bias",
    formula=r"\frac{1}{|V|}\sum_V e",
    unit="px",
    direction="zero",
    range=(-math.inf, math.inf),
    source="mean signed error",
    missing="left out",
    scaling="length",
    finalize=mean,
    picture=_signed_picture,
    costs=signed_costs,
)
def bias(m: Measurement, region: str) -> Statistic:
    """Mean signed error: positive means that the map lies too near."""
    return over_estimated(m.pixels(region), region, m.pixels(region).signed)


def _relative(m: Measurement, region: str, factor: float) -> Statistic:
    pixels = m.pixels(region)
    missing = pixels.missing - pixels.zero_truth_missing
    count = pixels.size - pixels.zero_truth - missing
    note = f"{pixels.zero_truth} pixels with D = 0 left out" if pixels.zero_truth else ""
    if count == 0:
        return Statistic.empty(note or emptiness(region, pixels.size), missing)
    return Statistic(factor * pixels.relative, count, missing, note)


def _relative_picture(m: Measurement) -> Picture:
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 100.0 * absolute_error(m) / np.abs(m.gt)
    return heat_picture(m, "relative error |e| / D", np.where(np.isfinite(share), share, np.nan), "%", 10.0)


@metric(
    id="mre",
    name="Mean relative error",
    formula=r"\frac{1}{|V|}\sum_V \frac{|e|}{D}",
    unit="",
    source="Van der Mark & Gavrila, T-ITS 2006",
    missing="left out",
    finalize=mean,
    picture=_relative_picture,
    costs=lambda m, region: relative_costs(m, 1.0),
    version=2,
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
    missing="left out",
    finalize=mean,
    picture=_relative_picture,
    costs=lambda m, region: relative_costs(m, 100.0),
    version=2,
)
def mape(m: Measurement, region: str) -> Statistic:
    """100 times the mean relative error, over estimated pixels only."""
    return _relative(m, region, 100.0)


def _quantile_costs(m: Measurement, region: str, percentage: float) -> Costs:
    """The errors that reach the quantile, 0 for the smaller ones."""
    errors = absolute_costs(m)
    value = m.statistics(region).quantile(region, percentage / 100)
    return np.where(np.isnan(errors), np.nan, np.where((errors >= value) & (value > 0), errors, 0.0))


@metric(
    id="quantile",
    name="Error quantile",
    formula=r"Q_q(|e|) \text{ over } V",
    unit="px",
    source="Middlebury evaluation v3 (A50, A90, A95, A99)",
    missing="left out",
    scaling="length",
    parameters=(
        Parameter("percentage", unit="%", description="share of pixels with a smaller error", low=0.0, high=100.0),
    ),
    shares=percentiles,
    picture=_absolute_picture,
    costs=_quantile_costs,
    examples=("quantile@50", "quantile@95"),
)
def quantile(m: Measurement, region: str, percentage: float) -> Statistic:
    """The q-th percentile of the error over the estimated pixels, exact; does not pool over scenes."""
    pixels = m.pixels(region)
    if pixels.valid == 0:
        return Statistic.empty(emptiness(region, pixels.size), pixels.missing)
    value = m.statistics(region).quantile(region, percentage / 100)
    return Statistic.of_value(value, pixels.valid, pixels.missing)


def _density_picture(m: Measurement) -> Picture:
    missing = m.regions.known & np.isnan(m.clipped)
    return Picture(
        title="where the algorithm gave an estimate",
        values=missing.astype(np.uint8),
        kind="labels",
        legend={0: ("estimated", GOOD), 1: ("missing", BAD)},
        unknown=~m.regions.known,
    )


@metric(
    id="density",
    name="Density",
    formula=r"100\,|V|/|R|",
    unit="%",
    direction="higher",
    range=(0.0, 100.0),
    source=TAXONOMY,
    missing="counted",
    denominator="all",
    finalize=percent,
    picture=_density_picture,
    costs=missing_costs,
)
def density(m: Measurement, region: str) -> Statistic:
    """Share of the region for which the algorithm gave an estimate, before any filling."""
    pixels = m.statistics(region, as_given=True)[region]
    return over_all(pixels, region, float(pixels.valid))


@metric(
    id="invalid",
    name="Missing estimates",
    formula=r"100\,(1 - |V|/|R|)",
    unit="%",
    range=(0.0, 100.0),
    source="Middlebury evaluation v3",
    missing="counted",
    denominator="all",
    finalize=percent,
    picture=_density_picture,
    costs=missing_costs,
)
def invalid(m: Measurement, region: str) -> Statistic:
    """Share of the region without an estimate, before any filling."""
    pixels = m.statistics(region, as_given=True)[region]
    return over_all(pixels, region, float(pixels.missing))
