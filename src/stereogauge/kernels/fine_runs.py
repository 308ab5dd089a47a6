"""Thin runs on image rows, the background beside them, and the fragments an estimate leaves of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stereogauge.kernels.jit import kernel


@kernel(vectorised=False)
def thin_runs(filled: Any, rise: float, widest: int) -> Any:
    """Pixels of runs no wider than `widest` between a rise and a fall, each of more than `rise` over one pixel.

    A rising edge at r and a falling edge at f bound the run [r, f) when all of it stands out from both sides: its
    smallest disparity exceeds those at r − 1 and f by more than half of `rise`. The gap between two wires thus
    belongs to neither.
    """
    height, width = filled.shape
    fine = np.zeros((height, width), np.bool_)
    for y in range(height):
        for start in range(1, width):
            left = filled[y, start - 1]
            if not filled[y, start] - left > rise:
                continue
            lowest = filled[y, start]
            for end in range(start + 1, min(start + widest, width - 1) + 1):
                if filled[y, end - 1] - filled[y, end] > rise and lowest > filled[y, end] + rise / 2:
                    for x in range(start, end):
                        fine[y, x] = True
                lowest = min(lowest, filled[y, end])
                if not lowest > left + rise / 2:
                    break
    return fine


@kernel
def beside_structures(filled: Any, fine: Any, reach: int, least_gap: float) -> Any:
    """Background pixels within `reach` left and right of a structure on its row: (mask, the structure's column).

    The nearer structure counts, the left one of two equally near. A pixel less than `least_gap` behind it is no
    background.
    """
    height, width = fine.shape
    beside = np.zeros((height, width), np.bool_)
    column = np.empty((height, width), np.int32)
    for y in range(height):
        last, following = -reach - 1, 0
        for x in range(width):
            if fine[y, x]:
                last = x
                continue
            following = max(following, x)
            while following < width and not fine[y, following]:
                following += 1
            if following < min(x + reach + 1, width, 2 * x - last):
                source = following
            elif x - last <= reach:
                source = last
            else:
                continue
            if filled[y, source] - filled[y, x] > least_gap:
                beside[y, x] = True
                column[y, x] = source
    return beside, column
