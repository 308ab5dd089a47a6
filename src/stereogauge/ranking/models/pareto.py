"""A* groups: layers of algorithms that do not dominate each other (Cabezas, Padilla and Trujillo, 2011 and 2012).

a dominates b when its error is at most b's in every column (scene × region × metric) and smaller in at least one.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.ranking.costs import Costs
from stereogauge.ranking.model import Model, Outcome
from stereogauge.ranking.ranks import column_ranks
from stereogauge.scores.cube import Values

Relation = NDArray[np.bool_]
Places = NDArray[np.unsignedinteger[Any]]
COLUMNS_AT_ONCE = 16
DRAWS_AT_ONCE = 64


def worse_somewhere(costs: Values | Places) -> Relation:
    """Relation (algorithms, algorithms): a has a greater cost, or place, than b in at least one column.

    One comparison of all pairs per column; ends as soon as every pair is decided, mostly after few columns.
    """
    count = costs.shape[0]
    worse = np.zeros((count, count), bool)
    greater = np.empty_like(worse)
    for start in range(0, costs.shape[1], COLUMNS_AT_ONCE):
        block = np.ascontiguousarray(costs[:, start : start + COLUMNS_AT_ONCE].T)
        for column in block if block.dtype.kind == "u" else places(block.astype(np.float64, copy=False)):
            np.greater(column[:, None], column[None, :], out=greater)
            worse |= greater
        if np.count_nonzero(worse) == count * (count - 1):
            break
    return worse


def places(columns: Values) -> Places:
    """Dense ranks from 0 within each row: whole numbers, which compare several times faster than the costs."""
    order = np.argsort(columns, axis=1)
    ascending = np.take_along_axis(columns, order, axis=1)
    ranks = np.zeros(columns.shape, np.min_scalar_type(columns.shape[1]))
    np.cumsum(ascending[:, 1:] > ascending[:, :-1], axis=1, dtype=ranks.dtype, out=ranks[:, 1:])
    result = np.empty_like(ranks)
    np.put_along_axis(result, order, ranks, axis=1)
    return result


def dominance(costs: Values | Places) -> Relation:
    """Relation (algorithms, algorithms): a dominates b by these costs, or by places in the same order."""
    worse = worse_somewhere(costs)
    return ~worse & worse.T


def layers(dominates: Relation) -> NDArray[np.int64]:
    """Group of each algorithm: 1 where none dominates it, 2 where none does once group 1 is removed, and so on."""
    dominators = dominates.sum(axis=0, dtype=np.int32)
    group = np.zeros(len(dominates), np.int64)
    layer = 0
    while (open_ := group == 0).any():
        layer += 1
        front = open_ & (dominators == 0)
        group[front] = layer
        dominators -= dominates[front].sum(axis=0, dtype=np.int32)
    return group


def a_star_groups(costs: Costs) -> Outcome:
    """The partition A*₁, A*₂, … with who dominates whom.

    rank = group; value = number of algorithms that dominate it (0 exactly in A*₁). Equal vectors land in one group.
    Within a group algorithms are ordered by how many they dominate, then by their mean rank over the columns.
    `arrays["dominates"]` is the relation (algorithms, algorithms).
    """
    ranks = column_ranks(costs.matrix, "average")
    mean_rank = ranks.mean(axis=1)
    # Twice an average rank is a whole number, and compares as the costs do.
    twice = np.empty_like(ranks, np.min_scalar_type(2 * len(ranks)))
    np.multiply(ranks, 2, out=twice, casting="unsafe")
    dominates = dominance(twice)
    group = layers(dominates)
    dominators = dominates.sum(axis=0, dtype=np.int32)
    who = [costs.algorithms[a] for a in np.nonzero(dominates.T)[1].tolist()]
    ends = itertools.pairwise([0, *np.cumsum(dominators).tolist()])
    dominated = dominates.sum(axis=1, dtype=np.int32)
    return Outcome(
        rank=group,
        value=dominators.astype(np.float64),
        group=group,
        extra={
            "dominates": dominated.tolist(),
            "mean rank": mean_rank.tolist(),
            "dominated by": [", ".join(who[start:end]) for start, end in ends],
        },
        arrays={"dominates": dominates},
        axes={"dominates": ("algorithms", "algorithms")},
        tie_break=(-dominated.astype(np.float64), mean_rank),
        notes=(cardinalities(group),),
    )


def cardinalities(group: NDArray[np.int64]) -> str:
    """How many algorithms each group has, in words.

    >>> cardinalities(np.array([1, 2, 1, 1]))
    'Algorithms per group: A*₁ 3, A*₂ 1.'
    """
    sizes = np.bincount(group)[1:]
    digits = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
    named = [f"A*{str(place).translate(digits)} {size}" for place, size in enumerate(sizes.tolist(), start=1)]
    return f"Algorithms per group: {', '.join(named)}."


def resampled_groups(costs: Costs, multiplicity: NDArray[np.int64]) -> Values:
    """Groups for many draws of scenes: only which scenes were drawn matters, not how often."""
    count, scenes = len(costs.algorithms), len(costs.scenes)
    worse = np.empty((count * count, scenes), np.float32)
    for scene in range(scenes):
        worse[:, scene] = worse_somewhere(costs.matrix[:, costs.scene_of == scene]).ravel()
    drawn = (multiplicity > 0).astype(np.float32)
    groups = np.empty((len(drawn), count))
    for start in range(0, len(drawn), DRAWS_AT_ONCE):
        block = drawn[start : start + DRAWS_AT_ONCE]
        somewhere = (worse @ block.T > 0).reshape(count, count, len(block))
        for draw in range(len(block)):
            relation = somewhere[:, :, draw]
            groups[start + draw] = layers(~relation & relation.T)
    return groups


A_STAR = Model(
    id="a-star",
    name="A* groups",
    definition="Each algorithm is the vector of its errors over all columns; A*₁ holds those that none dominates, "
    "A*₂ those that "
    "none dominates once A*₁ is removed, and so on.",
    source="I. Cabezas, V. Padilla and M. Trujillo, A measure for accuracy disparity maps evaluation, CIARP 2011; "
    "A* groups: the same authors, 2012.",
    value_name="beaten everywhere by",
    compute=a_star_groups,
    resample=resampled_groups,
    classes=True,
)
