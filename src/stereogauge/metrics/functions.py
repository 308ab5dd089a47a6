"""A plain function as a metric, for a notebook or a first try."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stereogauge.errors import StereogaugeError
from stereogauge.metrics.declaration import BoundMetric, Metric, Statistic, metrics
from stereogauge.metrics.measurement import Measurement


def metric_id(given: str | Metric | BoundMetric | Callable[..., Any]) -> str:
    """The id of a metric as it may be given to `evaluate`: a text, a declared metric, or a function.

    A function or metric that no package declares is known by its id from now on.
    """
    if isinstance(given, str):
        return given
    if isinstance(given, BoundMetric):
        _take_up(given.metric)
        return given.id
    declared = given if isinstance(given, Metric) else function_metric(given)
    _take_up(declared)
    return declared.bind().id


def _take_up(declared: Metric) -> None:
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

    def compute(m: Measurement, region: str) -> Statistic:
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

    compute.__doc__ = function.__doc__
    return Metric(
        id=name.replace("_", "-"),
        name=name.replace("_", " "),
        formula=rf"\mathrm{{{name.replace('_', ' ')}}}(E, D)",
        unit="",
        source=f"the function {name}",
        compute=compute,
        missing="left out",
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
    try:
        inspect.signature(function).bind("estimate", "truth")
    except TypeError as problem:
        raise StereogaugeError(
            f"The metric {name} is called with two arrays, estimate and truth, and does not take them: {problem}."
        ) from None
    except ValueError:  # some compiled functions do not tell what they take
        pass
    return name


def _number(value: Any, name: str) -> float:
    if not isinstance(value, str):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            return float(value)
    raise StereogaugeError(
        f"The metric {name} returned {type(value).__name__}; a function (estimate, truth) returns one number."
    )
