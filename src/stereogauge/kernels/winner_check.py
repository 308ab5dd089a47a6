"""Agreement of left and right maps, and interpolation of what does not agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import helper, kernel

CONSISTENT, OCCLUDED, MISMATCHED = 0, 1, 2
DIRECTIONS = 8


@helper
def _mark_agreeing(right: NDArray[np.float32], ndisp: int, tolerance: float, agreeing: NDArray[np.bool_]) -> None:
    """Whether each left pixel x of a row has a d in 0…ndisp − 1 with |D_r(x − d) − d| ≤ tolerance.

    A right pixel at x' agrees with the left ones around x' + D_r(x') only: nobody searches a whole range.
    """
    width = right.size
    agreeing[:] = False
    for there in range(width):
        disparity = right[there]
        if not np.isfinite(disparity):
            continue
        first = max(0.0, np.floor(disparity - tolerance))
        last = min(min(ndisp, width - there) - 1.0, np.ceil(disparity + tolerance))
        if first <= last:  # in the image; before they become whole numbers, which may not hold them
            for d in range(int(first), int(last) + 1):
                if abs(disparity - d) <= tolerance:
                    agreeing[there + d] = True


@kernel
def classify_rows(
    left: NDArray[np.float32], right: NDArray[np.float32], ndisp: int, tolerance: float, labels: NDArray[np.uint8]
) -> None:
    """See `stereogauge.matching.postprocess.left_right_check`."""
    height, width = left.shape
    agreeing = np.empty(width, np.bool_)
    for y in range(height):
        _mark_agreeing(right[y], ndisp, tolerance, agreeing)
        for x in range(width):
            disparity = left[y, x]
            labels[y, x] = MISMATCHED if agreeing[x] else OCCLUDED
            if np.isfinite(disparity):
                there = int(np.floor(x - disparity + 0.5))
                if 0 <= there < width and abs(disparity - right[y, there]) <= tolerance:
                    labels[y, x] = CONSISTENT


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


@helper
def _look_back(
    row: NDArray[np.float32],
    straight: NDArray[np.float32],
    left: NDArray[np.float32],
    right: NDArray[np.float32],
) -> None:
    """What pixels of the next row see first behind them, after `row`: in their column, and on its two sides."""
    width = row.size
    for x in range(width):
        straight[x] = row[x] if np.isfinite(row[x]) else straight[x]
    for x in range(width - 1):
        right[x] = row[x + 1] if np.isfinite(row[x + 1]) else right[x + 1]
    for x in range(width - 1, 0, -1):
        left[x] = row[x - 1] if np.isfinite(row[x - 1]) else left[x - 1]
    left[0] = right[width - 1] = np.nan


@kernel
def fill_rows(disparity: NDArray[np.float32], occluded: NDArray[np.bool_], filled: NDArray[np.float32]) -> None:
    """See `stereogauge.matching.postprocess.interpolate`.

    What a pixel sees is handed on from row to row, first from below, then from above: the same work for small gaps
    and for large ones.
    """
    height, width = disparity.shape
    gaps = 0
    for y in range(height):
        for x in range(width):
            gaps += not np.isfinite(disparity[y, x])
    below = np.empty((gaps, 3), np.float32)
    views = np.full((3, width), np.nan, np.float32)
    straight, left, right = views[0], views[1], views[2]
    gap = gaps
    for y in range(height - 1, -1, -1):
        for x in range(width - 1, -1, -1):
            if not np.isfinite(disparity[y, x]):
                gap -= 1
                below[gap, 0], below[gap, 1], below[gap, 2] = straight[x], left[x], right[x]
        _look_back(disparity[y], straight, left, right)
    views[:] = np.nan
    seen = np.empty(DIRECTIONS, np.float32)
    after = np.empty(width, np.float32)
    for y in range(height):
        row = disparity[y]
        following = np.float32(np.nan)
        for x in range(width - 1, -1, -1):
            after[x] = following
            following = row[x] if np.isfinite(row[x]) else following
        before = np.float32(np.nan)
        for x in range(width):
            if np.isfinite(row[x]):
                before = row[x]
                continue
            count = 0
            for value in (
                before,
                after[x],
                straight[x],
                left[x],
                right[x],
                below[gap, 0],
                below[gap, 1],
                below[gap, 2],
            ):
                if np.isfinite(value):
                    _insert(value, seen, count)
                    count += 1
            gap += 1
            if count == 0:
                continue
            if occluded[y, x]:
                filled[y, x] = seen[min(1, count - 1)]
            elif count % 2:
                filled[y, x] = seen[count // 2]
            else:
                filled[y, x] = (seen[count // 2 - 1] + seen[count // 2]) / np.float32(2)
        _look_back(row, straight, left, right)


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
