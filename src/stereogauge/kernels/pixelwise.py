"""Every pixel-wise sum and the histogram of |e| for every region, in one pass over the pixels (native/pixelwise.cpp).

Pixels are grouped by *slot*: the distinct combination of regions that they belong to. Sums over slots are folded to
regions by the caller (docs/decisions/pixelwise-pass.md). Fine keys may be kept, so that a second pass over them alone
finds the pixels around a quantile (native/error_bins.cpp).

The histogram is over the bits of the float32 |e|, 64 bins to an octave, open below and closed above, so that "more than
δ" is exact for every δ with at most six fractional bits in its mantissa (0.5, 0.75, 1, 1.5, 2, 3, …) and order
statistics need only the values of one bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.library import FLAG, INTEGER, REAL, SINGLE, Reads, Writes, native

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
ANY_BIN = 1 << 16 - PART_BITS  # bins that a fine key of 16 bits can name

SIGNED, ABSOLUTE, SQUARED, RELATIVE, DEPTH, SUMS = 0, 1, 2, 3, 4, 5
LANES = 8  # pixels that are added at once, each in a sum of its own
LINE = 16  # single-precision numbers in a line of the cache; maps must be this wide
ZERO_TRUTH, ZERO_TRUTH_MISSING, TRUTH_BEHIND, TRUTH_BEHIND_MISSING, ESTIMATE_BEHIND, EXCLUSIONS = 0, 1, 2, 3, 4, 5

D1_PIXELS = np.float32(3.0)
D1_SHARE = np.float32(20.0)  # |e| > D/20, written as a product because 0.05 has no exact float

_MAP = (np.float32, "height", "width")
_SLOTS = ((np.uint8, np.uint16), "height", "width")
_SCRATCH = ">=width // 16 * 16 + 16"
OUTSIDE = "a slot is not below {slots}"

tally_errors = native(
    "tally_errors",
    returns=FLAG,
    refusal=f"{OUTSIDE}, a segment or group is not in the map, or rows have fewer than {LINE} columns or no keys.",
    estimate=Reads(*_MAP),
    truth=Reads(*_MAP),
    slots=Reads(*_SLOTS),
    segment_rows=Reads(np.int64, "height + 1"),
    segments=Reads(np.uint32, "segments"),
    firsts=Reads(np.int64, "segments + 1"),
    groups=Reads(np.uint32, "groups"),
    shift=REAL,
    behind=SINGLE,
    near=SINGLE,
    far=SINGLE,
    middle=SINGLE,
    charge=FLAG,
    errors=Writes(np.float32, _SCRATCH),
    shares=Writes(np.float32, _SCRATCH),
    depth=Writes(np.float64, _SCRATCH, optional=True),
    used=Writes(np.float32, _SCRATCH),
    safe=Writes(np.float32, _SCRATCH),
    entries=Writes(np.uint32, _SCRATCH),
    keys=Writes(np.uint16, "key_rows", "width"),
    sums=Writes(np.float64, "slots", SUMS, LANES),
    histogram=Writes(np.uint32, "slots", KEYS),
    zero_rows=Writes(np.bool_, "height"),
    behind_rows=Writes(np.bool_, "height"),
)
"""Σ e, Σ |e|, Σ e², Σ |e|/|D| and Σ |Z_D − Z_E|/fB by slot and the histogram of |e| by slot, added to what is there.

