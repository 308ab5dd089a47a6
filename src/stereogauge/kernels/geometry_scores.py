"""Per-pixel verdicts of the discontinuity and fine-structure metrics over the pixels of a set.

A set is a sorted array of flat pixel positions (row · width + column) with the values that belong to them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stereogauge.kernels.jit import kernel


@kernel
def closer_to_beyond(estimate: Any, truth: Any, pixels: Any, beyond: Any) -> Any:
    """1 where |E − D| > |E − beyond|, 0 where not, NaN where the estimate is missing."""
    width = estimate.shape[1]
    verdict = np.empty(pixels.shape[0], np.float32)
    y = start = 0
    for i in range(pixels.shape[0]):
        while pixels[i] - start >= width:
            y += 1
            start += width
        x = pixels[i] - start
        value = float(estimate[y, x])
        if math.isnan(value):
            verdict[i] = np.nan
        else:
            verdict[i] = abs(value - truth[y, x]) > abs(value - beyond[i])
    return verdict


@kernel
def edge_fuzziness(estimate: Any, pixels: Any, gradient: Any, to_discontinuity: Any, to_outside: Any) -> Any:
    """f = |G|·dist(x, M_d) where G = ‖∇D‖ − ‖∇E‖ < 0, else G·dist(x, Ω∖M_e); NaN where ∇E needs a missing estimate."""
    height, width = estimate.shape
    fuzziness = np.empty(pixels.shape[0], np.float32)
    half = np.float32(0.5)
    one = np.float32(1.0)
    y = start = 0
    for i in range(pixels.shape[0]):
        while pixels[i] - start >= width:
            y += 1
            start += width
        x = pixels[i] - start
        left, right = max(x - 1, 0), min(x + 1, width - 1)
        above, below = max(y - 1, 0), min(y + 1, height - 1)
        along_x = (estimate[y, right] - estimate[y, left]) * (half if right - left == 2 else one)
        along_y = (estimate[below, x] - estimate[above, x]) * (half if below - above == 2 else one)
        excess = gradient[i] - math.sqrt(along_x * along_x + along_y * along_y)
        if math.isnan(estimate[y, x]):
            fuzziness[i] = np.nan
        elif excess < 0:
            fuzziness[i] = -excess * to_discontinuity[i]
        else:
            fuzziness[i] = excess * to_outside[i]
    return fuzziness


@kernel
def found_pixels(estimate: Any, truth: Any, pixels: Any, tolerance: float) -> Any:
    """1 where |E − D| ≤ tolerance, 0 where not, 2 where the estimate is missing."""
    width = estimate.shape[1]
    verdict = np.empty(pixels.shape[0], np.uint8)
    y = start = 0
    for i in range(pixels.shape[0]):
        while pixels[i] - start >= width:
            y += 1
            start += width
        x = pixels[i] - start
        value = float(estimate[y, x])
        if math.isnan(value):
            verdict[i] = 2
        else:
            verdict[i] = abs(value - truth[y, x]) <= tolerance
    return verdict


@kernel
def direction_counts(estimate: Any, pixels: Any, bins: int) -> Any:
    """How many of the pixels' gradient directions atan2(∂y, ∂x) fall into each of `bins` bins, the first around −π.

    A pixel without an estimate, a gradient of 0, or one that needs a missing estimate has no direction and is not
    counted.
    """
    height, width = estimate.shape
    counts = np.zeros(bins, np.int64)
    y = start = 0
    for i in range(pixels.shape[0]):
        while pixels[i] - start >= width:
            y += 1
            start += width
        x = pixels[i] - start
        left, right = max(x - 1, 0), min(x + 1, width - 1)
        above, below = max(y - 1, 0), min(y + 1, height - 1)
        along_x = (estimate[y, right] - estimate[y, left]) / max(right - left, 1)
        along_y = (estimate[below, x] - estimate[above, x]) / max(below - above, 1)
        if along_x * along_x + along_y * along_y > 0 and not math.isnan(estimate[y, x]):
            turn = math.atan2(along_y, along_x) / (2 * math.pi) + 0.5
            counts[math.floor(turn * bins + 0.5) % bins] += 1
    return counts


@kernel
def sum_and_count(values: Any) -> Any:
    """Sum, in double precision, and number of the values that are not NaN."""
    total = 0.0
    count = 0
    for i in range(values.shape[0]):
        if not math.isnan(values[i]):
            total += values[i]
            count += 1
    return total, count


@kernel
def count_above(values: Any, threshold: float) -> int:
    """How many values exceed the threshold in magnitude."""
    count = 0
    for i in range(values.shape[0]):
        count += abs(values[i]) > threshold
    return count
