"""One pass over estimate and ground truth that yields every pixel-wise metric for every region.

Pixels are grouped by *slot*: the distinct combination of regions that they belong to. Each row goes through several
stages over scratch rows that stay in the cache: errors and histogram keys; depth errors; sums, by slot, of eight
neighbours at once (`stereogauge.masks.groups`); and the histogram, pixel by pixel. Sums over slots are folded to
regions outside (docs/decisions/pixelwise-pass.md). Keys may be kept, so that a second pass over them alone finds the
pixels around a quantile.

The histogram is over the bits of the float32 |e|, 64 bins to an octave, open below and closed above, so that "more than
δ" is exact for every δ with at most six fractional bits in its mantissa (0.5, 0.75, 1, 1.5, 2, 3, …) and order
statistics need only the values of one bin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import Instruction, kernel

Floats = NDArray[np.float32]
Sums = NDArray[np.float64]
Words = NDArray[np.uint32]
Keys = NDArray[np.uint16]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]
Slots = NDArray[Any]  # uint8 or uint16

GUARD = np.float32(1e-6)  # px: an |e| equal to a threshold must stay good in spite of rounding
BIN_SHIFT = 17  # 23 mantissa bits less the 6 that a bin keeps
PART_BITS = 5
PARTS = 1 << PART_BITS  # of a bin, of equal length
LOWEST_EXPONENT = 127 - 12  # errors up to 2^-12 px share the first bin
FIRST_KEY = np.int32(LOWEST_EXPONENT << 6)
OCTAVES = 26
BINS = OCTAVES * 64 + 1  # up to 2^14 px; the last bin is open
MISSING_KEY, IGNORED_KEY, KEYS = 2 * BINS, 2 * BINS + 1, 2 * BINS + 2
FINE_MISSING, FINE_IGNORED = BINS << PART_BITS, (BINS << PART_BITS) + 1
FIRST_BITS = np.uint32((LOWEST_EXPONENT << 23) + 1)  # of the smallest error that is more than 2^-12 px
SMALLEST = np.float32(FIRST_BITS.view(np.float32))
LARGEST = np.float32(np.uint32((LOWEST_EXPONENT + OCTAVES << 23) + 1).view(np.float32))

SIGNED, ABSOLUTE, SQUARED, RELATIVE, DEPTH, SUMS = 0, 1, 2, 3, 4, 5
LANES = 8  # pixels that are added at once, each in a sum of its own
LINE = 16  # single-precision numbers in a line of the cache
ZERO_TRUTH_BIT, BEHIND_BIT = 1, 2
ZERO_ROWS, BEHIND_ROWS = 0, 1
ZERO_TRUTH, ZERO_TRUTH_MISSING, TRUTH_BEHIND, TRUTH_BEHIND_MISSING, ESTIMATE_BEHIND, EXCLUSIONS = 0, 1, 2, 3, 4, 5

D1_PIXELS = np.float32(3.0)
D1_SHARE = np.float32(20.0)  # |e| > D/20, written as a product because 0.05 has no exact float

align_stack = Instruction("stereogauge.kernels.vectors", "align_stack")
error_row = Instruction("stereogauge.kernels.error_row", "error_row")
add_groups = Instruction("stereogauge.kernels.pixelwise_vector", "add_groups")
add_whole_groups = Instruction("stereogauge.kernels.pixelwise_vector", "add_whole_groups")
depth_line = Instruction("stereogauge.kernels.pixelwise_vector", "depth_line")
fetch = Instruction("stereogauge.kernels.pixelwise_vector", "fetch")
fetch_to_write = Instruction("stereogauge.kernels.pixelwise_vector", "fetch_to_write")


@kernel
def tally_errors(
    estimate: Floats,
    truth: Floats,
    slots: Slots,
    rows: Places,
    segments: Words,
    firsts: Places,
    groups: Words,
    shift: float,
    behind: np.float32,
    near: np.float32,
    far: np.float32,
    middle: np.float32,
    charge: bool,
    signed: Floats,
    relative: Floats,
    depth: Sums | None,
    used: Floats,
    safe: Floats,
    entries: Words,
    keys: Keys,
    sums: Sums,
    histogram: Words,
    special: Flags,
) -> None:
    """Σ e, Σ |e|, Σ e², Σ |e|/|D| and Σ |Z_D − Z_E|/fB by slot, in `sums` (slot, sum, lane; flat), and the histogram of
    |e| by slot.

    `rows`, `segments`, `firsts` and `groups` are those of `stereogauge.masks.groups`. The histogram (slot, key; flat)
    has a bin of |e| less the guard, + `BINS` where the D1 rule holds; pixels without an estimate and without a truth
    have keys of their own. `signed`, `relative`, `depth`, `used`, `safe` and `entries` (of the histogram) are scratch
    rows, whole lines of the cache long, errors being 0 where a map is unknown. `keys` has a row for each of the maps,
    or one for all where nobody reads them. `special` tells the rows in which a true disparity is 0 and those in which a
    disparity is not above `behind`, and its point not in front of the cameras. Where `depth` is None, depths are left
    out, and their code is not compiled.
    """
    align_stack()
    height, width = estimate.shape
    for y in range(height):
        estimated, true, slot = estimate[y], truth[y], slots[y]
        key_row = keys[min(y, keys.shape[0] - 1)]
        bits = error_row(
            estimated, true, slot, behind, near, far, middle, charge,
            signed, relative, depth, used, safe, entries, key_row, width,
        )  # fmt: skip
        special[ZERO_ROWS, y] = bits & ZERO_TRUTH_BIT != 0
        special[BEHIND_ROWS, y] = bits & BEHIND_BIT != 0
        below = min(y + 1, height - 1) * width
        for line in range(width // LINE):
            first = line * LINE
            fetch(estimate, below + first)
            fetch(truth, below + first)
            if line & 3 == 0:
                fetch(slots, below + first)
            if line & 1 == 0:
                fetch_to_write(keys, min(y + 1, keys.shape[0] - 1) * width + first)
            # Divisions are waited for elsewhere than the histogram: together they take little more than one of them.
            if depth is not None:
                depth_line(used, safe, shift, first, depth)
            for x in range(first, first + LINE):
                histogram[entries[x]] += np.uint32(1)
        if depth is not None:
            depth_line(used, safe, shift, width - width % LINE, depth)
        for x in range(width - width % LINE, width):
            histogram[entries[x]] += np.uint32(1)
        for i in range(rows[y], rows[y + 1]):
            at = np.int64(segments[i] >> 1) * SUMS * LANES
            if segments[i] & 1:
                add_groups(sums, at, signed, relative, depth, groups, firsts[i], firsts[i + 1])
            else:
                add_whole_groups(sums, at, signed, relative, depth, groups, firsts[i], firsts[i + 1])


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
            zero = d == np.float32(0.0)
            truth_behind = np.float64(d) + offset <= 0.0
            estimate_behind = (np.float64(e) + offset <= 0.0) & (d == d)
            if zero | truth_behind | estimate_behind:
                missing = e != e
                counts = exclusions[slot[x]]
                counts[ZERO_TRUTH] += zero
                counts[ZERO_TRUTH_MISSING] += zero & missing
                counts[TRUTH_BEHIND] += truth_behind
                counts[TRUTH_BEHIND_MISSING] += truth_behind & missing
                counts[ESTIMATE_BEHIND] += estimate_behind & (not truth_behind)


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
