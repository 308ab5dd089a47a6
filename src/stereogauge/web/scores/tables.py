"""`table`: scores of a selection over its scenes, by the visitor's aggregation; scene by scene for one column."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.scope import ONLY_SURE
from stereogauge.tables.score_table import lacking, score_summary
from stereogauge.text import json_value
from stereogauge.web.responses import Plain
from stereogauge.web.scores.catalogue import column_info
from stereogauge.web.scores.reader import ScoreReader, aggregation_name
from stereogauge.web.selection import SelectionQuery, known_column

MOST_SPREAD = 5


def rows(values: Values) -> list[Any]:
    """A matrix as lists, null for NaN and the text "inf" for infinity."""
    plain: list[Any] = values.tolist() if np.isfinite(values).all() else json_value(values)
    return plain


def table_answer(scores: ScoreReader, query: SelectionQuery, column: str | None = None) -> Plain:
    """Scores (algorithms, columns) over the scenes of a scope; `column` names the one to show scene by scene.

    `requested` is the number of scenes with those on which no algorithm has a score.
    `values` is null where a scene has none (`gaps` counts those scenes): a gap is never averaged away. `ranks` are
    ranks within a column, `shares` parts of what the worst real algorithms reach; 0 best. `counts` and `missing` add up
    the pixels behind a value, `coverage` is the share of them that have an estimate. `faint` marks values that cover
    too little, or too few pixels, to be ranked: they have no rank and are never best.
    """
    record, whole = scores.record(query), scores.whole(query)
    weights = record.protocol.scene_weights if record.protocol else None
    unordered = query.need == ONLY_SURE
    found = score_summary(scores.values(query), scores.aggregation(query), weights, any_density=unordered)
    cube = found.cube
    by_scene = None if column is None else scores.hidden.scene_by_scene(cube)
    return {
        "protocol": record.key,
        "protocol_name": record.name,
        "aggregation": aggregation_name(found.how),
        "algorithms": cube.algorithms,
        "scenes": cube.scenes,
        "requested": cube.requested_scenes,
        "columns": [
            column_info(own, cube.depth_unit, int(cube.applies[:, place].sum()))
            | {"best": np.flatnonzero(found.ranks[:, place] == 1).tolist()}
            for place, own in enumerate(cube.columns)
        ],
        **{name: rows(getattr(found, name)) for name in ("values", "ranks", "shares", "coverage")},
        "counts": rows(scene_totals(whole, cube, whole.counts)),
        "missing": rows(scene_totals(whole, cube, whole.missing)),
        "faint": found.faint.tolist(),
        "gaps": found.gaps.tolist(),
        "lacking": [{"algorithms": names, "scenes": scenes} for scenes, names in lacking(cube).items()],
        "scene_column": None if by_scene is None or column is None else scene_column(by_scene, column),
    }


def scene_totals(whole: ScoreCube, chosen: ScoreCube, statistic: Values) -> Values:
    """Sums of a statistic of the whole cube over the chosen scenes, for the chosen algorithms and columns.

    One pass over the whole is cheaper than cutting the part out first.
    """
    scenes = set(chosen.scenes)
    totals = np.array([float(scene in scenes) for scene in whole.scenes]) @ statistic
    algorithms = {name: place for place, name in enumerate(whole.algorithms)}
    columns = {column: place for place, column in enumerate(whole.columns)}
    taken = totals[np.ix_([algorithms[n] for n in chosen.algorithms], [columns[c] for c in chosen.columns])]
    return np.asarray(taken, np.float64)


def scene_column(cube: ScoreCube, column: str) -> Plain:
    """One column scene by scene; `spread` names the scenes with the largest standard deviation of the scores."""
    place = known_column(cube, column)
    values = cube.values[:, :, place]
    spread = [_deviation(values[:, scene]) for scene in range(values.shape[1])]
    order = sorted(range(len(spread)), key=lambda scene: -spread[scene])
    counts = cube.counts[:, :, place]
    return {
        "column": str(cube.columns[place]),
        "values": rows(values),
        "counts": rows(counts),
        "missing": rows(np.where(np.isnan(counts), np.nan, cube.missing[:, :, place])),
        "spread": [cube.scenes[scene] for scene in order[:MOST_SPREAD] if spread[scene] > 0],
    }


def _deviation(scores: Values) -> float:
    known = scores[np.isfinite(scores)]
    deviation = float(known.std()) if known.size > 1 else 0.0
    return deviation if math.isfinite(deviation) else 0.0
