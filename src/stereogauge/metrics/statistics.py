"""Pixel-wise statistics of one estimate on many regions, from one pass: what the pixel-wise metrics are read from."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Set
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.kernels import pixelwise as kernels
from stereogauge.masks.labels import RegionLabels
from stereogauge.masks.scene_regions import range_in_front
from stereogauge.metrics.tally import DepthScale, ErrorsInBins, Tally, collect_bins, tally_map, wide_enough
from stereogauge.model import DisparityMap


class PassRequest(Struct, frozen=True):
    """What a metric reads of the pass over the pixels that all metrics share.

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
    """Request the numbers of errors above these, in px."""
    return PassRequest(thresholds=values)


def percentiles(*values: float) -> PassRequest:
    """Request these percentiles of the error, from 0 to 100."""
    return PassRequest(quantiles=tuple(value / 100 for value in values))


class RegionStatistics(Struct, frozen=True):
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

    @property
    def valid(self) -> int:
        """|V|."""
        return self.size - self.missing


class DepthStatistics(Struct, frozen=True):
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


class _Around(NamedTuple):
    """The order statistics around quantiles.

    `requested` are region, quantile, and whether missing pixels are charged. Of each, `inside` (which, lower or upper,
    requested) tells which order statistics of the estimated pixels count: that of the rank among all pixels, and that
    of as many pixels before it as are missing. For those that count: the number of the region, the bin, and the rank in
    it. `most`: the error of a missing pixel, infinite where none is charged; `shares`: the share of the upper one.
    """

    requested: list[tuple[str, float, bool]]
    inside: NDArray[np.bool_]
    regions: NDArray[np.int64]
    bins: NDArray[np.int64]
    ranks: NDArray[np.int64]
    most: NDArray[np.float64]
    shares: NDArray[np.float64]


@functools.lru_cache(1000)
def _bin(value: float) -> int:
    """The histogram bin that holds an error of exactly `value`."""
    bits = int(np.float32(value).view(np.uint32))
    return min(max((max(bits - 1, 0) >> kernels.BIN_SHIFT) - int(kernels.FIRST_KEY), 0), kernels.BINS - 1)


@functools.lru_cache(1000)
def _on_edge(value: float) -> bool:
    """Whether `value` is the upper end of its bin, so that counts above it need no single values."""
    single = np.float32(value)
    aligned = int(single.view(np.uint32)) & ((1 << kernels.BIN_SHIFT) - 1) == 0 and float(single) == value
    return aligned and 2.0**-12 <= value < 2.0**14


