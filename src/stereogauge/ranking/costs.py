"""From scores to costs: lower is better in every cell, and no cell is missing.

A cost is the score (direction "lower"), its negative ("higher", as for PSNR) or its absolute value ("zero", as for a
bias). Gaps are treated by the rule that the user chose; a column without any value says nothing about anybody and is
always left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.scores.cube import Column, ScoreCube, Values
from stereogauge.scores.selection import Dropped, MissingRule, Selection


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs of algorithms in flat columns, one for each (scene, region, measure).

    `matrix` has shape (algorithms, flat columns); +inf marks a gap under the rule `worst`. `scene_of` and `column_of`
    give the place of each flat column in `scenes` and `columns`. Every scene has at least one flat column.
    """

    algorithms: tuple[str, ...]
    scenes: tuple[str, ...]
    columns: tuple[Column, ...]
    matrix: Values
    scene_of: NDArray[np.intp]
    column_of: NDArray[np.intp]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metric ids in order of appearance."""
        return tuple(dict.fromkeys(column.metric for column in self.columns))

    @cached_property
    def metric_places(self) -> NDArray[np.intp]:
        """The place in `metrics` of each flat column."""
        place = {metric: index for index, metric in enumerate(self.metrics)}
        by_column = np.array([place[column.metric] for column in self.columns], np.intp)
        return by_column[self.column_of]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the flat columns, for example `teddy bad@1:nonocc`."""
        pairs = zip(self.scene_of, self.column_of, strict=True)
        return tuple(f"{self.scenes[scene]} {self.columns[column]}" for scene, column in pairs)

    def scene_sums(self, cells: Values) -> Values:
        """Sums over the flat columns of each scene, shape (…, scenes), of an array with flat columns last."""
        return np.asarray(cells @ self.in_scene, np.float64)

    def scene_means(self, cells: Values) -> Values:
        """Means over the flat columns of each scene, shape (…, scenes)."""
        means = [cells[..., self.scene_of == scene].mean(axis=-1) for scene in range(len(self.scenes))]
        return np.stack(means, axis=-1)

    @cached_property
    def in_scene(self) -> Values:
        """1 where a flat column belongs to a scene, shape (flat columns, scenes)."""
        return np.asarray(self.scene_of[:, None] == np.arange(len(self.scenes)), np.float64)

    def resampled(self, scenes: Sequence[int]) -> Costs:
        """The costs over these scenes, which may repeat."""
        places = [np.flatnonzero(self.scene_of == scene) for scene in scenes]
        flat = np.concatenate(places)
        owner = np.repeat(np.arange(len(scenes)), [len(place) for place in places])
        names = tuple(f"{self.scenes[scene]}#{turn}" for turn, scene in enumerate(scenes))
        return Costs(self.algorithms, names, self.columns, self.matrix[:, flat], owner, self.column_of[flat])


def oriented(cube: ScoreCube) -> Values:
    """The cube's values as costs, NaN where there is a gap."""
    return column_costs(cube.columns, cube.values)


def column_costs(columns: Sequence[Column], values: Values) -> Values:
    """Values whose last axis counts columns, as costs: lower is better."""
    costs = values.copy()
    for place, column in enumerate(columns):
        direction = column.declared.metric.direction
        if direction == "higher":
            costs[..., place] *= -1.0
        elif direction == "zero":
            np.abs(costs[..., place], out=costs[..., place])
    return costs


def prepare(cube: ScoreCube, rule: MissingRule = "drop-algorithm") -> tuple[Costs, Selection]:
    """Costs without gaps, and the selection that says what the rule for gaps removed."""
    if not (cube.algorithms and cube.scenes and cube.columns):
        raise StereogaugeError(f"Nothing to rank: the selection has {cube!r}; select at least one of each.")
    matrix = oriented(cube).reshape(len(cube.algorithms), -1)
    scene_of, column_of = (part.ravel() for part in np.indices((len(cube.scenes), len(cube.columns))))
    gap = np.isnan(matrix)
    dropped: list[Dropped] = []

    def label(flat: np.intp) -> str:
        return f"{cube.scenes[scene_of[flat]]} {cube.columns[column_of[flat]]}"

    keep = ~gap.all(axis=0)
    dropped += [Dropped("column", label(flat), "no algorithm has a score there") for flat in np.flatnonzero(~keep)]
    rows: NDArray[np.bool_] = np.ones(len(cube.algorithms), bool)
    if rule == "drop-algorithm":
        rows = np.asarray(~gap[:, keep].any(axis=1))
        for row in np.flatnonzero(~rows):
            gaps = np.flatnonzero(gap[row] & keep)
            more = f" and {len(gaps) - 1} more" if len(gaps) > 1 else ""
            dropped.append(Dropped("algorithm", cube.algorithms[row], f"no score for {label(gaps[0])}{more}"))
    elif rule == "drop-column":
        partial = keep & gap.any(axis=0)
        for flat in np.flatnonzero(partial):
            lacking = [cube.algorithms[row] for row in np.flatnonzero(gap[:, flat])]
            dropped.append(Dropped("column", label(flat), f"no score of {', '.join(lacking)}"))
        keep = keep & ~partial
    if not rows.any() or not keep.any():
        raise StereogaugeError(
            f"After the rule {rule!r} for missing cells nothing is left of {len(cube.algorithms)} algorithms and "
            f"{matrix.shape[1]} columns ({dropped[0].name}: {dropped[0].reason}); choose another rule or a smaller "
            f"selection."
        )
    matrix = matrix[np.ix_(rows, keep)]
    matrix[np.isnan(matrix)] = np.inf
    scenes, scene_of = np.unique(scene_of[keep], return_inverse=True)
    columns, column_of = np.unique(column_of[keep], return_inverse=True)
    costs = Costs(
        algorithms=tuple(name for name, kept in zip(cube.algorithms, rows, strict=True) if kept),
        scenes=tuple(cube.scenes[scene] for scene in scenes),
        columns=tuple(cube.columns[column] for column in columns),
        matrix=matrix,
        scene_of=scene_of,
        column_of=column_of,
    )
    return costs, Selection(costs.algorithms, costs.scenes, costs.columns, rule, tuple(dropped), cube.protocol)
