"""Depth discontinuities with the bands beside them, and fine structures with the background beside them.

M_d are the discontinuities, M_f and M_b the bands on their near and far side, D_f and D_b the maps from beyond the
edge. M_s are fine structures with their components S, M_n the background beside them with their disparity D_n.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.kernels.edges import adopt_beyond, beside_structures, follow_bands, squared_distances, thin_runs
from stereogauge.masks.geometry.connected import central_gradient, components, without_small_parts
from stereogauge.model import DisparityMap, Mask
from stereogauge.protocol import GeometryParameters


class Bands(Struct, frozen=True):
    """The surroundings of depth discontinuities in one filled ground truth, before any evaluation mask.

    `beyond` holds D_b on foreground pixels and D_f on background pixels and is meaningless elsewhere. `gradient` is
    ‖∇D‖.
    """

    discontinuity: Mask
    foreground: Mask
    background: Mask
    beyond: NDArray[np.float32]
    gradient: NDArray[np.float32]

    @classmethod
    def none(cls, shape: tuple[int, int]) -> Bands:
        """No discontinuity anywhere."""
        nowhere, zeros = np.zeros(shape, np.bool_), np.zeros(shape, np.float32)
        return cls(nowhere, nowhere, nowhere, zeros, zeros)

    @property
    def edge(self) -> Mask:
        """M_e = M_d ∪ M_f ∪ M_b."""
        return self.discontinuity | self.foreground | self.background


def distance_to(mask: Mask) -> NDArray[np.float32]:
    """Exact Euclidean distance in px to the nearest pixel of `mask`; the image diagonal where the mask is empty."""
    return distances_at(np.arange(mask.size), mask).reshape(mask.shape)


def distances_at(positions: NDArray[np.integer[Any]], mask: Mask) -> NDArray[np.float32]:
    """The same at some flat positions."""
    if not positions.size or not mask.any():
        return np.full(positions.shape, np.hypot(*mask.shape), np.float32)
    squared: NDArray[Any] = squared_distances(mask).ravel()[positions]
    distances: NDArray[np.float64] = np.sqrt(squared, dtype=np.float64)
    return distances.astype(np.float32)


def smoothed(side: NDArray[np.int8], beyond: NDArray[np.float32], window: int, discontinuity: Mask) -> None:
    """Replace the labels of the bands outside the discontinuity, in place, by their median over a window.

    The labels are ordered background −1, neither 0, foreground +1, so that either band gives way to the other through
    neither. A pixel that joins a band takes the `beyond` of the nearest pixel that was in it. Discontinuity pixels
    count as neither for the others and keep their own side: the window has the same number of pixels at every size,
    and a wire that is two pixels wide in a small image lies on the discontinuity as a whole.
    """
    import cv2

    if window == 1:
        return
    own = side[discontinuity]
    side[discontinuity] = 0
    median = (cv2.medianBlur((side + 1).astype(np.uint8), window).astype(np.int8) - 1).astype(np.int8)
    median[discontinuity] = 0
    adopt_beyond(side, beyond, median, window // 2)
    side[:] = median
    side[discontinuity] = own


def discontinuity_bands(filled: DisparityMap, resolution: float, parameters: GeometryParameters) -> Bands:
    """Find M_d, M_f, M_b, D_f, D_b in a ground truth without gaps.

    M_d = {‖∇D‖ > c_d} by central differences. From each of its pixels the local gradient is followed both ways:
    rising disparity gives foreground, falling disparity background, for the band's length from the first pixel
    outside M_d. The nearer edge wins, a tie drops the pixel. The median of the labels (foreground, background,
    neither) over a window then fills gaps and drops specks, also bands narrower than half of the window. A pixel of
    M_d belongs to the band of the side that its disparity is nearer to: the first pixel beside an edge lies in M_d,
    and at a quarter of the full size it is a sixth of the band. What is so narrow that all of it lies in M_d, such as
    a wire or the gap between two, is a side of its edge too, or it would count at large sizes only.
    """
    scaled = parameters.at(resolution)
    along_x, along_y, gradient = central_gradient(filled)
    discontinuity: Mask = gradient > scaled.discontinuity_gradient
    side, beyond = follow_bands(
        filled, along_x, along_y, discontinuity, scaled.band_length, scaled.discontinuity_gradient
    )
    del along_x, along_y  # a large map is as much memory as what follows needs
    smoothed(side, beyond, parameters.band_median, discontinuity)
    return Bands(discontinuity, side == 1, side == -1, beyond, gradient)


class FineStructures(Struct, frozen=True):
    """`labels` numbers the structures from 1, in an image; `beside` are the flat positions of M_n.

    There `structure` holds D_n, `beside_label` the number of the structure, and `rim` the flat position of its nearest
    pixel on the row.
    """

    labels: NDArray[np.int32]
    beside: NDArray[np.int32]
    structure: NDArray[np.float32]
    beside_label: NDArray[np.int32]
    rim: NDArray[np.int32]

    @classmethod
    def none(cls, shape: tuple[int, int]) -> FineStructures:
        """No structure anywhere."""
        nowhere = np.zeros(0, np.int32)
        return cls(np.zeros(shape, np.int32), nowhere, np.zeros(0, np.float32), nowhere, nowhere)


def thin_structures(filled: DisparityMap, known: Mask, resolution: float, parameters: GeometryParameters) -> Mask:
    """Pixels of structures of small horizontal extent, before any evaluation mask.

    A run of a row between a rise and a fall is thin up to the largest width W. Runs up to `fine_widening` · W join the
    thin ones that they touch where the structure that they make together is thin on at least `fine_thin_share` of its
    rows: a stick stays one structure where it is a little wider. Structures of fewer than `fine_share` of the image's
    pixels are dropped.
    """
    scaled = parameters.at(resolution)
    thin = thin_runs(filled, scaled.fine_gradient, scaled.fine_width) & known
    widest = round(parameters.fine_widening * scaled.fine_width)
    wide = thin_runs(filled, scaled.fine_gradient, widest) & known | thin
    labels, number = components(wide)
    rows, thin_rows = (np.bincount(labels[_run_starts(mask)], minlength=number) for mask in (wide, thin))
    mostly_thin = thin_rows >= parameters.fine_thin_share * rows
    return without_small_parts(thin | (wide & mostly_thin[labels]), parameters.fine_share * filled.size)


def _run_starts(mask: Mask) -> Mask:
    """The first pixel of every run of a row."""
    starts = mask.copy()
    starts[:, 1:] &= ~mask[:, :-1]
    return starts


def fine_structures(
    filled: DisparityMap,
    known: Mask,
    base: Mask,
    resolution: float,
    parameters: GeometryParameters,
    drawn: Mask | None = None,
) -> FineStructures:
    """The thin structures inside the evaluation mask `base`, and the background beside them.

    They are labelled after the cut to the mask, which may divide a structure: the ground truth itself would count as
    fragmented. What the cut leaves of a structure counts from the share of the smallest one on from which a structure
    is found. Background counts beside rows of which a pixel is left. `drawn` replaces the search.
    """
    scaled = parameters.at(resolution)
    fine = thin_structures(filled, known, resolution, parameters) if drawn is None else drawn & known
    least = parameters.fine_found_share * parameters.fine_share * filled.size
    left = without_small_parts(fine & base, least)
    labels, _ = components(left)
    beside, columns = beside_structures(filled, fine, scaled.fine_surround, scaled.fine_gradient)
    positions = np.flatnonzero(beside & base).astype(np.int32)
    width = np.int32(filled.shape[1])
    rims = positions - positions % width + columns.ravel()[positions]
    runs, inside = np.cumsum(_run_starts(fine), dtype=np.int32), np.flatnonzero(left).astype(np.int32)
    ends = [np.searchsorted(runs[inside], runs[rims], side) for side in ("left", "right")]
    kept = ends[0] < ends[1]
    nearest = np.where(positions < rims, ends[0], ends[1] - 1)[kept]
    positions, rims, own = positions[kept], rims[kept], inside[nearest]
    return FineStructures(labels, positions, filled.ravel()[rims], labels.ravel()[own], own)
