"""The geometry-aware pixel sets of a scene: edges with their bands, planes, curved surfaces, fine structures."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import SizeError
from stereogauge.kernels.edges import fill_rows
from stereogauge.kernels.set_scores import normal_angles, plane_distances, second_differences, sum_and_count
from stereogauge.masks.geometry.connected import without_small_parts
from stereogauge.masks.geometry.edges import Bands, FineStructures, discontinuity_bands, distances_at, fine_structures
from stereogauge.masks.geometry.plane_search import find_planes
from stereogauge.masks.geometry.planes import Planes, planes_in_regions, value_step
from stereogauge.model import DisparityMap, Mask
from stereogauge.protocol.parameters import GeometryParameters
from stereogauge.stages import DISCONTINUITIES, FINE_STRUCTURES, PLANES, Stage, unseen

Positions = NDArray[np.int32]
Values = NDArray[np.float32]


@dataclass(frozen=True)
class GeometrySets:
    """Pixel sets of one scene under one evaluation mask M₀ (known, visible in both views, inside the border).

    discontinuity: M_d. foreground, background: M_f, M_b. extrapolated_background: D_b at the foreground's pixels;
    extrapolated_foreground: D_f at the background's. edge: M_e, with the ground truth's gradient there and the
    distances in px to M_d and to the outside of M_e, both measured before M₀ was applied. surface: everything that
    lies on a plane, up to its edges, with the number (from 1) of each pixel's plane. planar: M_p, the part of it
    whose 5 × 5 windows have the plane's orientation in the ground truth too, likewise; planes: rows (a, b, c) of d
    = a·x + b·y + c, NaN where a drawn region has no known plane; plane_normals and plane_points: the same in
    point-normal form. plane_tolerance: how far in disparity an inlier may lie from its plane. plane_floors: what
    the ground truth itself scores for bumpiness, offset and misorientation. fine: M_s with the number (from 1) of
    each pixel's structure. surround: M_n with the number of the structure beside each pixel (0: outside M₀);
    extrapolated_structure: D_n there. coverage: share of pixels with known ground truth. refusal: why the sets that
    need dense ground truth are empty, "" where they are not refused.
    """

    height: int
    width: int
    discontinuity: Positions
    foreground: Positions
    extrapolated_background: Values
    background: Positions
    extrapolated_foreground: Values
    edge: Positions
    edge_gradient: Values
    edge_to_discontinuity: Values
    edge_to_outside: Values
    surface: Positions
    surface_label: NDArray[np.int16]
    planar: Positions
    planar_label: NDArray[np.int16]
    planes: NDArray[np.float64]
    plane_normals: NDArray[np.float64]
    plane_points: NDArray[np.float64]
    plane_tolerance: float
    plane_floors: NDArray[np.float64]
    planes_drawn: bool
    fine: Positions
    fine_label: NDArray[np.int32]
    surround: Positions
    surround_label: NDArray[np.int32]
    extrapolated_structure: Values
    coverage: float
    refusal: str

    def mask(self, positions: Positions) -> Mask:
        """The mask of one of the sets."""
        dense = np.zeros(self.height * self.width, bool)
        dense[positions] = True
        return dense.reshape(self.height, self.width)

    def spread(self, positions: Positions, values: NDArray[Any]) -> NDArray[np.float32]:
        """A map with `values` at `positions` and NaN elsewhere."""
        dense = np.full(self.height * self.width, np.nan, np.float32)
        dense[positions] = values
        return dense.reshape(self.height, self.width)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every field as an array, for files."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}


class _Edges(NamedTuple):
    """What the sets keep of the bands: only pixels of M₀, so that the maps of the whole image can go."""

    discontinuity: Positions
    foreground: Positions
    extrapolated_background: Values
    background: Positions
    extrapolated_foreground: Values
    edge: Positions
    gradient: Values
    to_discontinuity: Values
    to_outside: Values

    @classmethod
    def cut(cls, bands: Bands, base: Mask) -> _Edges:
        """The bands inside M₀; distances are those to pixels anywhere."""
        foreground, background = _positions(bands.foreground & base), _positions(bands.background & base)
        edge = _positions(bands.edge & base)
        return cls(
            _positions(bands.discontinuity & base),
            foreground,
            bands.beyond.ravel()[foreground],
            background,
            bands.beyond.ravel()[background],
            edge,
            bands.gradient.ravel()[edge],
            distances_at(edge, bands.discontinuity),
            distances_at(edge, ~bands.edge),
        )


def geometry_sets(
    truth: DisparityMap | None,
    base: Mask,
    resolution: float,
    parameters: GeometryParameters,
    drawn_planes: NDArray[Any] | None = None,
    stage: Stage = unseen,
) -> GeometrySets:
    """Every set, from the ground truth, the evaluation mask M₀ and the size relative to the dataset's full one.

    Unknown ground truth is filled row-wise by the smaller neighbour; sets are found on the filled map and then cut to
    M₀. Ground truth that covers less than `least_coverage` of the image has no neighbourhoods to find sets in: they
    are empty and `refusal` says why. `drawn_planes` is a label image of planar regions (0 = none) that replaces the
    search for planes and needs no dense ground truth: its pixels count with unknown ground truth too.
    """
    shape = (int(base.shape[0]), int(base.shape[1]))
    for name, other in (("ground truth", truth), ("image of drawn planes", drawn_planes)):
        if other is not None and other.shape != shape:
            raise SizeError(
                f"The {name} is {_size(other.shape)} but the evaluation mask is {_size(shape)}; give one size."
            )
    known = np.zeros(shape, np.bool_) if truth is None else np.isfinite(truth)
    base = base & known
    refusal = _refusal(truth, known, parameters)
    edges = _Edges.cut(Bands.none(shape), base)
    structures, planes = FineStructures.none(shape), Planes.none(shape)
    planar_base = base
    step = 0.0 if truth is None else value_step(truth)
    tolerance = parameters.at(resolution).plane_tolerance + step / 2
    if truth is not None and not refusal:
        filled = fill_rows(truth)
        with stage(DISCONTINUITIES):
            edges = _Edges.cut(discontinuity_bands(filled, resolution, parameters), base)
        with stage(FINE_STRUCTURES):
            structures = fine_structures(filled, known, base, resolution, parameters)
        if drawn_planes is None:
            with stage(PLANES):
                planes = find_planes(filled, known, resolution, step, parameters)
    if drawn_planes is not None:
        planes = planes_in_regions(drawn_planes, truth, tolerance, parameters)
        planar_base = base | ~known

    surface = planar = _positions((planes.labels > 0) & planar_base)
    if truth is not None and drawn_planes is None:
        planar = _oriented(truth, planar, planes, parameters.plane_angle)
    planar_label = planes.labels.ravel()[planar]
    fine = _positions(structures.labels > 0)
    return GeometrySets(
        height=shape[0],
        width=shape[1],
        discontinuity=edges.discontinuity,
        foreground=edges.foreground,
        extrapolated_background=edges.extrapolated_background,
        background=edges.background,
        extrapolated_foreground=edges.extrapolated_foreground,
        edge=edges.edge,
        edge_gradient=edges.gradient,
        edge_to_discontinuity=edges.to_discontinuity,
        edge_to_outside=edges.to_outside,
        surface=surface,
        surface_label=planes.labels.ravel()[surface],
        planar=planar,
        planar_label=planar_label,
        planes=planes.coefficients,
        plane_normals=planes.normals,
        plane_points=planes.points,
        plane_tolerance=tolerance,
        plane_floors=_floors(truth, planar, planar_label, planes.coefficients),
        planes_drawn=drawn_planes is not None,
        fine=fine,
        fine_label=structures.labels.ravel()[fine],
        surround=structures.beside,
        surround_label=structures.beside_label,
        extrapolated_structure=structures.structure,
        coverage=float(known.mean()),
        refusal=refusal,
    )


def _positions(mask: Mask) -> Positions:
    return np.flatnonzero(mask).astype(np.int32)


def _oriented(truth: DisparityMap, planar: Positions, planes: Planes, largest: float) -> Positions:
    """The pixels whose own normal, over 5 × 5 px of the ground truth, is that of their plane within `largest` degrees.

    Others lie on the plane but say nothing about its orientation: their windows reach across an edge or hold a flaw of
    the ground truth.
    """
    angles = normal_angles(truth, planar, planes.labels.ravel()[planar], planes.coefficients)
    return np.asarray(planar[angles <= largest])


def _size(shape: tuple[int, ...]) -> str:
    return "×".join(str(side) for side in reversed(shape))


def _refusal(truth: DisparityMap | None, known: Mask, parameters: GeometryParameters) -> str:
    if truth is None:
        return "not applicable: the scene has no ground truth"
    coverage = 100 * known.mean()
    least = 100 * parameters.least_coverage
    if coverage >= least:
        return ""
    return f"not applicable: ground truth covers {coverage:.3g} % of the image, at least {least:g} % is needed"


def _floors(
    truth: DisparityMap | None, planar: Positions, labels: NDArray[np.int16], planes: NDArray[np.float64]
) -> NDArray[np.float64]:
    floors = np.full(3, np.nan)
    if truth is None or not planar.size:
        return floors
    errors = (
        second_differences(truth, planar),
        np.abs(plane_distances(truth, planar, labels, planes)),
        normal_angles(truth, planar, labels, planes),
    )
    for position, values in enumerate(errors):
        total, count = sum_and_count(values)
        floors[position] = total / count if count else np.nan
    return floors


WINDOW = 5
VARIANCE_OF_STEPS = 2.0  # of −2 … 2


def smooth_pixels(truth: DisparityMap, tolerance: float) -> Mask:
    """Pixels whose 5 × 5 window is known and lies within `tolerance` (root mean square) of a plane of its own."""
    import cv2

    known = np.isfinite(truth)
    middle = float(np.median(truth[known])) if known.any() else 0.0
    values = np.where(known, truth - middle, 0.0).astype(np.float64)
    even, steps = np.full(WINDOW, 1 / WINDOW), (np.arange(WINDOW) - WINDOW // 2) / WINDOW
    average = cv2.sepFilter2D(values, cv2.CV_64F, even, even)
    squares = cv2.sepFilter2D(values * values, cv2.CV_64F, even, even)
    slopes = [cv2.sepFilter2D(values, cv2.CV_64F, *pair) / VARIANCE_OF_STEPS for pair in ((steps, even), (even, steps))]
    variance = squares - average**2 - VARIANCE_OF_STEPS * (slopes[0] ** 2 + slopes[1] ** 2)
    whole = cv2.erode(known.astype(np.uint8), np.ones((WINDOW, WINDOW), np.uint8), borderValue=0)
    return np.asarray((whole == 1) & (variance <= tolerance**2))


def curved_surfaces(truth: DisparityMap, base: Mask, sets: GeometrySets, least_share: float) -> Mask:
    """Smooth pixels of M₀ on no plane and no fine structure, in parts of at least `least_share` of the image."""
    elsewhere = sets.mask(sets.surface) | sets.mask(sets.fine)
    smooth = smooth_pixels(truth, sets.plane_tolerance) & base & ~elsewhere
    return without_small_parts(smooth, least_share * truth.size)
