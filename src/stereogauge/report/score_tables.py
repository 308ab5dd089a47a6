"""The tables of scores: means over the scenes with best, second and significance marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stereogauge.errors import StereogaugeError
from stereogauge.ranking.costs import oriented
from stereogauge.ranking.significance import wilcoxon_pairs
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.tables.table import MARK, Emphasis, Table, number, table, text

MOST_COLUMNS = 9


def mean_over_scenes(values: Values) -> Values:
    """Mean over the scenes (axis 1) on which anybody has a score; NaN where an algorithm has a gap on one of them."""
    anybody = np.isfinite(values).any(axis=0)
    totals = np.where(anybody, values, 0.0).sum(axis=1)
    counts = anybody.sum(axis=0)
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)


def emphases(costs: Values) -> list[Emphasis]:
    """Best and second of one column of costs; equal ones share, and gaps get nothing."""
    levels = np.unique(costs[np.isfinite(costs)])[:2]
    names: tuple[Emphasis, Emphasis] = ("best", "second")
    return [next((name for level, name in zip(levels, names, strict=False) if cost == level), "") for cost in costs]


def score_tables(cube: ScoreCube, order: Sequence[str] | None = None, alpha: float = 0.05) -> list[Table]:
    """The scores in tables that fit a page: the regions of a metric stay together."""
    blocks: list[list[int]] = [[]]
    for metric in cube.metrics:
        own = [place for place, column in enumerate(cube.columns) if column.metric == metric]
        if blocks[-1] and len(blocks[-1]) + len(own) > MOST_COLUMNS:
            blocks.append([])
        blocks[-1] += own
    tables = []
    for turn, block in enumerate(blocks, start=1):
        part = score_table(cube.take(columns=block), order, alpha)
        metrics = ", ".join(cube.take(columns=block).metrics)
        name = "scores" if len(blocks) == 1 else f"scores-{turn}"
        tables.append(replace(part, name=name, title=f"Scores: {metrics}"))
    return tables


def score_table(cube: ScoreCube, order: Sequence[str] | None = None, alpha: float = 0.05) -> Table:
    """Mean scores over the scenes, best bold, second underlined.

    † marks an algorithm that differs from the column's best by Wilcoxon's test over the scenes, corrected by Holm.
    """
    chosen = cube if order is None else cube.select(algorithms=[name for name in order if name in cube.algorithms])
    means, costs = mean_over_scenes(chosen.values), mean_over_scenes(oriented(chosen))
    columns = []
    for place in range(len(chosen.columns)):
        marks = _different_from_best(chosen, place, costs[:, place], alpha)
        emphasis = emphases(costs[:, place])
        columns.append(
            [
                number(means[row, place])._replace(emphasis=emphasis[row], mark=MARK if marks[row] else "")
                for row in range(len(chosen.algorithms))
            ]
        )
    header = ["algorithm"] + [_heading(chosen, place) for place in range(len(chosen.columns))]
    rows = [[text(name), *(column[row] for column in columns)] for row, name in enumerate(chosen.algorithms)]
    scenes = len(chosen.scenes)
    notes = [
        f"Mean of {scenes} scene{'s' if scenes > 1 else ''}; best bold, second underlined. " + _mark_note(scenes, alpha)
    ]
    return table("scores", "Scores", header, rows, notes)


def _heading(cube: ScoreCube, place: int) -> str:
    column = cube.columns[place]
    metric = column.declared.metric
    arrow = {"lower": "", "higher": " (higher is better)", "zero": " (0 is best)"}[metric.direction]
    return f"{column.label}{f' [{metric.unit}]' if metric.unit else ''}{arrow}"


def _mark_note(scenes: int, alpha: float) -> str:
    smallest = 2.0 ** (1 - scenes)
    if smallest >= alpha:
        return f"With {scenes} scenes Wilcoxon's test cannot fall below p = {smallest:.3g}, so no difference is marked."
    return f"{MARK} differs from the best of its column (Wilcoxon over scenes, Holm, α = {alpha:g})."


def _different_from_best(cube: ScoreCube, place: int, costs: Values, alpha: float) -> list[bool]:
    """Which algorithms the test tells apart from the best one of a column."""
    nobody = [False] * len(cube.algorithms)
    if 2.0 ** (1 - len(cube.scenes)) >= alpha or not np.isfinite(costs).any():
        return nobody
    best = cube.algorithms[int(np.nanargmin(np.where(np.isfinite(costs), costs, np.nan)))]
    complete = [name for name, cost in zip(cube.algorithms, costs, strict=True) if np.isfinite(cost) and name != best]
    if not complete:
        return nobody
    try:
        pairs = wilcoxon_pairs(
            cube.take(columns=[place]), cube.columns[place].metric, [(best, name) for name in complete]
        )
    except StereogaugeError:
        return nobody
    worse = {pair.second for pair in pairs if pair.p_holm < alpha}
    return [name in worse for name in cube.algorithms]
