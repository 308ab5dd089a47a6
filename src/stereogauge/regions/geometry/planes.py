"""Planar surfaces of a ground truth: planes fitted by sequential RANSAC to regions of steady gradient direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.components import label_centres
from stereogauge.kernels.geometry_maps import central_gradient, direction_change
from stereogauge.kernels.ransac import best_hypothesis, fit_near_plane, split_by_plane
from stereogauge.model import DisparityMap, Mask
from stereogauge.protocol.geometry import GeometryParameters
from stereogauge.regions.connected import components, large_components

SCORED_POINTS = 50_000
MOST_PLANES = 20
REFITS = 2
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], np.uint8)

Coefficients = tuple[float, float, float]


@dataclass(frozen=True)
class Planes:
    """Planes d = a·x + b·y + c and their pixels.

    `labels` is 0 off every plane and k on the pixels of `coefficients[k − 1]`. A row of NaN is a region whose plane
    is not known.
    """

    labels: NDArray[np.int16]
    coefficients: NDArray[np.float64]

    @classmethod
    def none(cls, shape: tuple[int, int]) -> Planes:
        """No plane anywhere."""
        return cls(np.zeros(shape, np.int16), np.empty((0, 3)))

    @property
    def normals(self) -> NDArray[np.float64]:
        """Unit normals (−a, −b, 1)/√(1 + a² + b²) in (x, y, d) space, a row a plane."""
        slopes = np.column_stack([-self.coefficients[:, :2], np.ones(len(self.coefficients))])
        return np.asarray(slopes / np.linalg.norm(slopes, axis=1, keepdims=True))

    @property
    def points(self) -> NDArray[np.float64]:
        """A point (x, y, d) on each plane, over the middle of its pixels."""
        x, y = label_centres(self.labels, len(self.coefficients))
        a, b, c = self.coefficients.T
        return np.column_stack([x, y, a * x + b * y + c])


def steady_direction(filled: DisparityMap, resolution: float, parameters: GeometryParameters) -> Mask:
    """Pixels where the smoothed gradient vectors turn by less than the allowed angle per pixel, off discontinuities.

    The vectors are smoothed rather than their angles, which wrap at ±π. Each component is clipped to ±1 first, so
    that a jump does not outweigh the surfaces beside it.
    """
    scaled = parameters.at(resolution)
    along_x, along_y, magnitude = central_gradient(filled)
    smooth = [
        cv2.GaussianBlur(np.clip(part, -1, 1), (0, 0), scaled.plane_smoothing, borderType=cv2.BORDER_REPLICATE)
        for part in (along_x, along_y)
    ]
    change = direction_change(*smooth)
    jump = cv2.dilate((magnitude > scaled.discontinuity_gradient).astype(np.uint8), CROSS)
    return np.asarray((change < parameters.plane_direction_change) & (jump == 0))


@dataclass(frozen=True)
class Points:
    """Points (x, y, d) of a disparity map, in reading order."""

    x: NDArray[np.float32]
    y: NDArray[np.float32]
    d: NDArray[np.float32]

    @classmethod
    def of(cls, disparity: DisparityMap, mask: NDArray[Any]) -> Points:
        """The points of the pixels in the mask."""
        rows, columns = np.divmod(np.flatnonzero(mask).astype(np.int32), np.int32(disparity.shape[1]))
        return cls(columns.astype(np.float32), rows.astype(np.float32), disparity[mask])

    def __len__(self) -> int:
        return len(self.d)

    def where(self, chosen: NDArray[Any]) -> Points:
        """Only the chosen points: a mask or a slice."""
        return Points(self.x[chosen], self.y[chosen], self.d[chosen])

    def split(self, plane: Coefficients, tolerance: float) -> tuple[Points, Points]:
        """The points within `tolerance` of the plane, and the others."""
        near, far = split_by_plane(self.x, self.y, self.d, *plane, tolerance)
        return Points(*near), Points(*far)

    @property
    def place(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows and columns, to index a map with."""
        return self.y.astype(np.intp), self.x.astype(np.intp)


