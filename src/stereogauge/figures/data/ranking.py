"""What the figures of a ranking show, as plain values. `mpl` and `plotly` draw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.figures.palette import Style, Styles, complete
from stereogauge.ranking.bootstrap import Bootstrap
from stereogauge.ranking.costs import prepare
from stereogauge.ranking.model import Ranking
from stereogauge.ranking.normalisation import normalised
from stereogauge.ranking.ranks import column_ranks
from stereogauge.ranking.significance import Friedman
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import missing_rule

MOST_NAMED = 4
LETTERS_BETWEEN = 6  # space between two names of a layer, in letters
MOST_RINGS = 5
FURTHEST = 1.25
"""Share of the heuristic maximum at which a radar chart ends."""


class StackedBars(NamedTuple):
    """Weighted scores as bars, shortest first; one segment per metric, shape (algorithms, terms)."""

    title: str
    caption: str
    algorithms: tuple[str, ...]
    terms: tuple[str, ...]
    weights: Values
    segments: Values
    axis: str


class Radar(NamedTuple):
    """Algorithms over several columns at once, the best in the centre; `radii` (algorithms, axes) from 0 to `furthest`.

    `labels[a][k]` says what a point stands for (a rank, or a score with its unit). `rings` are the radii of the rings
    with what they mean; `clipped` marks points that lie beyond the outermost ring and are drawn on it.
    """

    title: str
    caption: str
    algorithms: tuple[str, ...]
    axes: tuple[str, ...]
    radii: Values
    labels: tuple[tuple[str, ...], ...]
    rings: tuple[tuple[float, str], ...]
    furthest: float
    clipped: NDArray[np.bool_]
    styles: dict[str, Style]


class CriticalDifference(NamedTuple):
    """Average ranks on a line; a bar joins algorithms that the test does not tell apart."""

    title: str
    caption: str
    algorithms: tuple[str, ...]
    average_rank: Values
    distance: float
    cliques: tuple[tuple[int, int], ...]
    alpha: float
    p_value: float
    styles: dict[str, Style]


class RankMap(NamedTuple):
    """Rank of each algorithm (rows, best first) in each column, shape (algorithms, columns)."""

    title: str
    caption: str
    algorithms: tuple[str, ...]
    columns: tuple[str, ...]
    ranks: Values


class Layers(NamedTuple):
    """A* groups as layers, the first on top; `edges` join an algorithm to those it dominates with none in between."""

    title: str
    caption: str
    algorithms: tuple[str, ...]
    positions: Values
    group: NDArray[np.int64]
    edges: tuple[tuple[int, int], ...]
    styles: dict[str, Style]


class Intervals(NamedTuple):
    """A figure with its interval for each algorithm, best first, and the probability that one beats the next."""

    title: str
    caption: str
    algorithms: tuple[str, ...]
    value: Values
    low: Values
    high: Values
    first: Values
    axis: str
    styles: dict[str, Style]


class Alike(NamedTuple):
    """Rank sums; bars join the algorithms that perform alike (sums closer than τ)."""

    title: str
    caption: str
    algorithms: tuple[str, ...]
    sums: Values
    bars: tuple[tuple[int, int], ...]
    tau: float
    styles: dict[str, Style]


def stacked_bars_data(ranking: Ranking, name: str = "") -> StackedBars:
    """The bars of a weighted ranking; `name` is that of the profile."""
    if "contributions" not in ranking.arrays:
        raise StereogaugeError(f"Stacked bars show a weighted ranking; found one of the model {ranking.model!r}.")
    return StackedBars(
        title=f"Weighted combination{': ' + name if name else ''}",
        caption=ranking.selection.caption(),
        algorithms=ranking.algorithms,
        terms=ranking.names["terms"],
        weights=ranking.arrays["weights"],
        segments=ranking.arrays["contributions"],
        axis=f"weighted score ({'shorter' if np.all(ranking.arrays['contributions'] >= 0) else 'lower'} is better)",
    )


def _rank_rings(count: int) -> tuple[tuple[float, str], ...]:
    """Rings at whole ranks, the last place outermost, at most five of them.

    >>> _rank_rings(3)
    ((0.3333333333333333, '1'), (0.6666666666666666, '2'), (1.0, '3'))
    """
    step = -(-count // MOST_RINGS)
    ranks = range(count, 0, -step)
    return tuple((rank / count, f"{rank}") for rank in reversed(ranks))


def radar_data(
    cube: ScoreCube,
    columns: Sequence[str] | None = None,
    *,
    by: str = "rank",
    missing: str = "common",
    styles: Styles | None = None,
) -> Radar:
    """Average over the scenes of each column, as rank among the algorithms or as share of the heuristic maximum.

    Shares beyond 1.25 are drawn there and marked. The caption names every column that could not be an axis.
    """
    if by not in ("rank", "score"):
        raise StereogaugeError(f"A radar chart shows the rank or the score; found {by!r}.")
    asked = cube if columns is None else cube.select(metrics=columns)
    costs, selection = prepare(asked, missing_rule(missing))
    if len(costs.columns) < 3:
        raise StereogaugeError(f"A radar chart needs at least three columns; found {len(costs.columns)}.")
    radii, labels = [], []
    for index, column in enumerate(costs.columns):
        cells = costs.matrix[:, costs.column_of == index]
        means = cells.mean(axis=1, keepdims=True)
        if by == "rank":
            ranks = column_ranks(means)[:, 0]
            radii.append(ranks / len(costs.algorithms))
            labels.append([f"rank {rank:g}" for rank in ranks])
        else:
            radii.append(normalised(column.metric, cells, "heuristic")[0].mean(axis=1))
            labels.append([_score_text(column, mean, selection.depth_unit) for mean in means[:, 0]])
    found = np.stack(radii, axis=1)
    furthest = 1.0 if by == "rank" else min(float(np.nanmax(found)), FURTHEST) or 1.0
    shares = np.linspace(0, furthest, MOST_RINGS)[1:]
    clipped = np.asarray(found > FURTHEST)
    axes = tuple(column.label for column in costs.columns)
    absent = [column.label for column in asked.columns if column.label not in axes]
    remarks = [f"no axis, for want of scores: {', '.join(absent)}"] if absent else []
    remarks += [f"▲ beyond {FURTHEST:g}, drawn at the rim"] if clipped.any() else []
    return Radar(
        title="Rank by column" if by == "rank" else "Score as a share of the heuristic maximum",
        caption=" · ".join([selection.caption(), *remarks]),
        algorithms=costs.algorithms,
        axes=axes,
        radii=np.minimum(found, FURTHEST),
        labels=tuple(zip(*labels, strict=True)),
        rings=_rank_rings(len(costs.algorithms)) if by == "rank" else tuple((r, f"{r:.2g}") for r in shares.tolist()),
        furthest=furthest,
        clipped=clipped,
        styles=complete(styles, costs.algorithms),
    )


def critical_difference_data(test: Friedman, styles: Styles | None = None) -> CriticalDifference:
    """The diagram of a Friedman test with Nemenyi's critical distance; refused where so few scenes can tell nothing."""
    if not test.can_tell:
        raise StereogaugeError(test.sentence)
    return CriticalDifference(
        title=f"Critical difference (α = {test.alpha:g}, {test.blocks} scenes)",
        caption=test.selection.caption(),
        algorithms=test.algorithms,
        average_rank=test.average_rank,
        distance=test.critical_distance,
        cliques=test.cliques,
        alpha=test.alpha,
        p_value=test.p_value,
        styles=complete(styles, test.algorithms),
    )


