"""What is made of a cube of scores: one value over several scenes, costs, and which of the scores may enter an order.

This is the only place where scores of scenes become one number.

No algorithm gains by leaving pixels out. A score that leaves missing estimates out says nothing about them. Before
scores are compared, each missing pixel is charged the most that any estimate inside the range of the scene's ground
truth could have cost there (`Metric.charge`): value = finalize(sum + missing·r, count + missing). A deleted estimate
cost no more than r, so the score with it deleted is not better, whatever share is deleted. The charge depends on the
scene and the metric only. A quantile is measured with its missing pixels charged where it is measured
(`Metric.keeps_charged`). Other metrics that do not pool are charged in proportion, (1 − m)·value + m·r for a missing
share m, and still need their coverage. So do scores on scenes of unknown range, where r is the maximum by which the
metric is normalised.

A set of six pixels is no evidence either. What fails is a gap with its reason where orders are made; tables still show
the number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.errors import ProtocolError
from stereogauge.metrics.costs import mean, percent, root_mean
from stereogauge.protocol import Aggregation, Aggregations
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.facts import usual_maximum

QUICK: Mapping[Callable[[float, int], float], Callable[[Values], Values]] = {
    mean: np.asarray,
    percent: lambda means: 100 * means,
    root_mean: np.sqrt,
}
"""The usual reducers, of means of many scores at once."""
NOT_POOLED = "These scores came without their sums and cannot be pooled; aggregate them as mean."


def aggregated(
    cube: ScoreCube, how: Aggregations | None = None, scene_weights: Mapping[str, float] | None = None
) -> Values:
    """One value per algorithm and column over the scenes, shape (algorithms, columns); by default as the cube says.

    `mean` averages scenes, `weighted` weighs them by `scene_weights` (1 for a scene that is not named), `pooled` joins
    their pixels: finalize(Σ sum, Σ count). A metric that does not pool is averaged where the others are pooled, and
    columns may differ; see `way`. A scene that has nothing to measure in a column, whatever the algorithm, does not
    count there. A scene that an algorithm lacks is a gap, and a gap is never averaged away: the result is NaN.
    """
    how = cube.aggregation if how is None else how
    ways = np.array([way(column, how) for column in cube.columns])
    values = _average(cube, np.ones(len(cube.scenes)))
    if "weighted" in ways:
        weights = _weights(cube, scene_weights or cube.scene_weights)
        values = np.where(ways == "weighted", _average(cube, weights), values)
    _pool(cube, values, np.flatnonzero(ways == "pooled").tolist())
    return values


def scene_shares(cube: ScoreCube) -> Values:
    """How much each scene counts in a sum of scores over scenes, shape (scenes, columns), by the cube's aggregation.

    Scenes count equally (`mean`), by their stated weights (`weighted`), or by the pixels of their sets (`pooled`),
    with or without an estimate, so that no algorithm changes what a scene counts; NaN where these are not known.

    >>> scores = sg.evaluate(np.ones((2, 4)), sg.Scene("s", gt=np.ones((2, 4))), ["mae"], ["all"])
    >>> scene_shares(scores.cube), scene_shares(scores.cube.read_by(None, "pooled"))
    (array([[1.]]), array([[8.]]))
    """
    ways = np.array([way(column, cube.aggregation) for column in cube.columns])
    shares = np.ones((len(cube.scenes), len(cube.columns)))
    if "weighted" in ways:
        shares[:, ways == "weighted"] = _weights(cube, cube.scene_weights)[:, None]
    if "pooled" in ways:
        shares[:, ways == "pooled"] = np.fmax.reduce(cube.support[:, :, ways == "pooled"], axis=0)
    return shares


def counting_note(how: Aggregations) -> str:
    """A sentence on how much scenes count in a weighted score where they do not count equally; else ""."""
    if not isinstance(how, str):
        return "Scenes count by each metric as the protocol says."
    said = {"weighted": "Scenes count by the protocol's weights.", "pooled": "Scenes count by their pixels."}
    return said.get(how, "")


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
    if np.isnan(cube.counts[:, :, pooling]).any():
        raise ProtocolError(NOT_POOLED)
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


class Gap(NamedTuple):
    """Why a score does not count: the kind of cause, and the reason in words."""

    cause: str
    reason: str


class UsableScores(Struct, frozen=True, eq=False):
    """What may enter an order: `values` with NaN for gaps, and masks of the scores that were taken out.

    `sparse` marks scores whose coverage is below the limit, `small` those whose set has too few pixels. All have shape
    (algorithms, scenes, columns).
    """

    cube: ScoreCube
    values: Values
    sparse: NDArray[np.bool_]
    small: NDArray[np.bool_]

    def gap_of(self, algorithm: int, scene: int, column: int) -> Gap:
        """Why a score is a gap: "covers 65 %", "only 6 pixels", or "no score"."""
        if self.sparse[algorithm, scene, column]:
            return Gap("low coverage", f"covers {100 * self.cube.coverage[algorithm, scene, column]:.0f} %")
        if self.small[algorithm, scene, column]:
            what = self.cube.columns[column].declared.metric.counts
            return Gap("small set", f"only {self.cube.support[algorithm, scene, column]:.0f} {what}")
        return Gap("no score", "no score")


def usable_scores(cube: ScoreCube) -> UsableScores:
    """The scores that may enter an order, by the limits of the cube.

    `least_coverage` is the share of its pixels that a left-out score must cover. `least_support` is the number of
    pixels that a set must have; None takes the rule of `Metric.least_support` for the size of each scene, 0
    takes any.
    Scores whose pixels were not kept are taken as they are.
    """
    sparse = np.zeros(cube.values.shape, bool)
    small = np.zeros(cube.values.shape, bool)
    if np.isnan(cube.counts).all():
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


def charged(cube: ScoreCube) -> ScoreCube:
    """The scores with their missing pixels charged; those that cannot be charged keep them as missing.

    >>> truth = np.array([[2.0, 4.0, 10.0, 10.0]])
    >>> maps = {"whole": truth + [[0, 0, 0, -4]], "cut": truth + [[0, 0, 0, np.nan]]}
    >>> scores = sg.evaluate(maps, sg.Scene("s", gt=truth), ["mae"], ["all"])
    >>> charged(scores.cube).values.ravel().tolist()
    [1.0, 2.0]
    """
    if not cube.missing.any():
        return cube
    values, sums, counts, missing = (part.copy() for part in (cube.values, cube.sums, cube.counts, cube.missing))
    ranged = np.isfinite([one.range.span for one in cube.facts])
    for place, column in enumerate(cube.columns):
        metric = column.declared.metric
        lost = cube.missing[:, :, place]
        if not lost.any() or metric.counts != "pixels" or not metric.left_out(cube.invalid):
            continue
        exact = np.array([metric.charge(one.range, *column.declared.arguments) for one in cube.facts])
        most = np.array([usual_maximum(column, one) for one in cube.facts])
        counting = metric.counts_missing(cube.invalid)
        size = cube.counts[:, :, place] + (0.0 if counting else lost)
        share = np.divide(lost, size, out=np.zeros_like(lost), where=size > 0)
        total = cube.sums[:, :, place]
        total = (np.abs(total) if metric.direction == "zero" else total) + lost * exact
        old = cube.values[:, :, place]
        kept = (1 - share) * np.where(share == 1, 0.0, old)
        new = kept + share * exact if metric.finalize is None else _finalized(metric.finalize, total, size)
        new = np.where(np.isnan(exact), kept + share * np.maximum(np.where(share == 1, most, old), most), new)
        kept_charged = metric.keeps_charged & ranged & (share < 1) & np.isfinite(cube.sums[:, :, place])
        new = np.where(kept_charged, cube.sums[:, :, place], new)
        here: NDArray[np.bool_] = (lost > 0) & np.isfinite(new)
        values[:, :, place] = np.where(here, new, old)
        sure = here & (np.isfinite(exact) if metric.pools else kept_charged)
        total = total if metric.pools else new
        for array, changed in ((sums, total), (counts, size), (missing, np.zeros_like(lost))):
            array[:, :, place] = np.where(sure, changed, array[:, :, place])
    return replace(cube, values=values, sums=sums, counts=counts, missing=missing)


def _finalized(finalize: Callable[[float, int], float], total: Values, size: Values) -> Values:
    """The values of sums and counts; NaN where a charge is not known or nothing is counted."""
    means = np.divide(total, size, out=np.full(total.shape, np.nan), where=size > 0)
    if finalize in QUICK:
        return np.asarray(QUICK[finalize](means), np.float64)
    found = np.full(total.shape, np.nan)
    for place in zip(*np.nonzero(np.isfinite(means)), strict=True):
        found[place] = finalize(float(total[place]), int(size[place]))
    return found
