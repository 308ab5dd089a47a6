"""Fuzziness over the pixels of a set, and sums over values of which some are missing.

A set is a sorted array of flat pixel positions (row · width + column) with the values that belong to them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stereogauge.kernels.jit import kernel


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
def sum_and_count(values: Any) -> Any:
    """Sum, in double precision, and number of the values that are not NaN."""
    total = 0.0
    count = 0
    for i in range(values.shape[0]):
        if not math.isnan(values[i]):
            total += values[i]
            count += 1
    return total, count
