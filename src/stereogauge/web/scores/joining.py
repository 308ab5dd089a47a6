"""Scores of an unpublished submission beside the public ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.table import ScoreTable

SUBMITTED_MARK = " (submitted)"


def submitted_name(name: str, cube: ScoreCube) -> str:
    """The name of an unpublished submission beside a cube's algorithms: marked where one of them has it already."""
    return name + SUBMITTED_MARK if name in cube.algorithms else name


def joined(cube: ScoreCube, table: ScoreTable) -> ScoreCube:
    """The cube with one more row per algorithm of the table; scenes and columns that the cube lacks are left out.

    An algorithm whose name the cube has already gets a mark, so that both versions can be told apart.
    """
    if not len(table):
        return cube
    submitted = ScoreCube.of(table)
    names = {scene.removeprefix(f"{dataset}/"): index for index, (scene, dataset) in enumerate(_scenes(cube))}
    scenes = [
        (index, names[scene.removeprefix(f"{dataset}/")]) for index, (scene, dataset) in enumerate(_scenes(submitted))
    ]
    columns = [(index, cube.columns.index(c)) for index, c in enumerate(submitted.columns) if c in cube.columns]
    source = np.ix_(range(len(submitted.algorithms)), [s for s, _ in scenes], [c for c, _ in columns])
    target = np.ix_(range(len(submitted.algorithms)), [s for _, s in scenes], [c for _, c in columns])

    def added(part: str, gap: float) -> Values | None:
        old, new = getattr(cube, part), getattr(submitted, part)
        if old is None:
            return None
        rows = np.full((len(submitted.algorithms), len(cube.scenes), len(cube.columns)), gap)
        rows[target] = new[source]
        return np.concatenate([old, rows])

    measured = np.zeros((len(cube.scenes), len(cube.columns)), bool)
    measured[target[1:]] = ~np.isnan(submitted.values[source]).all(axis=0)
    values = added("values", np.nan)
    assert values is not None
    return replace(
        cube,
        algorithms=cube.algorithms + tuple(submitted_name(name, cube) for name in submitted.algorithms),
        values=values,
        sums=added("sums", 0.0),
        counts=added("counts", 0.0),
        missing=added("missing", 0.0),
        void=None if cube.void is None else cube.void & ~measured,
    )


def _scenes(cube: ScoreCube) -> list[tuple[str, str]]:
    return list(zip(cube.scenes, cube.datasets or ("",) * len(cube.scenes), strict=True))
