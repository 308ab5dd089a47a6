"""The score that poor but real algorithms reach by each metric: what counts as 1 when scores are normalised.

`maxima.toml` was measured on real results; `python -m benchmarks maxima` measures it again. Where it has no entry, the
maximum is that of the metric's declaration (the HCI supplement: 13 algorithms on 12 Middlebury images).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from stereogauge.loading import Declaration, convert, entry, number, parse_toml
from stereogauge.metrics.costs import plain_sum
from stereogauge.protocol import EITHER_UNIT
from stereogauge.scores.column import Column, metric_of
from stereogauge.scores.facts import SceneFacts

FILE = Path(__file__).with_name("maxima.toml")


class MeasuredMaxima(Declaration, frozen=True):
    """The maxima by metric, before `scene_scale`, and what they were measured on."""

    measured_on: Annotated[str, entry("the results that the maxima were measured on")]
    quantile: Annotated[float, number("share of the scores that lie below the maximum", least=0, most=1)]
    maxima: Annotated[Mapping[str, float], entry("maximum by metric")]


@functools.cache
def measured_maxima() -> MeasuredMaxima:
    """The shipped maxima."""
    text = FILE.read_text(encoding="utf-8")
    return convert(parse_toml(text, FILE.name), MeasuredMaxima, FILE.name)


def maximum(metric: str) -> float | None:
    """The score that poor real algorithms reach at full size; None where neither measurement nor source states it."""
    measured = measured_maxima().maxima.get(metric)
    if measured is not None:
        return measured
    declared = metric_of(metric).metric
    return None if declared.heuristic_range is None or declared.parameters else declared.heuristic_range[1]


def usual_maximum(column: Column, facts: SceneFacts, pixels: float = math.nan) -> float:
    """The maximum of a column on a scene, with `pixels` in its set; NaN where it is not known.

    A length in px follows the size of the scene. Errors in depth are measured as shares of the scene's range of depths,
    and a sum of them is one for each pixel.

    >>> flat = SceneFacts(size=0.5)
    >>> usual_maximum(Column("rms", "all"), flat) == maximum("rms") / 2
    True
    """
    found = maximum(column.metric)
    return math.nan if found is None else found * scene_scale(column, facts, pixels)


def scene_scale(column: Column, facts: SceneFacts, pixels: float = math.nan) -> float:
    """What a maximum is multiplied by on a scene; NaN where the scene's range of depths is needed and not known."""
    metric = column.declared.metric
    if metric.scaling == "length":
        return 1.0 if math.isnan(facts.size) else facts.size
    if metric.unit != EITHER_UNIT:
        return 1.0
    return facts.depth_range * (pixels if metric.finalize is plain_sum else 1.0)
