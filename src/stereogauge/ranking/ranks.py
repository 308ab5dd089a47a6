"""Ranks of costs, with the rule for ties as an explicit choice."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import unknown_name
from stereogauge.scores.cube import Values

Ties = Literal["min", "average", "dense"]


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
    order = np.argsort(lines, axis=-1, kind="stable")
    ascending = np.take_along_axis(lines, order, axis=-1)
    places = np.arange(lines.shape[-1])
    larger = np.ones(lines.shape, bool)
    larger[..., 1:] = ascending[..., 1:] != ascending[..., :-1]
    first = np.maximum.accumulate(np.where(larger, places, 0), axis=-1) + 1.0
    if ties == "dense":
        first = np.cumsum(larger, axis=-1, dtype=np.float64)
    elif ties == "average":
        ends = np.where(np.roll(larger, -1, axis=-1), places, places.size)
        last = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1] + 1.0
        first = (first + last) / 2
    ranks = np.empty(lines.shape)
    np.put_along_axis(ranks, order, first, axis=-1)
    ranks[np.isnan(lines).any(axis=-1)] = np.nan
    return np.moveaxis(ranks, -1, axis)


def column_ranks(costs: Values, ties: str = "min") -> Values:
    """Rank of each algorithm in each column, 1 for the lowest cost; costs and ranks of shape (algorithms, columns).

    A gap (+inf, from the rule `worst`) takes the last rank: the number of algorithms, or the last dense rank.
    """
    rule = tie_rule(ties)
    ranks = tied_ranks(costs, rule, axis=0)
    if rule != "dense":
        ranks[np.isposinf(costs)] = costs.shape[0]
    return ranks


def final_ranks(values: Values, *, classes: bool = False) -> NDArray[np.int64]:
    """Competition ranks along the last axis, equal for equal values; numbers of classes (dense ranks) on request.

    Sums of the same ranks in another order differ in the last bits, so values are compared to ten digits.

    >>> final_ranks(np.array([0.2, 0.1, 0.2, 0.3])).tolist()
    [2, 1, 2, 4]
    """
    return tied_ranks(np.round(values, 10), "dense" if classes else "min").astype(np.int64)
