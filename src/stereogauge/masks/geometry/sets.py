"""The geometry-aware pixel sets of a scene: edges with their bands, planes, curved surfaces, fine structures.

They are kept on disk by a hash of everything that they depend on. A file is a NumPy archive that holds its own key and
a checksum per member; a file that is damaged, of another key or not ours at all is computed again and replaced.
"""

from __future__ import annotations

import contextlib
import os
import threading
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict
from numpy.typing import NDArray

from stereogauge.errors import check_one_size
from stereogauge.hashing import source_hash, values_hash
from stereogauge.io.files import content_hash
from stereogauge.kernels.edges import fill_rows
from stereogauge.kernels.planes import distances_along_disparity
from stereogauge.kernels.set_scores import normal_angles, plane_distances, second_differences, sum_and_count
from stereogauge.masks.geometry.connected import WINDOW, bounding_window, whole_windows, without_small_parts
from stereogauge.masks.geometry.edges import Bands, FineStructures, discontinuity_bands, distances_at, fine_structures
from stereogauge.masks.geometry.plane_search import find_planes
from stereogauge.masks.geometry.planes import Planes, plane_normals, planes_in_regions, value_step
from stereogauge.model import DisparityMap, Mask
from stereogauge.paths import cache_folder
from stereogauge.protocol import GeometryParameters
from stereogauge.stages import DISCONTINUITIES, FINE_STRUCTURES, PLANES, Stage, unseen
from stereogauge.version import VERSION

DAMAGED = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError)
SOURCES = ("masks/geometry", "protocol.py", "kernels", "native")
"""The code that sets depend on; whole folders, since modules move between them."""
Positions = NDArray[np.int32]
Values = NDArray[np.float32]
BUMPINESS, OFFSET, MISORIENTATION = range(3)
"""The kinds of errors on planes, and their places in `GeometrySets.plane_floors`."""


class GeometrySets(Struct, frozen=True):
    """Pixel sets of one scene under one evaluation mask M₀ (known, visible in both views, inside the border).

    discontinuity: M_d. foreground, background: M_f, M_b, each with its side of M_d. extrapolated_background: D_b at the
    foreground's pixels; extrapolated_foreground: D_f at the background's. edge: M_e, with the ground truth's gradient
    there and the distances in px to M_d and to the outside of M_e, both measured before M₀ was applied. surface:
    everything that lies on a plane, up to its edges, with the number (from 1) of each pixel's plane. planar: M_p, the
    part of it outside M_e whose 5 × 5 windows hold no pixel off the plane, likewise; planes: rows (a, b, c) of d =
    a·x + b·y + c, NaN where a drawn region has no known plane. plane_tolerance: how far in disparity an inlier may lie
    from its plane. value_step: the step of a quantised ground truth, else 0. plane_floors: what the ground truth itself
    scores for bumpiness, offset and misorientation. fine: M_s with the number (from 1) of each pixel's structure.
    surround: M_n with the number of the structure beside each pixel and the flat position of its nearest pixel on the
    row; extrapolated_structure: D_n there. coverage: share of pixels with known ground truth.
    refusal: why the sets that need dense ground truth are empty, "" where they are not refused.
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
    plane_tolerance: float
    value_step: float
    plane_floors: NDArray[np.float64]
    planes_drawn: bool
    fine: Positions
    fine_label: NDArray[np.int32]
    surround: Positions
    surround_label: NDArray[np.int32]
    surround_rim: Positions
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

    def label_image(self, positions: Positions, labels: NDArray[Any]) -> NDArray[np.int32]:
        """A map with the numbers of planes or structures at `positions` and 0 elsewhere."""
        image = np.zeros(self.height * self.width, np.int32)
        image[positions] = labels
        return image.reshape(self.height, self.width)

    @property
    def plane_normals(self) -> NDArray[np.float64]:
        """The unit normals of the planes in (x, y, d) space, one row per plane."""
        return plane_normals(self.planes)

    @property
    def plane_points(self) -> NDArray[np.float64]:
        """A point (x, y, d) on each plane, over the middle of its surface."""
        y, x = np.divmod(self.surface, self.width)
        a, b, c = self.planes.T
        sizes, *sums = (
            np.bincount(self.surface_label, weights, minlength=len(self.planes) + 1)[1:] for weights in (None, x, y)
        )
        x, y = (total / np.maximum(sizes, 1) for total in sums)
        return np.column_stack([x, y, a * x + b * y + c])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every field, and the planes in point-normal form, as arrays for files."""
        derived = {"plane_normals": self.plane_normals, "plane_points": self.plane_points}
        return {name: np.asarray(value) for name, value in asdict(self).items()} | derived


