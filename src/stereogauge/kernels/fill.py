"""Filling gaps of a disparity map from the known pixels of their rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import kernel

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


def fill_background(disparity: Floats) -> None:
    """Fill rows, then the rows above the first and below the last filled one; empty rows in between stay NaN."""
    filled = np.flatnonzero(fill_each_row(disparity))
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
    filled = fill_each_row(copy)
    if filled.any() and not filled.all():
        source = np.maximum.accumulate(np.where(filled, np.arange(filled.size), np.argmax(filled)))
        copy[~filled] = copy[source[~filled]]
    return copy


def fill_each_row(disparity: Floats) -> Flags:
    """Fill every row that has a value, in place; True for these, the others stay NaN."""
    filled = np.empty(disparity.shape[0], np.bool_)
    _fill(disparity, filled)
    return filled


@kernel
def _fill(disparity: Floats, filled: Flags) -> None:
    """A gap takes the smaller of its two valid neighbours, row ends the nearest valid value."""
    height, width = disparity.shape
    for y in range(height):
        row = disparity[y]
        last = -1
        for x in range(width):
            if row[x] == row[x]:
                if x - last > 1:
                    background = row[x] if last < 0 or row[x] < row[last] else row[last]
                    for k in range(last + 1, x):
                        row[k] = background
                last = x
        filled[y] = last >= 0
        if last >= 0:
            for k in range(last + 1, width):
                row[k] = row[last]
