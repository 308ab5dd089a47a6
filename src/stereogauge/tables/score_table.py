"""The table of scores: one row per algorithm, one column per metric and region, over the scenes of a selection.

Command line, report, site, CSV and LaTeX all show this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from stereogauge.ranking.costs import column_costs
from stereogauge.scores.aggregation import Aggregation, aggregated, way
from stereogauge.scores.cube import Column, ScoreCube, Values
from stereogauge.tables.table import MARK, Emphasis, Heading, Table, number, table, words

Marks = Callable[[ScoreCube, int, Values], Sequence[bool]]
MOST_COLUMNS = 9
DIRECTIONS = {"lower": "", "higher": "higher is better", "zero": "0 is best"}
WAYS = {"mean": "Mean", "pooled": "Pooled over the pixels", "weighted": "Weighted mean"}


def score_table(
    cube: ScoreCube,
    how: Aggregation = "mean",
    scene_weights: Mapping[str, float] | None = None,
    *,
    order: Sequence[str] | None = None,
    marks: Marks | None = None,
) -> Table:
    """Scores over the scenes, the best of each column bold, the second underlined.

    `marks` says which algorithms get a † in a column, for example those that a test tells apart from its best.
    """
    chosen = cube if order is None else cube.select(algorithms=[name for name in order if name in cube.algorithms])
    values = aggregated(chosen, how, scene_weights)
    costs = column_costs(chosen.columns, values)
    several = len(chosen.algorithms) > 1
    columns = []
    for place in range(len(chosen.columns)):
        emphasis: list[Emphasis] = emphases(costs[:, place]) if several else [""] * len(costs)
        marked = [False] * len(costs) if marks is None else marks(chosen, place, costs[:, place])
        cells = zip(values[:, place], emphasis, marked, strict=True)
        columns.append([replace(number(value), emphasis=e, mark=MARK if m else "") for value, e, m in cells])
    notes = [f"{WAYS[how]} of {len(chosen.scenes)} scenes."] if len(chosen.scenes) > 1 else []
    header = [Heading("algorithm"), *(heading(column, how, len(chosen.scenes)) for column in chosen.columns)]
    rows = [[words(name), *(column[row] for column in columns)] for row, name in enumerate(chosen.algorithms)]
    return table("scores", "Scores", header, rows, notes)


def score_tables(
    cube: ScoreCube,
    how: Aggregation = "mean",
    scene_weights: Mapping[str, float] | None = None,
    *,
    order: Sequence[str] | None = None,
    marks: Marks | None = None,
) -> list[Table]:
    """The scores in tables that fit a page: the regions of a metric stay together."""
    blocks: list[list[int]] = [[]]
    for metric in cube.metrics:
        places = [place for place, column in enumerate(cube.columns) if column.metric == metric]
        if blocks[-1] and len(blocks[-1]) + len(places) > MOST_COLUMNS:
            blocks.append([])
        blocks[-1] += places
    tables = []
    for turn, block in enumerate(blocks, start=1):
        part = cube.take(columns=block)
        name = "scores" if len(blocks) == 1 else f"scores-{turn}"
        made = score_table(part, how, scene_weights, order=order, marks=marks)
        tables.append(replace(made, name=name, title=f"Scores: {', '.join(part.metrics)}"))
    return tables


def heading(column: Column, how: Aggregation = "mean", scenes: int = 1) -> Heading:
    """A column's head; the unit says where several scenes are not aggregated as asked."""
    metric = column.declared.metric
    unit = metric.unit
    if scenes > 1 and way(column, how) != how:
        unit = f"{unit}, mean of scenes" if unit else "mean of scenes"
    return Heading(column.metric, "" if metric.region else column.region, unit, DIRECTIONS[metric.direction])


def emphases(costs: Values) -> list[Emphasis]:
    """Best and second of one column of costs; equal ones share, and gaps get nothing."""
    levels = np.unique(costs[~np.isnan(costs)])[:2]
    names: tuple[Emphasis, Emphasis] = ("best", "second")
    return [next((name for level, name in zip(levels, names, strict=False) if cost == level), "") for cost in costs]