def geometry_sets(
    truth: DisparityMap | None,
    base: Mask,
    resolution: float,
    parameters: GeometryParameters,
    drawn_planes: NDArray[Any] | None = None,
    drawn_fine: Mask | None = None,
    stage: Stage = unseen,
) -> GeometrySets:
    """Every set, from the ground truth, the evaluation mask M₀ and the size relative to the dataset's full one.

    Unknown ground truth is filled row-wise by the smaller neighbour; sets are found on the filled map and then cut to
    M₀. Ground truth that covers less than `least_coverage` of the image has no neighbourhoods to find sets in: they
    are empty and `refusal` says why. `drawn_planes` is a label image of planar regions (0 = none) that replaces the
    search for planes and needs no dense ground truth: its pixels count with unknown ground truth too. `drawn_fine` is a
    mask of fine structures that replaces the search for them.
    """
    shape = (int(base.shape[0]), int(base.shape[1]))
    drawn = ("image of drawn planes", drawn_planes), ("mask of fine structures", drawn_fine)
    for name, other in (("ground truth", truth), *drawn):
        if other is not None:
            check_one_size(f"The {name}", other.shape, "the evaluation mask", shape)
    known = np.zeros(shape, np.bool_) if truth is None else np.isfinite(truth)
    base = base & known
    refusal = _refusal(truth, known, parameters)
    bands, structures, planes = Bands.none(shape), FineStructures.none(shape), Planes.none(shape)
    step = 0.0 if truth is None else value_step(truth)
    tolerance = parameters.at(resolution).plane_tolerance + step / 2
    if truth is not None and not refusal:
        filled = fill_rows(truth)
        with stage(DISCONTINUITIES):
            bands = discontinuity_bands(filled, resolution, parameters)
        with stage(FINE_STRUCTURES):
            structures = fine_structures(filled, known, base, resolution, parameters, drawn_fine)
        if drawn_planes is None:
            with stage(PLANES):
                planes = find_planes(filled, known, resolution, step, parameters)
    planar_base = base
    if drawn_planes is None:
        away = ~bands.edge & ~crosses_edge(planes, truth, known, tolerance)
    else:
        planes = planes_in_regions(drawn_planes, truth, tolerance, parameters)
        planar_base, away = base | ~known, np.ones(shape, np.bool_)
    planes, inner = planes.keep(np.where(planar_base & away, planes.labels, np.int16(0)))

    foreground, background = _positions(bands.foreground & base), _positions(bands.background & base)
    edge = _positions(bands.edge & base)
    surface, planar = _positions((planes.labels > 0) & planar_base), _positions(inner > 0)
    planar_label = inner.ravel()[planar]
    fine = _positions(structures.labels > 0)
    return GeometrySets(
        height=shape[0],
        width=shape[1],
        discontinuity=_positions(bands.discontinuity & base),
        foreground=foreground,
        extrapolated_background=bands.beyond.ravel()[foreground],
        background=background,
        extrapolated_foreground=bands.beyond.ravel()[background],
        edge=edge,
        edge_gradient=bands.gradient.ravel()[edge],
        edge_to_discontinuity=distances_at(edge, bands.discontinuity),
        edge_to_outside=distances_at(edge, ~bands.edge),
        surface=surface,
        surface_label=planes.labels.ravel()[surface],
        planar=planar,
        planar_label=planar_label,
        planes=planes.coefficients,
        plane_tolerance=tolerance,
        value_step=step,
        plane_floors=_floors(truth, planar, planar_label, planes.coefficients),
        planes_drawn=drawn_planes is not None,
        fine=fine,
        fine_label=structures.labels.ravel()[fine],
        surround=structures.beside,
        surround_label=structures.beside_label,
        surround_rim=structures.rim,
        extrapolated_structure=structures.structure,
        coverage=float(known.mean()),
        refusal=refusal,
    )


def _positions(mask: Mask) -> Positions:
    return np.flatnonzero(mask).astype(np.int32)


