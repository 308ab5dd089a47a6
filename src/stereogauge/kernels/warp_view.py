"""Backward warping: a view made of another one's pixels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import kernel


@kernel(vectorised=False)
def warp_backward(
    source: NDArray[Any], disparity: NDArray[np.float32], rendered: NDArray[np.float32], hole: NDArray[np.bool_]
) -> None:
    """Fill `rendered` (H, W, channels) with source(x − d(x), y), linear between two pixels.

    A pixel without a disparity, or whose source lies outside the image, is a hole and stays NaN.
    """
    height, width, channels = source.shape
    for y in range(height):
        for x in range(width):
            column = x - np.float64(disparity[y, x])
            if not (0.0 <= column <= width - 1):
                hole[y, x] = True
                for c in range(channels):
                    rendered[y, x, c] = np.nan
                continue
            hole[y, x] = False
            low = min(math.floor(column), width - 2)
            share = column - low
            for c in range(channels):
                rendered[y, x, c] = (1.0 - share) * source[y, low, c] + share * source[y, low + 1, c]
