"""Planes in disparity space: fitted to points, drawn by hand, and in labelled regions."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.errors import FileError, check_one_size
from stereogauge.io.images import one_channel, read_pixels
from stereogauge.kernels.planes import Coefficients, best_hypothesis, fit_near_plane, split_by_plane
from stereogauge.masks.geometry.connected import components
from stereogauge.model import DisparityMap, Scene
from stereogauge.protocol import GeometryParameters

SCORED_POINTS = 50_000
REFITS = 2
OCTAVES = 3  # below the reach of a triple
FINEST_STEP, COARSEST_STEP = 1 / 64, 1.0  # px
FEWEST_LEVELS = 5
SAMPLED_VALUES = 50_000


class Planes(Struct, frozen=True):
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

    def keep(self, part: NDArray[np.int16]) -> tuple[Planes, NDArray[np.int16]]:
        """The planes that have a pixel in `part`, whose labels are like `labels`; both numbered again."""
        kept = np.unique(part[part > 0])
        numbers = np.zeros(len(self.coefficients) + 1, np.int16)
        numbers[kept] = np.arange(1, kept.size + 1)
        return Planes(numbers[self.labels], self.coefficients[kept - 1]), numbers[part]


def plane_normals(coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit normals (−a, −b, 1)/√(1 + a² + b²) in (x, y, d) space, one row per plane."""
    slopes = np.column_stack([-coefficients[:, :2], np.ones(len(coefficients))])
    return np.asarray(slopes / np.linalg.norm(slopes, axis=1, keepdims=True))


def angle_between(first: Coefficients, second: Coefficients) -> float:
    """Degrees between the normals of two planes in (x, y, d) space, 0 to 90."""
    one, other = plane_normals(np.array([first, second]))
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(one, other)), abs(one @ other))))


