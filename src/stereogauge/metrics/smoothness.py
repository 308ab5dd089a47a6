"""Smoothness of a map, without ground truth: how much of it is steep or bent.

A smooth map may be wrong from end to end, and a true depth edge is steep: read these beside a metric that knows the
truth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.metrics.costs import Costs
from stereogauge.metrics.declaration import Parameter, Statistic, metric
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture
from stereogauge.metrics.pooling import percent

SOURCE = "described in Cabezas, Padilla & Trujillo, CIARP 2011"
LIMIT = Parameter("threshold", unit="px/px", description="steepest slope that is still smooth", low=0.0, high=1e4)
BEND = Parameter("threshold", unit="px/px²", description="strongest bend that is still smooth", low=0.0, high=1e4)


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


def _share_above(m: Measurement, region: str, values: NDArray[np.float32], threshold: float) -> Statistic:
    inside = m.mask(region)[1:-1, 1:-1]
    values = values[1:-1, 1:-1][inside]
    measured = values[np.isfinite(values)]
    missing = values.size - measured.size
    if measured.size == 0:
        return Statistic.empty(f"no pixel of region {region!r} has an estimate and four neighbours", missing)
    return Statistic(float(np.count_nonzero(measured > threshold)), measured.size, missing)


def _costs(values: NDArray[np.float32], threshold: float) -> Costs:
    return np.where(np.isnan(values), np.nan, (values > threshold).astype(np.float64))


def _heat(m: Measurement, title: str, values: NDArray[np.float32], threshold: float, unit: str) -> Picture:
    missing = np.isnan(m.estimate)
    return Picture(title, values, "sequential", unit, (0.0, max(2.0 * threshold, 1.0)), missing=missing)


@metric(
    id="smooth-gradient",
    name="Disparity gradient index",
    formula=r"\frac{100}{|V|} |\{x \in V : \|\nabla E(x)\| > t\}|",
    unit="%",
    range=(0.0, 100.0),
    parameters=(LIMIT,),
    needs=(),
    source=SOURCE,
    missing="left out",
    finalize=percent,
    picture=lambda m, t: _heat(m, f"slope |∇E|, limit {t:g}", gradient_length(m.estimate), t, "px/px"),
    costs=lambda m, region, t: _costs(gradient_length(m.estimate), t),
    examples=("smooth-gradient@1",),
    version=2,
)
def smooth_gradient(m: Measurement, region: str, threshold: float) -> Statistic:
    """Share of pixels steeper than the threshold, of those with an estimate and four known neighbours; 0 is a gentle
    map.

    Central differences. Needs no ground truth, and a constant map scores 0 whatever the scene.
    """
    return _share_above(m, region, gradient_length(m.estimate), threshold)


@metric(
    id="smooth-acceleration",
    name="Disparity acceleration index",
    formula=r"\frac{100}{|V|} |\{x \in V : |\Delta E(x)| > t\}|",
    unit="%",
    range=(0.0, 100.0),
    parameters=(BEND,),
    needs=(),
    source=SOURCE,
    missing="left out",
    finalize=percent,
    picture=lambda m, t: _heat(m, f"bend |ΔE|, limit {t:g}", acceleration(m.estimate), t, "px/px²"),
    costs=lambda m, region, t: _costs(acceleration(m.estimate), t),
    examples=("smooth-acceleration@1",),
    version=2,
)
def smooth_acceleration(m: Measurement, region: str, threshold: float) -> Statistic:
    """Share of pixels whose 4-neighbour Laplacian exceeds the threshold; 0 where the map is piecewise planar without
    edges.

    Measured where the pixel and its four neighbours have estimates. Needs no ground truth.
    """
    return _share_above(m, region, acceleration(m.estimate), threshold)
