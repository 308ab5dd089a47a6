"""The planar surfaces of a dense ground truth: planes that are planes, whole and not curved.

Candidates come from sequential RANSAC in regions of steady gradient direction (supplement of the paper, section 2.2).
Such a region may be most of the image: the points of a triple are neighbours, points close to a candidate decide
between flat and bowed, and one that is no plane leaves nearly all its points to the others. A candidate grows over all
that lies within twice the tolerance and is then examined: what does not lie close to the plane, and what a quadratic
describes much better than a plane, is no planar surface. Absolute flatness comes before shape: over a large wall a
quadratic always fits better, and a wall within half the tolerance of its plane is flat. A plane ends at edges; what
leaves its plane gradually is a slice of a curved surface.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.kernels.planes import (
    Coefficients,
    direction_change,
    distances_along_disparity,
    nearest_planes,
    part_statistics,
    quadratic_moments,
)
from stereogauge.masks.geometry.connected import (
    Floats,
    bounding_window,
    central_gradient,
    components,
    large_components,
    vector_change,
)
from stereogauge.masks.geometry.planes import PlanePoints, Planes, angle_between, fit_plane
from stereogauge.model import DisparityMap, Mask
from stereogauge.protocol import GeometryParameters

SEARCH_WIDTH = 750  # px: wider maps are searched at the nearest whole fraction of their size
MOST_CANDIDATES = 60  # in a region
REACH = 2.0  # × side of the square of the least plane: the largest distance in x and y in a triple of points
CLOSE = 0.5  # × tolerance: points that count for a candidate; a flat surface has more of them than a bowed one
LEAST_CLOSE = 0.5  # × least plane: the fewest such points
AGAIN = 0.25  # × tolerance: points that a candidate takes with it that is no plane, so that it is none again
STEEPEST = 1.0  # px per px: a steeper surface would hide itself from the right camera
WEAK_SLOPE = 0.05  # px per px: the direction of a weaker gradient is mostly noise
FLAT = 0.5  # × tolerance: a residual this small is flat, whatever shape it has
GRADUAL = 0.4  # share of a surface's rim on which it leaves its plane gradually: from there on it is no whole surface
GRADUAL_IF_BENT = 0.2  # the same of a flat surface that has the shape of a bent one
APART = 0.2  # share of a surface that is not close to its plane: a slice of a curved one fills its band, and has more
RIM = 3  # px: the distance of the rim from the surface
LEFT = 3.0  # × tolerance: the largest distance from the plane of a rim on which the surface leaves it gradually
EVEN = 0.75  # × tolerance: the largest residual of a plane, as root mean square; points that fill the band reach 1.15
EVEN_PART, EVEN_SMALL_PART = 0.6, 0.3  # × tolerance: the same of a part that is apart from the plane's inliers
SMALL_PART = 0.1  # × the least part: the smallest part that is looked at
BENT, CURVED = 0.4, 0.1  # × tolerance: quadratic parts that are too much if they explain half, or nearly all
NEARLY_ALL = 3.0  # a quadratic part this many times what it leaves explains 90 % of the variance
TOUCHING = 2  # px: the gap across which two planes still touch, and the rim that a jump keeps from a plane
SAME_ANGLE = 2.0  # °: planes that differ by less may be one
SAME_SHARE = 0.95  # share of the pixels of two planes that one plane must hold within twice the tolerance


class Search(Struct, frozen=True):
    """A map to be searched with its limits in pixels: tolerance, least plane, least part, width of thin structures."""

    filled: DisparityMap
    known: Mask
    smoothing: float
    direction_change: float
    steepest: float
    tolerance: float
    least: float
    least_part: float
    thin: int
    iterations: int

    @classmethod
    def of(
        cls, filled: DisparityMap, known: Mask, resolution: float, quantum: float, parameters: GeometryParameters
    ) -> Search:
        """The limits of a scene of that size whose values are multiples of `quantum` (0: not quantised)."""
        scaled = parameters.at(resolution)
        return cls(
            filled=filled,
            known=known,
            smoothing=scaled.plane_smoothing,
            direction_change=parameters.plane_direction_change,
            steepest=max(min(STEEPEST, scaled.discontinuity_gradient), quantum),
            tolerance=scaled.plane_tolerance + quantum / 2,
            least=max(3.0, parameters.plane_share * filled.size),
            least_part=parameters.plane_part_share * filled.size,
            thin=scaled.fine_width,
            iterations=parameters.plane_iterations,
        )


class Surface(Struct, frozen=True):
    """A plane with the pixels that lie on it, and how they do.

    residual: root mean square of the distances in disparity; quadratic: that of the part of them which a quadratic
    explains.
    """

    plane: Coefficients
    mask: Mask
    residual: float = 0.0
    quadratic: float = 0.0

    def has_shape_of_plane(self, tolerance: float) -> bool:
        """Whether the residuals are small and without the structure of a curved surface."""
        rest = math.sqrt(max(self.residual**2 - self.quadratic**2, 0.0))
        bent = self.quadratic > max(BENT * tolerance, rest)
        curved = self.quadratic > max(CURVED * tolerance, NEARLY_ALL * rest)
        return self.residual <= EVEN * tolerance and not bent and not curved


def is_plane(search: Search, surface: Surface, free: Mask) -> bool:
    """Whether a surface is flat in absolute terms, or has the shape of a plane, and ends at its edges.

    A wall within half the tolerance of its plane is flat, whatever a quadratic gains over hundreds of pixels. So is a
    strip of a column or of a bowed board; but such a strip ends where the surface leaves the plane gradually, a
    column's at one of its two long sides at least. Two walls that meet at a small angle leave each other's planes
    gradually too, but each is close to its own nearly everywhere. `free` are the flat pixels on which a surface may go
    on.
    """
    if surface.has_shape_of_plane(search.tolerance):
        return _gradual_share(search, surface, free) < GRADUAL or _apart_share(search, surface) < APART
    return surface.residual <= FLAT * search.tolerance and _gradual_share(search, surface, free) < GRADUAL_IF_BENT


def _apart_share(search: Search, surface: Surface) -> float:
    """The share of a surface that is not close to its plane."""
    distance = distances_along_disparity(search.filled, surface.plane)
    return float((distance[surface.mask] > CLOSE * search.tolerance).mean())


def _gradual_share(search: Search, surface: Surface, free: Mask) -> float:
    """The share of the rim of a surface on which it continues beside its plane, without a jump or a crease."""
    import cv2

    window, (top, left) = bounding_window(surface.mask, margin=RIM)
    mask = surface.mask[window].astype(np.uint8)
    reach, inner = (cv2.dilate(mask, np.ones((2 * far + 1, 2 * far + 1), np.uint8)) for far in (RIM, RIM - 1))
    rim = reach > inner
    a, b, c = surface.plane
    plane = (a, b, c + a * left + b * top)
    distance = distances_along_disparity(np.ascontiguousarray(search.filled[window]), plane)
    gradual = (distance <= LEFT * search.tolerance) & free[window]
    return float(gradual[rim].mean()) if rim.any() else 0.0


def find_planes(
    filled: DisparityMap, known: Mask, resolution: float, quantum: float, parameters: GeometryParameters
) -> Planes:
    """Planar surfaces of at least `plane_share` of the image, each pixel with the plane nearest to it.

    A large map is searched at a fraction of its size, since a plane needs no more; its pixels are then assigned at full
    size. `quantum` is the step of the ground truth's values, half of which the tolerance grows by.
    """
    step = max(1, round(filled.shape[1] / SEARCH_WIDTH))
    small = np.ascontiguousarray(filled[::step, ::step]) / np.float32(step)
    search = Search.of(
        small, np.ascontiguousarray(known[::step, ::step]), resolution / step, quantum / step, parameters
    )
    found = _search(search, np.random.default_rng(parameters.plane_seed))
    coefficients = found.coefficients * np.array([1.0, 1.0, step])
    tolerance = search.tolerance * step
    labels = nearest_planes(filled, known, found.labels, step, TOUCHING, coefficients, tolerance)
    return Planes(labels, coefficients)


def _search(search: Search, random: np.random.Generator) -> Planes:
    labels = np.zeros(search.filled.shape, np.int16)
    surfaces: list[Surface] = []
    flat = flat_pixels(search)
    for region in _regions(search, flat):
        for surface in _in_region(search, region & (labels == 0), flat, random):
            uncontested = replace(surface, mask=_uncontested(search, surface, labels, surfaces))
            own = _planar(search, uncontested, flat & (labels == 0))
            if own is not None:
                surfaces.append(own)
                labels[own.mask] = len(surfaces)
    left = [
        _planar(search, replace(surface, mask=labels == number), flat & (labels == 0))
        for number, surface in enumerate(surfaces, 1)
    ]
    surfaces = _merged(search, [surface for surface in left if surface is not None])
    labels[:] = 0
    for number, surface in enumerate(surfaces, 1):
        labels[surface.mask] = number
    return Planes(labels, np.array([s.plane for s in surfaces], dtype=np.float64).reshape(-1, 3))


def flat_pixels(search: Search) -> Mask:
    """Known pixels off jumps: those on which a surface may lie."""
    return np.asarray((central_gradient(search.filled)[2] <= search.steepest) & search.known)


def smoothed_gradient(search: Search, flat: Mask) -> tuple[Floats, Floats]:
    """The gradient, smoothed: the vectors rather than their angles, which wrap at ±π.

    Only flat pixels count, so that a jump does not turn the vectors beside it.
    """
    import cv2

    along_x, along_y, _ = central_gradient(search.filled)
    weight = flat.astype(np.float32)
    sums = [
        cv2.GaussianBlur(part * weight, (0, 0), search.smoothing, borderType=cv2.BORDER_REPLICATE)
        for part in (along_x, along_y, np.ones_like(along_x))
    ]
    whole = np.maximum(sums[2], np.float32(1e-3))
    return np.asarray(sums[0] / whole, np.float32), np.asarray(sums[1] / whole, np.float32)


def steady_direction(search: Search, flat: Mask) -> Mask:
    """Flat pixels where the smoothed gradient turns by less than the allowed angle per pixel.

    Where it is weak its direction is noise, and the change of the vector itself counts, relative to a weak slope.
    """
    smooth = smoothed_gradient(search, flat)
    turning = direction_change(*smooth) < search.direction_change
    changing = vector_change(*smooth) < search.direction_change * WEAK_SLOPE
    return np.asarray((turning | changing) & flat)


def _regions(search: Search, flat: Mask) -> Iterator[Mask]:
    """Large steady regions, then groups of small ones that thin structures have cut apart."""
    import cv2

    steady = steady_direction(search, flat)
    labels, number = components(steady)
    large = large_components(labels, number, search.least)
    for component in large:
        yield labels == component
    rest = steady & ~np.isin(labels, large)
    side = 2 * (search.thin // 2) + 1
    joined = cv2.morphologyEx(rest.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((side, side), np.uint8))
    labels, number = components(joined)
    labels[~rest] = 0
    for component in large_components(labels, number, search.least):
        yield labels == component


def _in_region(search: Search, region: Mask, flat: Mask, random: np.random.Generator) -> Iterator[Surface]:
    """Plane after plane in a region, until the best remaining candidate is too small."""
    points = PlanePoints.of(search.filled, region)
    reach = REACH * math.sqrt(search.least)
    for _ in range(MOST_CANDIDATES):
        plane, found = fit_plane(points, CLOSE * search.tolerance, search.iterations, random, reach)
        if found < LEAST_CLOSE * search.least:
            return
        near, _ = points.split(plane, CLOSE * search.tolerance)
        core = np.zeros(region.shape, np.bool_)
        core[near.place] = True
        surface = _grown(search, core, plane, flat)
        if surface is None:
            _, points = points.split(plane, AGAIN * search.tolerance)
        else:
            yield surface
            points = points.where(~surface.mask[points.place])


def _grown(search: Search, core: Mask, plane: Coefficients, flat: Mask) -> Surface | None:
    """The surface of a plane's inliers, refitted to all parts within twice the tolerance that belong to it.

    None where they are too few, or no plane.
    """
    surface = None
    for _ in range(2):
        surface = _planar(search, Surface(plane, _parts(search, core, plane, flat)), flat)
        if surface is None:
            return None
        plane = surface.plane
    return surface


def _planar(search: Search, surface: Surface, free: Mask) -> Surface | None:
    """The refitted surface; None where it is too small or no plane."""
    if np.count_nonzero(surface.mask) < search.least:
        return None
    refitted = _refitted(search, surface)
    return refitted if is_plane(search, refitted, free) else None


def _parts(search: Search, core: Mask, plane: Coefficients, flat: Mask) -> Mask:
    """The connected parts within twice the tolerance of a plane that belong to it.

    A part is large or small. A large one holds inliers or lies close to the plane, and is flat by itself: a plane that
    cuts through a curved surface meets it in parts that are not. A small one, such as a wall seen through a grid, lies
    very close to the plane.
    """
    tolerance = search.tolerance
    distance = distances_along_disparity(search.filled, plane)
    labels, number = components((distance <= 2 * tolerance) & flat)
    pixels, squares, inliers = part_statistics(labels, number, distance, core).T
    residual = np.sqrt(squares / np.maximum(pixels, 1))
    large = (pixels >= search.least_part) & ((inliers >= search.least_part / 4) | (residual <= EVEN_PART * tolerance))
    small = (pixels >= search.least_part * SMALL_PART) & (pixels < search.least_part)
    chosen = small & (residual <= EVEN_SMALL_PART * tolerance)
    for part in np.flatnonzero(large):
        chosen[part] = is_plane(search, _refitted(search, Surface(plane, labels == part)), flat)
    chosen[0] = False
    return np.asarray(chosen[labels])


def _refitted(search: Search, surface: Surface) -> Surface:
    """The least-squares plane of the surface's pixels with its residuals."""
    window, (top, left) = bounding_window(surface.mask)
    mask = np.ascontiguousarray(surface.mask[window])
    disparity = np.ascontiguousarray(search.filled[window])
    scale = max(*mask.shape, 2) / 2
    middle_x, middle_y = (mask.shape[1] - 1) / 2, (mask.shape[0] - 1) / 2
    level = float(disparity[mask][0])
    matrix, right, squares, count = quadratic_moments(disparity, mask, middle_x, middle_y, scale, level)
    flat, curved = (np.linalg.lstsq(matrix[:n, :n], right[:n], rcond=None)[0] for n in (3, len(right)))
    variances = [max(squares - float(right[: len(c)] @ c), 0.0) / count for c in (flat, curved)]
    at_x, at_y = middle_x + left, middle_y + top
    a, b = float(flat[1]) / scale, float(flat[2]) / scale
    c = level + float(flat[0]) - a * at_x - b * at_y
    return Surface((a, b, c), surface.mask, math.sqrt(variances[0]), math.sqrt(max(variances[0] - variances[1], 0.0)))


