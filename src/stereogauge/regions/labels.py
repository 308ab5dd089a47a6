"""Regions packed into one label image: one bit per region, so that one pass over the pixels serves all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereogauge.model import Mask

MOST_REGIONS = 16
ROWS_PER_COUNT = 64


@dataclass(frozen=True)
class RegionLabels:
    """`labels[y, x]` has bit k set where the pixel belongs to region `names[k]`.

    `values` are the labels that occur, `slots` maps each label to its position among them.
    """

    names: tuple[str, ...]
    labels: NDArray[np.uint8] | NDArray[np.uint16]
    values: NDArray[np.int64]
    slots: NDArray[np.int64]


def pack_regions(masks: Mapping[str, Mask]) -> list[RegionLabels]:
    """Label images for all regions, at most sixteen per image."""
    names = tuple(masks)
    return [_packed({n: masks[n] for n in names[i : i + MOST_REGIONS]}) for i in range(0, len(names), MOST_REGIONS)]


def _packed(masks: Mapping[str, Mask]) -> RegionLabels:
    kind = np.uint8 if len(masks) <= 8 else np.uint16
    shape = next(iter(masks.values())).shape
    labels = np.zeros(shape, kind)
    for position, mask in enumerate(masks.values()):
        labels[mask] |= kind(1 << position)
    # In blocks, since NumPy copies what it counts into whole numbers of eight bytes.
    counts = np.zeros(np.iinfo(kind).max + 1, np.int64)
    for start in range(0, shape[0], ROWS_PER_COUNT):
        counts += np.bincount(labels[start : start + ROWS_PER_COUNT].ravel(), minlength=counts.size)
    values = np.flatnonzero(counts)
    slots = np.zeros(counts.size, np.int64)
    slots[values] = np.arange(values.size)
    return RegionLabels(tuple(masks), labels, values, slots)
