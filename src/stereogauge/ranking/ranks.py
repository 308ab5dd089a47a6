"""Ranks of costs, with the rule for ties as an explicit choice."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import unknown_name
from stereogauge.scores.cube import Values

Ties = Literal["min", "average", "dense"]
DIGITS = 10
"""Decimals to which values are compared: sums of the same numbers in another order differ in the last bits."""
AT_ONCE = 8192
"""Values that are ranked together: few enough that they stay in the cache, and their memory with the process."""


def tie_rule(text: str) -> Ties:
    """The rule that `text` names: `min` (competition ranks 1 2 2 4), `average` (1 2.5 2.5 4) or `dense` (1 2 2 3)."""
    for rule in get_args(Ties):
        if rule == text:
            known: Ties = rule
            return known
    raise unknown_name("rule for ties", text, get_args(Ties))


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

    A gap (+inf, from the rule `worst`) takes the last rank: the number of algorithms, or the last dense rank.
    """
    rule = tie_rule(ties)
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
