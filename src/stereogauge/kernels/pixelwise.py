"""One pass over estimate and ground truth that yields every pixel-wise metric for every region.

Pixels are grouped by *slot*: the distinct combination of regions that they belong to. Each row goes through two
stages: a vectorised one that writes errors and histogram keys to scratch rows in the first-level cache, and a scalar
one that scatters them by slot, to flat arrays, which spares the checks of several indices. Sums over slots are folded
to regions outside (docs/decisions/pixelwise-pass.md). Keys may be kept, so that a second pass over them alone finds the
pixels around a quantile.

The histogram is over the bits of the float32 |e|, 64 bins to an octave, open below and closed above, so that "more than
δ" is exact for every δ with at most six fractional bits in its mantissa (0.5, 0.75, 1, 1.5, 2, 3, …) and order
statistics need only the values of one bin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import Instruction, helper, kernel

Floats = NDArray[np.float32]
Sums = NDArray[np.float64]
Words = NDArray[np.uint32]
Keys = NDArray[np.uint16]
Flags = NDArray[np.bool_]
Slots = NDArray[Any]  # uint8 or uint16

GUARD = np.float32(1e-6)  # px: an |e| equal to a threshold must stay good in spite of rounding
BIN_SHIFT = np.uint32(17)  # 23 mantissa bits less the 6 that a bin keeps
LOWEST_EXPONENT = 127 - 12  # errors up to 2^-12 px share the first bin
FIRST_KEY = np.int32(LOWEST_EXPONENT << 6)
OCTAVES = 26
BINS = OCTAVES * 64 + 1  # up to 2^14 px; the last bin is open
MISSING_KEY = np.uint32(2 * BINS)
IGNORED_KEY = np.uint32(2 * BINS + 1)
KEYS = 2 * BINS + 2
FIRST_BITS = np.uint32((LOWEST_EXPONENT << 23) + 1)  # of the smallest error that is more than 2^-12 px
SMALLEST = np.float32(FIRST_BITS.view(np.float32))
LARGEST = np.float32(np.uint32((LOWEST_EXPONENT + OCTAVES << 23) + 1).view(np.float32))

SIGNED, ABSOLUTE, SQUARED, RELATIVE, DEPTH = 0, 1, 2, 3, 4
STRIDE = 8  # doubles from one copy of the sums to the next: a line of the cache
COPIES = 4  # of each sum, by the last two bits of the column, so that additions need not wait for each other
ZERO_ROWS, BEHIND_ROWS = 0, 1
ZERO_TRUTH, ZERO_TRUTH_MISSING, TRUTH_BEHIND, TRUTH_BEHIND_MISSING, ESTIMATE_BEHIND, EXCLUSIONS = 0, 1, 2, 3, 4, 5

D1_PIXELS = np.float32(3.0)
D1_SHARE = np.float32(20.0)  # |e| > D/20, written as a product because 0.05 has no exact float

bits_of = Instruction("stereogauge.kernels.pixelwise_vector", "bits_of")
add_errors = Instruction("stereogauge.kernels.pixelwise_vector", "add_errors")


@helper
def _bin_of(guarded: np.float32) -> np.uint32:
    """The histogram bin of an |e| less the guard."""
    clipped = guarded if guarded > SMALLEST else SMALLEST
    clipped = clipped if clipped < LARGEST else LARGEST
    return np.uint32(bits_of(clipped) - FIRST_BITS) >> BIN_SHIFT


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
    behind = np.uint32(0)
    middle = 2.0 / (1.0 / (near + mu) + 1.0 / (far + mu)) - mu  # the disparity of the mean of both ends' depths
    for x in range(estimate.size):
        e = np.float64(estimate[x]) + offset
        d = np.float64(truth[x]) + offset
        in_front = d > 0.0
        d_safe = d if in_front else 1.0
        worst = near if d_safe <= middle else far
        used = e if e > 0.0 else (worst if charge else d_safe)
        error = focal_baseline * abs(used - d_safe) / ((used + mu) * (d_safe + mu))
        depth[x] = error if in_front else 0.0
        not_in_front = (d <= 0.0) | (in_front & (e <= 0.0))
        behind = np.uint32(behind | (np.uint32(1) if not_in_front else np.uint32(0)))
    return bool(behind)


@kernel
def tally_errors(
    estimate: Floats,
    truth: Floats,
    slots: Slots,
    focal_baseline: float,
    offset: float,
    mu: float,
    near: float,
    far: float,
    charge: bool,
    signed: Floats,
    relative: Floats,
    depth: Sums | None,
    entries: Words,
    keys: Keys,
    sums: Sums,
    histogram: Words,
    special: Flags,
) -> None:
    """Σ e, Σ |e|, Σ e², Σ |e|/|D| and Σ |Z_D − Z_E| by slot, in `sums` (slot, copy, sum; flat), and the histogram of
    |e| by slot.

    The histogram (slot, key; flat) has a bin of |e| less the guard, + `BINS` where the D1 rule holds; pixels without an
    estimate and without a truth have keys of their own. `signed`, `relative`, `depth` and `entries` (of the histogram)
    are scratch rows, errors being 0 where a map is unknown. `keys` has a row for each of the maps, or one for all
    where nobody reads them. `special` tells the rows in which a true disparity is 0 and those in which a point is not
    in front of the cameras. Where `depth` is None, depths are left out, and their code is not compiled.
    """
    for y in range(estimate.shape[0]):
        estimated, true, slot = estimate[y], truth[y], slots[y]
        key_row = keys[min(y, keys.shape[0] - 1)]
        zeros = np.uint32(0)
        for x in range(signed.size):
            e = estimated[x]
            d = true[x]
            known = d == d
            both = known & (e == e)
            e_safe = e if both else np.float32(1.0)
            d_safe = d if both else np.float32(1.0)
            magnitude = abs(d_safe)
            zeros = np.uint32(zeros | (np.uint32(1) if d == np.float32(0.0) else np.uint32(0)))
            error = e_safe - d_safe
            signed[x] = error
            share = abs(error) / magnitude
            relative[x] = np.float32(0.0) if magnitude == np.float32(0.0) else share
            guarded = abs(error) - GUARD
            d1 = (guarded > D1_PIXELS) & (D1_SHARE * guarded > magnitude)
            key = np.uint32(_bin_of(guarded) + (np.uint32(BINS) if d1 else np.uint32(0)))
            key_row[x] = np.uint16(key if both else (MISSING_KEY if known else IGNORED_KEY))
        special[ZERO_ROWS, y] = zeros != 0
        for x in range(signed.size):
            entries[x] = np.uint32(np.uint32(key_row[x]) + np.uint32(slot[x]) * np.uint32(KEYS))
        if depth is not None:
            special[BEHIND_ROWS, y] = _depth_row(estimated, true, focal_baseline, offset, mu, near, far, charge, depth)
            for x in range(signed.size):
                at = (np.int64(slot[x]) * COPIES + (x & 3)) * STRIDE
                add_errors(sums, at, signed[x], relative[x])
                sums[at + DEPTH] += depth[x]
                histogram[entries[x]] += np.uint32(1)
        else:
            for x in range(signed.size):
                add_errors(sums, (np.int64(slot[x]) * COPIES + (x & 3)) * STRIDE, signed[x], relative[x])
                histogram[entries[x]] += np.uint32(1)


@kernel
def find_keys(keys: Keys, wanted: Flags, places: NDArray[np.int64]) -> int:
    """The places (row · width + column) of all pixels whose key is `wanted`; returns how many."""
    height, width = keys.shape
    found = 0
    for y in range(height):
        row = keys[y]
        for x in range(width):
            if wanted[row[x]]:
                places[found] = y * width + x
                found += 1
    return found


@kernel
def count_exclusions(
    estimate: Floats,
    truth: Floats,
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
        estimated, true, slot = estimate[y], truth[y], slots[y]
        for x in range(true.size):
            d = true[x]
            e = estimated[x]
            if d != d:
                continue
            counts = exclusions[slot[x]]
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
def literal_depth(
    estimate: Floats,
    truth: Floats,
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
            sums[slots[y, x]] += abs(focal_baseline / (d + mu) - focal_baseline / (e + mu))
