"""The errors in one bin of the histogram, and order statistics of those in a region."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels import error_bins as kernels
from stereogauge.kernels.pixelwise import BINS, KEYS
from stereogauge.kernels.threads import at_once, fixed_blocks


class ErrorsInBin:
    """|e| of all pixels in a bin, in no order, each with the part of the bin that holds it and the slot of its pixel.

    `counts` (part, region) are numbers of pixels: an order statistic needs the values of one part only. `members` tells
    which slots (second index) belong to which region (first index).
    """

    def __init__(
        self,
        errors: NDArray[np.float32],
        parts: NDArray[np.uint8],
        slots: NDArray[Any],
        counts: NDArray[np.uint32],
        members: NDArray[np.bool_],
    ) -> None:
        self._errors, self._parts, self._slots, self._members = errors, parts, slots, members
        self._below = counts.T.cumsum(axis=1, dtype=np.int64)
        self._part: dict[int, tuple[NDArray[np.float32], NDArray[Any]]] = {}
        self._sorted: dict[tuple[int, int], NDArray[np.float32]] = {}

    def of(self, region: int) -> NDArray[np.float32]:
        """The errors of a region, in no order."""
        return np.compress(self._members[region][self._slots], self._errors)

    def order_statistic(self, region: int, rank: int) -> float:
        """The error of that rank, from 0 on, in a region."""
        below = self._below[region]
        part = int(below.searchsorted(rank, side="right"))
        if (region, part) not in self._sorted:
            errors, slots = self._errors_in(part)
            self._sorted[region, part] = np.sort(errors[self._members[region][slots]])
        return float(self._sorted[region, part][rank - (int(below[part - 1]) if part else 0)])

    def _errors_in(self, part: int) -> tuple[NDArray[np.float32], NDArray[Any]]:
        """The errors and slots of one part."""
        if part not in self._part:
            places = np.flatnonzero(self._parts == part)
            self._part[part] = self._errors[places], self._slots[places]
        return self._part[part]


def collect_bins(
    bins: Iterable[int],
    maps: Sequence[NDArray[Any]],
    keys: NDArray[np.uint16],
    histograms: Sequence[NDArray[np.uint32]],
    members: NDArray[np.bool_],
) -> dict[int, ErrorsInBin]:
    """The errors in some bins, in one pass over the keys of all pixels.

    `maps` are estimate, truth and slots; `histograms` (slot, key) are those of the fixed blocks of rows.
    """
    chosen = np.array(sorted(bins), np.int64)
    wanted, numbers = np.zeros(KEYS, np.bool_), np.zeros(KEYS, np.int64)
    wanted[chosen] = wanted[chosen + BINS] = True
    numbers[chosen] = numbers[chosen + BINS] = np.arange(chosen.size)
    both = np.concatenate((chosen, chosen + BINS))
    in_blocks = np.array([h[:, both].sum(axis=0, dtype=np.int64) for h in histograms])
    in_blocks = in_blocks[:, : chosen.size] + in_blocks[:, chosen.size :]
    # Those of one bin one after the other, and of each bin those of one block.
    ends = np.cumsum(in_blocks.T).reshape(in_blocks.T.shape)
    starts = ends.T - in_blocks
    (height, width), of_slots = keys.shape, np.ascontiguousarray(members.T)
    errors, parts, owners = (np.empty(ends[-1, -1], kind) for kind in (np.float32, np.uint8, maps[2].dtype))

    def collect(rows: slice, next_place: NDArray[np.int64]) -> NDArray[np.uint32]:
        counts = np.zeros((chosen.size, kernels.PARTS, len(members)), np.uint32)
        kernels.collect_errors(
            *(part[rows] for part in maps),
            *(keys[rows], of_slots, wanted, numbers, np.empty((2, width + 1), np.int64)),
            *(next_place, errors, parts, owners, counts),
        )
        return counts

    blocks = zip(fixed_blocks(height, keys.size), starts.copy(), strict=True)
    counts = sum(at_once([functools.partial(collect, *block) for block in blocks], keys.size))
    owned = [slice(starts[0, number], ends[number, -1]) for number in range(chosen.size)]
    return {
        int(index): ErrorsInBin(errors[own], parts[own], owners[own], counts[number], members)
        for number, (index, own) in enumerate(zip(chosen, owned, strict=True))
    }
