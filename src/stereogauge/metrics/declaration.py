"""What a metric is: one function and a declaration.

A pixel metric (`@metric`) is a function of a measurement that returns what each pixel costs; a reducer and a few facts
make everything else of it: the score on any region, pooling, decomposition, the picture, crops. A map metric
(`@map_metric`) returns the statistic of a region itself and, if it has one, its map of costs. The command line's help,
the catalogue in the docs, table headers and the web page read only declarations.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr, replace
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError, UnknownNameError, unknown_name
from stereogauge.kernels.set_scores import sum_and_count
from stereogauge.masks.expression import interest_parts, region_id
from stereogauge.metrics.costs import Costs, PixelCosts, Quantile, Reducer, Sums, emptiness, mean, percent
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture, costs_picture
from stereogauge.metrics.statistics import PassRequest
from stereogauge.model import SceneRange
from stereogauge.registry import Parameter as Parameter
from stereogauge.registry import bound_arguments, check_call, is_ours, with_arguments

Direction = Literal["lower", "higher", "zero"]
Missing = Literal["counted", "always counted", "charged", "left out", "only in the count", "not about pixels"]
MISSING: Mapping[Missing, str] = {
    "counted": "counted as wrong",
    "always counted": "counted under every policy for invalid estimates",
    "charged": "charged at least as much as any estimate inside the scene's disparity range",
    "left out": "left out, so the score needs its coverage",
    "only in the count": "counted as pixels but not as wrong, so the score needs its coverage",
    "not about pixels": "of no effect, because the metric is not about pixels",
}
Counts = Literal["pixels", "structures", "runs"]
COUNTS: Mapping[Counts, str] = {
    "pixels": "pixels",
    "structures": "fine structures",
    "runs": "runs of the matcher",
}
Scaling = Literal["length", "area", "none"]
SCALING: Mapping[Scaling, str] = {
    "length": "a length in pixels, proportional to the image width",
    "area": "an area in pixels, proportional to the square of the image width",
    "none": "not a length or an area in pixels",
}
PIXELS_AT_FULL_SIZE = 200
FEWEST_PIXELS = 30
FEWEST_STRUCTURES = 3


class Statistic(Struct, frozen=True):
    """The score of one region before it is finished.

    `sum` and `count`: a metric that pools makes its value of them, and over several scenes of their totals. A metric
    that does not pool keeps its value in `sum`: see `of_value`. `missing`: how many pixels of the metric's set have no
    value because an estimate is missing; `Metric` says which of them `count` includes. `note`: why there is no value,
    or what a reader must know. `charged`: what a metric that does not pool would be if each missing pixel cost the most
    that an estimate inside the scene's range could; None where that is not known.
    """

    sum: float
    count: int
    missing: int
    note: str = ""
    charged: float | None = None

    @property
    def kept_sum(self) -> float:
        """The sum that a score keeps: with missing pixels charged where that is known."""
        return self.sum if self.charged is None else self.charged

    @classmethod
    def of_value(cls, value: float, count: int, missing: int, note: str = "") -> Statistic:
        """The finished value of a metric that does not pool, measured on `count` pixels."""
        return cls(value, count, missing, note)

    @classmethod
    def empty(cls, note: str, missing: int = 0) -> Statistic:
        """No pixel was measured, for the reason given."""
        return cls(0.0, 0, missing, note)


def _undeclared(*_: Any) -> Any:
    raise StereogaugeError("A declaration of a metric decorates the function that computes it.")


def _nothing(*_: float) -> PassRequest:
    return PassRequest()


class Metric(Struct, frozen=True, kw_only=True, eq=False):
    """A metric of a whole map: the facts about it; an instance decorates the metric's function.

    The function, `function(measurement, region, *arguments)`, returns the `Statistic` of a region. That of a
    `PixelMetric` returns the values of single pixels instead.

    missing: what a missing estimate does to the score (see `MISSING`). direction: which scores are better. range: the
    theoretical one; heuristic_range: what real algorithms reach. parameters: the numbers in the metric's id. needs:
    parts of a scene or result ("gt", "left", "right", "calibration", "right_estimate", "confidence", "seconds", …).
    region: the only pixel set on which the metric is measured; None means any region. pooled: makes the value from a
    sum and a count; without it the metric does not pool over scenes. costs: `function(measurement, region, *arguments)`
    makes the map of what each pixel costs, for a metric that has one; for one that pools and is better low, the costs
    of a region add up to its sum. wrong: what right and wrong pixels are called; None where single pixels are not right
    or wrong. counts: what `Statistic.count` and `missing` are numbers of. request: what the metric reads of the pass
    over the pixels that all metrics share, from its arguments. picture: `function(measurement, *arguments)` draws the
    metric where the map of its costs does not say enough. worst_pixel: `function(scene_range, *arguments)` is the most
    that one pixel adds to the sum with any estimate inside the range of the scene's ground truth; by default the end of
    `range`. keeps_charged: whether the sum of a score that does not pool is its value with every missing pixel charged,
    as it is for a quantile. version: to be raised when the same input gives another number.

    A metric has a set of pixels: its region, less pixels on which the ground truth allows no value (a relative error
    where D = 0, a depth behind the cameras, a window beside unknown ground truth). A pixel of the set is missing where
    the value needs an estimate that is missing, at the pixel itself or, for gradients and windows, beside it. What a
    `Statistic` counts depends on `missing` and on the protocol's policy for invalid estimates:

    - "counted", "charged" and "only in the count": under `count` and `fill` the count is the whole set and includes the
      missing pixels; under `exclude` it is the set without them.
    - "always counted": the count is the whole set, whatever the policy.
    - "left out": the count is the set without the missing pixels, whatever the policy.
    - "not about pixels": the count is the number of runs, and none is missing.

    Under `fill` a pixel that the standard rule fills is not missing, except for `density`, `invalid` and the metrics of
    estimates as given (`…-valid`).
    """

    id: str
    name: str
    formula: str
    unit: str
    source: str
    missing: Missing
    direction: Direction = "lower"
    range: tuple[float, float] = (0.0, math.inf)
    heuristic_range: tuple[float, float] | None = None
    parameters: tuple[Parameter, ...] = ()
    needs: Collection[str] = frozenset({"gt"})
    region: str | None = None
    pooled: Callable[[float, int], float] | None = None
    costs: Callable[..., Costs] | None = None
    wrong: tuple[str, str] | None = None
    request: Callable[..., PassRequest] = _nothing
    picture: Callable[..., Picture] | None = None
    worst_pixel: Callable[..., float] | None = None
    examples: tuple[str, ...] = ()
    keeps_charged: bool = False
    version: int = 1
    function: Callable[..., Any] = _undeclared
    counts: Counts = "pixels"
    takes: ClassVar[tuple[str, ...]] = ("measurement", "region")
    """What the function is called with, before its parameters."""

    def __post_init__(self) -> None:
        force_setattr(self, "needs", frozenset(self.needs))
        for name, allowed in (("missing", MISSING), ("direction", get_args(Direction))):
            if getattr(self, name) not in allowed:
                raise unknown_name(f"{name} of the metric {self.id}", str(getattr(self, name)), allowed)

    def __call__(self, function: Callable[..., Any]) -> Self:
        """The declaration with its function: what the decorator does."""
        if not is_ours(function):
            given = (*self.takes, *(parameter.name for parameter in self.parameters))
            check_call(f"The function of the metric {self.id}", function, given)
        return replace(self, function=function)

    @property
    def finalize(self) -> Callable[[float, int], float] | None:
        """What makes the value from a sum and a count; None for a metric that does not pool."""
        return self.pooled

    @property
    def has_map(self) -> bool:
        """Whether the metric tells what each pixel costs."""
        return self.costs is not None

    @property
    def has_picture(self) -> bool:
        """Whether the metric can be drawn."""
        return self.picture is not None or self.has_map

    def measure(self, m: Measurement, region: str, *arguments: float) -> Statistic:
        """The statistic of one region."""
        found: Statistic = self.function(m, region, *arguments)
        return found

    def cost_map(self, m: Measurement, region: str, *arguments: float) -> Costs:
        """What each pixel of a region costs."""
        if self.costs is None:
            raise UnknownNameError(f"Metric {self.id!r} is not made of pixels and has no map of them.")
        return np.where(m.mask(region), self.costs(m, region, *arguments), np.nan)

    def shown(self, m: Measurement, *arguments: float) -> Costs:
        """The map of costs that a picture shows, on every pixel that has one."""
        return self.cost_map(m, self.region or "all", *arguments)

    @property
    def pools(self) -> bool:
        """Whether sums and counts of several scenes may be added."""
        return self.finalize is not None

    @property
    def scaling(self) -> Scaling:
        """How the unit depends on the size of the image."""
        return "length" if self.unit == "px" else "area" if self.unit == "px²" else "none"

    def value_of(self, statistic: Statistic) -> float:
        """The score that a statistic amounts to; NaN when no pixel was measured."""
        if not isinstance(statistic, Statistic):
            raise StereogaugeError(
                f"The metric {self.id} returned {type(statistic).__name__}; a map metric returns a Statistic."
            )
        if statistic.count == 0:
            return math.nan
        return statistic.sum if self.finalize is None else self.finalize(statistic.sum, statistic.count)

    def counts_missing(self, invalid: str) -> bool:
        """Whether a count under a protocol's policy includes the pixels without an estimate."""
        return self.missing == "always counted" or (self.missing != "left out" and invalid != "exclude")

    def left_out(self, invalid: str) -> bool:
        """Whether missing estimates do not make the score worse under a protocol's policy for them."""
        if self.missing == "not about pixels":
            return False
        return self.missing in ("left out", "only in the count") or not self.counts_missing(invalid)

    def charge(self, scene: SceneRange, *arguments: float) -> float:
        """What a missing pixel costs so that no estimate inside the scene's range costs more; NaN where unknown.

        In the unit of the sum, or of the value for a metric that does not pool.
        """
        if self.worst_pixel is not None:
            return self.worst_pixel(scene, *arguments)
        if self.finalize not in (None, mean, percent):
            return math.nan
        end = self.range[0 if self.direction == "higher" else 1] / (100 if self.finalize is percent else 1)
        return end if math.isfinite(end) else math.nan

    def coverage(self, count: Any, missing: Any, invalid: str) -> NDArray[np.float64]:
        """Share of the metric's own pixels that have an estimate, for numbers or arrays of them.

        NaN for an empty set, for a metric that counts structures, and for one that is not about pixels.

        >>> from stereogauge.metrics.registry import metrics
        >>> metrics()["mae"].coverage(65, 35, "count"), metrics()["bad"].coverage(100, 35, "count")
        (array(0.65), array(0.65))
        """
        counted, lost = np.broadcast_arrays(np.asarray(count, np.float64), np.asarray(missing, np.float64))
        share = np.full(counted.shape, np.nan)
        if self.counts != "pixels":
            return share
        whole = counted if self.counts_missing(invalid) else counted + lost
        np.divide(whole - lost, whole, out=share, where=whole > 0)
        return share

    def least_support(self, size: float) -> float:
        """How many pixels a set needs before a score on it is evidence.

        200·s², at least 30, in a scene of size s relative to full resolution; 3 for a metric that counts structures, 0
        for one that counts runs. Metrics measure smaller sets too; the limit is applied where orders are made.

        >>> from stereogauge.metrics.registry import metrics
        >>> metrics()["rms"].least_support(0.5), metrics()["f-frag"].least_support(0.5)
        (50.0, 3)
        """
        if self.counts != "pixels":
            return FEWEST_STRUCTURES if self.counts == "structures" else 0
        return max(PIXELS_AT_FULL_SIZE * size**2, FEWEST_PIXELS)

    @property
    def description(self) -> str:
        """The function's docstring."""
        return (self.function.__doc__ or "").strip()

    def bind(self, *arguments: float) -> BoundMetric:
        """The metric with its parameters given."""
        return BoundMetric(self, bound_arguments("Metric", self.id, self.parameters, arguments))


