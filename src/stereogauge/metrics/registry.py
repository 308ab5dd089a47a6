"""All metrics by name: ours, those of plug-ins, and plain functions.

A package adds metrics through the entry-point group `stereogauge.metrics`: each entry names a module, a metric, or a
list of them.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stereogauge.errors import StereogaugeError, unknown_name
from stereogauge.metrics.declaration import BoundMetric, Metric, Statistic
from stereogauge.metrics.measurement import Measurement
from stereogauge.registry import Registry, check_call, plugin_function, read_arguments

ENTRY_POINTS = "stereogauge.metrics"
ALIASES = {"epe": "mae", "avgerr": "mae", "avg-err": "mae", "aee": "mae", "rmse": "rms", "d1-all": "d1"}
"""What the field also calls our metrics; `bad1`, `bad2.0`, `>3px` and `a90` are read by their numbers."""
NUMBERED = (
    (re.compile(r"bad[-_]?(\d+(?:\.\d+)?)"), "bad"),
    (re.compile(r">\s*(\d+(?:\.\d+)?)(?:px)?"), "bad"),
    (re.compile(r"a(\d+(?:\.\d+)?)"), "quantile"),
)


@functools.cache
def metrics() -> Mapping[str, Metric]:
    """Every metric by id: ours, then those of installed packages."""
    return Registry("metric", Metric, "stereogauge.metrics", ENTRY_POINTS)


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
    return declared_metric(family).bind(*(read_arguments("Metric", text, arguments) if at else ()))


def declared_metric(text: str) -> Metric:
    """The declaration of an id such as `bad@1`, of us, of a plug-in, or of a plain function in a plug-in's file."""
    family = canonical(text).partition("@")[0]
    known = metrics()
    if family not in known and (function := plugin_function(family)) is not None:
        family = metric_id(function)
    if family not in known:
        raise unknown_name("metric", family, [*known, *ALIASES])
    return known[family]


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


def metric_id(given: str | Metric | BoundMetric | Callable[..., Any]) -> str:
    """The id of a metric as it may be given to `evaluate`: a text, a declared metric, or a function.

    A function or metric that no package declares is known by its id from now on.
    """
    if isinstance(given, str):
        return given
    if isinstance(given, BoundMetric):
        _register(given.metric)
        return given.id
    declared = given if isinstance(given, Metric) else function_metric(given)
    _register(declared)
    return declared.bind().id


def _register(declared: Metric) -> None:
    known: Any = metrics()
    if known.get(declared.id) is not declared:
        known.add(declared)


def function_metric(function: Callable[..., Any]) -> Metric:
    """`function(estimate, truth)` as a metric: two arrays of the region's pixels that have both, one number back.

    Its name is the id, with hyphens; its docstring the description. Lower is better, missing estimates are left out,
    and the value does not pool over scenes. A metric for which that is wrong is declared with `@metric`.

    >>> def largest_error(estimate, truth):
    ...     "The largest error in px."
    ...     return np.abs(estimate - truth).max()
    >>> sg.evaluate([[1, 5]], sg.Scene("s", gt=[[1, 3]]), [largest_error], "all").value("largest-error")
    2.0
    """
    name = _name(function)

    def statistic(m: Measurement, region: str) -> Statistic:
        inside = m.mask(region)
        measured = inside & np.isfinite(m.estimate)
        count = int(np.count_nonzero(measured))
        missing = int(np.count_nonzero(inside)) - count
        if count == 0:
            return Statistic.empty("no estimate on the region", missing)
        value = _number(function(m.estimate[measured], m.gt[measured]), name)
        if math.isnan(value):
            return Statistic.empty(f"the function {name} returned NaN", missing)
        return Statistic.of_value(value, count, missing)

    statistic.__doc__ = function.__doc__
    return Metric(
        id=name.replace("_", "-"),
        name=name.replace("_", " "),
        formula=rf"\mathrm{{{name.replace('_', ' ')}}}(E, D)",
        unit="",
        source=f"the function {name}",
        missing="left out",
        function=statistic,
    )


def _name(function: Any) -> str:
    """The name of a function that may be a metric: its own, that of a partial's function, or that of its class."""
    named = function.func if isinstance(function, functools.partial) else function
    name = getattr(named, "__name__", type(named).__name__)
    if not callable(function) or isinstance(function, type) or not name.isidentifier():
        advice = "; write it with def, so that it has a name" if name == "<lambda>" else ""
        raise StereogaugeError(
            "A metric is an id such as bad@1, a declared metric, or a named function of estimate and truth; "
            f"found {name}{advice}."
        )
    check_call(f"The metric {name}", function, ("estimate", "truth"))
    return name


def _number(value: Any, name: str) -> float:
    if not isinstance(value, str):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            return float(value)
    raise StereogaugeError(
        f"The metric {name} returned {type(value).__name__}; a function (estimate, truth) returns one number."
    )
