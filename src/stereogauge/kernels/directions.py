"""How fast the direction of a vector field turns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stereogauge.kernels.jit import kernel


@kernel(vectorised=False)
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
