"""Filling gaps of a disparity map."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import helper, kernel

Floats = NDArray[np.float32]


@helper
def fill_row(row: Floats) -> bool:
    """A gap takes the smaller of its two valid neighbours, row ends the nearest valid value.

    False when the row has none.
    """
    width = row.size
    last = -1
    for x in range(width):
        if row[x] == row[x]:
            if last < 0:
                for k in range(x):
                    row[k] = row[x]
            elif x - last > 1:
                background = min(row[last], row[x])
                for k in range(last + 1, x):
                    row[k] = background
            last = x
    if last < 0:
        return False
    for k in range(last + 1, width):
        row[k] = row[last]
    return True


@kernel
def fill_background(disparity: Floats) -> None:
    """Fill rows, then the rows above the first and below the last filled one; empty rows in between stay NaN."""
    height = disparity.shape[0]
    first = -1
    last = -1
    for y in range(height):
        if fill_row(disparity[y]):
            if first < 0:
                first = y
            last = y
    if first < 0:
        return
    for y in range(height):
        if first <= y <= last:
            continue
        source = first if y < first else last
        for x in range(disparity.shape[1]):
            disparity[y, x] = disparity[source, x]


@kernel
def fill_rows(disparity: Floats) -> None:
    """Fill every row that has a value; the others stay NaN."""
    for y in range(disparity.shape[0]):
        fill_row(disparity[y])
