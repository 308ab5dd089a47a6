"""Exact distances in px to the nearest pixel of a mask, by whole numbers (Meijster, Roerdink & Hesselink 2000).

OpenCV's transform is not used: it works in float32, by another algorithm with one thread than with several, and from
900 px on the two differ by more than rounding to whole squares removes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stereogauge.kernels.jit import kernel


@kernel
def squared_distances(mask: Any) -> Any:
    """Squared Euclidean distance of every pixel to the nearest true one, at least one of which there must be."""
    height, width = mask.shape
    never = np.int32(height + width)
    steps = np.empty((height, width), np.int32)  # to the nearest true pixel of the same column
    for x in range(width):
        steps[0, x] = np.int32(0) if mask[0, x] else never
    for y in range(1, height):
        for x in range(width):
            steps[y, x] = np.int32(0) if mask[y, x] else min(steps[y - 1, x] + np.int32(1), never)
    for y in range(height - 2, -1, -1):
        for x in range(width):
            steps[y, x] = min(steps[y, x], steps[y + 1, x] + np.int32(1))
    squared = np.empty((height, width), np.int64)
    column = np.empty(width, np.int64)  # whose true pixel is the nearest …
    start = np.empty(width, np.int64)  # … from this place of the row on
    offset = np.empty(width, np.int64)
    for y in range(height):
        last = -1
        for x in range(width):
            if steps[y, x] == never:
                continue
            own = np.int64(steps[y, x]) * steps[y, x]
            place = np.int64(0)
            while last >= 0:
                away, here = start[last] - column[last], start[last] - x
                if away * away + offset[last] <= here * here + own:
                    rise = x * x - column[last] * column[last] + own - offset[last]
                    place = 1 + rise // (2 * (x - column[last]))
                    break
                last -= 1
            if place < width:
                last += 1
                column[last], start[last], offset[last] = x, place, own
        for x in range(width - 1, -1, -1):
            away = x - column[last]
            squared[y, x] = away * away + offset[last]
            if x == start[last] and last > 0:
                last -= 1
    return squared
