"""`table`: scores of a selection over its scenes, by the visitor's aggregation; scene by scene for one column."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator

from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.tables.score_table import lacking, score_summary
from stereogauge.text import json_value
from stereogauge.web.answer import Answer, Infinity
from stereogauge.web.scores.reader import ScoreReader
from stereogauge.web.selection import SelectionQuery, known_column

Row = Annotated[list[float | Infinity | None], BeforeValidator(json_value)]
MOST_SPREAD = 5


class ColumnInfo(Answer):
    """A column with what its header says.

    `scenes` counts the scenes on which any algorithm has a score in it; `best` lists the rows with the best value.
    """

    id: str
    metric: str
    region: str
    label: str
    unit: str
    direction: str
    pools: bool
    counts: str
    scenes: int
    best: list[int]


class SceneColumn(Answer):
    """One column scene by scene, shape (algorithms, scenes)."""

    column: str
    values: list[Row]
    counts: list[Row]
    missing: list[Row]
    spread: list[str]


class Lacking(Answer):
    """Algorithms that have no score at all on the same scenes, where others have one."""

    algorithms: list[str]
    scenes: list[str]


class TableAnswer(Answer):
    """Scores (algorithms, columns) over the selected scenes.

    `values` is null where a scene has none (`gaps` counts those scenes): a gap is never averaged away. `ranks` are
    ranks within a column, `shares` parts of what the worst real algorithms reach; 0 best. `counts` and `missing` add up
    the pixels behind a value, `coverage` is the share of them that have an estimate. `faint` marks values that cover
    too little, or too few pixels, to be ranked: they have no rank and are never best.
    """

    protocol: str
    protocol_name: str
    aggregation: str
    algorithms: list[str]
    scenes: list[str]
    columns: list[ColumnInfo]
    values: list[Row]
    ranks: list[Row]
    shares: list[Row]
    counts: list[Row]
    missing: list[Row]
    coverage: list[Row]
    faint: list[list[bool]]
    gaps: list[list[int]]
    lacking: list[Lacking]
    scene_column: SceneColumn | None


def rows(values: Values | None, shape: tuple[int, int]) -> list[Row]:
    """A matrix as lists, null for NaN and the text "inf" for infinity."""
    if values is None:
        return [[None] * shape[1] for _ in range(shape[0])]
    plain: list[Row] = values.tolist() if np.isfinite(values).all() else json_value(values)
    return plain


def table_answer(scores: ScoreReader, query: SelectionQuery, column: str | None = None) -> TableAnswer:
    """The table of a selection; `column` names the one to show scene by scene."""
    record = scores.source.protocol(query.protocol)
    statistics = query.aggregation == "pooled" or column is not None
    cube = scores.with_statistics(query) if statistics else scores.values(query)
    whole = scores.whole(query)
    weights = record.protocol.scene_weights if record.protocol else None
    found = score_summary(cube, query.aggregation, weights, any_density=query.need == "sure")
    shape = (len(cube.algorithms), len(cube.columns))
    by_scene = None if column is None else scores.hidden.scene_by_scene(cube)
    # The lists are ours and large: they are not checked once more against their types.
    return TableAnswer.model_construct(
        protocol=record.key,
        protocol_name=record.name,
        aggregation=query.aggregation,
        algorithms=list(cube.algorithms),
        scenes=list(cube.scenes),
        columns=[
            column_info(own, found.ranks[:, place], int(cube.applies[:, place].sum()), cube.depth_unit)
            for place, own in enumerate(cube.columns)
        ],
        values=rows(found.values, shape),
        ranks=rows(found.ranks, shape),
        shares=rows(found.shares, shape),
        counts=rows(scene_totals(whole, cube, whole.counts), shape),
        missing=rows(scene_totals(whole, cube, whole.missing), shape),
        coverage=rows(found.coverage, shape),
        faint=found.faint.tolist(),
        gaps=found.gaps.tolist(),
        lacking=[Lacking(algorithms=names, scenes=list(scenes)) for scenes, names in lacking(cube).items()],
        scene_column=None if by_scene is None or column is None else scene_column(by_scene, known_column(cube, column)),
    )


def scene_totals(whole: ScoreCube, chosen: ScoreCube, statistic: Values | None) -> Values | None:
    """Sums of a statistic of the whole cube over the chosen scenes, for the chosen algorithms and columns.

    One pass over the whole is cheaper than cutting the part out first.
    """
    if statistic is None:
        return None
    scenes = set(chosen.scenes)
    totals = np.array([float(scene in scenes) for scene in whole.scenes]) @ statistic
    algorithms = {name: place for place, name in enumerate(whole.algorithms)}
    columns = {column: place for place, column in enumerate(whole.columns)}
    taken = totals[np.ix_([algorithms[n] for n in chosen.algorithms], [columns[c] for c in chosen.columns])]
    return np.asarray(taken, np.float64)


def column_info(column: Column, ranks: Values, scenes: int, depth_unit: str) -> ColumnInfo:
    """What a column's header shows."""
    metric = column.declared.metric
    own = {"id": str(column), "metric": column.metric, "region": column.region, "label": column.label}
    best = np.flatnonzero(ranks == 1).tolist()
    return ColumnInfo.of(metric, **own, unit=column.unit(depth_unit), scenes=scenes, best=best)


def scene_column(cube: ScoreCube, place: int) -> SceneColumn:
    """One column scene by scene; `spread` names the scenes with the largest standard deviation of the scores."""
    values = cube.values[:, :, place]
    shape = (values.shape[0], values.shape[1])
    spread = [_deviation(values[:, scene]) for scene in range(values.shape[1])]
    order = sorted(range(len(spread)), key=lambda scene: -spread[scene])
    return SceneColumn(
        column=str(cube.columns[place]),
        values=rows(values, shape),
        counts=rows(None if cube.counts is None else cube.counts[:, :, place], shape),
        missing=rows(None if cube.missing is None else cube.missing[:, :, place], shape),
        spread=[cube.scenes[scene] for scene in order[:MOST_SPREAD] if spread[scene] > 0],
    )


def _deviation(scores: Values) -> float:
    known = scores[np.isfinite(scores)]
    deviation = float(known.std()) if known.size > 1 else 0.0
    return deviation if math.isfinite(deviation) else 0.0
