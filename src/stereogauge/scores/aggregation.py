"""One value over several scenes: the only place where scores of scenes become one number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np

from stereogauge.errors import ProtocolError
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values

Aggregation = Literal["mean", "pooled", "weighted"]


def aggregated(cube: ScoreCube, how: Aggregation = "mean", scene_weights: Mapping[str, float] | None = None) -> Values:
    """One value per algorithm and column over the scenes, shape (algorithms, columns).

    `mean` averages scenes, `weighted` weighs them by `scene_weights` (1 for a scene that is not named), `pooled` joins
    their pixels: finalize(Σ sum, Σ count). A metric that does not pool is averaged where the others are pooled; see
    `way`. A scene that has nothing to measure in a column, whatever the algorithm, does not count there. A scene that
    an algorithm lacks is a gap, and a gap is never averaged away: the result is NaN.
    """
    counted = cube.applies
    weights = _weights(cube, scene_weights) if how == "weighted" else np.ones(len(cube.scenes))
    total = weights @ counted
    values = np.full((len(cube.algorithms), len(cube.columns)), np.nan)
    np.divide(_sum(np.where(counted, cube.values, 0.0), weights), total, out=values, where=total > 0)
    if how == "pooled":
        _pool(cube, values)
    return values


def way(column: Column, how: Aggregation) -> Aggregation:
    """How a column is aggregated where `how` is asked for: a metric that does not pool is averaged over scenes."""
    return "mean" if how == "pooled" and not column.declared.metric.pools else how


def _sum(values: Values, weights: Values) -> Values:
    """Weighted sums over the scenes (axis 1) by Neumaier's compensated summation.

    The order of additions is fixed and their errors are carried along, so a value has the same digits whatever else is
    selected beside it.
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


def _pool(cube: ScoreCube, values: Values) -> None:
    """Replace the means of metrics that pool by finalize(Σ sum, Σ count); NaN stays where there is a gap."""
    pooling = [place for place, column in enumerate(cube.columns) if column.declared.metric.pools]
    if not pooling:
        return
    if cube.sums is None or cube.counts is None:
        raise ProtocolError("These scores came without their sums and cannot be pooled; aggregate them as mean.")
    sums = _sum(cube.sums[:, :, pooling], np.ones(len(cube.scenes)))
    counts = cube.counts[:, :, pooling].sum(axis=1)
    for at, place in enumerate(pooling):
        finalize = cube.columns[place].declared.metric.finalize
        assert finalize is not None
        for row in range(len(cube.algorithms)):
            if not math.isnan(values[row, place]) and counts[row, at] > 0:
                values[row, place] = finalize(float(sums[row, at]), int(counts[row, at]))
