"""Pixel-wise statistics of one estimate on many regions, from one pass: what the pixel-wise metrics are read from."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels import pixelwise as kernels
from stereogauge.kernels.alignment import on_a_line
from stereogauge.kernels.jit import read_only
from stereogauge.kernels.threads import at_once, fixed_blocks
from stereogauge.metrics.error_bins import ErrorsInBin, collect_bins
from stereogauge.model import DisparityMap
from stereogauge.regions.depth_range import range_in_front
from stereogauge.regions.labels import RegionLabels

Number = TypeVar("Number", bound=np.generic)


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


class _Tally(NamedTuple):
    """One pass over all pixels: sums (slot, sum), histograms of blocks (slot, key), pixels left out (slot, why), keys.

    There are no keys where they were not asked for.
    """

    sums: NDArray[np.float64]
    histograms: tuple[NDArray[np.uint32], ...]
    exclusions: NDArray[np.int64]
    keys: NDArray[np.uint16]


@functools.lru_cache(1000)
def _bin(value: float) -> int:
    """The histogram bin that holds an error of exactly `value`."""
    bits = int(np.float32(value).view(np.uint32))
    return min(max((max(bits - 1, 0) >> int(kernels.BIN_SHIFT)) - int(kernels.FIRST_KEY), 0), kernels.BINS - 1)


def _zeros(shape: tuple[int, ...], kind: type[Number]) -> NDArray[Number]:
    """Zeros whose vectors do not cross the lines of the cache."""
    room = on_a_line(math.prod(shape), kind)
    room[:] = 0
    return room.reshape(shape)


def _not_above(value: float) -> np.float32:
    """The largest single-precision number that is not above `value`."""
    single = np.float32(value)
    return single if float(single) <= value else np.nextafter(single, np.float32(-np.inf))


def _added(rows: NDArray[np.float64]) -> float:
    """The sum of a few numbers, one after the other."""
    return float(np.add.accumulate(rows)[-1]) if rows.size else 0.0


@functools.lru_cache(1000)
def _on_edge(value: float) -> bool:
    """Whether `value` is the upper end of its bin, so that counts above it need no single values."""
    single = np.float32(value)
    aligned = int(single.view(np.uint32)) & ((1 << int(kernels.BIN_SHIFT)) - 1) == 0 and float(single) == value
    return aligned and 2.0**-12 <= value < 2.0**14


class PixelStatistics:
    """All pixel-wise statistics of `estimate` against `truth` on the regions of `labels`.

    `request` names the thresholds and quantiles that will be read: one second pass over the pixels serves them all.
    `charge`: whether a missing depth costs the worst depth error inside the scene's range; otherwise it costs nothing.
    `in_front` is that range, as `range_in_front` finds it, where it is known already.
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
    ) -> None:
        self._estimate, self._truth, self._labels = read_only(estimate), read_only(truth), labels
        self._focal_baseline, self._doffs, self._mu = float(focal_baseline), float(doffs), float(mu)
        self._charge, self._in_front = charge, in_front
        collecting = bool(request.quantiles) or not all(map(_on_edge, request.thresholds))
        tally = self._tallied(depth=request.depth, keys=collecting)
        if request.depth:
            self._depths = self._depths_of(tally)
        self._regions = self._folded(tally)
        histograms = np.array([region.histogram for region in self._regions.values()])
        self._cumulative = dict(zip(self._regions, histograms.cumsum(axis=1), strict=True))
        self._collected: dict[int, ErrorsInBin] = {}
        bins = set().union(*(self._bins_of(name, request) for name in labels.names))
        if bins:
            self._collect(bins, tally)

    def __contains__(self, region: object) -> bool:
        return region in self._regions

    def __getitem__(self, region: str) -> RegionStatistics:
        return self._regions[region]

    def _pixels(self, rows: slice = slice(None)) -> tuple[DisparityMap, DisparityMap, NDArray[Any]]:
        """What every pass goes over."""
        return self._estimate[rows], self._truth[rows], self._labels.slots[rows]

    def _scale(self, depth: bool) -> tuple[float, np.float32, np.float32, np.float32, np.float32, bool]:
        """What depths are measured by, disparities as single-precision numbers without the offset."""
        offset, mu = self._doffs, self._mu
        near, far = (self._in_front or range_in_front(self._truth, offset)) if depth else (1.0, 1.0)
        middle = 2.0 / (1.0 / (near + mu) + 1.0 / (far + mu)) - mu
        ends = np.float32(near - offset), np.float32(far - offset)
        return offset + mu, _not_above(-offset), *ends, _not_above(middle - offset), self._charge

    def _tallied(self, *, depth: bool, keys: bool) -> _Tally:
        """The pass over all pixels, with depth errors or without; the keys of the histogram are kept where asked."""
        height, width = self._truth.shape
        scale = self._scale(depth)
        slots, groups = len(self._labels.values), self._labels.groups
        kept = np.empty((height, width) if keys else (0, width), np.uint16)

        def part(rows: slice) -> tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.int64]]:
            special = np.zeros((2, rows.stop - rows.start), np.bool_)
            sums = _zeros((slots, kernels.SUMS, kernels.LANES), np.float64)
            histogram = np.zeros((slots, kernels.KEYS), np.uint32)
            # Two rows of single-precision numbers are as long as one of double precision.
            singles = _zeros((7, (width // kernels.LINE + 1) * kernels.LINE), np.float32)
            depths = singles[5:].reshape(-1).view(np.float64) if depth else None
            scratch = (*singles[:2], depths, *singles[2:4], singles[4].view(np.uint32))
            kernels.tally_errors(
                *self._pixels(rows),
                *(groups.rows[rows.start : rows.stop + 1], groups.segments, groups.firsts, groups.groups),
                *scale,
                *scratch,
                kept[rows] if keys else np.empty((1, width), np.uint16),
                *(sums.ravel(), histogram.ravel(), special),
            )
            looked_at = np.logical_or.reduce(special) if depth else special[kernels.ZERO_ROWS]
            return sums.sum(axis=2), histogram, self._exclusions(rows, looked_at)

        blocks = fixed_blocks(height, self._truth.size)
        sums, histograms, exclusions = zip(
            *at_once([functools.partial(part, rows) for rows in blocks], self._truth.size), strict=True
        )
        return _Tally(sum(sums), histograms, sum(exclusions), kept)

    def _exclusions(self, rows: slice, looked_at: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Pixels of some rows that are left out of relative errors or of depths."""
        exclusions = np.zeros((len(self._labels.values), kernels.EXCLUSIONS), np.int64)
        if looked_at.any():
            kernels.count_exclusions(*self._pixels(rows), self._doffs, looked_at, exclusions)
        return exclusions

    def depth(self, region: str) -> DepthStatistics:
        """The depth errors of a region; where they were not requested, one more pass serves all regions."""
        return self._depths[region]

    @functools.cached_property
    def _depths(self) -> dict[str, DepthStatistics]:
        return self._depths_of(self._tallied(depth=True, keys=False))

    def _depths_of(self, tally: _Tally) -> dict[str, DepthStatistics]:
        total = self._focal_baseline * tally.sums[:, kernels.DEPTH]
        excluded = (self._members @ tally.exclusions).tolist()
        return {
            name: DepthStatistics(
                _added(total[inside]),
                counts[kernels.TRUTH_BEHIND],
                counts[kernels.TRUTH_BEHIND_MISSING],
                counts[kernels.ESTIMATE_BEHIND],
            )
            for name, inside, counts in zip(self._labels.names, self._members, excluded, strict=True)
        }

    @functools.cached_property
    def _members(self) -> NDArray[np.bool_]:
        """Which slots (second index) belong to which region (first index)."""
        return np.asarray((self._labels.values >> np.arange(len(self._labels.names))[:, None]) & 1 == 1)

    def _folded(self, tally: _Tally) -> dict[str, RegionStatistics]:
        exclusions = (self._members @ tally.exclusions).tolist()
        # As floating-point numbers, which matrices are multiplied fast for, and which hold these numbers exactly.
        counts = (self._members.astype(np.float64) @ sum(tally.histograms)).astype(np.int64)
        plain, d1 = counts[:, : kernels.BINS], counts[:, kernels.BINS : 2 * kernels.BINS]
        errors, missing = plain + d1, counts[:, kernels.MISSING_KEY]
        numbers = np.stack([errors.sum(axis=1) + missing, missing, d1.sum(axis=1)], axis=1).tolist()
        folded = {}
        for position, name in enumerate(self._labels.names):
            size, without, outliers = numbers[position]
            total = tally.sums[self._members[position]].sum(axis=0).tolist()
            folded[name] = RegionStatistics(
                size=size,
                missing=without,
                d1=outliers,
                signed=total[kernels.SIGNED],
                absolute=total[kernels.ABSOLUTE],
                squared=total[kernels.SQUARED],
                relative=total[kernels.RELATIVE],
                zero_truth=exclusions[position][kernels.ZERO_TRUTH],
                zero_truth_missing=exclusions[position][kernels.ZERO_TRUTH_MISSING],
                histogram=errors[position],
            )
        return folded

    def _ranks(self, region: str, quantile: float) -> tuple[int, int, float]:
        """The two order statistics around a quantile, and the share of the upper one (NumPy's `linear` definition)."""
        position = quantile * (self._regions[region].valid - 1)
        low = math.floor(position)
        return low, math.ceil(position), position - low

    def _bin_of_rank(self, region: str, rank: int) -> int:
        return int(self._cumulative[region].searchsorted(rank, side="right"))

    def _bins_of(self, region: str, request: PassRequest) -> set[int]:
        """Bins whose single values are needed."""
        if self._regions[region].valid == 0:
            return set()
        bins = {_bin(t) for t in request.thresholds if not _on_edge(t)}
        for quantile in request.quantiles:
            low, high, _ = self._ranks(region, quantile)
            bins |= {self._bin_of_rank(region, low), self._bin_of_rank(region, high)}
        return bins

    def _collect(self, bins: Iterable[int], tally: _Tally) -> None:
        """Read the errors in some bins, in one pass over the keys of all pixels."""
        self._collected |= collect_bins(bins, self._pixels(), tally.keys, tally.histograms, self._members)

    def _errors_in(self, index: int) -> ErrorsInBin:
        """The errors in one bin."""
        if index not in self._collected:
            self._collect([index], self._tallied(depth=False, keys=True))
        return self._collected[index]

    def above(self, region: str, threshold: float) -> int:
        """How many pixels of V have |e| > threshold, equality being good in spite of rounding."""
        index = _bin(threshold)
        above = self._regions[region].valid - int(self._cumulative[region][index])
        if _on_edge(threshold) or self._regions[region].valid == 0:
            return above
        inside = self._errors_in(index).of(self._labels.names.index(region)).astype(np.float64)
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
        return self._errors_in(index).order_statistic(self._labels.names.index(region), rank - before)
