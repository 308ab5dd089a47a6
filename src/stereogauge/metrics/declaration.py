"""What a metric is: a pure function and a declaration. The registry of all of them.

The command line's help, the catalogue in the docs, table headers and the web page read nothing but declarations. A
package adds metrics through the entry-point group `stereogauge.metrics`: each entry names a module, a `Metric`, or a
list of them.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError, UnknownNameError, unknown_name
from stereogauge.masks.expression import interest_parts, region_id
from stereogauge.metrics.costs import Costs, pictured_costs
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture
from stereogauge.metrics.statistics import PassRequest
from stereogauge.registry import Parameter as Parameter
from stereogauge.registry import bound_arguments, collect, read_arguments, with_arguments

ENTRY_POINTS = "stereogauge.metrics"

Direction = Literal["lower", "higher", "zero"]
Missing = Literal["counted", "charged", "left out", "not about pixels"]
MISSING: Mapping[Missing, str] = {
    "counted": "counted as wrong",
    "charged": "charged at least as much as any estimate inside the scene's disparity range",
    "left out": "left out, so the score needs its coverage",
    "not about pixels": "of no effect, because the metric is not about pixels",
}
Counts = Literal["pixels", "structures", "runs"]
COUNTS: Mapping[Counts, str] = {
    "pixels": "pixels",
    "structures": "fine structures",
    "runs": "runs of the matcher",
}
Denominator = Literal["estimated", "all unless excluded", "all"]
Scaling = Literal["length", "area", "none"]
SCALING: Mapping[Scaling, str] = {
    "length": "a length in pixels, proportional to the image width",
    "area": "an area in pixels, proportional to the square of the image width",
    "none": "not a length or an area in pixels",
}


@dataclass(frozen=True)
class Statistic:
    """What a metric's function returns for one region.

    `sum` and `count`: a metric that pools makes its value of them, and over several scenes of their totals. A metric
    that does not pool keeps its value in `sum`: see `of_value`. `missing`: how many pixels of the metric's set have no
    value for want of an estimate; `Metric` says which of them `count` includes. `note`: why there is no value, or what
    a reader must know.
    """

    sum: float
    count: int
    missing: int
    note: str = ""

    @classmethod
    def of_value(cls, value: float, count: int, missing: int, note: str = "") -> Statistic:
        """The finished value of a metric that does not pool, measured on `count` pixels."""
        return cls(value, count, missing, note)

    @classmethod
    def empty(cls, note: str, missing: int = 0) -> Statistic:
        """No pixel was measured, for the reason given."""
        return cls(0.0, 0, missing, note)


@dataclass(frozen=True)
class Metric:
    """A declared metric; `metric` explains every field. `compute` is the function.

    A metric has a set of pixels: its region, less pixels on which the ground truth allows no value (a relative error
    where D = 0, a depth behind the cameras, a window beside unknown ground truth). A pixel of the set is missing where
    the value needs an estimate that is not there, at the pixel itself or, for gradients and windows, beside it. What a
    `Statistic` counts depends on `missing` and on the protocol's policy for invalid estimates:

    - "counted" and "charged": under `count` and `fill` the count is the whole set and includes the missing pixels;
      under `exclude` they are left out, and the count is the set without them.
    - "left out": the count is the set without the missing pixels, whatever the policy.
    - `denominator` names the exceptions: `wrong` has the whole set in its count although it leaves missing pixels out,
      unless they are excluded; `density` and `invalid` have it under every policy.
    - `counts = "structures"`: count and missing are numbers of structures, missing those without any estimate.
    - "not about pixels": the count is the number of runs, and none is missing.

    Under `fill` a pixel that the standard rule fills is not missing, except for `density`, `invalid` and the metrics of
    estimates as given (`…-valid`).
    """

    id: str
    name: str
    formula: str
    unit: str
    source: str
    compute: Callable[..., Statistic]
    missing: Missing
    scaling: Scaling = "none"
    counts: Counts = "pixels"
    denominator: Denominator | None = None
    direction: Direction = "lower"
    range: tuple[float, float] = (0.0, math.inf)
    heuristic_range: tuple[float, float] | None = None
    parameters: tuple[Parameter, ...] = ()
    needs: frozenset[str] = frozenset({"gt"})
    finalize: Callable[[float, int], float] | None = None
    shares: Callable[..., PassRequest] | None = None
    region: str | None = None
    picture: Callable[..., Picture] | None = None
    costs: Callable[..., Costs] | None = None
    examples: tuple[str, ...] = ()
    version: int = 1

    @property
    def pools(self) -> bool:
        """Whether sums and counts of several scenes may be added."""
        return self.finalize is not None

    def value_of(self, statistic: Statistic) -> float:
        """The score that a statistic amounts to; NaN when no pixel was measured."""
        if not isinstance(statistic, Statistic):
            raise StereogaugeError(
                f"The metric {self.id} returned {type(statistic).__name__}; a declared metric returns a Statistic."
            )
        if statistic.count == 0:
            return math.nan
        return statistic.sum if self.finalize is None else self.finalize(statistic.sum, statistic.count)

    def counts_missing(self, invalid: str) -> bool:
        """Whether a count under a protocol's policy includes the pixels without an estimate."""
        usual: Denominator = "estimated" if self.missing == "left out" else "all unless excluded"
        denominator = self.denominator or usual
        return denominator == "all" or (denominator == "all unless excluded" and invalid != "exclude")

    def left_out(self, invalid: str) -> bool:
        """Whether missing estimates are left out of the score under a protocol's policy for them."""
        if self.missing == "not about pixels":
            return False
        return self.missing == "left out" or not self.counts_missing(invalid)

    def coverage(self, count: Any, missing: Any, invalid: str) -> NDArray[np.float64]:
        """Share of the metric's own pixels that have an estimate, for numbers or arrays of them.

        NaN for an empty set, for a metric that counts structures, and for one that is not about pixels.

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

    @property
    def description(self) -> str:
        """The function's docstring."""
        return (self.compute.__doc__ or "").strip()

    def bind(self, *arguments: float) -> BoundMetric:
        """The metric with its parameters given."""
        return BoundMetric(self, bound_arguments("Metric", self.id, self.parameters, arguments))

    def with_picture(self, picture: Callable[..., Picture]) -> Metric:
        """The same metric with the function that makes its per-pixel map."""
        return replace(self, picture=picture)


