"""One pass over estimate and ground truth that yields every pixel-wise measure for every region.

Pixels are grouped by *slot*: the distinct combination of regions that they belong to. Each row goes through two
stages: a vectorised one that writes errors and histogram keys to scratch rows in the first-level cache, and a scalar
one that scatters them by slot. Sums over slots are folded to regions outside. Depth errors are exact to double
precision.

The histogram is over the bits of the float32 |e|, 64 bins to an octave, open below and closed above, so that "more than
δ" is exact for every δ with at most six fractional bits in its mantissa (0.5, 0.75, 1, 1.5, 2, 3, …) and order
statistics need only the values of one bin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import kernel

Floats = NDArray[np.float32]
Sums = NDArray[np.float64]
Integers = NDArray[np.int32]
Labels = NDArray[Any]  # uint8 or uint16
Slots = NDArray[np.int64]

GUARD = np.float32(1e-6)  # px: an |e| equal to a threshold must stay good in spite of rounding
BIN_SHIFT = np.uint32(17)  # 23 mantissa bits less the 6 that a bin keeps
LOWEST_EXPONENT = 127 - 12  # errors up to 2^-12 px share the first bin
FIRST_KEY = np.int32(LOWEST_EXPONENT << 6)
BINS = 26 * 64 + 1  # up to 2^14 px; the last bin is open
MISSING_KEY = 2 * BINS
IGNORED_KEY = 2 * BINS + 1
KEYS = 2 * BINS + 2

SIGNED, ABSOLUTE, SQUARED, RELATIVE, DEPTH, SUMS = 0, 1, 2, 3, 4, 5
ZERO_TRUTH, ZERO_TRUTH_MISSING, TRUTH_BEHIND, TRUTH_BEHIND_MISSING, ESTIMATE_BEHIND, EXCLUSIONS = 0, 1, 2, 3, 4, 5

D1_PIXELS = np.float32(3.0)
D1_SHARE = np.float32(20.0)  # |e| > D/20, written as a product because 0.05 has no exact float


@kernel(fastmath=True)
def error_row(
    estimate: Floats,
    truth: Floats,
    absolute: Floats,
    signed: Floats,
    relative: Floats,
    guarded: Floats,
    flags: Integers,
) -> bool:
    """Errors of one row where both maps are known, 0 elsewhere; True when a true disparity is 0.

    flags: 0 = both known, 1 = estimate missing, 2 = truth unknown; + 4 where the D1 rule holds.
    """
    zeros = False
    for x in range(estimate.size):
        e = estimate[x]
        d = truth[x]
        known = d == d
        given = e == e
        both = known & given
        e_safe = e if both else np.float32(1.0)
        d_safe = d if both else np.float32(1.0)
        difference = e_safe - d_safe
        size = abs(difference)
        magnitude = abs(d_safe)
        no_relative = magnitude == np.float32(0.0)
        zeros |= d == np.float32(0.0)
        signed[x] = difference
        absolute[x] = size
        relative[x] = np.float32(0.0) if no_relative else size / magnitude
        tolerated = size - GUARD
        tolerated = tolerated if tolerated > np.float32(0.0) else np.float32(0.0)
        guarded[x] = tolerated
        d1 = both & (tolerated > D1_PIXELS) & (D1_SHARE * tolerated > magnitude)
        state = np.int32(0) if both else (np.int32(1) if known else np.int32(2))
        flags[x] = state + (np.int32(4) if d1 else np.int32(0))
    return zeros


@kernel(fastmath=True)
def depth_row(
    estimate: Floats,
    truth: Floats,
    focal_baseline: float,
    offset: float,
    mu: float,
    near: float,
    far: float,
    charge: bool,
    depth: Sums,
) -> bool:
    """|Z_D − Z_E| of one row, 0 where the truth is unknown or not in front of the cameras; True when a point is not.

    An estimate that is missing or not in front of the cameras is replaced by `near` or `far`, the ends of the scene's
    range of D + offset, whichever lies farther in depth, or contributes 0 without `charge`.
    """
    behind = False
    middle = 2.0 / (1.0 / (near + mu) + 1.0 / (far + mu)) - mu  # the disparity of the mean of both ends' depths
    for x in range(estimate.size):
        e = estimate[x]
        d = truth[x]
        known = d == d
        given = e == e
        e_shifted = (np.float64(e) if given else 1.0) + offset
        d_shifted = (np.float64(d) if known else 1.0) + offset
        in_front = known & (d_shifted > 0.0)
        usable = given & (e_shifted > 0.0)
        behind |= known & ((d_shifted <= 0.0) | (given & (e_shifted <= 0.0)))
        worst = near if d_shifted <= middle else far
        used = e_shifted if usable else (worst if charge else d_shifted)
        error = focal_baseline * abs(used - d_shifted) / ((used + mu) * (d_shifted + mu))
        depth[x] = error if in_front else 0.0
    return behind


@kernel
def key_row(guarded: Floats, flags: Integers, keys: Integers) -> None:
    """Histogram keys of one row from the errors less the guard."""
    bits = guarded.view(np.uint32)
    for x in range(keys.size):
        b = bits[x]
        b = np.uint32(b - np.uint32(1)) if b > np.uint32(0) else b
        key = np.int32(b >> BIN_SHIFT) - FIRST_KEY
        key = key if key > np.int32(0) else np.int32(0)
        key = key if key < np.int32(BINS - 1) else np.int32(BINS - 1)
        flag = flags[x]
        key = key + (np.int32(BINS) if flag & np.int32(4) else np.int32(0))
        state = flag & np.int32(3)
        keys[x] = (
            key if state == np.int32(0) else (np.int32(MISSING_KEY) if state == np.int32(1) else np.int32(IGNORED_KEY))
        )


@kernel
def scatter_row(
    labels: Labels,
    slots: Slots,
    signed: Floats,
    absolute: Floats,
    relative: Floats,
    depth: Sums,
    keys: Integers,
    sums: Sums,
    histogram: NDArray[np.uint32],
) -> None:
    """Add one row to the sums and histograms of its slots.

    Four rotating copies of the sums break the dependency chain.
    """
    for x in range(labels.size):
        slot = slots[labels[x]]
        size = np.float64(absolute[x])
        row = sums[x & 3, slot]
        row[SIGNED] += np.float64(signed[x])
        row[ABSOLUTE] += size
        row[SQUARED] += size * size
        row[RELATIVE] += np.float64(relative[x])
        row[DEPTH] += depth[x]
        histogram[slot, keys[x]] += np.uint32(1)


@kernel
def count_exclusions(
    labels: Labels, slots: Slots, estimate: Floats, truth: Floats, offset: float, exclusions: NDArray[np.int64]
) -> None:
    """Count the pixels of a row that have no relative error (D = 0) or no depth, by the truth or by the estimate.

    Of those that have none by the truth, the ones without an estimate are counted besides.
    """
    for x in range(labels.size):
        d = truth[x]
        e = estimate[x]
        if d != d:
            continue
        counts = exclusions[slots[labels[x]]]
        missing = e != e
        if d == np.float32(0.0):
            counts[ZERO_TRUTH] += 1
            counts[ZERO_TRUTH_MISSING] += missing
        if np.float64(d) + offset <= 0.0:
            counts[TRUTH_BEHIND] += 1
            counts[TRUTH_BEHIND_MISSING] += missing
        elif not missing and np.float64(e) + offset <= 0.0:
            counts[ESTIMATE_BEHIND] += 1


@kernel
def range_in_front(truth: Floats, offset: float) -> tuple[float, float]:
    """The largest and the smallest D + offset above 0, which belong to the nearest and the farthest point; else 1."""
    near, far = -np.inf, np.inf
    for y in range(truth.shape[0]):
        for x in range(truth.shape[1]):
            shifted = np.float64(truth[y, x]) + offset
            if shifted > 0.0:
                near = max(near, shifted)
                far = min(far, shifted)
    return (near, far) if near > 0.0 else (1.0, 1.0)


@kernel
def accumulate(
    estimate: Floats,
    truth: Floats,
    labels: Labels,
    slots: Slots,
    focal_baseline: float,
    offset: float,
    mu: float,
    near: float,
    far: float,
    charge: bool,
    sums: Sums,
    histogram: NDArray[np.uint32],
    exclusions: NDArray[np.int64],
) -> None:
    """Statistics of all pixels by slot; `slots` maps a label to its slot."""
    height, width = estimate.shape
    absolute = np.empty(width, np.float32)
    signed = np.empty(width, np.float32)
    relative = np.empty(width, np.float32)
    depth = np.empty(width, np.float64)
    guarded = np.empty(width, np.float32)
    flags = np.empty(width, np.int32)
    keys = np.empty(width, np.int32)
    for y in range(height):
        zeros = error_row(estimate[y], truth[y], absolute, signed, relative, guarded, flags)
        behind = depth_row(estimate[y], truth[y], focal_baseline, offset, mu, near, far, charge, depth)
        key_row(guarded, flags, keys)
        scatter_row(labels[y], slots, signed, absolute, relative, depth, keys, sums, histogram)
        if zeros or behind:
            count_exclusions(labels[y], slots, estimate[y], truth[y], offset, exclusions)


@kernel
def collect(estimate: Floats, truth: Floats, labels: Labels, wanted: Labels, values: Floats, members: Labels) -> int:
    """|e| and label of every pixel whose bin is `wanted` by one of its regions; returns how many.

    `wanted[key]` holds the bits of the regions that ask for the bin. The caller sizes `values` and `members` from the
    histogram.
    """
    height, width = estimate.shape
    found = 0
    guarded = np.empty(width, np.float32)
    flags = np.empty(width, np.int32)
    keys = np.empty(width, np.int32)
    for y in range(height):
        for x in range(width):
            e = estimate[y, x]
            d = truth[y, x]
            both = (e == e) & (d == d)
            tolerated = abs(e - d) - GUARD
            guarded[x] = tolerated if both & (tolerated > np.float32(0.0)) else np.float32(0.0)
            flags[x] = np.int32(0) if both else np.int32(2)
        key_row(guarded, flags, keys)
        for x in range(width):
            member = labels[y, x] & wanted[keys[x]]
            if member != 0:
                values[found] = abs(estimate[y, x] - truth[y, x])
                members[found] = member
                found += 1
    return found


@kernel
def literal_depth(
    estimate: Floats,
    truth: Floats,
    labels: Labels,
    slots: Slots,
    focal_baseline: float,
    mu: float,
    charge: bool,
    sums: Sums,
) -> None:
    """The Sigma-Z-Error as printed, by slot: |fB/(D+μ) − fB/(E+μ)| over all known D, a missing E taken as 0.

    Without `charge` a missing E contributes nothing.
    """
    height, width = estimate.shape
    for y in range(height):
        for x in range(width):
            d = np.float64(truth[y, x])
            e = np.float64(estimate[y, x])
            if np.isnan(d) or (np.isnan(e) and not charge):
                continue
            e = np.float64(0.0) if np.isnan(e) else e
            sums[slots[labels[y, x]]] += abs(focal_baseline / (d + mu) - focal_baseline / (e + mu))
