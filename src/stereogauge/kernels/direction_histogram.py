"""Directions of the gradient of a map, counted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stereogauge.kernels.jit import kernel


@kernel(vectorised=False)
def direction_counts(estimate: Any, pixels: Any, bins: int) -> Any:
    """How many of the pixels' gradient directions atan2(∂y, ∂x) fall into each of `bins` bins, the first around −π.

    A pixel without an estimate, a gradient of 0, or one that needs a missing estimate has no direction and is not
    counted.
    """
    height, width = estimate.shape
    counts = np.zeros(bins, np.int64)
    y = start = 0
    for i in range(pixels.shape[0]):
        while pixels[i] - start >= width:
            y += 1
            start += width
        x = pixels[i] - start
        left, right = max(x - 1, 0), min(x + 1, width - 1)
        above, below = max(y - 1, 0), min(y + 1, height - 1)
        along_x = (estimate[y, right] - estimate[y, left]) / max(right - left, 1)
        along_y = (estimate[below, x] - estimate[above, x]) / max(below - above, 1)
        if along_x * along_x + along_y * along_y > 0 and not math.isnan(estimate[y, x]):
            turn = math.atan2(along_y, along_x) / (2 * math.pi) + 0.5
            counts[math.floor(turn * bins + 0.5) % bins] += 1
    return counts