@dataclass(frozen=True)
class BoundMetric:
    """A metric with its parameters; its printed form is the id that tables and stores use."""

    metric: Metric
    arguments: tuple[float, ...] = ()

    @property
    def id(self) -> str:
        """For example `bad@1`; of several parameters the last ones are left out where they have their defaults."""
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
        """The regions on which this metric is measured when `wanted` are asked for."""
        return tuple(wanted) if self.metric.region is None else (self.metric.region,)

    def within(self, interest: str) -> str:
        """The region on which the metric is measured inside a region of interest.

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
        """What the metric asks of the pass over the pixels that all metrics share."""
        return PassRequest() if self.metric.shares is None else self.metric.shares(*self.arguments)

    def measure(self, measurement: Measurement, region: str) -> Statistic:
        """The statistic of one region."""
        metric = self.metric
        if metric.region in (None, region) or metric.costs is None or metric.counts != "pixels":
            return metric.compute(measurement, region, *self.arguments)
        inside = measurement.mask(region)
        costs = metric.costs(measurement, region, *self.arguments)[inside]
        missing = int(np.count_nonzero(np.isnan(costs) | np.isnan(measurement.estimate[inside])))
        counted = costs[~np.isnan(costs)]
        if not counted.size:
            why = "no estimate in" if costs.size else "no pixel in"
            return Statistic.empty(f"{why} region {region!r}", missing)
        return Statistic(float(counted.sum()), counted.size, missing)

    def costs(self, measurement: Measurement, region: str) -> Costs:
        """What each pixel adds to the score on a region; NaN for pixels that do not count. See `metrics.costs`."""
        metric = self.metric
        if metric.costs is not None:
            costs = metric.costs(measurement, region, *self.arguments)
        else:
            costs = pictured_costs(self.picture(measurement))
        return np.where(measurement.mask(region), costs, np.nan)

    def value(self, measurement: Measurement, region: str) -> float:
        """The score on one region."""
        return self.metric.value_of(self.measure(measurement, region))

    def picture(self, measurement: Measurement) -> Picture:
        """The per-pixel map behind the score."""
        if self.metric.picture is None:
            raise UnknownNameError(f"Metric {self.id!r} is not made of pixels and has no picture.")
        return self.metric.picture(measurement, *self.arguments)


def metric(
    *,
    id: str,  # noqa: A002 – the field's name
    name: str,
    formula: str,
    unit: str,
    source: str,
    missing: Missing,
    scaling: Scaling = "none",
    counts: Counts = "pixels",
    denominator: Denominator | None = None,
    direction: Direction = "lower",
    range: tuple[float, float] = (0.0, math.inf),  # noqa: A002
    heuristic_range: tuple[float, float] | None = None,
    parameters: tuple[Parameter, ...] = (),
    needs: Iterable[str] = ("gt",),
    finalize: Callable[[float, int], float] | None = None,
    shares: Callable[..., PassRequest] | None = None,
    region: str | None = None,
    picture: Callable[..., Picture] | None = None,
    costs: Callable[..., Costs] | None = None,
    examples: tuple[str, ...] = (),
    version: int = 1,
) -> Callable[[Callable[..., Statistic]], Metric]:
    r"""Declare the decorated function as a metric: `function(measurement, region, *arguments)` returns a `Statistic`.

    missing: what a missing estimate does to the score. It is "counted" as wrong, "charged" with at least the cost of
    any estimate inside the scene's disparity range, or "left out"; run time and the like are "not about pixels".
    scaling: how the unit depends on the image size. A "length" in px grows with the width, an "area" with its square.
    counts: what `Statistic.count` and `missing` are numbers of. denominator: whether the count includes the missing,
    where that does not follow from `missing` (see `Metric`).
    direction: which scores are better. range: the theoretical one; heuristic_range: what real algorithms reach.
    needs: parts of a scene or result ("gt", "left", "right", "calibration", "right_estimate", "confidence",
    "seconds", …). finalize: makes the value from a sum and a count; without it the metric does not pool over scenes.
    shares: makes a `PassRequest` from the arguments, so that one pass over the pixels serves this metric too.
    region: the only pixel set on which the metric is measured; None means any region. picture:
    `function(measurement, *arguments)` makes the per-pixel map. costs: `function(measurement, region, *arguments)`
    makes the map of what each pixel adds to the score (see `stereogauge.metrics.costs`). version: to be raised when the
    same input gives another number.

    >>> from stereogauge.metrics.statistics import thresholds
    >>> @metric(
    ...     id="hits",
    ...     name="Exact estimates",
    ...     formula=r"|\{x \in V : |e(x)| \le t\}| / |V|",
    ...     unit="",
    ...     source="an example",
    ...     missing="left out",
    ...     direction="higher",
    ...     parameters=(Parameter("threshold", unit="px"),),
    ...     finalize=lambda total, count: total / count,
    ...     shares=thresholds,
    ... )
    ... def hits(m, region, threshold):
    ...     "Share of the estimates that are right to within t px."
    ...     pixels = m.pixels(region)
    ...     return Statistic(pixels.valid - m.statistics(region).above(region, threshold), pixels.valid, pixels.missing)
    >>> hits.bind(1).id
    'hits@1'
    >>> hits.value_of(Statistic(sum=30, count=40, missing=2))
    0.75
    """

    def declare(function: Callable[..., Statistic]) -> Metric:
        return Metric(
            id=id,
            name=name,
            formula=formula,
            unit=unit,
            source=source,
            compute=function,
            missing=missing,
            scaling=scaling,
            counts=counts,
            denominator=denominator,
            direction=direction,
            range=range,
            heuristic_range=heuristic_range,
            parameters=parameters,
            needs=frozenset(needs),
            finalize=finalize,
            shares=shares,
            region=region,
            picture=picture,
            costs=costs,
            examples=examples,
            version=version,
        )

    return declare


@functools.cache
def metrics() -> Mapping[str, Metric]:
    """Every metric by id: ours, then those of installed packages."""
    return collect("metric", Metric, "stereogauge.metrics", ENTRY_POINTS)


ALIASES = {"epe": "mae", "avgerr": "mae", "avg-err": "mae", "aee": "mae", "rmse": "rms", "d1-all": "d1"}
"""What the field also calls our metrics; `bad1`, `bad2.0`, `>3px` and `a90` are read by their numbers."""
NUMBERED = (
    (re.compile(r"bad[-_]?(\d+(?:\.\d+)?)"), "bad"),
    (re.compile(r">\s*(\d+(?:\.\d+)?)(?:px)?"), "bad"),
    (re.compile(r"a(\d+(?:\.\d+)?)"), "quantile"),
)


def canonical(text: str) -> str:
    """A metric's id, where `text` is another name of it that the field uses.

    >>> [canonical(name) for name in ("epe", "D1-all", "bad1", "bad2.0", ">3px", "a90", "rms")]
    ['mae', 'd1', 'bad@1', 'bad@2.0', 'bad@3', 'quantile@90', 'rms']
    """
    name = text.strip()
    if name.partition("@")[0] in metrics():
        return name
    for pattern, family in NUMBERED:
        found = pattern.fullmatch(name.lower())
        if found:
            return f"{family}@{found[1]}"
    return ALIASES.get(name.lower(), name)


def parse_metric(text: str) -> BoundMetric:
    """The metric that an id such as `bad@1`, or another name of it such as `bad1`, means."""
    family, at, arguments = canonical(text).partition("@")
    known = metrics()
    if family not in known:
        raise unknown_name("metric", family, [*known, *ALIASES])
    return known[family].bind(*(read_arguments("Metric", text, arguments) if at else ()))


def is_declared(text: str) -> bool:
    """Whether the metric of an id such as `bad@1` or `bad@1:nonocc` is declared here, by us or by a plug-in.

    >>> is_declared("bad@1"), is_declared("bad@1:nonocc"), is_declared("of-a-plug-in-that-is-not-loaded")
    (True, True, False)
    """
    return canonical(text.partition(":")[0]).partition("@")[0] in metrics()


def canonical_column(text: str) -> str:
    """`bad@1:nonocc` of `bad1:nonocc`, and `d1:all` of `d1-all`."""
    name, _, region = text.partition(":")
    bound, every = parse_column(name)
    return f"{bound.id}:{region or every}" if region or every else bound.id


def parse_column(text: str) -> tuple[BoundMetric, str | None]:
    """The metric and region of an id such as `bad@1:nonocc`; the region is None where the text has none.

    A metric with a pixel set of its own takes the region as one of interest: `d-fat:mask:road` is measured on
    `disc-background&mask:road`.
    """
    name, _, region = text.partition(":")
    metric = parse_metric(name)
    every = "all" if name.strip().lower() == "d1-all" else None
    return metric, metric.within(region) if region else every