def fit_plane(
    points: Points, tolerance: float, iterations: int, random: np.random.Generator
) -> tuple[Coefficients, int]:
    """RANSAC: the plane with most points within the tolerance, and their number.

    Triples are drawn from, and scored on, at most about a hundred thousand evenly strided points; the best is refitted
    by least squares, twice to those of them within the tolerance and then to all points within it. Fewer than three
    points, or points on one line, give no inliers.
    """
    nothing = ((0.0, 0.0, 0.0), 0)
    if len(points) < 3:
        return nothing
    stride = max(1, len(points) // SCORED_POINTS)
    sample = Points(*(np.ascontiguousarray(part[::stride]) for part in (points.x, points.y, points.d)))
    triples = random.integers(0, len(sample), size=(iterations, 3))
    a, b, c, found = best_hypothesis(sample.x, sample.y, sample.d, triples, tolerance)
    if not found:
        return nothing
    for _ in range(REFITS):
        a, b, c, _ = fit_near_plane(sample.x, sample.y, sample.d, a, b, c, tolerance)
    a, b, c, found = fit_near_plane(points.x, points.y, points.d, a, b, c, tolerance)
    return (a, b, c), int(found)


def find_planes(filled: DisparityMap, known: Mask, resolution: float, parameters: GeometryParameters) -> Planes:
    """Planar surfaces: components of steady gradient direction, in each plane after plane by RANSAC.

    A component, and a plane, holds at least `plane_share` of the image's pixels. Of a plane's inliers only connected
    parts of at least `plane_part_share` stay: a plane through other surfaces meets them in stripes. The search in a
    component ends when the best remaining plane is too small.
    """
    tolerance = parameters.at(resolution).plane_tolerance
    least = max(3.0, parameters.plane_share * filled.size)
    random = np.random.default_rng(parameters.plane_seed)
    labels = np.zeros(filled.shape, np.int16)
    coefficients: list[Coefficients] = []
    component_labels, number = components(steady_direction(filled, resolution, parameters) & known)
    for component in large_components(component_labels, number, least):
        points = Points.of(filled, component_labels == component)
        for _ in range(MOST_PLANES):
            plane, found = fit_plane(points, tolerance, parameters.plane_iterations, random)
            if found < least:
                break
            near, points = points.split(plane, tolerance)
            part = _large_parts(near, parameters.plane_part_share * filled.size)
            if len(part) >= least:
                coefficients.append(plane)
                labels[part.place] = len(coefficients)
    return Planes(labels, np.array(coefficients, dtype=np.float64).reshape(-1, 3))


def _large_parts(points: Points, least: float) -> Points:
    """The points in 8-connected parts of at least `least` pixels."""
    if not len(points):
        return points
    rows, columns = points.place
    rows -= rows.min()
    columns -= columns.min()
    window = np.zeros((rows.max() + 1, columns.max() + 1), np.uint8)
    window[rows, columns] = 1
    labels, number = components(window)
    part = labels[rows, columns]
    return points.where(np.bincount(part, minlength=number)[part] >= least)


def planes_in_regions(
    regions: NDArray[Any], disparity: DisparityMap | None, resolution: float, parameters: GeometryParameters
) -> Planes:
    """One plane for each drawn region (label > 0), from whatever ground truth lies in it, however sparse.

    A pixel whose ground truth is farther from the plane than the tolerance leaves its region, one without ground truth
    stays. A region with fewer than three known pixels, or without ground truth at all, has the plane NaN.
    """
    values = np.unique(regions[regions > 0])
    labels = np.zeros(regions.shape, np.int16)
    coefficients = np.full((len(values), 3), np.nan)
    tolerance = parameters.at(resolution).plane_tolerance
    random = np.random.default_rng(parameters.plane_seed)
    for position, value in enumerate(values):
        inside = regions == value
        labels[inside] = position + 1
        if disparity is None:
            continue
        points = Points.of(disparity, inside & np.isfinite(disparity))
        plane, found = fit_plane(points, tolerance, parameters.plane_iterations, random)
        if not found:
            continue
        coefficients[position] = plane
        _, far = points.split(plane, tolerance)
        labels[far.place] = 0
    return Planes(labels, coefficients)
