"""Agreement of left and right maps, and interpolation of what does not agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import helper, kernel

CONSISTENT, OCCLUDED, MISMATCHED = 0, 1, 2
DIRECTIONS = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1))


@kernel
def classify_rows(
    left: NDArray[np.float32], right: NDArray[np.float32], ndisp: int, tolerance: float, labels: NDArray[np.uint8]
) -> None:
    """See `stereogauge.matching.postprocess.left_right_check`."""
    height, width = left.shape
    for y in range(height):
        for x in range(width):
            disparity = left[y, x]
            if np.isfinite(disparity):
                there = int(np.floor(x - disparity + 0.5))
                if 0 <= there < width and abs(disparity - right[y, there]) <= tolerance:
                    labels[y, x] = CONSISTENT
                    continue
            labels[y, x] = OCCLUDED
            for d in range(min(ndisp, x + 1)):
                if abs(right[y, x - d] - d) <= tolerance:
                    labels[y, x] = MISMATCHED
                    break


@helper
def _insert(value: np.float32, ordered: NDArray[np.float32], count: int) -> None:
    """Put `value` where it belongs among the first `count` numbers, which are in order. Numba's own sorting of eight
    numbers would take longer to compile than the rest of the kernel.
    """
    place = count
    while place > 0 and ordered[place - 1] > value:
        ordered[place] = ordered[place - 1]
        place -= 1
    ordered[place] = value


@kernel
def fill_rows(disparity: NDArray[np.float32], occluded: NDArray[np.bool_], filled: NDArray[np.float32]) -> None:
    """See `stereogauge.matching.postprocess.interpolate`."""
    height, width = disparity.shape
    seen = np.empty(len(DIRECTIONS), np.float32)
    for y in range(height):
        for x in range(width):
            if np.isfinite(disparity[y, x]):
                continue
            count = 0
            for dy, dx in DIRECTIONS:
                row, column = y + dy, x + dx
                while 0 <= row < height and 0 <= column < width:
                    if np.isfinite(disparity[row, column]):
                        _insert(disparity[row, column], seen, count)
                        count += 1
                        break
                    row += dy
                    column += dx
            if count == 0:
                continue
            if occluded[y, x]:
                filled[y, x] = seen[min(1, count - 1)]
            elif count % 2:
                filled[y, x] = seen[count // 2]
            else:
                filled[y, x] = (seen[count // 2 - 1] + seen[count // 2]) / np.float32(2)


@kernel
def left_right_difference_rows(
    left: NDArray[np.float32], right: NDArray[np.float32], outside: float, difference: NDArray[np.float32]
) -> None:
    """|D(x) − D_r(x − D(x))|, D_r linear between its two nearest pixels, or the nearer one where they differ by more
    than 1.

    `outside` where x − D(x) leaves the image or either map is unknown.
    """
    height, width = left.shape
    for y in range(height):
        for x in range(width):
            disparity = left[y, x]
            difference[y, x] = outside
            position = x - disparity
            if not (position >= 0 and position <= width - 1):
                continue
            before = int(np.floor(position))
            after = min(before + 1, width - 1)
            fraction = position - before
            first, second = right[y, before], right[y, after]
            if abs(first - second) <= 1:
                there = first + fraction * (second - first)
            else:
                there = first if fraction < 0.5 else second
            if np.isfinite(there):
                difference[y, x] = abs(disparity - there)
