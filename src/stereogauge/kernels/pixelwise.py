"""Passes over estimate and ground truth that yield every pixel-wise metric for every region.

Pixels are grouped by *slot*: the distinct combination of regions that they belong to. Each row goes through two
stages: a vectorised one that writes errors or histogram keys to scratch rows in the first-level cache, and a scalar
one that scatters them by slot, to flat arrays, which spares the checks of several indices. Sums over slots are folded
to regions outside. Sums, histogram and depths are three kernels, so that each is compiled when it is first needed and
two threads can share the work without a change in any digit. Depth errors are exact to double precision.

The histogram is over the bits of the float32 |e|, 64 bins to an octave, open below and closed above, so that "more than
δ" is exact for every δ with at most six fractional bits in its mantissa (0.5, 0.75, 1, 1.5, 2, 3, …) and order
statistics need only the values of one bin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import helper, kernel

Floats = NDArray[np.float32]
Sums = NDArray[np.float64]
Integers = NDArray[np.int32]
Words = NDArray[np.uint32]
Flags = NDArray[np.bool_]
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

SIGNED, ABSOLUTE, SQUARED, RELATIVE, SUMS = 0, 1, 2, 3, 4
COPIES = 4  # of each sum, by the last two bits of the column, so that additions need not wait for each other
ZERO_TRUTH, ZERO_TRUTH_MISSING, TRUTH_BEHIND, TRUTH_BEHIND_MISSING, ESTIMATE_BEHIND, EXCLUSIONS = 0, 1, 2, 3, 4, 5

D1_PIXELS = np.float32(3.0)
D1_SHARE = np.float32(20.0)  # |e| > D/20, written as a product because 0.05 has no exact float


@kernel
def sum_errors(
    estimate: Floats,
    truth: Floats,
    labels: Labels,
    slots: Slots,
    signed: Floats,
    relative: Floats,
    sums: Sums,
    special: Flags,
) -> None:
    """Σ e, Σ |e|, Σ e² and Σ |e|/|D| by slot, in `sums` (slot, copy, sum; flat).

    `slots` maps a label to its slot. `signed` and `relative` are scratch rows, 0 where a map is unknown. `special`
    tells the rows in which a true disparity is 0.
    """
    for y in range(estimate.shape[0]):
        estimated, true, label = estimate[y], truth[y], labels[y]
        zeros = False
        for x in range(signed.size):
            e = estimated[x]
            d = true[x]
            both = (d == d) & (e == e)
            e_safe = e if both else np.float32(1.0)
            d_safe = d if both else np.float32(1.0)
            magnitude = abs(d_safe)
            zeros |= d == np.float32(0.0)
            signed[x] = e_safe - d_safe
            share = abs(e_safe - d_safe) / magnitude
            relative[x] = np.float32(0.0) if magnitude == np.float32(0.0) else share
        special[y] = zeros
        for x in range(signed.size):
            at = (slots[label[x]] * COPIES + (x & 3)) * SUMS
            error = np.float64(signed[x])
            sums[at + SIGNED] += error
            sums[at + ABSOLUTE] += abs(error)
            sums[at + SQUARED] += error * error
            sums[at + RELATIVE] += np.float64(relative[x])


@helper
def _key_row(estimate: Floats, truth: Floats, guarded: Floats, bits: Words, keys: Integers) -> None:
    """Histogram keys of one row: the bin of |e| less the guard, + `BINS` where the D1 rule holds.

    `guarded` is a scratch row and `bits` the same memory as words.
    """
    for x in range(keys.size):
        e = estimate[x]
        d = truth[x]
        known = d == d
        both = known & (e == e)
        e_safe = e if both else np.float32(1.0)
        d_safe = d if both else np.float32(1.0)
        tolerated = abs(e_safe - d_safe) - GUARD
        tolerated = tolerated if tolerated > np.float32(0.0) else np.float32(0.0)
        guarded[x] = tolerated
        d1 = (tolerated > D1_PIXELS) & (D1_SHARE * tolerated > abs(d_safe))
        unknown = np.int32(MISSING_KEY) if known else np.int32(IGNORED_KEY)
        keys[x] = (np.int32(BINS) if d1 else np.int32(0)) if both else unknown
    for x in range(keys.size):
        b = bits[x]
        b = np.uint32(b - np.uint32(1)) if b > np.uint32(0) else b
        key = np.int32(b >> BIN_SHIFT) - FIRST_KEY
        key = key if key > np.int32(0) else np.int32(0)
        key = key if key < np.int32(BINS - 1) else np.int32(BINS - 1)
        keys[x] += key


@kernel
def count_errors(
    estimate: Floats,
    truth: Floats,
    labels: Labels,
    slots: Slots,
    guarded: Floats,
    bits: Words,
    keys: Integers,
    histogram: Words,
) -> None:
    """The histogram of |e| by slot (slot, key; flat).

    Pixels without an estimate and without a truth have bins of their own.
    """
    for y in range(estimate.shape[0]):
        _key_row(estimate[y], truth[y], guarded, bits, keys)
        label = labels[y]
        for x in range(keys.size):
            histogram[slots[label[x]] * KEYS + keys[x]] += np.uint32(1)


@kernel
def collect_errors(
    estimate: Floats,
    truth: Floats,
    labels: Labels,
    wanted: Labels,
    guarded: Floats,
    bits: Words,
    keys: Integers,
    values: Floats,
    members: Labels,
) -> int:
    """|e| and label of every pixel whose bin is `wanted` by one of its regions; returns how many.

    `wanted[key]` holds the bits of the regions that ask for the bin. The caller sizes `values` and `members` from the
    histogram.
    """
    found = 0
    for y in range(estimate.shape[0]):
        estimated, true, label = estimate[y], truth[y], labels[y]
        _key_row(estimated, true, guarded, bits, keys)
        for x in range(keys.size):
            member = label[x] & wanted[keys[x]]
            if member != 0:
                values[found] = abs(estimated[x] - true[x])
                members[found] = member
                found += 1
    return found


@kernel
def count_exclusions(
    estimate: Floats,
    truth: Floats,
    labels: Labels,
    slots: Slots,
    offset: float,
    special: Flags,
    exclusions: NDArray[np.int64],
) -> None:
    """Count by slot the pixels that have no relative error (D = 0) or no depth, by the truth or by the estimate.

    Of those that have none by the truth, the ones without an estimate are counted besides.
    Only rows that are `special` are looked at.
    """
    for y in range(estimate.shape[0]):
        if not special[y]:
            continue
        estimated, true, label = estimate[y], truth[y], labels[y]
        for x in range(true.size):
            d = true[x]
            e = estimated[x]
            if d != d:
                continue
            counts = exclusions[slots[label[x]]]
            missing = e != e
            if d == np.float32(0.0):
                counts[ZERO_TRUTH] += 1
                counts[ZERO_TRUTH_MISSING] += missing
            if np.float64(d) + offset <= 0.0:
                counts[TRUTH_BEHIND] += 1
                counts[TRUTH_BEHIND_MISSING] += missing
            elif not missing and np.float64(e) + offset <= 0.0:
                counts[ESTIMATE_BEHIND] += 1


@helper(fastmath=True)
def _depth_row(
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
def sum_depths(
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
    depth: Sums,
    sums: Sums,
    special: Flags,
) -> None:
    """Σ |Z_D − Z_E| by slot, in `sums` (slot, copy; flat).

    `depth` is a scratch row. `special` tells the rows in which a point is not in front of the cameras.
    """
    for y in range(estimate.shape[0]):
        label = labels[y]
        special[y] = _depth_row(estimate[y], truth[y], focal_baseline, offset, mu, near, far, charge, depth)
        for x in range(depth.size):
            sums[slots[label[x]] * COPIES + (x & 3)] += depth[x]


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
