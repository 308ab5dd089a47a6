"""Second differences, plane distances and 5 × 5 least-squares normals over the pixels of planar surfaces."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stereogauge.kernels.jit import helper, kernel

RADIUS = 2


@kernel
def second_differences(values: Any, pixels: Any) -> Any:
    """|ΔE| with the 4-neighbour Laplacian; NaN where one of the five is missing.

    On the image's rim the second difference across it does not exist and is left out of the sum.
    """
    height, width = values.shape
    bump = np.empty(pixels.shape[0], np.float32)
    y = start = 0
    for i in range(pixels.shape[0]):
        while pixels[i] - start >= width:
            y += 1
            start += width
        x = pixels[i] - start
        centre = values[y, x]
        laplacian = centre - centre
        if 0 < x < width - 1:
            laplacian += values[y, x - 1] - centre + (values[y, x + 1] - centre)
        if 0 < y < height - 1:
            laplacian += values[y - 1, x] - centre + (values[y + 1, x] - centre)
        bump[i] = abs(laplacian)
    return bump


@kernel
def plane_distances(values: Any, pixels: Any, labels: Any, planes: Any) -> Any:
    """Signed distance (E − a·x − b·y − c)/√(1 + a² + b²) of each point to its plane; NaN where E is missing."""
    width = values.shape[1]
    distance = np.empty(pixels.shape[0], np.float32)
    scale = np.empty(planes.shape[0])
    for k in range(planes.shape[0]):
        scale[k] = 1.0 / math.sqrt(1.0 + planes[k, 0] * planes[k, 0] + planes[k, 1] * planes[k, 1])
    y = start = 0
    for i in range(pixels.shape[0]):
        while pixels[i] - start >= width:
            y += 1
            start += width
        x = pixels[i] - start
        k = labels[i] - 1
        distance[i] = (values[y, x] - planes[k, 0] * x - planes[k, 1] * y - planes[k, 2]) * scale[k]
    return distance


@helper
def _angle(a: float, b: float, plane_a: float, plane_b: float) -> float:
    """Degrees between the normals (−a, −b, 1) and (−A, −B, 1), 0 to 90."""
    u, v, w = a - plane_a, b - plane_b, a * plane_b - b * plane_a
    across = math.sqrt(u * u + v * v + w * w)
    return math.degrees(math.atan2(across, abs(a * plane_a + b * plane_b + 1.0)))


@helper
def _column_moments(values: Any, y: int, first: int, last: int, moments: Any) -> None:
    """Per column n, Σv, Σv², ΣE, ΣvE over the known pixels of rows y − 2 to y + 2, v = row − y.

    `moments[:, column + 2]` belongs to a column, so that windows may reach beyond the image's sides, where nothing is
    known.
    """
    height, width = values.shape
    for k in range(moments.shape[0]):
        for column in range(first, last + 2 * RADIUS + 1):
            moments[k, column] = 0.0
    low, high = max(first - RADIUS, 0), min(last + RADIUS + 1, width)
    count = moments[0, low + RADIUS : high + RADIUS]
    v_sum = moments[1, low + RADIUS : high + RADIUS]
    vv_sum = moments[2, low + RADIUS : high + RADIUS]
    e_sum = moments[3, low + RADIUS : high + RADIUS]
    ve_sum = moments[4, low + RADIUS : high + RADIUS]
    for row in range(max(y - RADIUS, 0), min(y + RADIUS + 1, height)):
        v = float(row - y)
        line = values[row, low:high]
        for i in range(line.shape[0]):
            known = line[i] == line[i]
            weight = 1.0 if known else 0.0
            e = float(line[i]) if known else 0.0
            count[i] += weight
            v_sum[i] += weight * v
            vv_sum[i] += weight * v * v
            e_sum[i] += e
            ve_sum[i] += e * v


@helper
def _row_slopes(moments: Any, first: int, last: int, slope_x: Any, slope_y: Any) -> None:
    """Least-squares slopes of the windows around columns `first` to `last`.

    NaN where their pixels determine no plane.
    """
    length = last - first + 1
    count, v_sum = moments[0, first:], moments[1, first:]
    vv_sum, e_sum, ve_sum = moments[2, first:], moments[3, first:], moments[4, first:]
    for i in range(length):
        n = count[i] + count[i + 1] + count[i + 2] + count[i + 3] + count[i + 4]
        su = 2.0 * (count[i + 4] - count[i]) + count[i + 3] - count[i + 1]
        suu = 4.0 * (count[i + 4] + count[i]) + count[i + 3] + count[i + 1]
        sv = v_sum[i] + v_sum[i + 1] + v_sum[i + 2] + v_sum[i + 3] + v_sum[i + 4]
        suv = 2.0 * (v_sum[i + 4] - v_sum[i]) + v_sum[i + 3] - v_sum[i + 1]
        svv = vv_sum[i] + vv_sum[i + 1] + vv_sum[i + 2] + vv_sum[i + 3] + vv_sum[i + 4]
        se = e_sum[i] + e_sum[i + 1] + e_sum[i + 2] + e_sum[i + 3] + e_sum[i + 4]
        sue = 2.0 * (e_sum[i + 4] - e_sum[i]) + e_sum[i + 3] - e_sum[i + 1]
        sve = ve_sum[i] + ve_sum[i + 1] + ve_sum[i + 2] + ve_sum[i + 3] + ve_sum[i + 4]
        # n² times the centred moments, so that whole numbers stay exact and no division is needed before the last.
        cuu, cuv, cvv = n * suu - su * su, n * suv - su * sv, n * svv - sv * sv
        cue, cve = n * sue - su * se, n * sve - sv * se
        determinant = cuu * cvv - cuv * cuv
        inverse = 1.0 / determinant if determinant > 0.5 else np.nan
        slope_x[i] = (cue * cvv - cve * cuv) * inverse
        slope_y[i] = (cve * cuu - cue * cuv) * inverse


@kernel
def normal_angles(values: Any, pixels: Any, labels: Any, planes: Any) -> Any:
    """Angle in degrees between the 5 × 5 least-squares normal of E and the plane's normal.

    NaN where E is missing or its known neighbours determine no plane. A row of pixels shares its columns' moments.
    """
    width = values.shape[1]
    angle = np.empty(pixels.shape[0], np.float32)
    moments = np.zeros((5, width + 2 * RADIUS))
    slope_x, slope_y = np.empty(width), np.empty(width)
    i = 0
    while i < pixels.shape[0]:
        y = pixels[i] // width
        start = y * width
        stop = i
        while stop < pixels.shape[0] and pixels[stop] - start < width:
            stop += 1
        first, last = pixels[i] - start, pixels[stop - 1] - start
        _column_moments(values, y, first, last, moments)
        _row_slopes(moments, first, last, slope_x, slope_y)
        for j in range(i, stop):
            x = pixels[j] - start
            k = labels[j] - 1
            known = not math.isnan(values[y, x])
            angle[j] = _angle(slope_x[x - first], slope_y[x - first], planes[k, 0], planes[k, 1]) if known else np.nan
        i = stop
    return angle
