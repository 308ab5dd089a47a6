"""Pixel-wise statistics of one estimate on many regions, from one pass: what the pixel-wise metrics are read from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels import pixelwise as kernels
from stereogauge.model import DisparityMap
from stereogauge.regions.labels import RegionLabels


@dataclass(frozen=True)
class PassRequest:
    """What a metric asks of the pass over the pixels that all metrics share.

    `thresholds`, in px: to read the number of larger errors with `PixelStatistics.above`. `quantiles`, from 0 to 1: to
    read quantiles of the error with `PixelStatistics.quantile`. Any others can be read too, each at the cost of one
    more pass.
    """

    thresholds: tuple[float, ...] = ()
    quantiles: tuple[float, ...] = ()

    @classmethod
    def together(cls, requests: Iterable[PassRequest]) -> PassRequest:
        """One request for all of them."""
        every = tuple(requests)
        return cls(tuple(t for r in every for t in r.thresholds), tuple(q for r in every for q in r.quantiles))


def thresholds(*values: float) -> PassRequest:
    """Ask for the numbers of errors above these, in px."""
    return PassRequest(thresholds=values)


def percentiles(*values: float) -> PassRequest:
    """Ask for these percentiles of the error, from 0 to 100."""
    return PassRequest(quantiles=tuple(value / 100 for value in values))


@dataclass(frozen=True)
class RegionStatistics:
    """Sums over one region R; V ⊆ R are the pixels with an estimate.

    `depth`: sum of depth errors over the pixels of R whose true point is in front of the cameras, with the charges of
    those whose estimated point is missing or is not. `estimates_behind`: pixels of V whose true point is in front of
    the cameras and whose estimated point is not. `truth_behind`: pixels of R whose true point is not in front of the
    cameras; `zero_truth`: those with D = 0. `…_missing`: how many of them have no estimate.
    """

    size: int
    missing: int
    d1: int
    signed: float
    absolute: float
    squared: float
    relative: float
    depth: float
    zero_truth: int
    zero_truth_missing: int
    truth_behind: int
    truth_behind_missing: int
    estimates_behind: int
    histogram: NDArray[np.int64]

    @property
    def valid(self) -> int:
        """|V|."""
        return self.size - self.missing


def _bin(value: float) -> int:
    """The histogram bin that holds an error of exactly `value`."""
    bits = int(np.float32(value).view(np.uint32))
    return min(max((max(bits - 1, 0) >> int(kernels.BIN_SHIFT)) - int(kernels.FIRST_KEY), 0), kernels.BINS - 1)


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
        self._estimate, self._truth, self._labels = estimate, truth, labels
        slots = len(labels.values)
        sums = np.zeros((4, slots, kernels.SUMS))
        histogram = np.zeros((slots, kernels.KEYS), np.uint32)
        exclusions = np.zeros((slots, kernels.EXCLUSIONS), np.int64)
        near, far = kernels.range_in_front(truth, float(doffs))
        kernels.accumulate(
            estimate,
            truth,
            labels.labels,
            labels.slots,
            float(focal_baseline),
            float(doffs),
            float(mu),
            near,
            far,
            charge,
            sums,
            histogram,
            exclusions,
        )
        self._regions = self._folded(sums.sum(axis=0), histogram, exclusions)
        self._cumulative = {name: np.cumsum(r.histogram) for name, r in self._regions.items()}
        self._ranked: dict[tuple[str, int], NDArray[np.float32]] = {}
        bins = {name: self._bins_of(name, request) for name in labels.names}
        if any(bins.values()):
            self._collect(bins)

    def __contains__(self, region: object) -> bool:
        return region in self._regions

    def __getitem__(self, region: str) -> RegionStatistics:
        return self._regions[region]

    def _folded(
        self, sums: NDArray[np.float64], histogram: NDArray[np.uint32], exclusions: NDArray[np.int64]
    ) -> dict[str, RegionStatistics]:
        folded = {}
        for position, name in enumerate(self._labels.names):
            inside = (self._labels.values >> position) & 1 == 1
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
                depth=float(total[kernels.DEPTH]),
                zero_truth=int(excluded[kernels.ZERO_TRUTH]),
                zero_truth_missing=int(excluded[kernels.ZERO_TRUTH_MISSING]),
                truth_behind=int(excluded[kernels.TRUTH_BEHIND]),
                truth_behind_missing=int(excluded[kernels.TRUTH_BEHIND_MISSING]),
                estimates_behind=int(excluded[kernels.ESTIMATE_BEHIND]),
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
        wanted = np.zeros(kernels.KEYS, labels.labels.dtype)
        for position, name in enumerate(labels.names):
            wanted[list(bins.get(name, ()))] |= labels.labels.dtype.type(1 << position)
        room = sum(int(self._regions[name].histogram[list(some)].sum()) for name, some in bins.items())
        values = np.empty(room, np.float32)
        members = np.empty(room, labels.labels.dtype)
        found = kernels.collect(self._estimate, self._truth, labels.labels, wanted, values, members)
        values, members = values[:found], members[:found]
        for position, name in enumerate(labels.names):
            mine = np.sort(values[(members >> position) & 1 == 1])
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
