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
    padded: NDArray[Any], radius_y: int, radius_x: int, mirrored: bool, codes: NDArray[np.uint8], width: int
) -> None:
    """The first `width` columns of `codes` (bytes, H, ≥ W) from an image padded by the radii on each side.

    Neighbours are taken row by row, the centre left out, eight to a byte: loops over x stay in byte-wide vectors.
    With `mirrored`, each row of neighbours is taken from its end: a mirrored image gets the codes of the original.
    """
    for y in range(codes.shape[1]):
        centre = padded[y + radius_y, radius_x : radius_x + width]
        taken = 0
        for neighbour_y in range(2 * radius_y + 1):
            for neighbour_x in range(2 * radius_x + 1):
                if neighbour_y == radius_y and neighbour_x == radius_x:
                    continue
                first = 2 * radius_x - neighbour_x if mirrored else neighbour_x
                neighbour = padded[y + neighbour_y, first : first + width]
                byte = codes[taken // BITS_PER_BYTE, y, :width]
                if taken % BITS_PER_BYTE == 0:
                    for x in range(width):
                        byte[x] = np.uint8(neighbour[x] < centre[x])
                else:
                    for x in range(width):
                        byte[x] = np.uint8(np.uint8(byte[x] << np.uint8(1)) | np.uint8(neighbour[x] < centre[x]))
                taken += 1
