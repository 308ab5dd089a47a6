"""Groups of eight neighbours by slot, so that a pass over the pixels adds eight of them at once."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.threads import at_once

LANES = 8
ROWS_AT_ONCE = 64
LOWEST_BIT = np.array([0] + [(bits & -bits).bit_length() - 1 for bits in range(1, 256)])


@dataclass(frozen=True)
class SlotGroups:
    """The pixels of each row by slot: in `groups`, a group's number in its row · 256 + a bit per pixel of the slot.

    A group of eight neighbours occurs once for each slot that its pixels have. *Segments* are groups of one row and
    one slot: segment k has slot `segments[k]` and the groups from `firsts[k]` to `firsts[k + 1]`; row y has the
    segments from `rows[y]` to `rows[y + 1]`.
    """

    rows: NDArray[np.int64]
    segments: NDArray[np.uint32]
    firsts: NDArray[np.int64]
    groups: NDArray[np.uint32]


def group_slots(slots: NDArray[Any]) -> SlotGroups:
    """The groups of an image of slots."""
    height = slots.shape[0]
    # In blocks of rows, which stay in the cache.
    blocks = [slots[start : start + ROWS_AT_ONCE] for start in range(0, height, ROWS_AT_ONCE)]
    sorted_groups = at_once([functools.partial(_sorted_groups, block) for block in blocks], slots.size)
    lengths, segments, counts, groups = (np.concatenate(parts) for parts in zip(*sorted_groups, strict=True))
    rows, firsts = (np.concatenate(([0], np.cumsum(numbers))) for numbers in (lengths, counts))
    return SlotGroups(rows, segments, firsts, groups)


def _sorted_groups(slots: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Segments per row, the segments' slots, groups per segment, and groups, of some rows."""
    height, width = slots.shape
    per_row, count = -(-width // LANES), int(slots.max(initial=0)) + 1
    padded = np.zeros((height, per_row * LANES), slots.dtype)
    padded[:, :width] = slots
    lanes = np.ascontiguousarray(padded.reshape(-1, LANES).T)
    row, group = np.divmod(np.arange(height * per_row), per_row)
    left = np.where(group < per_row - 1, 255, 255 >> -width % LANES).astype(np.uint8)  # pixels of no segment so far
    segments, groups = [], []
    while left.size:
        slot = lanes[LOWEST_BIT[left], np.arange(left.size)]
        bits = np.zeros(left.size, np.uint8)
        for lane in range(LANES):
            bits |= (lanes[lane] == slot).view(np.uint8) << np.uint8(lane)
        bits &= left
        segments.append(row * count + slot)
        groups.append((group << 8) | bits)
        left ^= bits
        more = np.flatnonzero(left)
        lanes, left, row, group = lanes[:, more], left[more], row[more], group[more]
    segment = np.concatenate(segments)
    # NumPy sorts numbers of two bytes much faster than others.
    order = np.argsort(segment.astype(np.min_scalar_type(height * count)), kind="stable")
    per_segment = np.bincount(segment)
    used = np.flatnonzero(per_segment)
    in_rows = np.bincount(used // count, minlength=height)
    ordered = np.concatenate(groups)[order].astype(np.uint32)
    return in_rows, (used % count).astype(np.uint32), per_segment[used], ordered
