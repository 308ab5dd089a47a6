"""Foreground and background bands beside depth discontinuities, and the disparities from beyond the edge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stereogauge.kernels.jit import helper, kernel

NEVER = 32767
FOREGROUND, BACKGROUND = np.int8(1), np.int8(-1)
"""Of one type: Numba would compile a function for each plain number that is given to it."""


@helper
def _pixel_along(y: int, x: int, step_y: float, step_x: float, steps: int, height: int, width: int) -> Any:
    """The pixel `steps` unit steps away, rounded half up; row −1 outside the image."""
    row = math.floor(y + steps * step_y + 0.5)
    column = math.floor(x + steps * step_x + 0.5)
    if row < 0 or row >= height or column < 0 or column >= width:
        return -1, -1
    return row, column


@helper
def _first_outside(discontinuity: Any, y: int, x: int, step_y: float, step_x: float, reach: int) -> int:
    """Steps to the first pixel outside the discontinuity, −1 where the image or `reach` ends before."""
    height, width = discontinuity.shape
    for steps in range(1, reach + 1):
        row, column = _pixel_along(y, x, step_y, step_x, steps, height, width)
        if row < 0:
            return -1
        if not discontinuity[row, column]:
            return steps
    return -1


@helper
def _mark(
    discontinuity: Any,
    rank: Any,
    side: Any,
    beyond: Any,
    kind: np.int8,
    value: float,
    y: int,
    x: int,
    step_y: float,
    step_x: float,
    start: int,
    length: int,
) -> None:
    """Give the `length` pixels from `start` on to a side, with the value from beyond the edge.

    Not where a nearer edge did; where an equally near one gave them to the other side, they belong to none.
    """
    height, width = discontinuity.shape
    for away in range(length):
        row, column = _pixel_along(y, x, step_y, step_x, start + away, height, width)
        if row < 0:
            return
        if discontinuity[row, column] or away > rank[row, column]:
            continue
        if away < rank[row, column]:
            rank[row, column] = away
            side[row, column] = kind
            beyond[row, column] = value
        elif side[row, column] != kind:
            side[row, column] = 0


@kernel
def follow_bands(filled: Any, along_x: Any, along_y: Any, discontinuity: Any, length: int, least_gap: float) -> Any:
    """Follow the gradient from every discontinuity pixel both ways: (side, beyond).

    side is +1 on foreground pixels (rising disparity), −1 on background pixels, 0 elsewhere; beyond is the first
    disparity on the other side of the edge along the same path. The band's `length` pixels are counted from the first
    one outside the discontinuity; the nearer edge wins, and a pixel equally near to both kinds belongs to none. A
    path that does not rise by `least_gap` from background to foreground separates no surfaces and is left out.
    """
    height, width = filled.shape
    rank = np.full((height, width), NEVER, np.int16)
    side = np.zeros((height, width), np.int8)
    beyond = np.empty((height, width), np.float32)
    for y in range(height):
        for x in range(width):
            if not discontinuity[y, x]:
                continue
            step_x, step_y = float(along_x[y, x]), float(along_y[y, x])
            magnitude = math.sqrt(step_x * step_x + step_y * step_y)
            step_x /= magnitude
            step_y /= magnitude
            up = _first_outside(discontinuity, y, x, step_y, step_x, length)
            down = _first_outside(discontinuity, y, x, -step_y, -step_x, length)
            if up < 0 or down < 0:
                continue
            row, column = _pixel_along(y, x, step_y, step_x, up, height, width)
            foreground = filled[row, column]
            row, column = _pixel_along(y, x, -step_y, -step_x, down, height, width)
            background = filled[row, column]
            if foreground - background < least_gap:
                continue
            _mark(discontinuity, rank, side, beyond, FOREGROUND, background, y, x, step_y, step_x, up, length)
            _mark(discontinuity, rank, side, beyond, BACKGROUND, foreground, y, x, -step_y, -step_x, down, length)
    return side, beyond


@kernel(vectorised=False)
def adopt_beyond(side: Any, beyond: Any, smoothed: Any, radius: int) -> None:
    """Give each pixel that joins a band the value of the nearest pixel that was in that band, within `radius`.

    `side` and `smoothed` are the labels before and after. Of equally near pixels the first in reading order counts.
    """
    height, width = side.shape
    joined = np.zeros((height, width), np.bool_)
    values = np.empty((height, width), np.float32)
    for y in range(height):
        for x in range(width):
            kind = smoothed[y, x]
            if kind == 0 or kind == side[y, x]:
                continue
            nearest = 2 * radius * radius + 1
            for row in range(max(y - radius, 0), min(y + radius + 1, height)):
                for column in range(max(x - radius, 0), min(x + radius + 1, width)):
                    distance = (row - y) * (row - y) + (column - x) * (column - x)
                    if side[row, column] == kind and distance < nearest:
                        nearest = distance
                        joined[y, x] = True
                        values[y, x] = beyond[row, column]
    for y in range(height):
        for x in range(width):
            if joined[y, x]:
                beyond[y, x] = values[y, x]
