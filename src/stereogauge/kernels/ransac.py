"""Planes d = a·x + b·y + c: hypotheses from triples of points, and least-squares fits to the points near a plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from stereogauge.kernels.jit import helper, kernel


@helper(fastmath=True)
def _inliers(x: Any, y: Any, d: Any, a: float, b: float, c: float, tolerance: float) -> int:
    count = 0
    for i in range(x.shape[0]):
        count += abs(a * x[i] + b * y[i] + c - d[i]) <= tolerance
    return count


@kernel
def best_hypothesis(x: Any, y: Any, d: Any, triples: Any, tolerance: float) -> Any:
    """(a, b, c, inliers) of the plane through a triple that has most points within `tolerance`; ties: the first."""
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


@kernel(fastmath=True)
def fit_near_plane(x: Any, y: Any, d: Any, a: float, b: float, c: float, tolerance: float) -> Any:
    """(a, b, c, inliers): least squares over the points within `tolerance` of the given plane.

    Points on one line determine no plane: the given one is returned.
    """
    n = sx = sy = sd = sxx = sxy = syy = sxd = syd = 0.0
    origin_x, origin_y = x[0], y[0]
    for i in range(x.shape[0]):
        near = 1.0 if abs(a * x[i] + b * y[i] + c - d[i]) <= tolerance else 0.0
        u, v, e = near * (x[i] - origin_x), near * (y[i] - origin_y), near * d[i]
        n += near
        sx += u
        sy += v
        sd += e
        sxx += u * u
        sxy += u * v
        syy += v * v
        sxd += u * e
        syd += v * e
    if n < 3:
        return a, b, c, int(n)
    cxx, cxy, cyy = sxx - sx * sx / n, sxy - sx * sy / n, syy - sy * sy / n
    cxd, cyd = sxd - sx * sd / n, syd - sy * sd / n
    determinant = cxx * cyy - cxy * cxy
    if not determinant > 1e-6 * max(cxx, cyy):
        return a, b, c, int(n)
    slope_x = (cxd * cyy - cyd * cxy) / determinant
    slope_y = (cyd * cxx - cxd * cxy) / determinant
    constant = (sd - slope_x * sx - slope_y * sy) / n - slope_x * origin_x - slope_y * origin_y
    return slope_x, slope_y, constant, int(n)


@kernel
def split_by_plane(x: Any, y: Any, d: Any, a: float, b: float, c: float, tolerance: float, near: Any, far: Any) -> int:
    """Write (x, y, d) of the points within `tolerance` of the plane to `near` (3, points), of the others to `far`.

    Both keep the given order; returns how many are near.
    """
    inside = outside = 0
    for i in range(x.shape[0]):
        # Both are written and one is kept: a branch here would be mispredicted at every edge of the surface.
        near[0, inside], near[1, inside], near[2, inside] = x[i], y[i], d[i]
        far[0, outside], far[1, outside], far[2, outside] = x[i], y[i], d[i]
        close = abs(a * x[i] + b * y[i] + c - d[i]) <= tolerance
        inside += close
        outside += not close
    return inside