def rank_map_data(cube: ScoreCube, *, ties: str = "min", missing: str = "common", most: int | None = None) -> RankMap:
    """Ranks by column among all, of the `most` algorithms with the best average."""
    costs, selection = prepare(cube, missing_rule(missing))
    ranks = column_ranks(costs.matrix, ties)
    order = np.argsort(ranks.mean(axis=1), kind="stable")[:most]
    one_metric = len(costs.metrics) == 1
    names = tuple(
        f"{costs.scenes[scene]} {costs.columns[column].region if one_metric else costs.columns[column].label}"
        for scene, column in zip(costs.scene_of, costs.column_of, strict=True)
    )
    return RankMap(
        title=f"Rank by scene and {'region, ' + costs.metrics[0] if one_metric else 'column'}",
        caption=selection.caption(),
        algorithms=tuple(costs.algorithms[index] for index in order),
        columns=names,
        ranks=ranks[order],
    )


def layers_data(ranking: Ranking, styles: Styles | None = None) -> Layers:
    """The layers of A* groups with the covering pairs of the dominance relation."""
    if ranking.group is None or "dominates" not in ranking.arrays:
        raise StereogaugeError(f"Layers show A* groups; found a ranking of the model {ranking.model!r}.")
    dominates = ranking.arrays["dominates"]
    between = (dominates.astype(np.int64) @ dominates.astype(np.int64)) > 0
    edges = tuple((int(a), int(b)) for a, b in np.argwhere(dominates & ~between))
    positions = np.zeros((len(ranking), 2))
    for group in range(1, int(ranking.group.max()) + 1):
        members = np.flatnonzero(ranking.group == group)
        widths = np.array([len(ranking.algorithms[member]) + LETTERS_BETWEEN for member in members])
        positions[members, 0] = (np.cumsum(widths) - widths / 2) / widths.sum()
        positions[members, 1] = -group
    names = ranking.selection.metrics
    metrics = ", ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} metrics"
    return Layers(
        title=f"A* groups by {metrics}",
        caption=ranking.selection.caption(),
        algorithms=ranking.algorithms,
        positions=positions,
        group=ranking.group,
        edges=edges,
        styles=complete(styles, ranking.algorithms),
    )