def _uncontested(search: Search, surface: Surface, labels: NDArray[np.int16], surfaces: list[Surface]) -> Mask:
    """The pixels of a surface less those that earlier ones describe better.

    Where two planes cross, pixels lie on both. Each connected part of them goes to the plane to which it is closer.
    """
    taken = surface.mask.copy()
    own = distances_along_disparity(search.filled, surface.plane)
    for number in np.unique(labels[surface.mask]):
        if number == 0:
            continue
        both = surface.mask & (labels == number)
        other = distances_along_disparity(search.filled, surfaces[number - 1].plane)
        parts, count = components(both)
        mine, theirs = (part_statistics(parts, count, distance, both)[:, 1] for distance in (own, other))
        lost = mine >= theirs
        lost[0] = False
        taken &= ~lost[parts]
    return taken


def _merged(search: Search, surfaces: list[Surface]) -> list[Surface]:
    """Surfaces of which no two that touch are nearly parallel and lie on one plane within twice the tolerance."""
    surfaces = list(surfaces)
    pair = _mergeable(search, surfaces)
    while pair is not None:
        first, second, union = pair
        surfaces[first] = union
        del surfaces[second]
        pair = _mergeable(search, surfaces)
    return surfaces


def _mergeable(search: Search, surfaces: list[Surface]) -> tuple[int, int, Surface] | None:
    import cv2

    square = np.ones((2 * TOUCHING + 1, 2 * TOUCHING + 1), np.uint8)
    for first, one in enumerate(surfaces):
        reach = cv2.dilate(one.mask.astype(np.uint8), square).view(np.bool_)
        for second, other in enumerate(surfaces[first + 1 :], first + 1):
            if angle_between(one.plane, other.plane) >= SAME_ANGLE or not (reach & other.mask).any():
                continue
            union = _refitted(search, replace(one, mask=one.mask | other.mask))
            distance = distances_along_disparity(search.filled, union.plane)[union.mask]
            if np.mean(distance <= 2 * search.tolerance) >= SAME_SHARE:
                return first, second, union
    return None
