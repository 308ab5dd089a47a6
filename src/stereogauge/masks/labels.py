"""Regions packed into one image, so that one pass over the pixels serves all of them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.kernels.threads import at_once
from stereogauge.model import Mask

LANES = 8
WHOLE = (1 << LANES) - 1
ROWS_AT_ONCE = 64
LOWEST_BIT = np.array([0] + [(bits & -bits).bit_length() - 1 for bits in range(1, 256)])


class SlotGroups(Struct, frozen=True):
    """The pixels of each row by slot: in `groups`, a group's number in its row · 256 + a bit per pixel of the slot.

    A group of eight neighbours occurs once for each slot that its pixels have. *Segments* are groups of one row and
    one slot, whole ones, with all eight pixels, apart from others: `segments[k]` is the slot · 2, + 1 unless groups are
    whole. Its groups are those from `firsts[k]` to `firsts[k + 1]`; row y has the segments from `rows[y]` to
    `rows[y + 1]`.
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
    per_row, count = -(-width // LANES), 2 * (int(slots.max(initial=0)) + 1)
    padded = np.zeros((height, per_row * LANES), slots.dtype)
    padded[:, :width] = slots
    # NumPy sorts numbers of two bytes much faster than others, and compares eight bytes at a time.
    row = np.repeat(np.arange(0, height * count, count, dtype=np.min_scalar_type(height * count)), per_row)
    group = np.tile(np.arange(per_row, dtype=np.uint32) << np.uint32(LANES), height)
    words = padded.view(np.uint64).reshape(-1, slots.itemsize)
    copies = np.uint64(sum(1 << bit for bit in range(0, 64, 8 * slots.itemsize)))
    left = np.full((height, per_row), WHOLE, np.uint8)  # pixels of no segment so far
    left[:, -1] >>= -width % LANES
    left = left.ravel()
    segments, groups = [], []
    while left.size:
        first = np.arange(0, LANES * left.size, LANES) + LOWEST_BIT.take(left)
        slot = words.view(slots.dtype).ravel().take(first)
        others = words ^ (slot * copies)[:, None]
        bits = left & np.packbits(others.view(slots.dtype).ravel() == 0, bitorder="little")
        segments.append(row + 2 * slot.astype(row.dtype) + (bits != WHOLE))
        groups.append(group | bits)
        left = left ^ bits
        more = np.flatnonzero(left)
        words, left, row, group = (part.take(more, axis=0) for part in (words, left, row, group))
    segment = np.concatenate(segments)
    order = np.argsort(segment, kind="stable")
    per_segment = np.bincount(segment)
    used = np.flatnonzero(per_segment)
    in_rows = np.bincount(used // count, minlength=height)
    return in_rows, (used % count).astype(np.uint32), per_segment[used], np.concatenate(groups)[order]


MOST_REGIONS = 16


class RegionLabels(Struct, frozen=True, dict=True):
    """`slots[y, x]` numbers the combination of regions that a pixel belongs to, among those that occur.

    Bit k of `values[slot]` is set where pixels of that slot belong to region `names[k]`.
    """

    names: tuple[str, ...]
    slots: NDArray[np.uint8] | NDArray[np.uint16]
    values: NDArray[np.int64]

    @functools.cached_property
    def members(self) -> NDArray[np.bool_]:
        """Which slots (second index) belong to which region (first index)."""
        return np.asarray((self.values >> np.arange(len(self.names))[:, None]) & 1 == 1)

    @functools.cached_property
    def groups(self) -> SlotGroups:
        """The slots of neighbours, for sums of several pixels at once."""
        return group_slots(self.slots)


@functools.lru_cache(8)
def whole_image(name: str, shape: tuple[int, int]) -> RegionLabels:
    """One region that holds every pixel of an image; kept, since images of one size have the same."""
    return RegionLabels((name,), np.zeros(shape, np.uint8), np.ones(1, np.int64))


def pack_regions(masks: Mapping[str, Mask]) -> list[RegionLabels]:
    """Images of slots for all regions, at most sixteen per image."""
    names = tuple(masks)
    return [_packed({n: masks[n] for n in names[i : i + MOST_REGIONS]}) for i in range(0, len(names), MOST_REGIONS)]


def _packed(masks: Mapping[str, Mask]) -> RegionLabels:
    kind = np.uint8 if len(masks) <= 8 else np.uint16
    height, width = next(iter(masks.values())).shape
    # In blocks of rows, which stay in the cache; NumPy also copies what it counts into whole numbers of eight bytes.
    blocks = [slice(start, start + ROWS_AT_ONCE) for start in range(0, height, ROWS_AT_ONCE)]
    bits = np.zeros((height, width), kind)
    counts = np.zeros(np.iinfo(kind).max + 1, np.int64)
    for rows in blocks:
        for position, mask in enumerate(masks.values()):
            bits[rows] |= mask[rows] * kind(1 << position)
        counts += np.bincount(bits[rows].ravel(), minlength=counts.size)
    values = np.flatnonzero(counts)
    slot_of = np.zeros(counts.size, np.uint8 if values.size <= 256 else np.uint16)
    slot_of[values] = np.arange(values.size)
    slots = bits if bits.dtype == slot_of.dtype else np.empty(bits.shape, slot_of.dtype)
    for rows in blocks:
        slots[rows] = slot_of[bits[rows]]
    return RegionLabels(tuple(masks), slots, values)
