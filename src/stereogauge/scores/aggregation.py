"""What is made of a cube of scores: which of them may enter an order, costs, and one value over several scenes.

A score that says nothing about missing estimates (`missing = "left out"`) needs coverage, or an algorithm would climb
by leaving pixels out. A set of six pixels is no evidence. What fails is a gap with its reason where orders are made;
tables still show the number. This is the only place where scores of scenes become one number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import ProtocolError
from stereogauge.protocol import Aggregation, Aggregations
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values


def aggregated(cube: ScoreCube, how: Aggregations = "mean", scene_weights: Mapping[str, float] | None = None) -> Values:
    """One value per algorithm and column over the scenes, shape (algorithms, columns).

    `mean` averages scenes, `weighted` weighs them by `scene_weights` (1 for a scene that is not named), `pooled` joins
    their pixels: finalize(Σ sum, Σ count). A metric that does not pool is averaged where the others are pooled, and
    columns may differ; see `way`. A scene that has nothing to measure in a column, whatever the algorithm, does not
    count there. A scene that an algorithm lacks is a gap, and a gap is never averaged away: the result is NaN.
    """
    ways = np.array([way(column, how) for column in cube.columns])
    values = _average(cube, np.ones(len(cube.scenes)))
    if "weighted" in ways:
        values = np.where(ways == "weighted", _average(cube, _weights(cube, scene_weights)), values)
    _pool(cube, values, np.flatnonzero(ways == "pooled").tolist())
    return values


def way(column: Column, how: Aggregations) -> Aggregation:
    """How a column is aggregated: as `how` says for it, or for its metric, but one that does not pool as a mean.

    >>> from stereogauge.scores.column import columns_of
    >>> [way(column, {"bad@3": "pooled"}) for column in columns_of(["mae", "bad@3"], ["all"])]
    ['mean', 'pooled']
    """
    wanted = how if isinstance(how, str) else how.get(str(column), how.get(column.metric, "mean"))
    return "mean" if wanted == "pooled" and not column.declared.metric.pools else wanted


def _average(cube: ScoreCube, weights: Values) -> Values:
    """Weighted means over the scenes that count."""
    counted = cube.applies
    total = weights @ counted
    values = np.full((len(cube.algorithms), len(cube.columns)), np.nan)
    np.divide(_sum(np.where(counted, cube.values, 0.0), weights), total, out=values, where=total > 0)
    return values


def _sum(values: Values, weights: Values) -> Values:
    """Weighted sums over the scenes (axis 1) by Neumaier's compensated summation.

    The order of additions is fixed and their errors are added at the end, so a value has the same digits whatever
    else is selected beside it.
    """
    total = np.zeros((values.shape[0], values.shape[2]))
    lost = np.zeros_like(total)
    for scene, weight in enumerate(weights):
        term = weight * values[:, scene]
        new = total + term
        with np.errstate(invalid="ignore"):
            lost += np.where(np.abs(total) >= np.abs(term), (total - new) + term, (term - new) + total)
        total = new
    return np.where(np.isfinite(total), total + lost, total)


def _weights(cube: ScoreCube, stated: Mapping[str, float] | None) -> Values:
    if not stated:
        raise ProtocolError("This protocol states no scene weights; aggregate as mean or pooled.")
    return np.array([stated.get(name, 1.0) for name in cube.scene_names])


def _pool(cube: ScoreCube, values: Values, pooling: list[int]) -> None:
    """Replace the means of these columns by finalize(Σ sum, Σ count); NaN stays where there is a gap."""
    if not pooling:
        return
    if cube.sums is None or cube.counts is None or np.isnan(cube.counts[:, :, pooling]).any():
        raise ProtocolError("These scores came without their sums and cannot be pooled; aggregate them as mean.")
    sums = _sum(cube.sums[:, :, pooling], np.ones(len(cube.scenes)))
    counts = cube.counts[:, :, pooling].sum(axis=1)
    for at, place in enumerate(pooling):
        finalize = cube.columns[place].declared.metric.finalize
        assert finalize is not None
        for row in range(len(cube.algorithms)):
            if not math.isnan(values[row, place]) and counts[row, at] > 0:
                values[row, place] = finalize(float(sums[row, at]), int(counts[row, at]))


def oriented(cube: ScoreCube) -> Values:
    """The cube's values as costs, NaN where there is a gap."""
    return column_costs(cube.columns, cube.values)


def column_costs(columns: Sequence[Column], values: Values) -> Values:
    """Values whose last axis counts columns, as costs."""
    costs = np.array(values, np.float64)
    for place, column in enumerate(columns):
        direction = column.declared.metric.direction
        if direction == "higher":
            costs[..., place] *= -1.0
        elif direction == "zero":
            np.abs(costs[..., place], out=costs[..., place])
    return costs


@dataclass(frozen=True, eq=False)
class UsableScores:
    """What may enter an order: `values` with NaN for gaps, and masks of the scores that were taken out.

    `sparse` marks scores whose coverage is below the limit, `small` those whose set has too few pixels. All have shape
    (algorithms, scenes, columns).
    """

    cube: ScoreCube
    values: Values
    sparse: NDArray[np.bool_]
    small: NDArray[np.bool_]

    def reason(self, algorithm: int, scene: int, column: int) -> str:
        """Why a score is a gap: "covers 65 %", "only 6 pixels", or "no score"."""
        if self.sparse[algorithm, scene, column]:
            return f"covers {100 * self.cube.coverage[algorithm, scene, column]:.0f} %"
        if self.small[algorithm, scene, column]:
            what = self.cube.columns[column].declared.metric.counts
            return f"only {self.cube.support[algorithm, scene, column]:.0f} {what}"
        return "no score"


def usable_scores(cube: ScoreCube) -> UsableScores:
    """The scores that may enter an order, by the limits of the cube.

    `least_coverage` is the share of its pixels that a left-out score must cover. `least_support` is the number of
    pixels that a set must have; None takes the rule of `Metric.least_support` for the size of each scene, 0
    takes any.
    Scores whose pixels were not kept are taken as they are.
    """
    sparse = np.zeros(cube.values.shape, bool)
    small = np.zeros(cube.values.shape, bool)
    if cube.counts is None or cube.missing is None:
        return UsableScores(cube, cube.values, sparse, small)
    known = ~np.isnan(cube.values)
    sizes = np.nan_to_num(cube.sizes)  # the least limit where a size is unknown
    stated = cube.least_support
    for place, column in enumerate(cube.columns):
        metric = column.declared.metric
        if metric.left_out(cube.invalid):
            sparse[:, :, place] = known[:, :, place] & (cube.coverage[:, :, place] < cube.least_coverage)
        limits = np.array([metric.least_support(size) if stated is None else stated for size in sizes])
        support = cube.support[:, :, place]
        small[:, :, place] = known[:, :, place] & (support > 0) & (support < limits)
    return UsableScores(cube, np.where(sparse | small, np.nan, cube.values), sparse, small)
