"""Regions packed into one image, so that one pass over the pixels serves all of them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereogauge.masks.groups import SlotGroups, group_slots
from stereogauge.model import Mask

MOST_REGIONS = 16
ROWS_AT_ONCE = 64


@dataclass(frozen=True)
class RegionLabels:
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
