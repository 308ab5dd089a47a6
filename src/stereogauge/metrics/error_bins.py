"""The errors in one bin of the histogram, and order statistics of those in a region."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class ErrorsInBin:
    """|e| of all pixels in a bin, in no order, each with the part of the bin that holds it and the slot of its pixel.

    `counts` (slot, part) are numbers of pixels: an order statistic needs the values of one part only. `members` tells
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
        self._below = (members @ counts.astype(np.int64)).cumsum(axis=1)
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
