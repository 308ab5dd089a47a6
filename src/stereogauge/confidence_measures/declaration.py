"""What a confidence measure is: a function from a matcher's evidence to a map, and its declaration.

The registry of all of them.

A package adds measures through the entry-point group `stereogauge.confidence`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError, unknown_name
from stereogauge.registry import Registry

if TYPE_CHECKING:
    from stereogauge.confidence_measures.evidence import Evidence

ENTRY_POINTS = "stereogauge.confidence"

Compute: TypeAlias = "Callable[[Evidence], NDArray[np.float32]]"
Printed: TypeAlias = "Callable[[Evidence], NDArray[np.floating[Any]]]"
Scale: TypeAlias = Literal["sigma", "temperature"]
SCALE_SYMBOLS: Mapping[Scale, str] = {"sigma": "ς", "temperature": "T"}


class ConfidenceMeasure(Struct, frozen=True):
    """A declared measure; in its maps lower means more confident.

    `compute(evidence)` gives the form that survives real data, `literal(evidence)` the one printed in `source`, where
    that differs. `needs` are parts of the evidence: "costs", "volume" (all of the
    costs), "right" (the right map), "image", "gt", "model". `scale`
    is the scale of cost differences that it depends on, if any: `entropy@8` is the entropy with temperature 8.
    """

    id: str
    name: str
    formula: str
    source: str
    compute: Compute
    literal: Printed | None = None
    symbol: str = ""
    needs: frozenset[str] = frozenset({"costs"})
    scale: Scale | None = None

    @property
    def description(self) -> str:
        """The function's docstring."""
        return (self.compute.__doc__ or "").strip()

    @property
    def label(self) -> str:
        """What figures and tables call it."""
        return f"{self.symbol} {self.name}".strip()


def measure(
    id: str,  # noqa: A002 – the field's name
    name: str,
    formula: str,
    source: str,
    *,
    needs: Iterable[str] = ("costs",),
    **options: Any,
) -> Callable[[Compute], ConfidenceMeasure]:
    """Declare the decorated function as a confidence measure; `ConfidenceMeasure` explains the arguments."""
    return lambda function: ConfidenceMeasure(id, name, formula, source, function, needs=frozenset(needs), **options)


@functools.cache
def confidence_measures() -> Mapping[str, ConfidenceMeasure]:
    """Every measure by id: ours, then those of installed packages."""
    return Registry("confidence measure", ConfidenceMeasure, "stereogauge.confidence_measures", ENTRY_POINTS)


def confidence_measure(name: str) -> ConfidenceMeasure:
    """The measure called `name`, with or without a scale of its own."""
    return parse_measure(name)[0]


def parse_measure(text: str) -> tuple[ConfidenceMeasure, float | None]:
    """The measure that `entropy` or `entropy@8` names, and the scale of its own, None for that of the matcher.

    >>> parse_measure("entropy@8")[1]
    8.0
    """
    name, at, number = text.partition("@")
    known = confidence_measures()
    if name not in known:
        raise unknown_name("confidence measure", name, known)
    if not at:
        return known[name], None
    scaled = [declared.id for declared in known.values() if declared.scale is not None]
    try:
        value = float(number)
    except ValueError:
        value = 0.0
    if known[name].scale is None or not 0 < value < float("inf"):
        raise StereogaugeError(
            f"Confidence measure {text!r} is not known; a positive number after @ is the scale of {', '.join(scaled)}."
        )
    return known[name], value


def measure_label(text: str) -> str:
    """What figures call a measure, its own scale included; other names, such as those of files, as they are."""
    if text.partition("@")[0] not in confidence_measures():
        return text
    declared, value = parse_measure(text)
    if declared.scale is None or value is None:
        return declared.label
    return f"{declared.label}, {SCALE_SYMBOLS[declared.scale]} = {value:g}"
