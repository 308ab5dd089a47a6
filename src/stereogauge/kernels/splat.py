"""Forward splatting: the pixels of one view thrown into another, the nearest surface winning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import helper, kernel

SAME_SURFACE = 1.0
"""Contributions whose disparities differ by at most this many pixels are blended; nearer ones replace farther ones."""

ENOUGH_WEIGHT = 0.25
"""A pixel on which less than this falls, of 1 for a whole pixel, is a hole."""


@helper
def _mark_lost(
    disparity: NDArray[np.float32], position: float, front: NDArray[np.float64], lost: NDArray[np.bool_]
) -> None:
    """Mark the columns of a row on which a run of n pixels without a disparity would fall.

    They would fall on the n columns beside where either neighbour of the run falls, as part of its surface, unless a
    nearer surface stands there.
    """
    width = disparity.shape[0]
    for x in range(width):
        lost[x] = False
    last = -1
    for x in range(width + 1):
        if x < width and not math.isfinite(disparity[x]):
            continue
        run = x - last - 1
        if run > 0 and last >= 0:
            d = np.float64(disparity[last])
            column = last - position * d
            for target in range(max(0, math.floor(column) + 1), min(width, math.ceil(column + run + 1))):
                if front[target] <= d + SAME_SURFACE:
                    lost[target] = True
        if run > 0 and x < width:
            d = np.float64(disparity[x])
            column = x - position * d
            for target in range(max(0, math.floor(column - run - 1) + 1), min(width, math.ceil(column))):
                if front[target] <= d + SAME_SURFACE:
                    lost[target] = True
        last = x


@kernel(vectorised=False)
def splat_forward(
    source: NDArray[Any],
    disparity: NDArray[np.float32],
    position: float,
    member: NDArray[np.bool_],
    rendered: NDArray[np.float32],
    hole: NDArray[np.bool_],
    inside: NDArray[np.bool_],
    lost: NDArray[np.bool_],
) -> None:
    """Render the view at `position` (in baselines; the source is at 0): pixel x lands at x − position·d(x).

    Each pixel is shared linearly between the two columns that it falls on. `inside` tells which rendered pixels stem,
    for the larger part, from pixels with `member`. `lost` marks those on which a pixel without a disparity may have
    fallen: they are holes, since what its neighbours alone give there is another, mostly worse colour.
    """
    height, width, channels = source.shape
    front = np.empty(width, np.float64)
    weight = np.empty(width, np.float64)
    belongs = np.empty(width, np.float64)
    total = np.empty((width, channels), np.float64)
    for y in range(height):
        for x in range(width):
            front[x] = -math.inf
            weight[x] = 0.0
            belongs[x] = 0.0
            for c in range(channels):
                total[x, c] = 0.0
        for x in range(width):
            d = np.float64(disparity[y, x])
            column = x - position * d
            if not (-1.0 < column < width):
                continue
            low = math.floor(column)
            for target in range(max(low, 0), min(low + 2, width)):
                if 1.0 - abs(column - target) > 0.0 and d > front[target]:
                    front[target] = d
        for x in range(width):
            d = np.float64(disparity[y, x])
            column = x - position * d
            if not (-1.0 < column < width):
                continue
            low = math.floor(column)
            for target in range(max(low, 0), min(low + 2, width)):
                share = 1.0 - abs(column - target)
                if share <= 0.0 or d < front[target] - SAME_SURFACE:
                    continue
                weight[target] += share
                if member[y, x]:
                    belongs[target] += share
                for c in range(channels):
                    total[target, c] += share * source[y, x, c]
        _mark_lost(disparity[y], position, front, lost[y])
        for x in range(width):
            hole[y, x] = lost[y, x] or weight[x] < ENOUGH_WEIGHT
            inside[y, x] = 2.0 * belongs[x] > weight[x]
            for c in range(channels):
                rendered[y, x, c] = np.nan if hole[y, x] else total[x, c] / weight[x]
