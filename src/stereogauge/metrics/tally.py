"""Sums of errors and histograms of one estimate by slot, from one pass over the pixels in blocks of rows."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels import pixelwise as kernels
from stereogauge.kernels.library import aligned
from stereogauge.kernels.threads import at_once_with, fixed_blocks
from stereogauge.masks.labels import RegionLabels
from stereogauge.model import DisparityMap

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True)
class DepthScale:
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

    There are no keys where they were not asked for.
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
    """The pass over all pixels, with depth errors or without; fine keys are kept where asked."""
    height, width = truth.shape
    slots, groups = len(labels.values), labels.groups
    blocks = fixed_blocks(height, truth.size)
    numbers = scale.for_kernels()
    kept = np.empty((height if keys else 0, width), np.uint16)
    sums = _zeros((len(blocks), slots, kernels.SUMS, kernels.LANES), np.float64)
    zero_rows, behind_rows = np.zeros((2, height), np.bool_)

    def part(block: int, rows: slice, own: _Workspace) -> None:
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
    made = at_once_with(functools.partial(_Workspace, slots, width, depth), parts, truth.size)
    histogram = functools.reduce(np.add, (own.histogram for own in made))
    exclusions = functools.reduce(np.add, (own.exclusions for own in made))
    return Tally(sums.sum(axis=3).sum(axis=0), histogram, exclusions, kept)


class _Workspace:
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
    """Zeros whose vectors do not cross the lines of the cache."""
    room: NDArray[Any] = aligned(math.prod(shape), kind)
    room[:] = 0
    return room.reshape(shape)


def _not_above(value: float) -> np.float32:
    """The largest single-precision number that is not above `value`."""
    single = np.float32(value)
    return single if float(single) <= value else np.nextafter(single, np.float32(-np.inf))
