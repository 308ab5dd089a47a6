"""Shares of pixels that are wrong: bad pixels by a threshold, and KITTI's D1.

Notation: D the ground truth, E the estimate, e = E − D, R the pixels of the region (ground truth known), V ⊆ R those
with an estimate. What a pixel of R∖V means is the protocol's invalid policy: `count` (and what `fill` leaves open)
counts it as bad, `exclude` leaves it out.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.pixelwise import GUARD
from stereogauge.metrics.costs import Costs, above, absolute_costs, by_policy, given_costs, outside_d1
from stereogauge.metrics.declaration import Parameter, Statistic, metric
from stereogauge.metrics.error_pictures import absolute_error, missing_estimates, two_class_picture
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture
from stereogauge.metrics.pooling import over_all, over_estimated, percent
from stereogauge.metrics.statistics import thresholds

THRESHOLD = Parameter("threshold", unit="px", description="largest error that is still good", low=0.0, high=1e4)
KITTI_2015 = "Menze & Geiger, CVPR 2015"


def _share(m: Measurement, region: str, wrong: int) -> Statistic:
    """Share of R that is wrong or missing, or of V where the protocol leaves missing pixels out."""
    pixels = m.pixels(region)
    if m.protocol.invalid == "exclude":
        return over_estimated(pixels, region, float(wrong))
    return over_all(pixels, region, float(wrong + pixels.missing))


def _of_given(m: Measurement, wrong: NDArray[np.bool_]) -> Costs:
    """1 where wrong, among the estimates as the algorithm gave them."""
    return np.where(np.isnan(m.clipped), np.nan, wrong.astype(np.float64))


def _wrong_costs(m: Measurement, region: str, threshold: float) -> Costs:
    missing = np.nan if m.protocol.invalid == "exclude" else 0.0
    return np.where(np.isnan(m.estimate), missing, above(absolute_costs(m), threshold).astype(np.float64))


def _d1_count(m: Measurement, region: str) -> int:
    """How many estimates are outliers; of several true disparities the largest makes the relative tolerance."""
    if m.regions.four_truths is None:
        return m.pixels(region).d1
    return int(np.count_nonzero(outside_d1(m, absolute_costs(m)) & m.mask(region)))


def _d1_costs(m: Measurement, region: str) -> Costs:
    return by_policy(m, outside_d1(m, absolute_costs(m)))


def _bad_picture(m: Measurement, threshold: float) -> Picture:
    return two_class_picture(
        m,
        f"bad pixels, |e| > {threshold:g} px",
        absolute_error(m) > threshold + float(GUARD),
        f"within {threshold:g} px",
        f"off by more than {threshold:g} px",
    )


@metric(
    id="bad",
    name="Bad pixels",
    formula=r"\frac{100}{|R|}\,|\{x \in R : |e(x)| > \delta\}|",
    unit="%",
    range=(0.0, 100.0),
    source="Scharstein & Szeliski, IJCV 2002",
    missing="counted",
    parameters=(THRESHOLD,),
    shares=thresholds,
    finalize=percent,
    picture=_bad_picture,
    costs=lambda m, region, threshold: by_policy(m, above(absolute_costs(m), threshold)),
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
    missing="left out",
    denominator="all unless excluded",
    parameters=(THRESHOLD,),
    shares=thresholds,
    finalize=percent,
    picture=_bad_picture,
    costs=_wrong_costs,
    examples=("wrong@2",),
)
def wrong(m: Measurement, region: str, threshold: float) -> Statistic:
    """Estimates off by more than δ as a percentage of all pixels of the region.

    Missing ones count in the denominator only, and under the invalid policy `exclude` not at all.
    """
    share = over_estimated if m.protocol.invalid == "exclude" else over_all
    return share(m.pixels(region), region, float(m.statistics(region).above(region, threshold)))


@metric(
    id="bad-valid",
    name="Bad pixels among the estimated",
    formula=r"\frac{100}{|V|}\,|\{x \in V : |e(x)| > \delta\}|",
    unit="%",
    range=(0.0, 100.0),
    source="Geiger, Lenz & Urtasun, CVPR 2012 (est)",
    missing="left out",
    parameters=(THRESHOLD,),
    shares=thresholds,
    finalize=percent,
    picture=_bad_picture,
    costs=lambda m, region, threshold: _of_given(m, above(given_costs(m), threshold)),
    examples=("bad-valid@3",),
)
def bad_valid(m: Measurement, region: str, threshold: float) -> Statistic:
    """Bad pixels among those that the algorithm itself estimated, before any filling."""
    statistics = m.statistics(region, as_given=True)
    return over_estimated(statistics[region], region, float(statistics.above(region, threshold)))


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
        unknown=~m.regions.known,
        missing=missing_estimates(m),
    )


@metric(
    id="d1",
    name="D1 outliers",
    formula=r"\frac{100}{|R|}\,|\{x \in R : |e| > 3 \wedge |e| > 0.05\,D\}|",
    unit="%",
    range=(0.0, 100.0),
    source=KITTI_2015,
    missing="counted",
    finalize=percent,
    picture=_d1_picture,
    costs=_d1_costs,
)
def d1(m: Measurement, region: str) -> Statistic:
    """KITTI 2015's outliers: off by more than 3 px and by more than 5 % of the true disparity, both strictly."""
    return _share(m, region, _d1_count(m, region))


@metric(
    id="d1-bg",
    name="D1 outliers, background",
    formula=r"\mathrm{d1} \text{ on } \mathrm{bg}",
    unit="%",
    range=(0.0, 100.0),
    source=KITTI_2015,
    missing="counted",
    finalize=percent,
    picture=_d1_picture,
    costs=_d1_costs,
    region="bg",
    needs=("gt", "mask:bg"),
)
def d1_background(m: Measurement, region: str) -> Statistic:
    """D1 outliers where the object map names no object."""
    return _share(m, region, _d1_count(m, region))


@metric(
    id="d1-fg",
    name="D1 outliers, foreground",
    formula=r"\mathrm{d1} \text{ on } \mathrm{fg}",
    unit="%",
    range=(0.0, 100.0),
    source=KITTI_2015,
    missing="counted",
    finalize=percent,
    picture=_d1_picture,
    costs=_d1_costs,
    region="fg",
    needs=("gt", "mask:fg"),
)
def d1_foreground(m: Measurement, region: str) -> Statistic:
    """D1 outliers on the objects of the object map."""
    return _share(m, region, _d1_count(m, region))


@metric(
    id="d1-valid",
    name="D1 outliers among the estimated",
    formula=r"\frac{100}{|V|}\,|\{x \in V : |e| > 3 \wedge |e| > 0.05\,D\}|",
    unit="%",
    range=(0.0, 100.0),
    source="Menze & Geiger, CVPR 2015 (est)",
    missing="left out",
    finalize=percent,
    picture=_d1_picture,
    costs=lambda m, region: _of_given(m, outside_d1(m, given_costs(m))),
)
def d1_valid(m: Measurement, region: str) -> Statistic:
    """D1 outliers among the pixels that the algorithm itself estimated, before any filling."""
    pixels = m.statistics(region, as_given=True)[region]
    return over_estimated(pixels, region, float(pixels.d1))
