"""The range of depths that the ground truth of a scene has."""

from __future__ import annotations

import functools
import math

import numpy as np

from stereogauge.kernels.threads import at_once, fixed_blocks
from stereogauge.model import DisparityMap

ROWS_AT_ONCE = 64


def range_in_front(truth: DisparityMap, offset: float) -> tuple[float, float]:
    """The largest and the smallest D + offset above 0, which belong to the nearest and the farthest point; else 1."""
    blocks = fixed_blocks(truth.shape[0], truth.size)
    found = at_once([functools.partial(_extremes, truth[rows], offset) for rows in blocks], truth.size)
    near, far = max(near for near, _ in found), min(far for _, far in found)
    return (near, far) if near > 0.0 else (1.0, 1.0)


def _extremes(truth: DisparityMap, offset: float) -> tuple[float, float]:
    near, far = -math.inf, math.inf
    for start in range(0, truth.shape[0], ROWS_AT_ONCE):
        rows = truth[start : start + ROWS_AT_ONCE]
        highest, lowest = (float(most.reduce(rows, axis=None)) + offset for most in (np.fmax, np.fmin))
        if lowest <= 0.0:
            shifted = rows.astype(np.float64) + offset
            lowest = float(shifted[shifted > 0.0].min(initial=math.inf))
        near, far = float(np.fmax(near, highest)), float(np.fmin(far, lowest))
    return near, far
