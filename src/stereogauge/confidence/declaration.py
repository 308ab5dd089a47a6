"""What a confidence measure is: a function from a matcher's evidence to a map, and its declaration.

The registry of all of them.

A package adds measures through the entry-point group `stereogauge.confidence`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import unknown_name
from stereogauge.registry import collect

if TYPE_CHECKING:
    from stereogauge.confidence.evidence import Evidence

ENTRY_POINTS = PACKAGE = "stereogauge.confidence"

Compute: TypeAlias = "Callable[[Evidence], NDArray[np.float32]]"


@dataclass(frozen=True)
class ConfidenceMeasure:
    """A declared measure; in its maps lower means more confident.

    `compute(evidence)` gives the form that survives real data, `literal(evidence)` the one printed in `source`, where
    that differs. `needs` are parts of the evidence: "costs", "right" (the right map), "image", "gt", "model".
    """

    id: str
    name: str
    formula: str
    source: str
    compute: Compute
    literal: Compute | None = None
    symbol: str = ""
    needs: frozenset[str] = frozenset({"costs"})

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
    literal: Compute | None = None,
    symbol: str = "",
    needs: Iterable[str] = ("costs",),
) -> Callable[[Compute], ConfidenceMeasure]:
    """Declare the decorated function as a confidence measure; `ConfidenceMeasure` explains the arguments."""
    return lambda function: ConfidenceMeasure(id, name, formula, source, function, literal, symbol, frozenset(needs))


@functools.cache
def confidence_measures() -> Mapping[str, ConfidenceMeasure]:
    """Every measure by id: ours, then those of installed packages."""
    return collect("confidence measure", ConfidenceMeasure, PACKAGE, ENTRY_POINTS)


def confidence_measure(name: str) -> ConfidenceMeasure:
    """The measure called `name`."""
    known = confidence_measures()
    if name not in known:
        raise unknown_name("confidence measure", name, known)
    return known[name]
