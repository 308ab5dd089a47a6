"""One pass over the pixels in blocks of rows: sums of errors and histograms by slot, and the errors in some bins."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.kernels import pixelwise as kernels
from stereogauge.kernels.library import aligned
from stereogauge.kernels.pixelwise import ANY_BIN, BINS, PARTS
from stereogauge.kernels.threads import at_once_with, fixed_blocks
from stereogauge.masks.labels import RegionLabels
from stereogauge.model import DisparityMap

Number = TypeVar("Number", bound=np.generic)


class DepthScale(Struct, frozen=True):
    """What depth errors are measured by: `doffs` and μ of the calibration, and the range of the scene in front of the
    cameras, as disparities with `doffs`. `charge`: whether a missing depth costs the worst depth error in that range.
    """

    doffs: float
    mu: float
    near: float
    far: float
    charge: bool

    def for_kernels(self) -> tuple[float, np.float32, np.float32, np.float32, np.float32, bool]:
        """Shift to depths, and the disparities that kernels decide by, without `doffs`."""
        middle = 2.0 / (1.0 / (self.near + self.mu) + 1.0 / (self.far + self.mu)) - self.mu
        ends = np.float32(self.near - self.doffs), np.float32(self.far - self.doffs)
        return self.doffs + self.mu, _not_above(-self.doffs), *ends, _not_above(middle - self.doffs), self.charge


class Tally(NamedTuple):
    """Sums (slot, sum), histogram (slot, key), pixels left out (slot, why), fine keys of all pixels.

    There are no keys where they were not requested.
    """

    sums: NDArray[np.float64]
    histogram: NDArray[np.uint32]
    exclusions: NDArray[np.int64]
    keys: NDArray[np.uint16]


def wide_enough(
    estimate: DisparityMap, truth: DisparityMap, labels: RegionLabels
) -> tuple[DisparityMap, DisparityMap, RegionLabels]:
    """The same maps with columns of unknown pixels where they are narrower than the pass over them goes at once."""
    narrow = ((0, 0), (0, max(kernels.LINE - truth.shape[1], 0)))
    if not any(narrow[1]):
        return estimate, truth, labels
    slots: NDArray[Any] = np.pad(labels.slots, narrow)
    unknown = [np.pad(one, narrow, constant_values=np.float32(np.nan)) for one in (estimate, truth)]
    return unknown[0], unknown[1], replace(labels, slots=slots)


def tally_map(
    estimate: DisparityMap, truth: DisparityMap, labels: RegionLabels, scale: DepthScale, *, depth: bool, keys: bool
) -> Tally:
    """The pass over all pixels, with depth errors or without; fine keys are kept where requested."""
    height, width = truth.shape
    slots, groups = len(labels.values), labels.groups
    blocks = fixed_blocks(height, truth.size)
    numbers = scale.for_kernels()
    kept = np.empty((height if keys else 0, width), np.uint16)
    sums = _zeros((len(blocks), slots, kernels.SUMS, kernels.LANES), np.float64)
    zero_rows, behind_rows = np.zeros((2, height), np.bool_)

    def part(block: int, rows: slice, own: _TallyWorkspace) -> None:
        maps = (estimate[rows], truth[rows], labels.slots[rows])
        kernels.tally_errors(
            *(*maps, groups.rows[rows.start : rows.stop + 1], groups.segments, groups.firsts, groups.groups, *numbers),
            *(own.signed, own.relative, own.depths, own.used, own.safe, own.entries),
            *(kept[rows] if keys else own.keys, sums[block], own.histogram, zero_rows[rows], behind_rows[rows]),
        )
        looked_at = zero_rows[rows] | behind_rows[rows] if depth else zero_rows[rows]
        if looked_at.any():
            kernels.count_exclusions(*maps, scale.doffs, looked_at, own.exclusions)

    parts = [functools.partial(part, *block) for block in enumerate(blocks)]
    made = at_once_with(functools.partial(_TallyWorkspace, slots, width, depth), parts, truth.size)
    histogram = functools.reduce(np.add, (own.histogram for own in made))
    exclusions = functools.reduce(np.add, (own.exclusions for own in made))
    return Tally(sums.sum(axis=3).sum(axis=0), histogram, exclusions, kept)


class _TallyWorkspace:
    """What one thread counts, and its scratch rows, which are whole lines of the cache long."""

    def __init__(self, slots: int, width: int, depth: bool) -> None:
        length = (width // kernels.LINE + 1) * kernels.LINE
        # Two rows of single-precision numbers are as long as one of double precision.
        rows = aligned(7 * length, np.float32).reshape(7, length)
        self.signed, self.relative, self.used, self.safe = rows[:4]
        self.entries = rows[4].view(np.uint32)
        self.depths = rows[5:].reshape(-1).view(np.float64) if depth else None
        self.keys = np.empty((1, width), np.uint16)
        self.histogram = np.zeros((slots, kernels.KEYS), np.uint32)
        self.exclusions = np.zeros((slots, kernels.EXCLUSIONS), np.int64)


def _zeros(shape: tuple[int, ...], kind: type[Number]) -> NDArray[Number]:
    """Zeros, aligned to the lines of the cache."""
    room: NDArray[Any] = aligned(math.prod(shape), kind)
    room[:] = 0
    return room.reshape(shape)


def _not_above(value: float) -> np.float32:
    """The largest single-precision number that is not above `value`."""
    single = np.float32(value)
    return single if float(single) <= value else np.nextafter(single, np.float32(-np.inf))


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
        requested = np.stack([regions, firsts[codes], ends[codes], ranks - before], axis=1)[order]
        found = np.empty(codes.size, np.float32)
        kernels.select_errors(
            *(*self._maps, self._pixels, self._codes, self._slots, next_place, requested, self._members),
            *(np.empty(total, kind) for kind in (np.uint32, self._slots.dtype, np.float32, np.float32)),
            found,
        )
        return found[order.argsort()]


class _BinsWorkspace:
    """The pixels that one thread finds, at most `pixels`, and its scratch rows."""

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

    def part(rows: slice, own: _BinsWorkspace) -> None:
        own.found = kernels.collect_pixels(
            *(slots[rows], keys[rows], tables, numbers, rows.start * width, own.found),
            *(own.found_bits, own.starts, own.columns, own.pixels, own.codes, own.owners, own.counts),
        )

    workspace = functools.partial(_BinsWorkspace, width, total, len(histogram), slots.dtype, chosen.size * PARTS)
    blocks = [functools.partial(part, rows) for rows in fixed_blocks(height, keys.size)]
    made = at_once_with(workspace, blocks, keys.size, meanwhile)
    found = [(own.pixels[: own.found], own.codes[: own.found], own.owners[: own.found]) for own in made]
    pixels, codes, owners = found[0] if len(found) == 1 else map(np.concatenate, zip(*found, strict=True))
    counts = functools.reduce(np.add, (own.counts for own in made))
    return ErrorsInBins(chosen, pixels, codes, owners, counts, pair, members)