def crosses_edge(planes: Planes, truth: DisparityMap | None, known: Mask, tolerance: float) -> Mask:
    """Pixels on planes whose 5 × 5 window holds a pixel that is off their plane by more than twice the tolerance.

    What is measured in such a window is an edge or a flaw of the ground truth, not the plane.
    """
    import cv2

    crossing = np.zeros(planes.labels.shape, np.bool_)
    square = np.ones((WINDOW, WINDOW), np.uint8)
    for number, (a, b, c) in enumerate(planes.coefficients, start=1):
        assert truth is not None
        own = planes.labels == number
        window, (top, left) = bounding_window(own, margin=WINDOW // 2)
        plane = (float(a), float(b), float(c + a * left + b * top))
        distance = distances_along_disparity(np.ascontiguousarray(truth[window]), plane)
        off = (known[window] & ~(distance <= 2 * tolerance)).astype(np.uint8)
        crossing[window] |= own[window] & cv2.dilate(off, square).view(np.bool_)
    return crossing


def _refusal(truth: DisparityMap | None, known: Mask, parameters: GeometryParameters) -> str:
    if truth is None:
        return "not applicable: the scene has no ground truth"
    coverage = 100 * known.mean()
    least = 100 * parameters.least_coverage
    if coverage >= least:
        return ""
    return f"not applicable: ground truth covers {coverage:.3g} % of the image, at least {least:g} % is needed"


def plane_errors(
    kind: int, disparity: DisparityMap, planar: Positions, labels: NDArray[np.int16], planes: NDArray[np.float64]
) -> Values:
    """How a map fails on planes, per pixel of `planar`: |Laplacian|, signed distance or angle, NaN where unknown."""
    if kind == BUMPINESS:
        return np.asarray(second_differences(disparity, planar))
    measured = plane_distances if kind == OFFSET else normal_angles
    return np.asarray(measured(disparity, planar, labels, planes))


def _floors(
    truth: DisparityMap | None, planar: Positions, labels: NDArray[np.int16], planes: NDArray[np.float64]
) -> NDArray[np.float64]:
    floors = np.full(3, np.nan)
    if truth is None or not planar.size:
        return floors
    for kind in (BUMPINESS, OFFSET, MISORIENTATION):
        total, count = sum_and_count(np.abs(plane_errors(kind, truth, planar, labels, planes)))
        floors[kind] = total / count if count else np.nan
    return floors


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
    return np.asarray(whole_windows(truth) & (variance <= tolerance**2))


def curved_surfaces(truth: DisparityMap, base: Mask, sets: GeometrySets, least_share: float) -> Mask:
    """Smooth pixels of M₀ on no plane and no fine structure, in parts of at least `least_share` of the image."""
    elsewhere = sets.mask(sets.surface) | sets.mask(sets.fine)
    smooth = smooth_pixels(truth, sets.plane_tolerance) & base & ~elsewhere
    return without_small_parts(smooth, least_share * truth.size)


def sets_key(
    truth: DisparityMap | None,
    base: Mask,
    resolution: float,
    parameters: GeometryParameters,
    drawn_planes: NDArray[Any] | None,
    drawn_fine: Mask | None = None,
) -> str:
    """A hash of ground truth, evaluation mask, drawn sets, parameters, resolution and code."""
    arrays = ["" if part is None else content_hash(part) for part in (truth, base, drawn_planes, drawn_fine)]
    return values_hash([VERSION, source_hash(*SOURCES), repr(parameters), float(resolution), *arrays])[:40]


def cached_geometry_sets(
    truth: DisparityMap | None,
    base: Mask,
    resolution: float,
    parameters: GeometryParameters,
    drawn_planes: NDArray[Any] | None = None,
    drawn_fine: Mask | None = None,
    folder: Path | None = None,
    stage: Stage = unseen,
) -> GeometrySets:
    """`geometry_sets` of the same arguments, read from `folder` (by default the cache) when computed before."""
    key = sets_key(truth, base, resolution, parameters, drawn_planes, drawn_fine)
    path = (folder or cache_folder("geometry")) / f"{key}.npz"
    found = _read(path, key)
    if found is not None:
        return found
    sets = geometry_sets(truth, base, resolution, parameters, drawn_planes, drawn_fine, stage)
    _write(path, key, sets)
    return sets


def _read(path: Path, key: str) -> GeometrySets | None:
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            if str(archive["key"]) != key:
                return None
            values = {name: archive[name] for name in GeometrySets.__struct_fields__}
    except DAMAGED:
        return None
    scalars = {name: value.item() for name, value in values.items() if value.ndim == 0}
    return GeometrySets(**{**values, **scalars})


def _write(path: Path, key: str, sets: GeometrySets) -> None:
    """Write beside the target and rename, so that no reader ever sees half a file; a full disk costs the cache only."""
    arrays: dict[str, Any] = {"key": np.asarray(key), **sets.arrays()}
    part = path.with_name(f"{key}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            np.savez(file, **arrays)
        part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
