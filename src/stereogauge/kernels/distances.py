"""Exact distances in px to the nearest pixel of a mask, by whole numbers (Meijster, Roerdink & Hesselink 2000).

OpenCV's transform is not used: it works in float32, by another algorithm with one thread than with several, and from
900 px on the two differ by more than rounding to whole squares removes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import kernel


def squared_distances(mask: NDArray[np.bool_]) -> NDArray[np.unsignedinteger[Any]]:
    """Squared Euclidean distance of every pixel to the nearest true one, at least one of which there must be."""
    height, width = mask.shape
    squared = np.empty(mask.shape, np.uint32 if height * height + width * width < 2**32 else np.uint64)
    _fill_squared_distances(mask, squared)
    return squared


@kernel
def _fill_squared_distances(mask: Any, squared: Any) -> None:
    """Put the squared distances into `squared`, which first holds the steps to the nearest true pixel of the column."""
    height, width = mask.shape
    never = np.int64(height + width)
    for x in range(width):
        squared[0, x] = 0 if mask[0, x] else never
    for y in range(1, height):
        for x in range(width):
            squared[y, x] = 0 if mask[y, x] else min(np.int64(squared[y - 1, x]) + 1, never)
    for y in range(height - 2, -1, -1):
        for x in range(width):
            squared[y, x] = min(np.int64(squared[y, x]), np.int64(squared[y + 1, x]) + 1)
    column = np.empty(width, np.int64)  # whose true pixel is the nearest …
    start = np.empty(width, np.int64)  # … from this place of the row on
    offset = np.empty(width, np.int64)
    for y in range(height):
        last = -1
        for x in range(width):
            steps = np.int64(squared[y, x])
            if steps == never:
                continue
            own = steps * steps
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
