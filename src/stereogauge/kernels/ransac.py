"""Planes d = a·x + b·y + c in disparity maps: hypotheses from triples, and least-squares fits to the pixels near a
plane.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stereogauge.kernels.jit import kernel


@kernel(fastmath=True)
def _inliers(x: Any, y: Any, d: Any, a: float, b: float, c: float, tolerance: float) -> int:
    count = 0
    for i in range(x.shape[0]):
        count += abs(a * x[i] + b * y[i] + c - d[i]) <= tolerance
    return count


@kernel
def best_hypothesis(x: Any, y: Any, d: Any, triples: Any, tolerance: float) -> Any:
    """(a, b, c, inliers) of the plane through one of the `triples` of points with most points within `tolerance`;
    ties: the first.
    """
    best_a, best_b, best_c, most = 0.0, 0.0, 0.0, 0
    for i in range(triples.shape[0]):
        p, q, r = triples[i]
        x1, y1, d1 = float(x[q] - x[p]), float(y[q] - y[p]), float(d[q] - d[p])
        x2, y2, d2 = float(x[r] - x[p]), float(y[r] - y[p]), float(d[r] - d[p])
        determinant = x1 * y2 - x2 * y1
        if abs(determinant) < 0.5:
            continue
        a = (d1 * y2 - d2 * y1) / determinant
        b = (x1 * d2 - x2 * d1) / determinant
        c = d[p] - a * x[p] - b * y[p]
        count = _inliers(x, y, d, np.float32(a), np.float32(b), np.float32(c), np.float32(tolerance))
        if count > most:
            best_a, best_b, best_c, most = a, b, c, count
    return best_a, best_b, best_c, most


@kernel
def fit_near_plane(disparity: Any, candidates: Any, a: float, b: float, c: float, tolerance: float) -> Any:
    """(a, b, c, inliers): least squares over the candidate pixels within `tolerance` of the given plane.

    x and y count from this window's corner. Pixels on one line determine no plane: the given one is returned.
    """
    height, width = disparity.shape
    n = 0
    sx = sy = sd = sxx = sxy = syy = sxd = syd = 0.0
    middle_x, middle_y = 0.5 * width, 0.5 * height
    for row in range(height):
        y = row - middle_y
        for column in range(width):
            d = disparity[row, column]
            if candidates[row, column] and abs(a * column + b * row + c - d) <= tolerance:
                x = column - middle_x
                n += 1
                sx += x
                sy += y
                sd += d
                sxx += x * x
                sxy += x * y
                syy += y * y
                sxd += x * d
                syd += y * d
    if n < 3:
        return a, b, c, n
    cxx, cxy, cyy = sxx - sx * sx / n, sxy - sx * sy / n, syy - sy * sy / n
    cxd, cyd = sxd - sx * sd / n, syd - sy * sd / n
    determinant = cxx * cyy - cxy * cxy
    if not determinant > 1e-6 * max(cxx, cyy):
        return a, b, c, n
    slope_x = (cxd * cyy - cyd * cxy) / determinant
    slope_y = (cyd * cxx - cxd * cxy) / determinant
    return slope_x, slope_y, (sd - slope_x * sx - slope_y * sy) / n - slope_x * middle_x - slope_y * middle_y, n


@kernel
def near_plane(disparity: Any, candidates: Any, a: float, b: float, c: float, tolerance: float) -> Any:
    """The candidate pixels within `tolerance` of the plane, as 0 and 1."""
    height, width = disparity.shape
    near = np.zeros((height, width), np.uint8)
    for row in range(height):
        for column in range(width):
            if candidates[row, column] and abs(a * column + b * row + c - disparity[row, column]) <= tolerance:
                near[row, column] = 1
    return near


@kernel
def sample_points(disparity: Any, candidates: Any, stride: int) -> Any:
    """x, y, disparity of every `stride`-th candidate pixel in reading order."""
    height, width = disparity.shape
    total = 0
    for row in range(height):
        for column in range(width):
            total += candidates[row, column] != 0
    size = math.ceil(total / stride)
    x = np.empty(size, np.float32)
    y = np.empty(size, np.float32)
    d = np.empty(size, np.float32)
    seen = 0
    for row in range(height):
        for column in range(width):
            if not candidates[row, column]:
                continue
            if seen % stride == 0:
                x[seen // stride], y[seen // stride], d[seen // stride] = column, row, disparity[row, column]
            seen += 1
    return x, y, d
