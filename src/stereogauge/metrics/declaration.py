"""What a metric is: a pure function and a declaration. The registry of all of them.

The command line's help, the catalogue in the docs, table headers and the web page read nothing but declarations. A
package adds metrics through the entry-point group `stereogauge.metrics`: each entry names a module, a `Metric`, or a
list of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from stereogauge.errors import UnknownNameError, unknown_name
from stereogauge.registry import collect

if TYPE_CHECKING:
    from stereogauge.metrics.measurement import Measurement
    from stereogauge.metrics.picture import Picture

ENTRY_POINTS = "stereogauge.metrics"


@dataclass(frozen=True)
class Statistic:
    """A score as sufficient statistics.

    `sum` and `count` pool over scenes where the metric says so; `missing` counts pixels of the set without an estimate;
    `value` is the score, NaN when `count` is 0; `note` says why it is NaN, or what a reader must know.
    """

    sum: float
    count: int
    missing: int
    value: float
    note: str = ""

    @classmethod
    def empty(cls, note: str, missing: int = 0) -> Statistic:
        """No pixel was measured, for the reason given."""
        return cls(sum=0.0, count=0, missing=missing, value=math.nan, note=note)


@dataclass(frozen=True)
class Parameter:
    """One number in a metric's id: `bad@1` has the parameter threshold = 1.

    `default` None means that it must be given.
    """

    name: str
    unit: str = ""
    description: str = ""
    low: float = -math.inf
    high: float = math.inf
    default: float | None = None


@dataclass(frozen=True)
class Metric:
    """A declared metric. `compute(measurement, region, *arguments)` returns a `Statistic`.

    `finalize(sum, count)` turns pooled statistics into a value; None means that the metric does not pool. `region`
    names the pixel set that the metric is bound to; None means that it is measured on any region. `needs` are parts
    of a scene or result ("gt", "left", "right", "calibration", "right_estimate", "seconds", …). `range` is the
    theoretical one, `heuristic_range` what real algorithms reach. `version` rises when the same input gives another
    number.
    """

    id: str
    name: str
    formula: str
    unit: str
    source: str
    compute: Callable[..., Statistic]
    direction: Literal["lower", "higher", "zero"] = "lower"
    range: tuple[float, float] = (0.0, math.inf)
    heuristic_range: tuple[float, float] | None = None
    parameters: tuple[Parameter, ...] = ()
    needs: frozenset[str] = frozenset({"gt"})
    finalize: Callable[[float, int], float] | None = None
    region: str | None = None
    picture: Callable[..., Picture] | None = None
    examples: tuple[str, ...] = ()
    version: int = 1

    @property
    def pools(self) -> bool:
        """Whether sums and counts of several scenes may be added."""
        return self.finalize is not None

    @property
    def description(self) -> str:
        """The function's docstring."""
        return (self.compute.__doc__ or "").strip()

    def bind(self, *arguments: float) -> BoundMetric:
        """The metric with its parameters given."""
        if len(arguments) > len(self.parameters):
            raise UnknownNameError(
                f"Metric {self.id!r} takes {len(self.parameters)} parameter(s); found {len(arguments)}."
            )
        complete = list(arguments)
        for parameter in self.parameters[len(arguments) :]:
            if parameter.default is None:
                raise UnknownNameError(
                    f"Metric {self.id!r} needs its {parameter.name}: write {self.id}@VALUE, for example {self.id}@1."
                )
            complete.append(parameter.default)
        for parameter, value in zip(self.parameters, complete, strict=True):
            if not parameter.low <= value <= parameter.high:
                raise UnknownNameError(
                    f"{self.id}@{value:g}: {parameter.name} must lie between {parameter.low:g} and {parameter.high:g}."
                )
        return BoundMetric(self, tuple(complete))

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
        """For example `bad@1`."""
        return self.metric.id + ("@" + ",".join(f"{a:.12g}" for a in self.arguments) if self.arguments else "")

    def __str__(self) -> str:
        return self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundMetric) and other.id == self.id

    def regions(self, wanted: Iterable[str]) -> tuple[str, ...]:
        """The regions on which this metric is measured when `wanted` are asked for."""
        return tuple(wanted) if self.metric.region is None else (self.metric.region,)

    def measure(self, measurement: Measurement, region: str) -> Statistic:
        """The score on one region."""
        return self.metric.compute(measurement, region, *self.arguments)

    def picture(self, measurement: Measurement) -> Picture:
        """The per-pixel map behind the score."""
        if self.metric.picture is None:
            raise UnknownNameError(f"Metric {self.id!r} is not made of pixels and has no picture.")
        return self.metric.picture(measurement, *self.arguments)


def metric(**declaration: Any) -> Callable[[Callable[..., Statistic]], Metric]:
    """Declare the decorated function as a metric: it becomes a `Metric` whose `compute` is the function."""
    needs = frozenset(declaration.pop("needs", ("gt",)))

    def declare(function: Callable[..., Statistic]) -> Metric:
        return Metric(compute=function, needs=needs, **declaration)

    return declare


@functools.cache
def metrics() -> Mapping[str, Metric]:
    """Every metric by id: ours, then those of installed packages."""
    return collect("metric", Metric, "stereogauge.metrics", ENTRY_POINTS)


def parse_metric(text: str) -> BoundMetric:
    """The metric that an id such as `bad@1` names."""
    family, at, arguments = text.strip().partition("@")
    known = metrics()
    if family not in known:
        raise unknown_name("metric", family, known)
    try:
        values = [float(a) for a in arguments.split(",")] if at else []
    except ValueError:
        raise UnknownNameError(f"Metric {text!r}: what follows @ must be a number; found {arguments!r}.") from None
    return known[family].bind(*values)


def parse_column(text: str) -> tuple[BoundMetric, str | None]:
    """The metric and region of an id such as `bad@1:nonocc`; the region is None where the text has none."""
    name, _, region = text.partition(":")
    return parse_metric(name), region or None
