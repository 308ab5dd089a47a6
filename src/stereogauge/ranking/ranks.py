"""Costs of columns in different units as comparable numbers: ranks, or shares of what real algorithms reach.

Badness is the score itself (direction "lower"), its distance from the upper end of its range ("higher") or its
absolute value ("zero"): 0 is perfect, larger is worse.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import one_of
from stereogauge.scores.column import metric_of
from stereogauge.scores.cube import Values

Normalisation = Literal["heuristic", "max", "z-score", "rank"]

HEURISTIC = "heuristic range"
Ties = Literal["min", "average", "dense"]
DIGITS = 10
"""Decimals to which values are compared: sums of the same numbers in another order differ in the last bits."""
AT_ONCE = 8192
"""Values that are ranked together: few enough that they stay in the cache, and their memory with the process."""


def tied_ranks(values: Values, ties: Ties = "average", axis: int = -1) -> Values:
    """Ranks along an axis, 1 for the smallest; NaN along the whole line where one of its values is NaN.

    The same as `scipy.stats.rankdata`, whose import alone takes longer than most rankings.

    >>> tied_ranks(np.array([0.2, 0.1, 0.2, 0.3])).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    lines = np.moveaxis(np.asarray(values, np.float64), axis, -1)
    ranks = np.empty(lines.shape)
    if lines.size:
        length = lines.shape[-1]
        given, made = lines.reshape(-1, length), ranks.reshape(-1, length)
        step = max(1, AT_ONCE // length)
        for start in range(0, len(given), step):
            made[start : start + step] = _line_ranks(np.ascontiguousarray(given[start : start + step]), ties)
    return np.moveaxis(ranks, -1, axis)


def _line_ranks(lines: Values, ties: Ties) -> Values:
    """Ranks within each row."""
    order = np.argsort(lines, axis=1)  # equal values get equal ranks, so their order does not matter
    order += np.arange(0, lines.size, lines.shape[1])[:, None]
    ascending = lines.ravel().take(order)
    larger = np.ones(lines.shape, bool)
    np.not_equal(ascending[:, 1:], ascending[:, :-1], out=larger[:, 1:])
    ranks = np.empty(lines.shape)
    ranks.reshape(-1)[order.ravel()] = np.broadcast_to(_ascending_ranks(larger, ties), lines.shape).ravel()
    ranks[np.isnan(ascending[:, -1])] = np.nan  # in ascending order NaN is last
    return ranks


def _ascending_ranks(larger: NDArray[np.bool_], ties: Ties) -> Values:
    """Ranks of values in ascending order; `larger` says where one is larger than that before it."""
    places = np.arange(larger.shape[1])
    if larger.all():
        return np.asarray(places + 1.0, np.float64)
    if ties == "dense":
        return np.cumsum(larger, axis=1, dtype=np.float64)
    first = np.maximum.accumulate(np.where(larger, places, 0), axis=1) + 1.0
    if ties == "min":
        return first
    ends = np.where(np.roll(larger, -1, axis=1), places, places.size)
    last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1] + 1.0
    return np.asarray((first + last) / 2)


def column_ranks(costs: Values, ties: str = "min") -> Values:
    """Rank of each algorithm in each column, 1 for the lowest cost; costs and ranks of shape (algorithms, columns).

    `ties` is `min` (competition ranks 1 2 2 4), `average` (1 2.5 2.5 4) or `dense` (1 2 2 3). A gap (+inf, from the
    rule `worst`) takes the last rank: the number of algorithms, or the last dense rank.
    """
    rule: Ties = one_of("rule for ties", ties, get_args(Ties))
    ranks = tied_ranks(costs, rule, axis=0)
    gaps = np.isposinf(costs)
    if rule != "dense" and gaps.any():
        ranks[gaps] = costs.shape[0]
    return ranks


def final_ranks(values: Values, *, classes: bool = False) -> NDArray[np.int64]:
    """Competition ranks along the last axis, equal for equal values; numbers of classes (dense ranks) on request.

    >>> final_ranks(np.array([0.2, 0.1, 0.2, 0.3])).tolist()
    [2, 1, 2, 4]
    """
    return tied_ranks(np.round(values, DIGITS), "dense" if classes else "min").astype(np.int64)


class Scale(NamedTuple):
    """What becomes 1 by normalisation in each column, the best possible score, and where the numbers come from."""

    unit: Values
    best: float
    origin: str

    def badness(self, costs: Values, *, capped: bool = True) -> Values:
        """Costs in units: 0 perfect, 1 the unit or more; without `capped`, more than 1 is not counted as 1."""
        unit = np.where(self.unit > 0, self.unit, 1.0)
        return np.asarray(np.minimum((costs + self.best) / unit, 1.0 if capped else np.inf), np.float64)


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
    metric: str, costs: Values, rule: str, maxima: Values | None = None, *, capped: bool = True
) -> tuple[Values, str]:
    """Costs (algorithms, columns) of one metric as comparable numbers, and where their scale comes from.

    `heuristic` and `max`: badness / unit, 0 perfect, 1 what poor real algorithms (or the worst of this selection)
    reach; more counts as 1 too, and so does a gap (+inf under the rule `worst`). `z-score`: standard deviations of each
    column from its mean; `rank`: average rank / number of algorithms; a gap counts as the column's worst finite cost.
    A perfect score without bound (−inf, from an infinite PSNR) counts as 0 units, or as the column's best. `maxima` are
    the units of the columns by the rule `heuristic`; where one is not known, the theoretical range is the unit if it is
    finite, else the worst of the selection. Without `capped`, more than 1 is not counted as 1.
    """
    one_of("normalisation", rule, get_args(Normalisation))
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