class PixelMetric(Metric, frozen=True, kw_only=True, eq=False):
    r"""A metric of single pixels: `function(measurement, *arguments)` returns the value of each of them.

    The function returns a map of numbers, a map of truth values (true = wrong), or `PixelCosts`. NaN means that the
    estimate which the value needs is missing; truth values have none, and a pixel without an estimate is missing.
    A value is a cost, 0 for a right pixel; where higher scores are better it is a merit, and the cost is what it falls
    short of the best one. reduce: how the values of a region become its score. wrong: what right and wrong pixels are
    called, for a metric whose values are 0 and 1; the texts may hold the arguments as {0:g}. fused: the same sums read
    from the pass that all metrics share, `function(measurement, region, *arguments)`; None where it cannot serve.

    >>> @metric(
    ...     id="too-near",
    ...     name="Too near",
    ...     formula=r"\frac{100}{|V|} |\{x \in V : e(x) > t\}|",
    ...     unit="%",
    ...     source="an example",
    ...     missing="left out",
    ...     reduce=percent,
    ...     wrong=("not nearer", "nearer by more than {0:g} px"),
    ...     parameters=(Parameter("threshold", unit="px"),),
    ... )
    ... def too_near(m, threshold):
    ...     "Share of the estimates that are too near by more than t px."
    ...     return m.estimate > m.gt + threshold
    >>> import stereogauge as sg
    >>> sg.evaluate([[1, 5]], sg.Scene("s", gt=[[1, 3]]), [too_near.bind(1)], "all").value("too-near@1")
    50.0
    """

    reduce: Reducer
    fused: Callable[..., Sums | None] | None = None
    takes: ClassVar[tuple[str, ...]] = ("measurement",)

    def __post_init__(self) -> None:
        super().__post_init__()
        force_setattr(self, "keeps_charged", isinstance(self.reduce, Quantile))

    def __call__(self, function: Callable[..., Any]) -> Self:
        """The declaration with its function."""
        if not is_ours(function) and "region" in list(inspect.signature(function).parameters)[1:2]:
            raise StereogaugeError(
                f"The function of the metric {self.id} takes a region: declare it with @map_metric, or return what "
                "each pixel costs from a function of the measurement alone."
            )
        return super().__call__(function)

    @property
    def finalize(self) -> Callable[[float, int], float] | None:
        """The reducer; a quantile does not pool."""
        return None if isinstance(self.reduce, Quantile) else self.reduce

    @property
    def has_map(self) -> bool:
        """True: it is what the function returns."""
        return True

    def pixels(self, m: Measurement, *arguments: float) -> PixelCosts:
        """The values of all pixels."""
        found = self.function(m, *arguments)
        if isinstance(found, PixelCosts):
            return found
        if not isinstance(found, np.ndarray) or found.shape != m.estimate.shape:
            what = f"an array of shape {found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
            raise StereogaugeError(
                f"The metric {self.id} returned {what}; a pixel metric returns one value per pixel, shape "
                f"{m.estimate.shape}."
            )
        return PixelCosts(np.where(np.isnan(m.estimate), np.nan, found) if found.dtype == np.bool_ else found)

    def measure(self, m: Measurement, region: str, *arguments: float) -> Statistic:
        """The statistic of one region, from the shared pass where that serves."""
        sums = None if self.fused is None else self.fused(m, region, *arguments)
        return self.statistic(m, region, self.sums(m, region, *arguments) if sums is None else sums)

    def sums(self, m: Measurement, region: str, *arguments: float) -> Sums:
        """The sums of one region by definition, from the values of its pixels."""
        pixels = self.pixels(m, *arguments)
        mask = None if pixels.positions is not None and region == self.region else m.mask(region)
        values, charges = pixels.within(mask)
        lost = np.isnan(values)
        missing = int(np.count_nonzero(lost))
        note = "" if pixels.positions is not None and mask is not None else pixels.note
        if pixels.undefined and mask is not None and pixels.defined is not None:
            undefined = int(np.count_nonzero(mask & ~pixels.defined))
            note = f"{undefined} {pixels.undefined} left out" if undefined else note
        own_charge = pixels.charge is not None and self.counts_missing(m.protocol.invalid)
        counted = np.where(lost, charges, values) if own_charge and missing else values[~lost]
        total = self._total(m, counted, *arguments) if counted.size else 0.0
        charged = 0.0 if own_charge else None
        whole = self._whole(m, pixels, values, *arguments) if missing < values.size else None
        return Sums(pixels.factor * total / pixels.divisor, values.size, missing, charged, note, pixels.empty, whole)

    def _whole(self, m: Measurement, pixels: PixelCosts, values: NDArray[Any], *arguments: float) -> float | None:
        """A quantile if every missing pixel cost the most; it does not follow from the quantile of the others."""
        if not isinstance(self.reduce, Quantile):
            return None
        most = self.charge(m.regions.range, *arguments) * pixels.divisor / pixels.factor
        if math.isnan(most):
            return None
        filled = np.where(np.isnan(values), most, values)
        return pixels.factor * self._total(m, filled, *arguments) / pixels.divisor

    def _total(self, m: Measurement, values: NDArray[Any], *arguments: float) -> float:
        if isinstance(self.reduce, Quantile):
            return self.reduce.of(values, *arguments, rule=m.protocol.errors.quantiles)
        # Values in single precision are those of whole sets, which the kernel adds one after the other.
        return float(sum_and_count(values)[0] if values.dtype == np.float32 else values.sum())

    def statistic(self, m: Measurement, region: str, sums: Sums) -> Statistic:
        """The statistic of sums under the protocol's policy for invalid estimates."""
        counting = self.counts_missing(m.protocol.invalid)
        count = sums.size if counting else sums.size - sums.missing
        if count == 0:
            why = sums.empty.format(region=region) or sums.note or emptiness(region, sums.size)
            return Statistic.empty(why, sums.missing)
        charged = self._charge * sums.missing if sums.charged is None else sums.charged
        total = float(sums.total + charged if counting else sums.total)
        return Statistic(total, count, sums.missing, sums.note, sums.whole if sums.missing else None)

    @property
    def _charge(self) -> float:
        """What a missing estimate counts where its function does not say."""
        return 0.0 if self.direction == "higher" or self.missing == "only in the count" else 1.0

    def cost_map(self, m: Measurement, region: str, *arguments: float) -> Costs:
        """What each pixel of a region costs: a missing estimate its charge, or nothing where it does not count."""
        costs = np.where(m.mask(region), self.shown(m, *arguments), np.nan)
        if not isinstance(self.reduce, Quantile):
            return costs
        known = costs[~np.isnan(costs)]
        rule = m.protocol.errors.quantiles
        value = self.reduce.of(known, *arguments, rule=rule) if known.size else math.nan
        return np.where(np.isnan(costs), np.nan, np.where((costs >= value) & (value > 0), costs, 0.0))

    def shown(self, m: Measurement, *arguments: float) -> Costs:
        """What each pixel costs, wherever the metric has a value; for a quantile the values that it is one of."""
        charge = self._charge if self.counts_missing(m.protocol.invalid) else None
        costs = self.pixels(m, *arguments).as_map(m.scene.shape, charge)
        return self._best - costs if self.direction == "higher" else costs

    @property
    def _best(self) -> float:
        """The value of a perfect pixel, where higher is better."""
        return self.range[1] / 100 if self.reduce is percent else self.range[1]


