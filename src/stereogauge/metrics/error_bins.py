"""The errors in some bins of the histogram, and order statistics of those in a region."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels import pixelwise as kernels
from stereogauge.kernels.pixelwise import ANY_BIN, BINS, PARTS
from stereogauge.kernels.threads import at_once_with, fixed_blocks


class ErrorsInBins:
    """|e| of all pixels in some bins. Which part of its bin a pixel is in is known; its error is looked up if needed.

    `codes` are the number of the bin · `PARTS` + the part, in no order. `counts` (slot, code) are numbers of pixels,
    `maps` are estimate and truth, and `members` tells which slots (second index) belong to which region (first index).
    """

    def __init__(
        self,
        bins: NDArray[np.int64],
        pixels: NDArray[np.uint32],
        codes: NDArray[np.uint16],
        slots: NDArray[Any],
        counts: NDArray[np.uint32],
        maps: Sequence[NDArray[np.float32]],
        members: NDArray[np.bool_],
    ) -> None:
        self._bins, self._held = bins, set(bins.tolist())
        self._pixels, self._codes, self._slots, self._members = pixels, codes, slots, members
        self._maps = [one.reshape(-1) for one in maps]
        self._with_code = counts.sum(axis=0, dtype=np.int64)
        in_parts = (members.astype(np.float64) @ counts).astype(np.int64).reshape(len(members), -1, PARTS)
        self._below = in_parts.cumsum(axis=2)

    def holds(self, bins: Set[int]) -> bool:
        """Whether the errors of all these bins are among them."""
        return bins <= self._held

    def above(self, region: int, index: int, threshold: float) -> int:
        """How many errors of a region in a bin are above a threshold."""
        in_bin = self._codes // PARTS == self._bins.searchsorted(index)
        pixels = self._pixels[in_bin & self._members[region].take(self._slots)]
        estimate, truth = (one.take(pixels) for one in self._maps)
        return int((np.abs(estimate - truth).astype(np.float64) > threshold).sum())

    def order_statistics(
        self, regions: NDArray[np.int64], bins: NDArray[np.int64], ranks: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """The error of each rank, from 0 on, among those of a region in a bin."""
        numbers = self._bins.searchsorted(bins)
        below = self._below[regions, numbers]
        parts = (below <= ranks[:, None]).sum(axis=1)
        before = np.where(parts > 0, below[np.arange(parts.size), parts - 1], 0)
        codes = numbers * PARTS + parts
        # The pixels of all these codes one after the other, those of one code together.
        wanted = np.zeros(self._with_code.size, np.bool_)
        wanted[codes] = True
        ends = np.where(wanted, self._with_code, 0).cumsum()
        firsts, total = ends - self._with_code, int(ends[-1])
        next_place = np.where(wanted, firsts, -1)
        order = np.lexsort((regions, codes))
        asked = np.stack([regions, firsts[codes], ends[codes], ranks - before], axis=1)[order]
        found = np.empty(codes.size, np.float32)
        kernels.select_errors(
            *(*self._maps, self._pixels, self._codes, self._slots, next_place, asked, self._members),
            *(np.empty(total, kind) for kind in (np.uint32, self._slots.dtype, np.float32, np.float32)),
            found,
        )
        return found[order.argsort()]


class _Workspace:
    """The pixels that one thread finds, at most so many, and its scratch rows."""

    def __init__(self, width: int, pixels: int, slots: int, kind: np.dtype[Any], codes: int) -> None:
        blocks = width // kernels.AT_ONCE + 1
        self.found_bits, self.starts = np.empty(blocks, np.uint64), np.empty(blocks, np.int64)
        self.columns = np.empty(width + 1, np.int64)
        self.pixels, self.codes, self.owners = (np.empty(pixels, one) for one in (np.uint32, np.uint16, kind))
        self.counts = np.zeros((slots, codes), np.uint32)
        self.found = 0


def collect_bins(
    bins: Iterable[int],
    maps: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[Any]],
    keys: NDArray[np.uint16],
    histogram: NDArray[np.uint32],
    members: NDArray[np.bool_],
    meanwhile: Callable[[], None],
) -> ErrorsInBins:
    """The pixels in some bins, in one pass over the fine keys of all pixels.

    `maps` are estimate, truth and slots; `histogram` (slot, key) is that of all pixels. `meanwhile` is done while other
    threads begin.
    """
    chosen = np.array(sorted(bins), np.int64)
    numbers = np.full(ANY_BIN, -1)
    numbers[chosen] = np.arange(chosen.size)
    tables = kernels.digit_tables(chosen.tolist())
    *pair, slots = maps
    height, width = keys.shape
    total = int(histogram[:, np.concatenate((chosen, chosen + BINS))].sum())

    def part(rows: slice, own: _Workspace) -> None:
        own.found = kernels.collect_pixels(
            *(slots[rows], keys[rows], tables, numbers, rows.start * width, own.found),
            *(own.found_bits, own.starts, own.columns, own.pixels, own.codes, own.owners, own.counts),
        )

    workspace = functools.partial(_Workspace, width, total, len(histogram), slots.dtype, chosen.size * PARTS)
    blocks = [functools.partial(part, rows) for rows in fixed_blocks(height, keys.size)]
    made = at_once_with(workspace, blocks, keys.size, meanwhile)
    found = [(own.pixels[: own.found], own.codes[: own.found], own.owners[: own.found]) for own in made]
    pixels, codes, owners = found[0] if len(found) == 1 else map(np.concatenate, zip(*found, strict=True))
    counts = functools.reduce(np.add, (own.counts for own in made))
    return ErrorsInBins(chosen, pixels, codes, owners, counts, pair, members)