class PixelStatistics:
    """All pixel-wise statistics of `estimate` against `truth` on the regions of `labels`.

    `request` names the thresholds and quantiles that will be read: one second pass over the pixels serves them all.
    `charge`: whether a missing depth costs the worst depth error inside the scene's range; otherwise it costs nothing.
    `in_front` is that range, as `range_in_front` finds it, where it is known already. `worst` is the error that a
    missing pixel is charged with in quantiles, NaN where that is not known.
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
        in_front: tuple[float, float] | None = None,
        worst: float = math.nan,
    ) -> None:
        estimate, truth, labels = wide_enough(np.ascontiguousarray(estimate), np.ascontiguousarray(truth), labels)
        self._estimate, self._truth = np.ascontiguousarray(estimate), np.ascontiguousarray(truth)
        self._labels = labels
        self._focal_baseline, self._doffs, self._mu = float(focal_baseline), float(doffs), float(mu)
        self._charge, self._in_front, self._worst = charge, in_front, worst
        collecting = bool(request.quantiles) or not all(map(_on_edge, request.thresholds))
        tally = self._tallied(depth=request.depth, keys=collecting)
        # As floating-point numbers, which matrices are multiplied fast for, and which hold these numbers exactly.
        counts = (labels.members.astype(np.float64) @ tally.histogram).astype(np.int64)
        # How many errors of a region (first index) are in bins before one (second index).
        self._below = np.zeros((len(counts), kernels.BINS + 1), np.int64)
        d1 = counts[:, kernels.BINS : 2 * kernels.BINS]
        np.cumsum(counts[:, : kernels.BINS] + d1, axis=1, out=self._below[:, 1:])
        self._missing = counts[:, kernels.MISSING_KEY]
        self._collected: list[ErrorsInBins] = []
        self._quantiles: dict[tuple[str, float, bool], float] = {}
        around = self._around(request.quantiles)
        bins = {_bin(threshold) for threshold in request.thresholds if not _on_edge(threshold)}
        bins.update(around.bins.tolist())

        def fold() -> None:
            self._regions = self._folded(tally, counts)
            if request.depth:
                self._depths = self._depths_of(tally)

        if bins:
            self._collected.append(self._collect(bins, tally, fold))
        else:
            fold()
        self._read(around)

    def __contains__(self, region: object) -> bool:
        return region in self._regions

    def __getitem__(self, region: str) -> RegionStatistics:
        return self._regions[region]

    def _tallied(self, *, depth: bool, keys: bool) -> Tally:
        near, far = (self._in_front or range_in_front(self._truth, self._doffs)) if depth else (1.0, 1.0)
        scale = DepthScale(self._doffs, self._mu, near, far, self._charge)
        return tally_map(self._estimate, self._truth, self._labels, scale, depth=depth, keys=keys)

    def depth(self, region: str) -> DepthStatistics:
        """The depth errors of a region; where they were not requested, one more pass serves all regions."""
        return self._depths[region]

    @functools.cached_property
    def _depths(self) -> dict[str, DepthStatistics]:
        return self._depths_of(self._tallied(depth=True, keys=False))

    def _depths_of(self, tally: Tally) -> dict[str, DepthStatistics]:
        totals = (self._focal_baseline * self._in_regions(tally.sums[:, kernels.DEPTH])).tolist()
        excluded = (self._labels.members @ tally.exclusions).tolist()
        return {
            name: DepthStatistics(
                total,
                counts[kernels.TRUTH_BEHIND],
                counts[kernels.TRUTH_BEHIND_MISSING],
                counts[kernels.ESTIMATE_BEHIND],
            )
            for name, total, counts in zip(self._labels.names, totals, excluded, strict=True)
        }

    def _in_regions(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums over regions (region, …) of those over slots (slot, …), which are added one after the other."""
        members = self._labels.members.reshape(*self._labels.members.shape, *(1,) * (sums.ndim - 1))
        return np.add.accumulate(np.where(members, sums, 0.0), axis=1)[:, -1]

    def _folded(self, tally: Tally, counts: NDArray[np.int64]) -> dict[str, RegionStatistics]:
        """The statistics of all regions; `counts` (region, key) are their histograms."""
        exclusions = (self._labels.members @ tally.exclusions).tolist()
        totals = self._in_regions(tally.sums).tolist()
        sizes = counts[:, : kernels.IGNORED_KEY].sum(axis=1)
        d1 = counts[:, kernels.BINS : 2 * kernels.BINS].sum(axis=1)
        numbers = np.stack([sizes, self._missing, d1], axis=1).tolist()
        folded = {}
        for region, name in enumerate(self._labels.names):
            size, without, outliers = numbers[region]
            signed, absolute, squared, relative, _ = totals[region]
            zero, zero_missing = exclusions[region][kernels.ZERO_TRUTH], exclusions[region][kernels.ZERO_TRUTH_MISSING]
            sums = (signed, absolute, squared, relative)
            folded[name] = RegionStatistics(size, without, outliers, *sums, zero, zero_missing)
        return folded

    def _around(self, quantiles: Iterable[float]) -> _Around:
        """The order statistics around some quantiles, in all regions with an estimate (NumPy's `linear` definition).

        With k missing pixels that cost c each, the value of rank r is min(v[r], max(v[r − k], c)), where v are the
        errors of the estimated pixels in order, infinite beyond their ends.
        """
        valid = self._below[:, -1]
        charged = (self._missing > 0) & (not math.isnan(self._worst))
        chosen = [
            (region, quantile, whole)
            for region in np.flatnonzero(valid).tolist()
            for whole in ((False, True) if charged[region] else (False,))
            for quantile in dict.fromkeys(quantiles)
        ]
        requested = [(self._labels.names[region], quantile, whole) for region, quantile, whole in chosen]
        regions = np.array([region for region, _, _ in chosen], np.int64)
        added = np.array([self._missing[region] if whole else 0 for region, _, whole in chosen], np.int64)
        positions = np.array([quantile for _, quantile, _ in chosen], np.float64) * (valid[regions] + added - 1)
        lower_upper = np.array([np.floor(positions), np.ceil(positions)], np.int64)
        ranks = np.stack([lower_upper, lower_upper - added])
        inside = (ranks >= 0) & (ranks < valid[regions])
        inside[1] &= added > 0
        most = np.where(added > 0, self._worst, np.inf)
        ranks, regions = ranks[inside], np.broadcast_to(regions, inside.shape)[inside]
        # The counts of all regions as one increasing sequence, for one search.
        step = self._truth.size + 1
        counts = self._below[:, 1:] + np.arange(0, len(self._below) * step, step)[:, None]
        bins = counts.ravel().searchsorted(ranks + regions * step, side="right") - regions * kernels.BINS
        shares = positions - lower_upper[0]
        return _Around(requested, inside, regions, bins, ranks - self._below[regions, bins], most, shares)

    def _read(self, around: _Around) -> None:
        """Read the quantiles that some order statistics are around."""
        if not around.requested:
            return
        errors = self._errors_in(set(around.bins.tolist()))
        values = np.full(around.inside.shape, np.inf)
        values[1] = -np.inf
        values[around.inside] = errors.order_statistics(around.regions, around.bins, around.ranks)
        below, above = np.minimum(values[0], np.maximum(values[1], around.most))
        self._quantiles |= zip(around.requested, (below + (above - below) * around.shares).tolist(), strict=True)

    def _collect(self, bins: Iterable[int], tally: Tally, meanwhile: Callable[[], None]) -> ErrorsInBins:
        """The errors in some bins, by one pass over the keys of all pixels."""
        maps = (self._estimate, self._truth, self._labels.slots)
        return collect_bins(bins, maps, tally.keys, tally.histogram, self._labels.members, meanwhile)

    def _errors_in(self, bins: Set[int]) -> ErrorsInBins:
        """The errors in some bins."""
        for collected in self._collected:
            if collected.holds(bins):
                return collected
        self._collected.append(self._collect(bins, self._tallied(depth=False, keys=True), lambda: None))
        return self._collected[-1]

    def above(self, region: str, threshold: float) -> int:
        """How many pixels of V have |e| > threshold, equality being good in spite of rounding."""
        index = _bin(threshold)
        position = self._labels.names.index(region)
        above = self[region].valid - int(self._below[position, index + 1])
        if _on_edge(threshold) or self[region].valid == 0:
            return above
        return above + self._errors_in({index}).above(position, index, threshold + float(kernels.GUARD))

    def quantile(self, region: str, quantile: float, *, charged: bool = False) -> float:
        """The quantile of |e| over V, exact, interpolated linearly between neighbouring order statistics.

        `charged`: over all pixels of the region, of which each missing one costs `worst`. NaN when V is empty, and
        where `worst` would count and is not known.
        """
        pixels = self[region]
        charged = charged and pixels.missing > 0
        if pixels.valid == 0 or (charged and math.isnan(self._worst)):
            return math.nan
        if (region, quantile, charged) not in self._quantiles:
            self._read(self._around([quantile]))
        return self._quantiles[region, quantile, charged]
