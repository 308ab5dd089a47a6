"""Distances between the estimated and the true point cloud of a scene, in metres; they need a calibration.

Each pixel with a depth is a point (X, Y, Z) = ((x − c_x)·Z/f, (y − c_y)·Z/f, Z), with c the principal point of the
calibration, by default the image centre. P are the points of the estimate on the region, G those of
the ground truth; dist is the distance to the nearest point of the other cloud.

A missing estimate costs what the worst estimate inside the scene's range of depth costs at its pixel, and a true point
without any estimate near it never costs more than that: leaving out never improves a score. Of more than 200 000 pixels
every second, third, … is queried for its neighbours; all of them may be neighbours.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.metrics.costs import mean
from stereogauge.metrics.declaration import Parameter, Statistic, map_metric
from stereogauge.metrics.measurement import Measurement

NEEDS = ("gt", "calibration")
KNAPITSCH = "Knapitsch, Park, Zhou & Koltun, Tanks and Temples, ACM TOG 36(4), 2017"
SEITZ = "Seitz, Curless, Diebel, Scharstein & Szeliski, CVPR 2006"
MOST_QUERIES = 200_000
Distances = NDArray[np.float64]


class Clouds(Struct, frozen=True):
    """Distances at the queried pixels: from the estimated point to G, from the true point to P.

    `found` says which of them have an estimate; `count` and `missing` are numbers of all pixels.
    """

    accuracy: Distances
    completeness: Distances
    found: NDArray[np.bool_]
    count: int
    missing: int


def clouds(m: Measurement, region: str) -> Clouds:
    """The distances on one region, computed once for all metrics of it."""
    return m.once(f"clouds {region}", lambda: _clouds(m, region))


def _clouds(m: Measurement, region: str) -> Clouds:
    from scipy.spatial import cKDTree

    calibration = m.scene.calibration
    depth = calibration.depth(m.gt)
    inside = m.mask(region) & np.isfinite(depth)
    truth, estimate = (calibration.points(values)[inside] for values in (m.gt, m.estimate))
    found = np.isfinite(estimate[:, 2])
    missing = int(np.count_nonzero(~found))
    queried = np.arange(0, len(truth), max(1, math.ceil(len(truth) / MOST_QUERIES)))
    if m.protocol.invalid == "exclude":
        queried = queried[found[queried]]
    count = len(truth) - (missing if m.protocol.invalid == "exclude" else 0)
    if not len(queried):
        return Clouds(np.empty(0), np.empty(0), np.empty(0, np.bool_), count, missing)
    largest = _largest(truth[queried], float(np.nanmin(depth)), float(np.nanmax(depth)))
    accuracy, completeness = largest.copy(), largest.copy()
    known = found[queried]
    if known.any():
        accuracy[known] = cKDTree(truth).query(estimate[queried][known])[0]
    if found.any():
        completeness = np.minimum(cKDTree(estimate[found]).query(truth[queried])[0], largest)
    return Clouds(accuracy, completeness, known, count, missing)


def _largest(points: NDArray[np.float64], near: float, far: float) -> Distances:
    """The distance from each point to the farther end of its ray inside the scene's range of depth."""
    depth: Distances = points[:, 2]
    rays: Distances = np.linalg.norm(points, axis=1) / depth
    return rays * np.maximum(depth - near, far - depth)


def _averaged(distances: Distances, clouds: Clouds, region: str) -> Statistic:
    if not distances.size:
        return Statistic.empty(f"region {region!r} has no point to compare", clouds.missing)
    return Statistic(float(distances.mean() * clouds.count), clouds.count, clouds.missing)


_distance = functools.partial(map_metric, unit="m", missing="charged", needs=NEEDS, pooled=mean, version=2)


@_distance(
    id="cloud-accuracy",
    name="Accuracy of the point cloud",
    formula=r"\frac{1}{|P|} \sum_{p \in P} \mathrm{dist}(p, G)",
    source=SEITZ,
)
def cloud_accuracy(m: Measurement, region: str) -> Statistic:
    """Mean distance from the estimated points to the nearest true one."""
    found = clouds(m, region)
    return _averaged(found.accuracy, found, region)


@_distance(
    id="cloud-completeness",
    name="Completeness of the point cloud",
    formula=r"\frac{1}{|G|} \sum_{g \in G} \mathrm{dist}(g, P)",
    source=SEITZ,
)
def cloud_completeness(m: Measurement, region: str) -> Statistic:
    """Mean distance from the true points to the nearest estimated one: large where nothing was reconstructed."""
    found = clouds(m, region)
    return _averaged(found.completeness, found, region)


@_distance(
    id="cloud-chamfer",
    name="Chamfer distance of the point clouds",
    formula=r"\frac{1}{2|P|} \sum_{p \in P} \mathrm{dist}(p, G) + \frac{1}{2|G|} \sum_{g \in G} \mathrm{dist}(g, P)",
    source="Barrow, Tenenbaum, Bolles & Wolf, IJCAI 1977; here the mean of accuracy and completeness",
)
def cloud_chamfer(m: Measurement, region: str) -> Statistic:
    """The mean of accuracy and completeness."""
    found = clouds(m, region)
    return _averaged((found.accuracy + found.completeness) / 2, found, region)


@map_metric(
    id="cloud-f",
    name="F-score of the point cloud",
    formula=r"100 \cdot \frac{2\,p\,r}{p + r},\ p = |\{p : \mathrm{dist}(p, G) < t\}| / |P|,\ r = "
    r"|\{g : \mathrm{dist}(g, P) < t\}| / |G|",
    unit="%",
    direction="higher",
    range=(0.0, 100.0),
    source=KNAPITSCH,
    missing="counted",
    needs=NEEDS,
    parameters=(Parameter("distance", unit="m", description="how near a point must be", low=0.0, high=1e6),),
    examples=("cloud-f@0.05",),
    version=2,
)
def cloud_f(m: Measurement, region: str, distance: float) -> Statistic:
    """Harmonic mean of the share of pixels whose estimated point lies near a true one and of true points near an
    estimated one.

    A missing estimate is not near anything.
    """
    found = clouds(m, region)
    if not found.accuracy.size:
        return _averaged(found.accuracy, found, region)
    precision = float(np.mean(found.found & (found.accuracy < distance)))
    recall = float(np.mean(found.completeness < distance)) if found.found.any() else 0.0
    value = 100 * 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return Statistic.of_value(value, found.count, found.missing)
