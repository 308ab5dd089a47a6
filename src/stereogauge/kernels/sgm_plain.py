"""A row of semi-global matching, readable: what `sgm_vector` computes with explicit vectors.

A path's costs at one pixel live in a *slot*: `LANES` sentinels, then one cost a disparity, rounded up to a multiple of
`LANES` with further sentinels. A sentinel is the type's largest value, and additions saturate, so that a disparity
outside the range never wins and never wraps around. Where a slot is, is told by the place of its first cost; the
smallest one stands among the sentinels, `MINIMUM` places before. `Pair` and `Rolling` are those of `sgm_sweep`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.census import set_bits
from stereogauge.kernels.jit import helper

LANES = 32
MINIMUM = LANES // 2
FORGET, WRITE, DECIDE, DECIDE_BOTH = 0, 1, 2, 3
"""What a pixel does with the sum of its paths: leave it out (and the path along the row with it), write it, add it to
what is there and find the left winner, or find the right one too.
"""

NO_COST = 65534
"""The cost of a right winner that has not been found yet; one below the type's largest value, so that it can grow."""


@helper
def cost_plain(pair: Any, pixel: int, right_at: int, column: int, costs: NDArray[Any]) -> None:
    """costs[d] = number of bits in which the codes of the left pixel and of its partner at disparity d differ.

    All of them where the partner lies outside, a sentinel beyond the range.
    """
    for k in range(len(pair.left)):
        code = pair.left[k][pixel]
        others = pair.right[k][right_at : right_at + costs.size]
        if k == 0:
            for d in range(costs.size):
                costs[d] = set_bits(np.uint8(code ^ others[d]))
        else:
            for d in range(costs.size):
                costs[d] += set_bits(np.uint8(code ^ others[d]))
    outside = pair.outside[column : column + costs.size]
    for d in range(costs.size):
        costs[d] = max(max(costs[d], outside[d]), pair.unused[d])


@helper
def path_plain(costs: NDArray[Any], path: NDArray[Any], at: int, small: Any, large: Any) -> None:
    """L(d) = C(d) + min(L'(d), L'(d−1) + P1, L'(d+1) + P1, min L' + P2) − min L'.

    L' is the path's costs at its previous pixel, in the slot at `at`; L takes their place.
    """
    sentinel = np.int64(np.iinfo(path.dtype).max)
    minimum = np.int64(path[at - MINIMUM])
    jump = minimum + np.int64(large)
    lowest = sentinel
    before = sentinel
    for d in range(costs.size):
        here = np.int64(path[at + d])
        after = np.int64(path[at + d + 1])
        step = min(before, after) + np.int64(small)
        cost = min(min(min(here, jump), step) - minimum + np.int64(costs[d]), sentinel)
        path[at + d] = cost
        lowest = min(lowest, cost)
        before = here
    path[at - MINIMUM] = lowest


@helper
def winner_plain(
    sums: NDArray[np.uint16],
    right_costs: NDArray[np.uint16],
    right_disparities: NDArray[np.uint16],
    column: int,
    later: np.uint16,
    both: bool,
) -> np.uint32:
    """The smallest key (A(d) ≪ 16) | d of a left pixel: lowest cost, then smallest disparity.

    With `both`, right pixels x − d, numbered from the right by `column` + d, take A(d) and d where A(d) is lower than
    what they have; where it is equal, only if `later` is 1.
    """
    best = np.uint32(0xFFFFFFFF)
    for d in range(sums.size):
        best = min(best, np.uint32((np.uint32(sums[d]) << np.uint32(16)) | np.uint32(d)))
        if both and sums[d] < np.uint16(right_costs[column + d] + later):
            right_costs[column + d] = sums[d]
            right_disparities[column + d] = d
    return best


@helper
def pixel_plain(
    pair: Any,
    rolling: Any,
    pixel: int,
    right_at: int,
    column: int,
    places: tuple[int, int, int, int],
    large_penalties: tuple[Any, Any, Any, Any],
    sums: NDArray[np.uint16],
    sums_at: int,
    later: np.uint16,
    mode: int,
) -> np.uint32:
    """Costs, paths, their sum, and by `mode` the winners' key (else 0) of the left pixel with number `pixel`.

    Its partner at disparity d has number `right_at` + d, and number `column` + d in its row. Of the four paths, whose
    slots are at `places`, only the first ones count, as many as `rolling` has.
    """
    costs = rolling.costs
    cost_plain(pair, pixel, right_at, column, costs)
    here = sums[sums_at : sums_at + costs.size]
    for i in range(1 if mode == FORGET else 0, len(rolling.paths)):
        path, at = rolling.paths[i], places[i]
        path_plain(costs, path, at, pair.small_penalty, large_penalties[i])
        if mode == WRITE and i == 0:
            for d in range(costs.size):
                here[d] = path[at + d]
        elif mode != FORGET:
            for d in range(costs.size):
                here[d] = np.uint16(here[d] + np.uint16(path[at + d]))
    if mode in (FORGET, WRITE):
        return np.uint32(0)
    key: np.uint32 = winner_plain(
        here, rolling.right_costs, rolling.right_disparities, column, later, mode == DECIDE_BOTH
    )
    return key


@helper
def row_plain(
    pair: Any,
    rolling: Any,
    sums: NDArray[np.uint16],
    sums_at: int,
    y: int,
    west: int,
    east: int,
    downward: bool,
    width: int,
    padded: int,
    mode: int,
) -> None:
    """All pixels of row `y` in the sweep's direction, and the key of each left winner that `mode` asks for.

    `west` and `east` are the slots of the diagonal paths at the first pixel, counted in slots.
    """
    large = rolling.penalties
    slot = padded + LANES
    # Columns that come from the right reach a right pixel's smaller disparities last.
    later = np.uint16(0 if downward else 1)
    for column in range(width):
        x = column if downward else width - 1 - column
        places = (
            LANES,
            LANES + column * slot,
            LANES + (west + column) % width * slot,
            LANES + (east + column) % width * slot,
        )
        jumps = (large[0, x], large[1, x], large[2, x], large[3, x])
        there = width - 1 - x
        right_at = y * (width + padded) + there
        at = sums_at + x * padded
        rolling.left_keys[x] = pixel_plain(
            pair, rolling, y * width + x, right_at, there, places, jumps, sums, at, later, mode
        )
