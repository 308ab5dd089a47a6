"""Row filling and gradients of disparity maps: what every geometry set starts from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stereogauge.kernels.jit import kernel


@kernel
def fill_rows(disparity: Any) -> Any:
    """A copy in which a gap takes the smaller of its two known row neighbours, and a row's ends the nearest known one.

    A row without any known pixel copies the row above it (the first known row, where there is none above). A map
    without any known pixel stays NaN.
    """
    height, width = disparity.shape
    filled = np.empty((height, width), np.float32)
    first_known_row = -1
    for y in range(height):
        last = -1
        for x in range(width):
            value = disparity[y, x]
            filled[y, x] = value
            if math.isnan(value):
                continue
            smaller = value if last < 0 or value < disparity[y, last] else disparity[y, last]
            for k in range(last + 1, x):
                filled[y, k] = smaller
            last = x
        if last >= 0:
            for k in range(last + 1, width):
                filled[y, k] = disparity[y, last]
            if first_known_row < 0:
                first_known_row = y
        elif first_known_row >= 0:
            for k in range(width):
                filled[y, k] = filled[y - 1, k]
    for y in range(first_known_row):
        for k in range(width):
            filled[y, k] = filled[first_known_row, k]
    return filled


@kernel
def central_gradient(values: Any) -> Any:
    """∂/∂x, ∂/∂y and magnitude by central differences, one-sided on the image's rim; 0 along a side of one pixel.

    Compiled without fused operations, as `edge_fuzziness` is: equal maps must have exactly equal magnitudes.
    """
    height, width = values.shape
    along_x = np.zeros((height, width), np.float32)
    along_y = np.zeros((height, width), np.float32)
    magnitude = np.zeros((height, width), np.float32)
    half = np.float32(0.5)
    for y in range(height):
        if width > 1:
            along_x[y, 0] = values[y, 1] - values[y, 0]
            along_x[y, width - 1] = values[y, width - 1] - values[y, width - 2]
            for x in range(1, width - 1):
                along_x[y, x] = (values[y, x + 1] - values[y, x - 1]) * half
        if height > 1:
            above = max(y - 1, 0)
            below = min(y + 1, height - 1)
            scale = half if below - above == 2 else np.float32(1.0)
            for x in range(width):
                along_y[y, x] = (values[below, x] - values[above, x]) * scale
        for x in range(width):
            magnitude[y, x] = math.sqrt(along_x[y, x] * along_x[y, x] + along_y[y, x] * along_y[y, x])
    return along_x, along_y, magnitude


@kernel
def direction_change(along_x: Any, along_y: Any) -> Any:
    """Change of the direction atan2(y, x) in rad per px: the length of its wrapped forward differences.

    Across the last row or column it is 0.
    """
    height, width = along_x.shape
    change = np.zeros((height, width), np.float32)
    pi = np.float32(math.pi)
    upper = np.empty(width, np.float32)
    lower = np.empty(width, np.float32)
    for x in range(width):
        lower[x] = math.atan2(along_y[0, x], along_x[0, x])
    for y in range(height):
        upper, lower = lower, upper
        if y + 1 < height:
            for x in range(width):
                lower[x] = math.atan2(along_y[y + 1, x], along_x[y + 1, x])
        else:
            for x in range(width):
                lower[x] = upper[x]
        for x in range(width):
            right = abs(upper[min(x + 1, width - 1)] - upper[x])
            down = abs(lower[x] - upper[x])
            right = min(right, np.float32(2) * pi - right)
            down = min(down, np.float32(2) * pi - down)
            change[y, x] = math.sqrt(right * right + down * down)
    return change


@kernel
def vector_change(along_x: Any, along_y: Any) -> Any:
    """Change of the vector (x, y) per px: the length of its forward differences, 0 across the last row or column."""
    height, width = along_x.shape
    change = np.empty((height, width), np.float32)
    for y in range(height):
        below = min(y + 1, height - 1)
        for x in range(width):
            right = min(x + 1, width - 1)
            xx, yx = along_x[y, right] - along_x[y, x], along_y[y, right] - along_y[y, x]
            xy, yy = along_x[below, x] - along_x[y, x], along_y[below, x] - along_y[y, x]
            change[y, x] = math.sqrt(xx * xx + yx * yx + xy * xy + yy * yy)
    return change
