"""Pixel-wise statistics of one estimate on many regions, from one pass: what the pixel-wise metrics are read from."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels import pixelwise as kernels
from stereogauge.kernels.jit import read_only
from stereogauge.kernels.threads import at_once, fixed_blocks, row_blocks
from stereogauge.model import DisparityMap
from stereogauge.regions.labels import RegionLabels

LINE = 64  # bytes of a line of the cache
ROWS_AT_ONCE = 64


@dataclass(frozen=True)
class PassRequest:
    """What a metric asks of the pass over the pixels that all metrics share.

    `thresholds`, in px: to read the number of larger errors with `PixelStatistics.above`. `quantiles`, from 0 to 1: to
    read quantiles of the error with `PixelStatistics.quantile`. `depth`: to read depth errors with
    `PixelStatistics.depth`. Any others can be read too, each at the cost of one more pass.
    """

    thresholds: tuple[float, ...] = ()
    quantiles: tuple[float, ...] = ()
    depth: bool = False

    @classmethod
    def together(cls, requests: Iterable[PassRequest]) -> PassRequest:
        """One request for all of them."""
        every = tuple(requests)
        return cls(
            tuple(t for r in every for t in r.thresholds),
            tuple(q for r in every for q in r.quantiles),
            any(r.depth for r in every),
        )


def thresholds(*values: float) -> PassRequest:
    """Ask for the numbers of errors above these, in px."""
    return PassRequest(thresholds=values)


def percentiles(*values: float) -> PassRequest:
    """Ask for these percentiles of the error, from 0 to 100."""
    return PassRequest(quantiles=tuple(value / 100 for value in values))


@dataclass(frozen=True)
class RegionStatistics:
    """Sums over one region R; V ⊆ R are the pixels with an estimate.

    `zero_truth`: pixels of R with D = 0; `zero_truth_missing`: how many of them have no estimate.
    """

    size: int
    missing: int
    d1: int
    signed: float
    absolute: float
    squared: float
    relative: float
    zero_truth: int
    zero_truth_missing: int
    histogram: NDArray[np.int64]

    @property
    def valid(self) -> int:
        """|V|."""
        return self.size - self.missing


@dataclass(frozen=True)
class DepthStatistics:
    """The depth errors over one region R; V ⊆ R are the pixels with an estimate.

    `total`: their sum over the pixels of R whose true point is in front of the cameras, with the charges of those whose
    estimated point is missing or is not. `estimates_behind`: pixels of V whose true point is in front of the cameras
    and whose estimated point is not. `truth_behind`: pixels of R whose true point is not in front of the cameras;
    `truth_behind_missing`: how many of them have no estimate.
    """

    total: float
    truth_behind: int
    truth_behind_missing: int
    estimates_behind: int


def _bin(value: float) -> int:
    """The histogram bin that holds an error of exactly `value`."""
    bits = int(np.float32(value).view(np.uint32))
    return min(max((max(bits - 1, 0) >> int(kernels.BIN_SHIFT)) - int(kernels.FIRST_KEY), 0), kernels.BINS - 1)


def range_in_front(truth: DisparityMap, offset: float) -> tuple[float, float]:
    """The largest and the smallest D + offset above 0, which belong to the nearest and the farthest point; else 1."""
    blocks = fixed_blocks(truth.shape[0], truth.size)
    found = at_once([functools.partial(_extremes, truth[rows], offset) for rows in blocks], truth.size)
    near, far = max(near for near, _ in found), min(far for _, far in found)
    return (near, far) if near > 0.0 else (1.0, 1.0)


def _extremes(truth: DisparityMap, offset: float) -> tuple[float, float]:
    near, far = -math.inf, math.inf
    for start in range(0, truth.shape[0], ROWS_AT_ONCE):
        rows = truth[start : start + ROWS_AT_ONCE]
        highest, lowest = (float(most.reduce(rows, axis=None)) + offset for most in (np.fmax, np.fmin))
        if lowest <= 0.0:
            shifted = rows.astype(np.float64) + offset
            lowest = float(shifted[shifted > 0.0].min(initial=math.inf))
        near, far = float(np.fmax(near, highest)), float(np.fmin(far, lowest))
    return near, far


def _aligned(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Zeros whose vectors of four do not cross the lines of the cache."""
    size = math.prod(shape)
    room = np.zeros(size + LINE // 8, np.float64)
    start = -room.ctypes.data % LINE // 8
    return room[start : start + size].reshape(shape)


def _added(rows: NDArray[np.float64]) -> float:
    """The sum of a few numbers, one after the other."""
    return float(np.add.accumulate(rows)[-1]) if rows.size else 0.0


def _on_edge(value: float) -> bool:
    """Whether `value` is the upper end of its bin, so that counts above it need no single values."""
    single = np.float32(value)
    aligned = int(single.view(np.uint32)) & ((1 << int(kernels.BIN_SHIFT)) - 1) == 0 and float(single) == value
    return aligned and 2.0**-12 <= value < 2.0**14


class PixelStatistics:
    """All pixel-wise statistics of `estimate` against `truth` on the regions of `labels`.

    `request` names the thresholds and quantiles that will be read: one second pass over the pixels serves them all.
    `charge`: whether a missing depth costs the worst depth error inside the scene's range; otherwise it costs nothing.
    """

    def __init__(
        self,
        estimate: DisparityMap,
        truth: DisparityMap,
        labels: RegionLabels,
        *,
        focal_baseline: float,
        doffs: float,
        mu: float,
        request: PassRequest,
        charge: bool = True,
    ) -> None:
        self._estimate, self._truth, self._labels = read_only(estimate), read_only(truth), labels
        self._focal_baseline, self._doffs, self._mu = float(focal_baseline), float(doffs), float(mu)
        self._charge = charge
        self._blocks = fixed_blocks(truth.shape[0], truth.size)
        tallies: list[Callable[[], Any]] = [functools.partial(self._tally, rows) for rows in self._blocks]
        depths = self._depth_parts() if request.depth else []
        found = at_once([*tallies, *depths], truth.size)
        if depths:
            self._depths = self._depths_of(found[len(tallies) :])
        parts, histograms, zeros = zip(*found[: len(tallies)], strict=True)
        self._regions = self._folded(sum(parts), sum(histograms), self._exclusions(np.concatenate(zeros)))
        self._cumulative = {name: np.cumsum(r.histogram) for name, r in self._regions.items()}
        self._ranked: dict[tuple[str, int], NDArray[np.float32]] = {}
        bins = {name: self._bins_of(name, request) for name in labels.names}
        if any(bins.values()):
            self._collect(bins)

    def __contains__(self, region: object) -> bool:
        return region in self._regions

    def __getitem__(self, region: str) -> RegionStatistics:
        return self._regions[region]

    def _pixels(self, rows: slice = slice(None)) -> tuple[DisparityMap, DisparityMap, NDArray[Any]]:
        """What every pass goes over."""
        return self._estimate[rows], self._truth[rows], self._labels.slots[rows]

    def _tally(self, rows: slice) -> tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.bool_]]:
        """The sums of errors of some rows, (slot, sum), their histogram, and the rows where a true disparity is 0."""
        sums = _aligned((len(self._labels.values), kernels.COPIES, kernels.SUMS))
        histogram = np.zeros((len(self._labels.values), kernels.KEYS), np.uint32)
        pixels = self._pixels(rows)
        height, width = pixels[0].shape
        zeros = np.empty(height, np.bool_)
        scratch = (np.empty(width, np.float32), np.empty(width, np.float32), np.empty(width, np.uint32))
        kernels.tally_errors(*pixels, *scratch, sums.ravel(), histogram.ravel(), zeros)
        return sums.transpose(1, 0, 2).sum(axis=0), histogram, zeros

    def _exclusions(self, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        exclusions = np.zeros((len(self._labels.values), kernels.EXCLUSIONS), np.int64)
        if rows.any():
            kernels.count_exclusions(*self._pixels(), self._doffs, rows, exclusions)
        return exclusions

    def depth(self, region: str) -> DepthStatistics:
        """The depth errors of a region; all regions share one pass, made when the first is asked for."""
        return self._depths[region]

    @functools.cached_property
    def _depths(self) -> dict[str, DepthStatistics]:
        return self._depths_of(at_once(self._depth_parts(), self._truth.size))

    def _depth_parts(self) -> list[Callable[[], Any]]:
        near, far = range_in_front(self._truth, self._doffs)
        scale = (self._focal_baseline, self._doffs, self._mu, near, far, self._charge)

        def part(rows: slice) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
            sums = np.zeros((len(self._labels.values), kernels.COPIES))
            pixels = self._pixels(rows)
            height, width = pixels[0].shape
            behind = np.empty(height, np.bool_)
            kernels.sum_depths(*pixels, *scale, np.empty(width), sums.ravel(), behind)
            return sums.T.sum(axis=0), behind

        return [functools.partial(part, rows) for rows in self._blocks]

    def _depths_of(self, found: Sequence[tuple[NDArray[np.float64], NDArray[np.bool_]]]) -> dict[str, DepthStatistics]:
        """The depth errors of every region, from the sums of its rows and the rows with points behind the cameras."""
        sums, behind = zip(*found, strict=True)
        total, excluded = sum(sums), self._exclusions(np.concatenate(behind))
        depths = {}
        for position, name in enumerate(self._labels.names):
            inside = self._inside(position)
            counts = excluded[inside].sum(axis=0)
            depths[name] = DepthStatistics(
                float(_added(total[inside])),
                int(counts[kernels.TRUTH_BEHIND]),
                int(counts[kernels.TRUTH_BEHIND_MISSING]),
                int(counts[kernels.ESTIMATE_BEHIND]),
            )
        return depths

    def _inside(self, position: int) -> NDArray[np.bool_]:
        """Which slots belong to the region at this position."""
        return np.asarray((self._labels.values >> position) & 1 == 1)

    def _folded(
        self, sums: NDArray[np.float64], histogram: NDArray[np.uint32], exclusions: NDArray[np.int64]
    ) -> dict[str, RegionStatistics]:
        folded = {}
        for position, name in enumerate(self._labels.names):
            inside = self._inside(position)
            counts = histogram[inside].sum(axis=0, dtype=np.int64)
            total = sums[inside].sum(axis=0)
            excluded = exclusions[inside].sum(axis=0)
            plain, d1 = counts[: kernels.BINS], counts[kernels.BINS : 2 * kernels.BINS]
            errors = plain + d1
            missing = int(counts[kernels.MISSING_KEY])
            folded[name] = RegionStatistics(
                size=int(errors.sum()) + missing,
                missing=missing,
                d1=int(d1.sum()),
                signed=float(total[kernels.SIGNED]),
                absolute=float(total[kernels.ABSOLUTE]),
                squared=float(total[kernels.SQUARED]),
                relative=float(total[kernels.RELATIVE]),
                zero_truth=int(excluded[kernels.ZERO_TRUTH]),
                zero_truth_missing=int(excluded[kernels.ZERO_TRUTH_MISSING]),
                histogram=errors,
            )
        return folded

    def _ranks(self, region: str, quantile: float) -> tuple[int, int, float]:
        """The two order statistics around a quantile, and the share of the upper one (NumPy's `linear` definition)."""
        position = quantile * (self._regions[region].valid - 1)
        low = math.floor(position)
        return low, math.ceil(position), position - low

    def _bin_of_rank(self, region: str, rank: int) -> int:
        return int(np.searchsorted(self._cumulative[region], rank, side="right"))

    def _bins_of(self, region: str, request: PassRequest) -> set[int]:
        """Bins whose single values are needed."""
        if self._regions[region].valid == 0:
            return set()
        bins = {_bin(t) for t in request.thresholds if not _on_edge(t)}
        for quantile in request.quantiles:
            low, high, _ = self._ranks(region, quantile)
            bins |= {self._bin_of_rank(region, low), self._bin_of_rank(region, high)}
        return bins

    def _collect(self, bins: dict[str, set[int]]) -> None:
        """Read the sorted errors in some bins of some regions, in one pass."""
        labels = self._labels
        wanted = np.zeros(kernels.BINS + 1, np.uint16)
        for position, name in enumerate(labels.names):
            wanted[sorted(bins.get(name, ()))] |= np.uint16(1 << position)
        table = (labels.values.astype(np.uint16)[:, None] & wanted).ravel()
        room = sum(int(self._regions[name].histogram[list(some)].sum()) for name, some in bins.items())

        def collect(rows: slice) -> tuple[NDArray[np.float32], NDArray[np.uint16]]:
            part = self._pixels(rows)
            width = part[0].shape[1]
            most = min(room, part[0].size)
            values, members = np.empty(most, np.float32), np.empty(most, np.uint16)
            scratch = np.empty(width, np.float32), np.empty(width, np.uint32)
            found = kernels.collect_errors(*part, table, *scratch, values, members)
            return values[:found], members[:found]

        blocks = row_blocks(self._truth.shape[0], self._truth.size)
        found = at_once([functools.partial(collect, rows) for rows in blocks], self._truth.size)
        values, members = (np.concatenate(parts) for parts in zip(*found, strict=True))
        # Sorted once for all regions, as whole numbers: errors are not negative, so that their bits are in their order.
        pairs = np.sort((values.view(np.uint32).astype(np.uint64) << 16) | members)
        values, members = (pairs >> 16).astype(np.uint32).view(np.float32), pairs.astype(np.uint16)
        for position, name in enumerate(labels.names):
            mine = values[(members >> position) & 1 == 1]
            counts = self._regions[name].histogram
            start = 0
            for index in sorted(bins.get(name, ())):
                stop = start + int(counts[index])
                self._ranked[name, index] = mine[start:stop]
                start = stop

    def _values_in(self, region: str, index: int) -> NDArray[np.float32]:
        if (region, index) not in self._ranked:
            self._collect({region: {index}})
        return self._ranked[region, index]

    def above(self, region: str, threshold: float) -> int:
        """How many pixels of V have |e| > threshold, equality being good in spite of rounding."""
        index = _bin(threshold)
        above = self._regions[region].valid - int(self._cumulative[region][index])
        if _on_edge(threshold) or self._regions[region].valid == 0:
            return above
        inside = self._values_in(region, index).astype(np.float64)
        return above + int((inside > threshold + float(kernels.GUARD)).sum())

    def quantile(self, region: str, quantile: float) -> float:
        """The quantile of |e| over V, exact, interpolated linearly between neighbouring order statistics.

        NaN when V is empty.
        """
        if self._regions[region].valid == 0:
            return math.nan
        low, high, share = self._ranks(region, quantile)
        below, above = self._order_statistic(region, low), self._order_statistic(region, high)
        return below + (above - below) * share

    def _order_statistic(self, region: str, rank: int) -> float:
        index = self._bin_of_rank(region, rank)
        before = int(self._cumulative[region][index - 1]) if index else 0
        return float(self._values_in(region, index)[rank - before])
