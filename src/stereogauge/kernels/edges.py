"""Depth discontinuities and what lies beside them: bands, exact distances, thin structures, filled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.library import INTEGER, REAL, Reads, Writes, native

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]
Sides = NDArray[np.int8]

LONGEST_BAND = 32767
SHAPE = ("height", "width")

_follow_bands = native(
    "follow_bands",
    filled=Reads(np.float32, *SHAPE),
    along_x=Reads(np.float32, *SHAPE),
    along_y=Reads(np.float32, *SHAPE),
    discontinuity=Reads(np.bool_, *SHAPE),
    length=INTEGER,
    least_gap=REAL,
    rank=Writes(np.int16, *SHAPE),
    side=Writes(np.int8, *SHAPE),
    beyond=Writes(np.float32, *SHAPE),
)
_adopt_beyond = native(
    "adopt_beyond",
    side=Reads(np.int8, *SHAPE),
    smoothed=Reads(np.int8, *SHAPE),
    before=Reads(np.float32, *SHAPE),
    radius=INTEGER,
    beyond=Writes(np.float32, *SHAPE),
)
_squared_distances = native(
    "squared_distances",
    mask=Reads(np.bool_, *SHAPE),
    squared=Writes((np.uint32, np.uint64), *SHAPE),
    room=Writes(np.int64, 3, "width"),
)
_thin_runs = native(
    "thin_runs", filled=Reads(np.float32, *SHAPE), rise=REAL, widest=INTEGER, fine=Writes(np.bool_, *SHAPE)
)
_beside_structures = native(
    "beside_structures",
    filled=Reads(np.float32, *SHAPE),
    fine=Reads(np.bool_, *SHAPE),
    reach=INTEGER,
    least_gap=REAL,
    beside=Writes(np.bool_, *SHAPE),
    column=Writes(np.int32, *SHAPE),
)
_fill_each_row = native("fill_each_row", disparity=Writes(np.float32, *SHAPE), filled=Writes(np.bool_, "height"))


def follow_bands(
    filled: Floats, along_x: Floats, along_y: Floats, discontinuity: Flags, length: int, least_gap: float
) -> tuple[Sides, Floats]:
    """Follow the gradient from every discontinuity pixel both ways: (side, beyond).

    side is +1 on foreground pixels (rising disparity), −1 on background pixels, 0 elsewhere; beyond is the first
    disparity on the other side of the edge along the same path, and meaningless elsewhere. The band's `length` pixels
    are counted from the first one outside the discontinuity; the nearer edge wins, and a pixel equally near to both
    kinds belongs to neither. A discontinuity pixel belongs to the side that its disparity is nearer to. A side that
    lies inside the discontinuity as a whole, so that the path falls or rises again by `least_gap` before it ends, has
    no further pixels. A path that does not rise by `least_gap` from background to foreground is skipped.
    """
    side, beyond = np.empty(filled.shape, np.int8), np.empty(filled.shape, np.float32)
    rank = np.empty(filled.shape, np.int16)
    length = min(int(length), LONGEST_BAND)
    _follow_bands(filled, along_x, along_y, discontinuity, length, float(least_gap), rank, side, beyond)
    return side, beyond


def adopt_beyond(side: Sides, beyond: Floats, smoothed: Sides, radius: int) -> None:
    """Give each pixel that joins a band the `beyond` of the nearest pixel that was in that band, within `radius`.

    `side` and `smoothed` are the labels before and after. Of equally near pixels the first in reading order counts.
    """
    _adopt_beyond(side, smoothed, beyond.copy(), int(radius), beyond)


def squared_distances(mask: Flags) -> NDArray[np.unsignedinteger[Any]]:
    """Squared Euclidean distance in px of every pixel to the nearest true one; there must be one.

    By whole numbers: OpenCV's transform works in float32, by another algorithm with one thread than with several, and
    from 900 px on the two differ by more than rounding to whole squares removes.
    """
    if not mask.any():
        raise ValueError("Distances to the pixels of an empty mask do not exist.")
    height, width = mask.shape
    squared = np.empty(mask.shape, np.uint32 if height * height + width * width < 2**32 else np.uint64)
    _squared_distances(mask, squared, np.empty((3, width), np.int64))
    return squared


def thin_runs(filled: Floats, rise: float, widest: int) -> Flags:
    """Pixels of runs no wider than `widest` between a rise and a fall, each of more than `rise` over one pixel.

    A rising edge at r and a falling edge at f bound the run [r, f) when all of it differs from both sides: its
    smallest disparity exceeds those at r − 1 and f by more than half of `rise`. The gap between two wires thus
    belongs to neither.
    """
    fine = np.zeros(filled.shape, np.bool_)
    _thin_runs(filled, float(rise), int(widest), fine)
    return fine


def beside_structures(filled: Floats, fine: Flags, reach: int, least_gap: float) -> tuple[Flags, NDArray[np.int32]]:
    """Background pixels within `reach` left and right of a structure on its row: (mask, the structure's column).

    The nearer structure counts, the left one of two equally near. A pixel less than `least_gap` behind it is no
    background. The column is meaningless outside the mask.
    """
    beside, column = np.zeros(fine.shape, np.bool_), np.empty(fine.shape, np.int32)
    _beside_structures(filled, fine, int(reach), float(least_gap), beside, column)
    return beside, column


def fill_background(disparity: Floats) -> None:
    """Fill rows in place, then the rows above the first and below the last filled one; others stay NaN."""
    filled = np.flatnonzero(_filled_rows(disparity))
    if filled.size:
        first, last = filled[0], filled[-1]
        disparity[:first] = disparity[first]
        disparity[last + 1 :] = disparity[last]


def fill_rows(disparity: Floats) -> Floats:
    """A copy in which a gap takes the smaller of its two known row neighbours, and a row's ends the nearest known one.

    A row without any known pixel copies the row above it (the first known row, where there is none above). A map
    without any known pixel stays NaN.
    """
    copy = np.array(disparity, np.float32, order="C")
    filled = _filled_rows(copy)
    if filled.any() and not filled.all():
        source = np.maximum.accumulate(np.where(filled, np.arange(filled.size), np.argmax(filled)))
        copy[~filled] = copy[source[~filled]]
    return copy


def _filled_rows(disparity: Floats) -> Flags:
    """Fill every row that has a value, in place; True for these, the others stay NaN."""
    filled = np.empty(disparity.shape[0], np.bool_)
    _fill_each_row(disparity, filled)
    return filled
