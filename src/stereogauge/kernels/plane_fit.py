"""Second differences, plane distances and 5 × 5 least-squares normals over the pixels of planar surfaces."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stereogauge.kernels.jit import kernel

RADIUS = 2
SQUARES = 50.0  # Σ dx² over a 5 × 5 window


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
    """Signed distance (E − a·x − b·y − c)/√(1 + a² + b²) of each point (x, y, E) to its plane; NaN where E is
    missing.
    """
    width = values.shape[1]
    flat = values.ravel()
    distance = np.empty(pixels.shape[0], np.float32)
    scale = np.empty(planes.shape[0])
    for k in range(planes.shape[0]):
        scale[k] = 1.0 / math.sqrt(1.0 + planes[k, 0] ** 2 + planes[k, 1] ** 2)
    y = start = 0
    for i in range(pixels.shape[0]):
        while pixels[i] - start >= width:
            y += 1
            start += width
        x = pixels[i] - start
        k = labels[i] - 1
        distance[i] = (flat[pixels[i]] - planes[k, 0] * x - planes[k, 1] * y - planes[k, 2]) * scale[k]
    return distance


@kernel
def _angle(a: float, b: float, plane_a: float, plane_b: float) -> float:
    """Degrees between the normals (−a, −b, 1) and (−A, −B, 1), 0 to 90."""
    across = math.sqrt((a - plane_a) ** 2 + (b - plane_b) ** 2 + (a * plane_b - b * plane_a) ** 2)
    return math.degrees(math.atan2(across, abs(a * plane_a + b * plane_b + 1.0)))


@kernel
def _masked_slopes(values: Any, y: int, x: int) -> Any:
    """Least-squares slopes over the known pixels of the 5 × 5 window cut to the image; NaN where they determine no
    plane.
    """
    height, width = values.shape
    n = 0
    sx = sy = sd = sxx = sxy = syy = sxd = syd = 0.0
    for row in range(max(y - RADIUS, 0), min(y + RADIUS + 1, height)):
        for column in range(max(x - RADIUS, 0), min(x + RADIUS + 1, width)):
            d = values[row, column]
            if math.isnan(d):
                continue
            u, v = float(column - x), float(row - y)
            n += 1
            sx += u
            sy += v
            sd += d
            sxx += u * u
            sxy += u * v
            syy += v * v
            sxd += u * d
            syd += v * d
    if n < 3:
        return np.nan, np.nan
    cxx, cxy, cyy = sxx - sx * sx / n, sxy - sx * sy / n, syy - sy * sy / n
    determinant = cxx * cyy - cxy * cxy
    if determinant < 1e-9:
        return np.nan, np.nan
    cxd, cyd = sxd - sx * sd / n, syd - sy * sd / n
    return (cxd * cyy - cyd * cxy) / determinant, (cyd * cxx - cxd * cxy) / determinant


@kernel
def normal_angles(values: Any, pixels: Any, labels: Any, planes: Any) -> Any:
    """Angle in degrees between the 5 × 5 least-squares normal of E and the plane's; NaN where E is missing or fixes
    no plane.

    The slopes over a full window are Σ dx·E / 50 and Σ dy·E / 50, from column sums that a row of pixels shares. A
    missing value makes them NaN, and the window is fitted again without it.
    """
    height, width = values.shape
    angle = np.empty(pixels.shape[0], np.float32)
    column_sum = np.empty(width)
    column_moment = np.empty(width)
    summed_row = -1
    y = start = 0
    for i in range(pixels.shape[0]):
        while pixels[i] - start >= width:
            y += 1
            start += width
        x = pixels[i] - start
        if math.isnan(values[y, x]):
            angle[i] = np.nan
            continue
        inside = RADIUS <= y < height - RADIUS and RADIUS <= x < width - RADIUS
        if inside and y != summed_row:
            summed_row = y
            for column in range(width):
                above2, above1 = float(values[y - 2, column]), float(values[y - 1, column])
                below1, below2 = float(values[y + 1, column]), float(values[y + 2, column])
                column_sum[column] = above2 + above1 + values[y, column] + below1 + below2
                column_moment[column] = 2.0 * (below2 - above2) + below1 - above1
        a = b = np.nan
        if inside:
            a = (2.0 * (column_sum[x + 2] - column_sum[x - 2]) + column_sum[x + 1] - column_sum[x - 1]) / SQUARES
            b = (
                column_moment[x - 2]
                + column_moment[x - 1]
                + column_moment[x]
                + column_moment[x + 1]
                + column_moment[x + 2]
            ) / SQUARES
        if math.isnan(a) or math.isnan(b):
            a, b = _masked_slopes(values, y, x)
        k = labels[i] - 1
        angle[i] = _angle(a, b, planes[k, 0], planes[k, 1])
    return angle
