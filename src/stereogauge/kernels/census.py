"""The census transform: each pixel becomes the bits "this neighbour is darker than I am".

R. Zabih, J. Woodfill, "Non-parametric local transforms for computing visual correspondence", ECCV 1994.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import kernel

BITS_PER_BYTE = 8


@kernel
def census_rows(
    padded: NDArray[Any], radius_y: int, radius_x: int, codes: NDArray[np.uint64], start: int, stop: int
) -> None:
    """Fill rows start…stop of `codes` (H, W) from an image padded by the radii on each side.

    Neighbours are taken row by row, the centre left out; windows of up to 64 neighbours fit. Eight comparisons at a
    time are shifted into one byte a pixel, which keeps the loops over x in byte-wide vectors.
    """
    width = codes.shape[1]
    byte = np.empty(width, np.uint8)
    for y in range(start, stop):
        centre = padded[y + radius_y, radius_x : radius_x + width]
        row = codes[y]
        row[:] = np.uint64(0)
        filled = 0
        shift = np.uint64(0)
        for dy in range(2 * radius_y + 1):
            for dx in range(2 * radius_x + 1):
                if dy == radius_y and dx == radius_x:
                    continue
                neighbour = padded[y + dy, dx : dx + width]
                if filled == 0:
                    for x in range(width):
                        byte[x] = np.uint8(neighbour[x] < centre[x])
                else:
                    for x in range(width):
                        byte[x] = np.uint8(np.uint8(byte[x] << np.uint8(1)) | np.uint8(neighbour[x] < centre[x]))
                filled += 1
                if filled == BITS_PER_BYTE:
                    for x in range(width):
                        row[x] |= np.uint64(byte[x]) << shift
                    filled = 0
                    shift += np.uint64(8)
        if filled > 0:
            for x in range(width):
                row[x] |= np.uint64(byte[x]) << shift