metric = PixelMetric
map_metric = Metric
percentage = functools.partial(PixelMetric, unit="%", range=(0.0, 100.0), reduce=percent)
"""Declares a pixel metric that is a percentage of pixels."""


class BoundMetric(Struct, frozen=True):
    """A metric with its parameters; its printed form is the id that tables and stores use."""

    metric: Metric
    arguments: tuple[float, ...] = ()

    @property
    def id(self) -> str:
        """For example `bad@1`; of several parameters the last ones are omitted where they have their defaults."""
        shown = list(self.arguments)
        while len(shown) > 1 and shown[-1] == self.metric.parameters[len(shown) - 1].default:
            shown.pop()
        return with_arguments(self.metric.id, tuple(shown))

    def __str__(self) -> str:
        return self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundMetric) and other.id == self.id

    def regions(self, wanted: Iterable[str]) -> tuple[str, ...]:
        """The regions on which this metric is measured when `wanted` are requested."""
        return tuple(wanted) if self.metric.region is None else (self.metric.region,)

    def within(self, interest: str) -> str:
        """The region on which the metric is measured inside a region of interest.

        >>> from stereogauge.metrics.registry import parse_metric
        >>> parse_metric("d-fat").within("mask:road"), parse_metric("p-off").within("planar&textureless")
        ('disc-background&mask:road', 'planar&textureless')
        """
        own = self.metric.region
        if own is None or own == interest:
            return region_id(interest)
        if self.metric.counts == "runs":
            return own
        parts = interest_parts(interest)
        return region_id(interest if own in parts else f"{own}&({interest})")

    @property
    def request(self) -> PassRequest:
        """What the metric reads of the pass over the pixels that all metrics share."""
        return self.metric.request(*self.arguments)

    def measure(self, measurement: Measurement, region: str) -> Statistic:
        """The statistic of one region."""
        return self.metric.measure(measurement, region, *self.arguments)

    def value(self, measurement: Measurement, region: str) -> float:
        """The score on one region."""
        return self.metric.value_of(self.measure(measurement, region))

    def costs(self, measurement: Measurement, region: str) -> Costs:
        """What each pixel adds to the score on a region: 0 where it is right, NaN for pixels that do not count."""
        return self.metric.cost_map(measurement, region, *self.arguments)

    def picture(self, measurement: Measurement) -> Picture:
        """The per-pixel map behind the score."""
        metric = self.metric
        if metric.picture is not None:
            return metric.picture(measurement, *self.arguments)
        if not metric.has_map:
            raise UnknownNameError(f"Metric {self.id!r} is not made of pixels and has no picture.")
        return costs_picture(self, measurement)
