"""The census transform: each pixel becomes the bits "this neighbour is darker than I am"; codes differ in some of them.

R. Zabih, J. Woodfill, "Non-parametric local transforms for computing visual correspondence", ECCV 1994.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import helper, kernel

BITS_PER_BYTE = 8


@helper
def _bit(darker: bool, weight: int) -> np.uint8:
    return np.uint8(weight) if darker else np.uint8(0)


@kernel
def census_rows(
    image: NDArray[Any], stride: int, centre: int, neighbours: NDArray[np.int64], codes: NDArray[np.uint8], width: int
) -> None:
    """The first `width` columns of `codes` (bytes, H, ≥ W) from the pixels of a padded image, `stride` to a row.

    `centre` is where the first window's centre is; `neighbours` (bytes, 8) are the places around it in the order of
    their bits. All bits of a byte are found at once, in byte-wide vectors.
    """
    for y in range(codes.shape[1]):
        rows = image[y * stride :]
        own = rows[centre : centre + width]
        for byte in range(codes.shape[0]):
            at = neighbours[byte]
            a, b, c, d = (rows[at[0] :], rows[at[1] :], rows[at[2] :], rows[at[3] :])
            e, f, g, h = (rows[at[4] :], rows[at[5] :], rows[at[6] :], rows[at[7] :])
            found = codes[byte, y, :width]
            for x in range(width):
                value = own[x]
                found[x] = (
                    _bit(a[x] < value, 128)
                    | _bit(b[x] < value, 64)
                    | _bit(c[x] < value, 32)
                    | _bit(d[x] < value, 16)
                    | _bit(e[x] < value, 8)
                    | _bit(f[x] < value, 4)
                    | _bit(g[x] < value, 2)
                    | _bit(h[x] < value, 1)
                )


@helper
def set_bits(value: np.uint8) -> np.uint8:
    """The number of set bits, by adding neighbouring groups of bits."""
    value = np.uint8(value - np.uint8((value >> np.uint8(1)) & np.uint8(0x55)))
    value = np.uint8((value & np.uint8(0x33)) + np.uint8((value >> np.uint8(2)) & np.uint8(0x33)))
    return np.uint8(np.uint8(value + np.uint8(value >> np.uint8(4))) & np.uint8(0x0F))
