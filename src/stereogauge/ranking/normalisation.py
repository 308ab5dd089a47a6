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

HEURISTIC = "heuristic range"


class Scale(NamedTuple):
    """What becomes 1 by normalisation in each column, the best possible score, and where the numbers come from."""

    unit: Values
    best: float
    origin: str

    def badness(self, costs: Values, *, capped: bool = True) -> Values:
        """Costs in units: 0 perfect, 1 the unit or more; without `capped`, more than 1 is not counted as 1."""
        unit = np.where(self.unit > 0, self.unit, 1.0)
        return np.asarray(np.minimum((costs + self.best) / unit, 1.0 if capped else np.inf), np.float64)


def normalisation_rule(text: str) -> Normalisation:
    """The normalisation that `text` names."""
    for rule in get_args(Normalisation):
        if rule == text:
            known: Normalisation = rule
            return known
    raise unknown_name("normalisation", text, get_args(Normalisation))


def heuristic_scale(metric: str, costs: Values, maxima: Values | None) -> Scale:
    """The usual maxima of the columns where all are known, else as `theoretical_scale`."""
    if maxima is not None and np.isfinite(maxima).all():
        return Scale(maxima, 0.0, HEURISTIC)
    return theoretical_scale(metric, costs)


def theoretical_scale(metric: str, costs: Values) -> Scale:
    """The theoretical range where it is finite, else the selection's own worst cost."""
    declared = metric_of(metric).metric
    higher = declared.direction == "higher"
    low, high = declared.range
    if math.isfinite(high) and (math.isfinite(low) or not higher):
        return Scale(np.array(high - low if higher else high), high if higher else 0.0, "theoretical range")
    return worst_scale(metric, costs)


def worst_scale(metric: str, costs: Values) -> Scale:
    """The selection's own worst cost as the unit; where higher is better, the distance from best to worst score."""
    finite = costs[np.isfinite(costs)]
    if not finite.size:
        return Scale(np.array(1.0), 0.0, "no finite score")
    if metric_of(metric).metric.direction == "higher":
        high = metric_of(metric).metric.range[1]
        best = high if math.isfinite(high) else -float(finite.min())
        return Scale(np.array(best + finite.max()), best, "range of the selection")
    return Scale(np.array(finite.max()), 0.0, "maximum of the selection")


def normalised(
    metric: str, costs: Values, rule: Normalisation, maxima: Values | None = None, *, capped: bool = True
) -> tuple[Values, str]:
    """Costs (algorithms, columns) of one metric as comparable numbers, and where their scale comes from.

    `heuristic` and `max`: badness / unit, 0 perfect, 1 what poor real algorithms (or the worst of this selection)
    reach; more counts as 1 too, and so does a gap (+inf under the rule `worst`). `z-score`: standard deviations of each
    column from its mean; `rank`: average rank / number of algorithms; a gap counts as the column's worst finite cost.
    A perfect score without bound (−inf, from an infinite PSNR) counts as 0 units, or as the column's best. `maxima` are
    the units of the columns by the rule `heuristic`; where one is not known, the theoretical range is the unit if it is
    finite, else the worst of the selection. Without `capped`, more than 1 is not counted as 1.
    """
    if rule == "rank":
        return column_ranks(costs, "average") / costs.shape[0], "ranks"
    filled = _bounded(costs)
    if rule == "z-score":
        spread = filled.std(axis=0)
        deviation = filled - filled.mean(axis=0)
        result = np.divide(deviation, spread, out=np.zeros_like(filled), where=spread > 0)
        return result, "standard deviations of the selection"
    scale = heuristic_scale(metric, costs, maxima) if rule == "heuristic" else worst_scale(metric, costs)
    badness = np.where(np.isneginf(costs), 0.0, scale.badness(filled, capped=capped))
    return np.where(np.isposinf(costs), 1.0, badness), scale.origin


def _bounded(costs: Values) -> Values:
    """Costs with each column's worst finite one for +inf and its best for −inf; 0 where a column has none."""
    finite = np.isfinite(costs)
    none = ~finite.any(axis=0)
    worst = np.where(none, 0.0, np.where(finite, costs, -np.inf).max(axis=0))
    best = np.where(none, 0.0, np.where(finite, costs, np.inf).min(axis=0))
    return np.where(finite, costs, np.where(costs > 0, worst, best))
