"""Ranks of costs, with the rule for ties as an explicit choice."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

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


def column_ranks(costs: Values, ties: str = "min") -> Values:
    """Rank of each algorithm in each column, 1 for the lowest cost; costs and ranks of shape (algorithms, columns).

    A gap (+inf, from the rule `worst`) takes the last rank: the number of algorithms, or the last dense rank.
    """
    rule = tie_rule(ties)
    ranks = np.asarray(rankdata(costs, method=rule, axis=0), np.float64)
    if rule != "dense":
        ranks[np.isposinf(costs)] = costs.shape[0]
    return ranks


def final_ranks(values: Values, *, classes: bool = False) -> NDArray[np.int64]:
    """Competition ranks along the last axis, equal for equal values; numbers of classes (dense ranks) on request.

    Sums of the same ranks in another order differ in the last bits, so values are compared to ten digits.

    >>> final_ranks(np.array([0.2, 0.1, 0.2, 0.3])).tolist()
    [2, 1, 2, 4]
    """
    rounded = np.round(values, 10)
    if classes:
        return np.asarray(rankdata(rounded, method="dense", axis=-1), np.int64)
    order = np.argsort(rounded, axis=-1)
    ascending = np.take_along_axis(rounded, order, axis=-1)
    larger = np.ones(rounded.shape, bool)
    larger[..., 1:] = ascending[..., 1:] != ascending[..., :-1]
    first = np.maximum.accumulate(np.where(larger, np.arange(rounded.shape[-1]), 0), axis=-1)
    ranks = np.empty(rounded.shape, np.int64)
    np.put_along_axis(ranks, order, first + 1, axis=-1)
    return ranks
