"""Directions of local disparity gradients.

Their histogram on a region, and how far it is from the ground truth's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.set_scores import direction_counts
from stereogauge.masks.geometry.gradients import central_gradient
from stereogauge.metrics.costs import Costs
from stereogauge.metrics.declaration import Statistic, metric
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.overlays import grey_image
from stereogauge.metrics.picture import Picture

BINS = 72


@dataclass(frozen=True)
class DirectionHistogram:
    """Counts of gradient directions in equal bins around the circle, of an estimate and of the ground truth.

    The first bin is centred on −180°, so that the directions of the axes, which quantised maps are full of, lie in the
    middle of theirs.
    """

    estimate: NDArray[np.int64]
    truth: NDArray[np.int64]

    @property
    def centres(self) -> NDArray[np.float64]:
        """The bins' middles in degrees."""
        width = 360 / self.truth.size
        return np.asarray(-180 + width * np.arange(self.truth.size), dtype=np.float64)


def circular_earth_movers_distance(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Least work, in degrees, that turns one circular histogram into the other, both of mass 1; NaN if one is empty.

    On a circle it is Σ|F_i − median F| · bin width, F the cumulated difference (Rabin, Delon & Gousseau, JMIV 2011).
    """
    if not first.any() or not second.any():
        return float("nan")
    difference = np.cumsum(first / first.sum() - second / second.sum())
    return float(np.abs(difference - np.median(difference)).sum() * 360 / first.size)


def direction_histogram(m: Measurement, region: str, bins: int = BINS) -> DirectionHistogram:
    """Gradient directions atan2(∂y, ∂x) on a region; a gradient of 0 has none and is left out."""
    pixels = np.flatnonzero(m.mask(region)).astype(np.int32)
    return DirectionHistogram(direction_counts(m.estimate, pixels, bins), direction_counts(m.gt, pixels, bins))


def _costs(m: Measurement, region: str) -> Costs:
    """How far, in degrees, the estimate's direction is turned from the true one; 180 where it has none."""
    angles = []
    for disparity in (m.estimate, m.gt):
        along_x, along_y, magnitude = central_gradient(disparity)
        angles.append(np.where(magnitude > 0, np.degrees(np.arctan2(along_y, along_x)), np.nan))
    turn = np.abs(angles[0] - angles[1])
    turn = np.minimum(turn, 360 - turn)
    return np.where(np.isnan(angles[1]) & np.isnan(angles[0]), np.nan, np.where(np.isnan(turn), 180.0, turn))


def _picture(m: Measurement) -> Picture:
    along_x, along_y, magnitude = central_gradient(m.estimate)
    directions = np.degrees(np.arctan2(along_y, along_x))
    return Picture(
        title="direction of the disparity gradient",
        values=np.where(magnitude > 0, directions, np.float32(np.nan)),
        kind="cyclic",
        unit="°",
        limits=(-180.0, 180.0),
        missing=np.isnan(m.estimate),
        backdrop=grey_image(m.scene),
    )


@metric(
    id="direction-histogram",
    name="Distance of gradient directions",
    formula=r"\mathrm{EMD}_\circ(h_E, h_D), \quad "
    r"h = \text{histogram of } \mathrm{atan2}(\partial_y, \partial_x) \text{ on } R",
    unit="°",
    range=(0.0, 180.0),
    source="after Honauer, Maier-Hein & Kondermann, ICCV 2015, supplement, figures 9 and 10",
    missing="left out",
    picture=_picture,
    costs=_costs,
    version=2,
)
def direction_distance(m: Measurement, region: str) -> Statistic:
    """Circular earth mover's distance, in degrees, between the gradient directions of estimate and ground truth.

    72 bins of 5°. 0: the same distribution. 180: all directions opposite. Pixels without an estimate or beside a
    missing one have no direction and count as missing; a gradient of 0 has none either; NaN where no pixel has one. It
    does not pool: a distance of sums is no sum of distances.
    """
    histogram = direction_histogram(m, region)
    count = int(histogram.estimate.sum())
    unknown = np.isnan(central_gradient(m.estimate)[2]) | np.isnan(m.estimate)
    missing = int(np.count_nonzero(m.mask(region) & unknown))
    value = circular_earth_movers_distance(histogram.estimate, histogram.truth)
    if np.isnan(value):
        return Statistic.empty(f"no gradient direction on region {region!r}", missing)
    return Statistic.of_value(value, count, missing)