`segment_rows`, `segments`, `firsts` and `groups` are those of `masks.groups`. The histogram has a bin of |e| less the
guard, + `BINS` where the D1 rule holds; pixels without an estimate and without a truth have keys of their own.
`keys` has a row for each of the maps, or one for all where they are not needed. `zero_rows` and `behind_rows` tell the
rows in which a true disparity is 0, and those in which a disparity is not above `behind`.
"""

count_exclusions = native(
    "count_exclusions",
    returns=FLAG,
    refusal=f"{OUTSIDE}.",
    estimate=Reads(*_MAP),
    truth=Reads(*_MAP),
    slots=Reads(*_SLOTS),
    offset=REAL,
    special=Reads(np.bool_, "height"),
    counts=Writes(np.int64, "slots", EXCLUSIONS),
)
"""Count by slot the pixels that have no relative error (D = 0) or no depth, in rows that are `special`."""

literal_depth = native(
    "literal_depth",
    returns=FLAG,
    refusal=f"{OUTSIDE}.",
    estimate=Reads(*_MAP),
    truth=Reads(*_MAP),
    slots=Reads(*_SLOTS),
    focal_baseline=REAL,
    mu=REAL,
    charge=FLAG,
    sums=Writes(np.float64, "slots"),
)
"""The Sigma-Z-Error as printed, by slot: |fB/(D+μ) − fB/(E+μ)| over all known D, a missing E taken as 0 if charged."""

AT_ONCE = 64
"""Keys that are searched at once."""
BUCKETS = 8

collect_pixels = native(
    "collect_pixels",
    returns=INTEGER,
    refusal=f"{OUTSIDE}, a code is not below {{codes}}, or the place is negative.",
    slots=Reads(*_SLOTS),
    keys=Reads(np.uint16, "height", "width"),
    tables=Reads(np.uint8, 3 * AT_ONCE),
    numbers=Reads(np.int64, ANY_BIN),
    first=INTEGER,
    place=INTEGER,
    found_bits=Writes(np.uint64, ">=width // 64 + 1"),
    starts=Writes(np.int64, ">=width // 64 + 1"),
    columns=Writes(np.int64, ">=width + 1"),
    pixels=Writes(np.uint32, "room"),
    codes=Writes(np.uint16, "room"),
    owners=Writes("slots", "room"),
    counts=Writes(np.uint32, "slots", "codes"),
)
"""Number, code and slot of all pixels in some bins, from `place` on; returns the place after the last.

A code is the number of the pixel's bin · `PARTS` + the part of the bin. `numbers` has a number for each bin that is
searched, −1 for others, and `tables` are the `digit_tables` of these bins. `first` is the number of the first
pixel. `counts` (slot, code) are numbers of pixels.
"""

select_errors = native(
    "select_errors",
    returns=FLAG,
    refusal=f"a pixel, a code or {OUTSIDE}, or a question is about places beyond {{room}} or a rank beyond its pixels.",
    estimate=Reads(np.float32, "pixels"),
    truth=Reads(np.float32, "pixels"),
    found=Reads(np.uint32, "count"),
    codes=Reads(np.uint16, "count"),
    owners=Reads((np.uint8, np.uint16), "count"),
    next_place=Writes(np.int64, "codes"),
    questions=Reads(np.int64, "questions", 4),
    members=Reads(np.bool_, "regions", "slots"),
    chosen=Writes(np.uint32, "room"),
    chosen_owners=Writes("owners", "room"),
    errors=Writes(np.float32, "room"),
    inside=Writes(np.float32, "room"),
    selected=Writes(np.float32, "questions"),
)
"""|e| of some ranks, each among the pixels of a region with one code; `questions` are (region, first, last, rank)."""


def digit_tables(bins: Sequence[int]) -> NDArray[np.uint8]:
    """What `collect_pixels` finds some bins by, all different and in order: three tables of 16 bytes, each four times.

    Neighbouring bins share one of eight buckets, a bit each. Table k has the buckets of all bins whose k-th hexadecimal
    digit is the index. A bin whose three digits have a bucket in common is one of them, or has the digits of several.
    """
    tables = [[0] * 16 for _ in range(3)]
    for number, one in enumerate(bins):
        bucket = 1 << number * BUCKETS // len(bins)
        for place, table in enumerate(tables):
            table[one >> 4 * place & 15] |= bucket
    made: NDArray[Any] = np.array([table * (AT_ONCE // 16) for table in tables], np.uint8).ravel()
    return made