def intervals_data(bootstrapped: Bootstrap, styles: Styles | None = None, most: int | None = None) -> Intervals:
    """Bootstrap intervals of the figure that decides the order, of the first `most` algorithms."""
    return Intervals(
        title=f"{100 * bootstrapped.level:g} % intervals over scenes ({bootstrapped.draws} draws)",
        caption=bootstrapped.selection.caption(),
        algorithms=bootstrapped.algorithms[:most],
        value=bootstrapped.value[:most],
        low=bootstrapped.value_low[:most],
        high=bootstrapped.value_high[:most],
        first=bootstrapped.first[:most],
        axis=bootstrapped.value_name,
        styles=complete(styles, bootstrapped.algorithms[:most]),
    )


def alike_data(ranking: Ranking, styles: Styles | None = None) -> Alike:
    """Rank sums of the extended model with the maximal sets that perform alike as bars."""
    if "alike" not in ranking.arrays:
        raise StereogaugeError(f"This figure shows the extended model; found a ranking of {ranking.model!r}.")
    bars: list[tuple[int, int]] = []
    for first, row in enumerate(ranking.arrays["alike"]):
        last = int(np.flatnonzero(row).max())
        if last > first and (not bars or last > bars[-1][1]):
            bars.append((first, last))
    tau = float(ranking.arrays["tau"])
    return Alike(
        title=f"Extended Middlebury model: alike when sums differ by less than τ = {tau:g}",
        caption=ranking.selection.caption(),
        algorithms=ranking.algorithms,
        sums=ranking.value,
        bars=tuple(bars),
        tau=tau,
        styles=complete(styles, ranking.algorithms),
    )


def model_figure_data(ranking: Ranking, styles: Styles | None = None) -> StackedBars | Layers | Alike | RankMap:
    """The figure that fits a ranking's model: bars, layers, rank sums, or ranks by column."""
    if "contributions" in ranking.arrays:
        return stacked_bars_data(ranking)
    if "dominates" in ranking.arrays:
        return layers_data(ranking, styles)
    if "alike" in ranking.arrays:
        return alike_data(ranking, styles)
    if "column_ranks" not in ranking.arrays:
        raise StereogaugeError(f"The model {ranking.model!r} has no figure.")
    columns = ranking.names["columns"]
    title = f"Rank by column, model {ranking.model}"
    return RankMap(title, ranking.selection.caption(), ranking.algorithms, columns, ranking.arrays["column_ranks"])


def _score_text(column: Column, cost: float, depth_unit: str) -> str:
    higher = column.declared.metric.direction == "higher"
    return f"{-cost if higher else cost:.3g} {column.unit(depth_unit)}".strip()
