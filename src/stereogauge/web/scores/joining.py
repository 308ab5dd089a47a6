"""Scores of an unpublished submission next to those that everybody sees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.table import ScoreTable

OWN_MARK = " (submitted)"


def joined(cube: ScoreCube, table: ScoreTable) -> ScoreCube:
    """The cube with one row more for each algorithm of the table; scenes and columns that the cube lacks are left out.

    An algorithm whose name the cube has already is marked, so that a new version stands beside the published one.
    """
    if not len(table):
        return cube
    own = ScoreCube.of(table)
    names = {scene.removeprefix(f"{dataset}/"): place for place, (scene, dataset) in enumerate(_scenes(cube))}
    scenes = [(place, names[scene.removeprefix(f"{dataset}/")]) for place, (scene, dataset) in enumerate(_scenes(own))]
    columns = [(place, cube.columns.index(c)) for place, c in enumerate(own.columns) if c in cube.columns]
    source = np.ix_(range(len(own.algorithms)), [s for s, _ in scenes], [c for c, _ in columns])
    target = np.ix_(range(len(own.algorithms)), [s for _, s in scenes], [c for _, c in columns])

    def added(part: str, gap: float) -> Values | None:
        old, new = getattr(cube, part), getattr(own, part)
        if old is None:
            return None
        rows = np.full((len(own.algorithms), len(cube.scenes), len(cube.columns)), gap)
        rows[target] = new[source]
        return np.concatenate([old, rows])

    measured = np.zeros((len(cube.scenes), len(cube.columns)), bool)
    measured[target[1:]] = ~np.isnan(own.values[source]).all(axis=0)
    values = added("values", np.nan)
    assert values is not None
    return replace(
        cube,
        algorithms=cube.algorithms + tuple(n + OWN_MARK if n in cube.algorithms else n for n in own.algorithms),
        values=values,
        sums=added("sums", 0.0),
        counts=added("counts", 0.0),
        missing=added("missing", 0.0),
        void=None if cube.void is None else cube.void & ~measured,
    )


def _scenes(cube: ScoreCube) -> list[tuple[str, str]]:
    return list(zip(cube.scenes, cube.datasets or ("",) * len(cube.scenes), strict=True))
