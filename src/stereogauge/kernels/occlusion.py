"""Which pixels of the left view the right view sees: three rules, row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import helper, kernel

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

UNSEEN = np.float32(-9999.0)


@helper
def half_away(value: np.float32) -> int:
    """The nearest integer, halves away from zero."""
    return (
        int(np.floor(value + np.float32(0.5))) if value >= np.float32(0.0) else -int(np.floor(np.float32(0.5) - value))
    )


@helper
def _segment(
    target: Floats, start: np.float32, start_value: np.float32, end: np.float32, end_value: np.float32
) -> None:
    """Write the line from (start, start_value) to (end, end_value) at every integer position inside the row."""
    if end < start:
        return
    length = np.float32(end - start)
    length = np.float32(1.0) if length == np.float32(0.0) else length
    for i in range(max(0, half_away(start)), min(target.size - 1, half_away(end)) + 1):
        share = np.float32(np.float32(np.float32(i) - start) / length)
        target[i] = np.float32(start_value + np.float32(share * np.float32(end_value - start_value)))


@helper
def _warp_forward(source: Floats, disparity: Floats, target: Floats) -> None:
    """Middlebury's row warp from left to right; later writes win."""
    width = source.size
    for x in range(width):
        neighbour = x + 1
        if neighbour < width and abs(disparity[x] - disparity[neighbour]) < np.float32(2.0):
            start = np.float32(np.float32(x) - disparity[x])
            end = np.float32(np.float32(neighbour) - disparity[neighbour])
            _segment(target, start, source[x], end, source[neighbour])
        else:
            i = x - half_away(disparity[x])
            if 0 <= i < width:
                target[i] = source[x]


@helper
def _warp_backward(source: Floats, disparity: Floats, target: Floats) -> None:
    """Middlebury's row warp from right to left: each end takes the other pixel's disparity, as the original does."""
    width = source.size
    for x in range(width - 1, -1, -1):
        neighbour = x - 1
        if neighbour >= 0 and abs(disparity[x] - disparity[neighbour]) < np.float32(2.0):
            start = np.float32(np.float32(neighbour) + disparity[x])
            end = np.float32(np.float32(x) + disparity[neighbour])
            _segment(target, start, source[neighbour], end, source[x])
        else:
            i = x - half_away(-disparity[x])
            if 0 <= i < width:
                target[i] = source[x]


@kernel
def middlebury_v2_visible(disparity: Floats, visible: Flags) -> None:
    """Visibility as in Middlebury's official v2 masks, from the left map alone with unknown = 0."""
    height, width = disparity.shape
    warped = np.empty(width, np.float32)
    written = np.empty(width, np.float32)
    back = np.empty(width, np.float32)
    for y in range(height):
        for x in range(width):
            warped[x] = UNSEEN
            back[x] = np.float32(0.0)
        _warp_forward(disparity[y], disparity[y], warped)
        for x in range(width):
            written[x] = np.float32(0.0) if warped[x] == UNSEEN else np.float32(255.0)
        _warp_backward(written, warped, back)
        for x in range(width):
            visible[y, x] = back[x] >= np.float32(254.0)


@kernel
def bidirectional_visible(left: Floats, right: Floats, tolerance: np.float32, visible: Flags) -> None:
    """Visible where both views' disparities agree to `tolerance` and the target lies in the image.

    An unknown right value hides.
    """
    height, width = left.shape
    for y in range(height):
        for x in range(width):
            d = left[y, x]
            visible[y, x] = False
            if d == d:
                target = x - half_away(d)
                if 0 <= target < width:
                    visible[y, x] = abs(d - right[y, target]) <= tolerance


@kernel
def z_buffer_visible(left: Floats, tolerance: np.float32, nearest: Floats, visible: Flags) -> None:
    """Visible where no pixel nearer by more than `tolerance` px lands on the same target inside the image.

    `nearest` is room for one row.
    """
    height, width = left.shape
    for y in range(height):
        for x in range(width):
            nearest[x] = UNSEEN
        for x in range(width):
            d = left[y, x]
            if d == d:
                target = x - half_away(d)
                if 0 <= target < width and d > nearest[target]:
                    nearest[target] = d
        for x in range(width):
            d = left[y, x]
            visible[y, x] = False
            if d == d:
                target = x - half_away(d)
                if 0 <= target < width:
                    visible[y, x] = nearest[target] - d <= tolerance
