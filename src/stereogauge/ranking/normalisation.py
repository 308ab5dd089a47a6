"""How metrics in different units become comparable: a cost as a share of what real algorithms reach, among others.

Badness is the score itself (direction "lower"), its distance from the upper end of its range ("higher") or its
absolute value ("zero"): 0 is perfect, larger is worse.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import numpy as np

from stereogauge.errors import unknown_name
from stereogauge.ranking.ranks import column_ranks
from stereogauge.scores.column import metric_of
from stereogauge.scores.cube import Values

Normalisation = Literal["heuristic", "max", "z-score", "rank"]

# The HCI supplement states the worst that 13 algorithms reached on 12 Middlebury images, of families only for these
# thresholds: what it says of one threshold is not true of another.
HEURISTIC = "heuristic range"
HEURISTIC_MAXIMA = {"bad@1": 80.0, "bad@4": 45.0}


class Scale(NamedTuple):
    """A number that becomes 1 by normalisation, the best possible score, and where the number comes from."""

    unit: float
    best: float
    origin: str


def normalisation_rule(text: str) -> Normalisation:
    """The normalisation that `text` names."""
    for rule in get_args(Normalisation):
        if rule == text:
            known: Normalisation = rule
            return known
    raise unknown_name("normalisation", text, get_args(Normalisation))


def heuristic_maximum(metric: str) -> float | None:
    """The score that the worst real algorithms reach, None where no source states it."""
    if metric in HEURISTIC_MAXIMA:
        return HEURISTIC_MAXIMA[metric]
    declared = metric_of(metric).metric
    return None if declared.heuristic_range is None or declared.parameters else declared.heuristic_range[1]


def heuristic_scale(metric: str, costs: Values) -> Scale:
    """Heuristic range where known, else the theoretical one where finite, else the selection's own worst cost."""
    declared = metric_of(metric).metric
    higher = declared.direction == "higher"
    known = heuristic_maximum(metric)
    if known is not None:
        low = (declared.heuristic_range or (0.0, 0.0))[0] if higher else 0.0
        return Scale(known - low, known if higher else 0.0, HEURISTIC)
    low, high = declared.range
    if math.isfinite(high) and (math.isfinite(low) or not higher):
        return Scale(high - low if higher else high, high if higher else 0.0, "theoretical range")
    return worst_scale(metric, costs)


def worst_scale(metric: str, costs: Values) -> Scale:
    """The selection's own worst cost as the unit; where higher is better, the distance from best to worst score."""
    finite = costs[np.isfinite(costs)]
    if not finite.size:
        return Scale(1.0, 0.0, "no finite score")
    if metric_of(metric).metric.direction == "higher":
        high = metric_of(metric).metric.range[1]
        best = high if math.isfinite(high) else -float(finite.min())
        return Scale(best + float(finite.max()), best, "range of the selection")
    return Scale(float(finite.max()), 0.0, "maximum of the selection")


def normalised(metric: str, costs: Values, rule: Normalisation, sizes: Values | None = None) -> tuple[Values, str]:
    """Costs (algorithms, columns) of one metric as comparable numbers, and where their scale comes from.

    `heuristic` and `max`: badness / unit, 0 perfect, 1 the worst that real algorithms (or this selection) show;
    `z-score`: standard deviations of each column from its mean; `rank`: average rank / number of algorithms. A gap
    (+inf under the rule `worst`) counts as the column's worst finite cost, but at least 1 unit where the scale is
    fixed. A perfect score without bound (−inf, from an infinite PSNR) counts as 0 units, or as the column's best.
    Heuristic maxima are those of full-size images: where a metric is a length in px they are multiplied by `sizes`,
    the size of each column's scene relative to full resolution.
    """
    if rule == "rank":
        return column_ranks(costs, "average") / costs.shape[0], "ranks"
    filled = _bounded(costs)
    if rule == "z-score":
        spread = filled.std(axis=0)
        deviation = filled - filled.mean(axis=0)
        result = np.divide(deviation, spread, out=np.zeros_like(filled), where=spread > 0)
        return result, "standard deviations of the selection"
    scale = heuristic_scale(metric, costs) if rule == "heuristic" else worst_scale(metric, costs)
    unit = np.full(costs.shape[1], scale.unit if scale.unit > 0 else 1.0)
    if sizes is not None and scale.origin == HEURISTIC and metric_of(metric).metric.scaling == "length":
        unit = unit * sizes
    badness = np.where(np.isneginf(costs), 0.0, (filled + scale.best) / unit)
    return np.where(np.isposinf(costs), np.maximum(badness, 1.0), badness), scale.origin


def _bounded(costs: Values) -> Values:
    """Costs with each column's worst finite one for +inf and its best for −inf; 0 where a column has none."""
    finite = np.isfinite(costs)
    none = ~finite.any(axis=0)
    worst = np.where(none, 0.0, np.where(finite, costs, -np.inf).max(axis=0))
    best = np.where(none, 0.0, np.where(finite, costs, np.inf).min(axis=0))
    return np.where(finite, costs, np.where(costs > 0, worst, best))
