"""The three inner steps of semi-global matching, readable: what `sgm_vector` computes with explicit vectors.

All three work on flat arrays at given offsets. A path's costs at one pixel live in a *slot*: `LANES` sentinels, then
one cost a disparity, rounded up to a multiple of `LANES` with further sentinels. A sentinel is the type's largest
value, and additions saturate, so that a disparity outside the range never wins and never wraps around.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import kernel

LANES = 32
FORGET, WRITE, ADD = 0, 1, 2


@kernel
def popcount(value: np.uint64) -> np.uint64:
    """The number of set bits, by adding neighbouring groups of bits."""
    value = value - ((value >> np.uint64(1)) & np.uint64(0x5555555555555555))
    value = (value & np.uint64(0x3333333333333333)) + ((value >> np.uint64(2)) & np.uint64(0x3333333333333333))
    value = (value + (value >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (value * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def hamming_plain(
    code: np.uint64, others: NDArray[np.uint64], others_at: int, costs: NDArray[Any], costs_at: int, count: int
) -> None:
    """costs[costs_at + d] = number of bits in which `code` and others[others_at + d] differ, for d < count."""
    for d in range(count):
        costs[costs_at + d] = popcount(code ^ others[others_at + d])


@kernel
def aggregate_plain(
    costs: NDArray[Any],
    costs_at: int,
    paths: NDArray[Any],
    minima: NDArray[Any],
    slot_size: int,
    sources: tuple[int, ...],
    targets: tuple[int, ...],
    small_penalty: Any,
    large_penalties: tuple[Any, ...],
    sums: NDArray[np.uint16],
    sums_at: int,
    padded_count: int,
    mode: int,
) -> None:
    """One pixel of several paths: L(d) = C(d) + min(L'(d), L'(d−1) + P1, L'(d+1) + P1, min L' + P2) − min L'.

    L' is the path's costs at its previous pixel (slot `sources[i]`), L goes to slot `targets[i]` (which may be the
    same), min L to `minima[targets[i]]`. The sum of L over the paths is written to, added to or (mode FORGET) kept
    out of `sums`.
    """
    sentinel = np.int64(np.iinfo(paths.dtype).max)
    for i in range(len(sources)):
        source = sources[i] * slot_size + LANES
        target = targets[i] * slot_size + LANES
        minimum = np.int64(minima[sources[i]])
        jump = minimum + np.int64(large_penalties[i])
        lowest = sentinel
        before = sentinel
        for d in range(padded_count):
            here = np.int64(paths[source + d])
            after = np.int64(paths[source + d + 1])
            step = min(before, after) + np.int64(small_penalty)
            cost = min(min(min(here, jump), step) - minimum + np.int64(costs[costs_at + d]), sentinel)
            paths[target + d] = cost
            lowest = min(lowest, cost)
            before = here
            if mode == WRITE and i == 0:
                sums[sums_at + d] = np.uint16(cost)
            elif mode != FORGET:
                sums[sums_at + d] = np.uint16(sums[sums_at + d] + np.uint16(cost))
        minima[targets[i]] = lowest


@kernel
def winner_plain(
    sums: NDArray[np.uint16], sums_at: int, keys: NDArray[np.uint32], keys_at: int, padded_count: int, both: bool
) -> np.uint32:
    """The smallest key (A(d) ≪ 16) | d of one pixel: lowest cost, first index.

    With `both`, keys[keys_at + d] takes it where smaller.
    """
    best = np.uint32(0xFFFFFFFF)
    for d in range(padded_count):
        key = np.uint32((np.uint32(sums[sums_at + d]) << np.uint32(16)) | np.uint32(d))
        best = min(best, key)
        if both:
            keys[keys_at + d] = min(keys[keys_at + d], key)
    return best