class PlanePoints(Struct, frozen=True):
    """PlanePoints (x, y, d) of a disparity map, in reading order."""

    x: NDArray[np.float32]
    y: NDArray[np.float32]
    d: NDArray[np.float32]

    @classmethod
    def of(cls, disparity: DisparityMap, mask: NDArray[Any]) -> PlanePoints:
        """The points of the pixels in the mask."""
        rows, columns = np.divmod(np.flatnonzero(mask).astype(np.int32), np.int32(disparity.shape[1]))
        return cls(columns.astype(np.float32), rows.astype(np.float32), disparity[mask])

    def __len__(self) -> int:
        return len(self.d)

    def where(self, chosen: NDArray[Any]) -> PlanePoints:
        """Only the chosen points: a mask or a slice."""
        return PlanePoints(self.x[chosen], self.y[chosen], self.d[chosen])

    def split(self, plane: Coefficients, tolerance: float) -> tuple[PlanePoints, PlanePoints]:
        """The points within `tolerance` of the plane, and the others."""
        near, far = split_by_plane(self.x, self.y, self.d, plane, tolerance)
        return PlanePoints(*near), PlanePoints(*far)

    def triples(self, number: int, random: np.random.Generator, reach: float | None = None) -> NDArray[np.int64]:
        """Random triples of points; with `reach`, the second and third lie at most so far from the first in x and y.

        Small and large triples are equally frequent. Where no point lies, the next one in reading order is taken.
        """
        chosen = random.integers(0, len(self), size=(number, 3))
        if reach is None:
            return chosen
        far = reach * np.exp2(-OCTAVES * random.random((number, 1)))
        rows, columns = far * random.uniform(-1, 1, (2, number, 2))
        width = np.int64(self.x.max()) + 1
        x = np.clip(np.rint(self.x[chosen[:, :1]] + columns), 0, width - 1).astype(np.int64)
        y = np.rint(self.y[chosen[:, :1]] + rows).astype(np.int64)
        places = np.searchsorted(self.y.astype(np.int64) * width + self.x.astype(np.int64), y * width + x)
        chosen[:, 1:] = np.minimum(places, len(self) - 1)
        return chosen

    @property
    def place(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows and columns, to index a map with."""
        return self.y.astype(np.intp), self.x.astype(np.intp)


def fit_plane(
    points: PlanePoints, tolerance: float, iterations: int, random: np.random.Generator, reach: float | None = None
) -> tuple[Coefficients, int]:
    """RANSAC: the plane with most points within the tolerance, and their number.

    Triples, of any size or within `reach`, are drawn from, and scored on, at most about a hundred thousand evenly
    strided points; the best is refitted by least squares, twice to those of them within the tolerance and then to all
    points within it. Fewer than three points, or points on one line, give no inliers.
    """
    nothing = ((0.0, 0.0, 0.0), 0)
    if len(points) < 3:
        return nothing
    stride = max(1, len(points) // SCORED_POINTS)
    sample = PlanePoints(*(np.ascontiguousarray(part[::stride]) for part in (points.x, points.y, points.d)))
    triples = sample.triples(iterations, random, reach)
    plane, found = best_hypothesis(sample.x, sample.y, sample.d, triples, tolerance)
    if not found:
        return nothing
    for _ in range(REFITS):
        plane, _ = fit_near_plane(sample.x, sample.y, sample.d, plane, tolerance)
    return fit_near_plane(points.x, points.y, points.d, plane, tolerance)


def value_step(disparity: DisparityMap) -> float:
    """The step of which all known values are multiples, up to a common offset, in px; 0 where they are not quantised.

    Tsukuba has 1, Teddy and Cones ¼, floating-point maps 0. Steps below 1/64 px and above 1 px, and fewer than five
    different values, show no quantisation.
    """
    known = disparity[np.isfinite(disparity)]
    for stride in (max(1, known.size // SAMPLED_VALUES), 1):
        values = np.unique(known[::stride]).astype(np.float64)
        if len(values) < FEWEST_LEVELS:
            continue
        step = float(np.diff(values).min())
        if not FINEST_STEP <= step <= COARSEST_STEP:
            return 0.0
        multiples = (known - np.float32(values[0])) / np.float32(step)
        if np.abs(multiples - np.round(multiples)).max() < 0.01:
            return step
    return 0.0


def planes_in_regions(
    regions: NDArray[Any], disparity: DisparityMap | None, tolerance: float, parameters: GeometryParameters
) -> Planes:
    """One plane for each drawn region (label > 0), from whatever ground truth lies in it, however sparse.

    A pixel whose ground truth is farther from the plane than the tolerance leaves its region, one without ground truth
    stays. A region with fewer than three known pixels, or without ground truth at all, has the plane NaN.
    """
    values = np.unique(regions[regions > 0])
    labels = np.zeros(regions.shape, np.int16)
    coefficients = np.full((len(values), 3), np.nan)
    random = np.random.default_rng(parameters.plane_seed)
    for position, value in enumerate(values):
        inside = regions == value
        labels[inside] = position + 1
        if disparity is None:
            continue
        points = PlanePoints.of(disparity, inside & np.isfinite(disparity))
        plane, found = fit_plane(points, tolerance, parameters.plane_iterations, random)
        if not found:
            continue
        coefficients[position] = plane
        _, far = points.split(plane, tolerance)
        labels[far.place] = 0
    return Planes(labels, coefficients)


PLANES = "planes"


def drawn_planes(scene: Scene) -> NDArray[Any] | None:
    """The scene's own planar regions as labels, 0 = none; None where it has none.

    They are the label image (an array or a file) in the scene's metadata under "planes", or its mask "planes", whose
    connected parts are one region each.
    """
    source = scene.metadata.get(PLANES)
    if source is None:
        return components(scene.mask(PLANES))[0] if PLANES in scene.masks else None
    labels: NDArray[Any] | None = source if isinstance(source, np.ndarray) else one_channel(read_pixels(source))
    if labels is None:
        raise FileError(
            f"{source}: an image of drawn planes is grey, one value per plane and 0 for none; this one is coloured."
        )
    check_one_size(f"The image of drawn planes of scene {scene.id!r}", labels.shape, "the scene", scene.shape)
    return labels
