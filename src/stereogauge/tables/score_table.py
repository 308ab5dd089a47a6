"""The table of scores: one row per algorithm, one column per metric and region, over the scenes of a selection.

Command line, report, site, CSV and LaTeX all show this table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.masks.geometry.objects import KINDS, SceneObject
from stereogauge.metrics.run_time import conditions_in_words
from stereogauge.protocol import EITHER_UNIT, Aggregations, Protocol
from stereogauge.ranking.ranks import column_ranks, normalised
from stereogauge.scores.aggregation import aggregated, column_costs, usable_scores, way
from stereogauge.scores.column import Column, metric_of
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.facts import usual_maximum
from stereogauge.scores.selection import enumerated
from stereogauge.scores.table import ScoreTable
from stereogauge.tables.table import (
    DIRECTIONS,
    FAINT,
    MARK,
    Cell,
    Emphasis,
    Heading,
    Table,
    number,
    of_columns,
    share,
    table,
)

if TYPE_CHECKING:
    from stereogauge.evaluation.error_density import ErrorDensity

Marks = Callable[[ScoreCube, int, Values], Sequence[bool]]
MOST_COLUMNS = 9
MOST_LACKING = 3
WAYS = {"mean": "Mean", "pooled": "Pooled over the pixels", "weighted": "Weighted mean"}


class ScoreSummary(Struct, frozen=True, eq=False, dict=True):
    """Scores over the scenes of a cube, as every surface shows them; arrays have shape (algorithms, columns).

    `values` are NaN where a scene has no score: a gap is never averaged away. `faint` marks values that cover too
    little of their pixels, or too few, to be ranked (see `stereogauge.scores.aggregation`). `costs` are the values that
    may be compared, lower is better, NaN for the others; with `any_density` maps of any coverage are side by side, and
    columns that leave missing estimates out have no order, since leaving more pixels out would win it.
    """

    cube: ScoreCube
    how: Aggregations
    values: Values
    faint: NDArray[np.bool_]
    costs: Values

    @cached_property
    def coverage(self) -> Values:
        """The share of its pixels that each value covers; NaN where that is not known."""
        return self.cube.coverage_over_scenes

    @cached_property
    def ranks(self) -> Values:
        """Rank within each column, NaN for values without one."""
        if not self.costs.size:
            return self.costs
        return np.where(np.isnan(self.costs), np.nan, column_ranks(np.where(np.isnan(self.costs), np.inf, self.costs)))

    @property
    def shares(self) -> Values:
        """Each value as a part of what the worst real algorithms reach, 0 best; NaN for values without a rank."""
        shares = np.full_like(self.costs, np.nan)
        for place, column in enumerate(self.cube.columns):
            own = np.where(np.isnan(self.costs[:, [place]]), np.inf, self.costs[:, [place]])
            if np.isfinite(own).any():
                usual = np.array([np.mean([usual_maximum(column, one) for one in self.cube.facts])])
                shares[:, place] = normalised(column.metric, own, "heuristic", usual)[0][:, 0]
        return np.where(np.isnan(self.costs), np.nan, shares)

    @property
    def gaps(self) -> NDArray[np.int64]:
        """On how many scenes an algorithm has no score where the column applies."""
        return np.asarray((np.isnan(self.cube.values) & self.cube.applies).sum(axis=1), np.int64)


def score_summary(
    cube: ScoreCube,
    how: Aggregations = "mean",
    scene_weights: Mapping[str, float] | None = None,
    *,
    any_density: bool = False,
) -> ScoreSummary:
    """The scores of a cube over those of its scenes for which an algorithm has an estimate."""
    cube = cube.measured
    values = aggregated(cube, how, scene_weights)
    found = usable_scores(cube)
    faint = np.asarray((found.sparse | found.small).any(axis=1))
    unordered = [any_density and column.declared.metric.left_out(cube.invalid) for column in cube.columns]
    costs = np.where(faint | unordered, np.nan, column_costs(cube.columns, values))
    return ScoreSummary(cube, how, values, faint, costs)


def scenes_text(cube: ScoreCube) -> str:
    """On how many scenes a value was measured, of how many: `3 of 6 scenes`, `6 scenes`."""
    measured, known = len(cube.scenes), cube.requested_scenes
    if measured == known:
        return f"{measured} scenes"
    return f"{measured} of {known} scenes; the others have no score"


def score_table(
    cube: ScoreCube,
    how: Aggregations = "mean",
    scene_weights: Mapping[str, float] | None = None,
    *,
    order: Sequence[str] | None = None,
    marks: Marks | None = None,
    any_density: bool = False,
) -> Table:
    """Scores over the scenes, the best of each column bold, the second underlined.

    A faint value (see `ScoreSummary`) is shown with ‡ and is never best. `marks` says which algorithms get a † in a
    column, for example those that a test distinguishes from its best.
    """
    chosen = cube if order is None else cube.select(algorithms=[name for name in order if name in cube.algorithms])
    found = score_summary(chosen, how, scene_weights, any_density=any_density)
    unseen = [scene for scene in chosen.scenes if scene not in found.cube.scenes]
    chosen = found.cube
    columns: list[tuple[Heading, Iterable[Any]]] = [(Heading("algorithm"), chosen.algorithms)]
    for place, column in enumerate(chosen.columns):
        costs = found.costs[:, place]
        marked = [False] * len(costs) if marks is None else marks(chosen, place, costs)
        parts = (emphases(costs), found.coverage[:, place].tolist(), found.faint[:, place].tolist(), marked)
        cells = [_cell(value, *own) for value, *own in zip(found.values[:, place], *parts, strict=True)]
        columns.append((heading(column, how, len(chosen.scenes), chosen.depth_unit), cells))
    usual = how if isinstance(how, str) else "mean"
    named = f": {enumerated(unseen, MOST_LACKING)}" if unseen else ""
    notes = [f"{WAYS[usual]} of {scenes_text(chosen)}{named}."] if chosen.requested_scenes > 1 else []
    notes += _lacking(chosen)
    notes += run_times([chosen]) if any(one.declared.metric.counts == "runs" for one in chosen.columns) else []
    if found.faint.any():
        least = f"{100 * chosen.least_coverage:g} %"
        notes.append(f"{FAINT} not ranked: covers less than {least} of its pixels on some scene, or has too few.")
    return of_columns("scores", "Scores", columns, notes)


def _cell(value: float, emphasis: Emphasis, coverage: float, faint: bool, marked: bool) -> Cell:
    share = None if np.isnan(coverage) else coverage
    note = "" if share is None or share == 1 else f"covers {100 * share:.1f} %"
    mark = MARK if marked else FAINT if faint else ""
    return replace(number(value), emphasis=emphasis, coverage=share, note=note, mark=mark, faint=faint)


def run_times(cubes: Iterable[ScoreCube]) -> list[str]:
    """Size, threads and processor of the measured runs, without which a run time says little."""
    runs: dict[str, list[str]] = {}
    for cube in cubes:
        for key in ((name, scene) for name in cube.algorithms for scene in cube.scenes):
            if key in cube.runs:
                runs.setdefault(key[0], []).append(cube.runs[key])
    said = conditions_in_words(runs)
    return [said] if said else []


def lacking(cube: ScoreCube) -> dict[tuple[str, ...], list[str]]:
    """The algorithms that have no score at all on some scenes where others have one, by those scenes."""
    absent = np.asarray(np.isnan(cube.values).all(axis=2))
    alone = absent & ~absent.all(axis=0)
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, row in zip(cube.algorithms, alone, strict=True):
        scenes = tuple(cube.scenes[place] for place in np.flatnonzero(row))
        if scenes and len(cube.scenes) > 1:
            alike.setdefault(scenes, []).append(name)
    return alike


def _lacking(cube: ScoreCube) -> list[str]:
    """Which algorithms lack which scenes, in words: over all scenes they have no score either."""
    alike = lacking(cube)
    if not alike:
        return []
    lacks = [f"{enumerated(names)}: {enumerated(scenes, MOST_LACKING)}" for scenes, names in alike.items()]
    return [f"Without a score on some scenes, and so without one over all of them: {'; '.join(lacks)}."]


def tables_of_scores(scores: ScoreTable, title: str = "", *, upright: bool = True) -> list[Table]:
    """The table of scores as their protocol aggregates them, or those of single objects where scores of these exist.

    With `upright` a table that is wide and low is turned.
    """
    if scores.objects:
        return object_tables(scores)
    read = scores.protocol or Protocol()
    shown = replace(score_table(scores.cube, read.aggregation, read.scene_weights), title=title)
    return [shown.upright if upright else shown]


def score_tables(cube: ScoreCube, made: Callable[[ScoreCube], Table] = score_table) -> list[Table]:
    """The scores in tables that fit a page, each `made` of some columns: the regions of a metric stay together."""
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
        tables.append(replace(made(part), name=name, title=f"Scores: {', '.join(part.metrics)}"))
    return tables


def coverage_table(cube: ScoreCube) -> Table:
    """The share of its pixels that each score covers, over the scenes."""
    heads = [replace(heading(column), unit="% covered", remark="") for column in cube.columns]
    columns = zip(heads, 100 * cube.coverage_over_scenes.T, strict=True)
    return of_columns("coverage", "Coverage", [(Heading("algorithm"), cube.algorithms), *columns])


def heading(column: Column, how: Aggregations = "mean", scenes: int = 1, depth_unit: str = EITHER_UNIT) -> Heading:
    """A column's head; the unit says where several scenes are aggregated in another way."""
    metric = column.declared.metric
    unit = column.unit(depth_unit)
    usual = how if isinstance(how, str) else "mean"
    if scenes > 1 and way(column, how) != usual:
        remark = {"mean": "mean of scenes", "pooled": "pooled", "weighted": "weighted mean"}[way(column, how)]
        unit = f"{unit}, {remark}" if unit else remark
    return Heading(column.metric, column.label.partition(":")[2], unit, DIRECTIONS[metric.direction])


def emphases(costs: Values) -> list[Emphasis]:
    """Best and second of one column of costs; equal ones share, and gaps and a single algorithm get nothing."""
    levels = sorted({cost for cost in costs.tolist() if cost == cost})[:2]
    marks: dict[float, Emphasis] = dict(zip(levels, ("best", "second"), strict=False)) if len(costs) > 1 else {}
    return [marks.get(cost, "") for cost in costs.tolist()]


def emphasised(values: Values) -> list[Cell]:
    """The cells of one column of values that are better the lower they are."""
    return [number(value, emphasis=mark) for value, mark in zip(values, emphases(values), strict=True)]


PLACE = ("x", "y", "width", "height", "pixels")


def object_tables(scores: ScoreTable) -> list[Table]:
    """One table per kind of object, since each kind has metrics of its own; the largest objects first."""
    tables = []
    for kind, name in KINDS.items():
        objects = {key: one for key, one in scores.objects.items() if one.kind == kind}
        if objects:
            tables.append(_object_table(scores, f"{kind}s", f"{name}s".capitalize(), objects))
    return tables


def _object_table(scores: ScoreTable, kind: str, title: str, objects: dict[tuple[str, str, str], SceneObject]) -> Table:
    found: dict[tuple[str, str, int], dict[tuple[str, str], float]] = {}
    for score in scores:
        one = objects.get((score.dataset, score.scene, score.region))
        if one is not None:
            found.setdefault((score.dataset, score.scene, one.number), {})[score.metric, score.algorithm] = score.value
    placed = {(dataset, scene, one.number): one for (dataset, scene, _), one in objects.items()}
    measured = {key for cells in found.values() for key in cells}
    columns = [(metric, name) for metric in scores.metrics for name in scores.algorithms if (metric, name) in measured]
    alone = len(scores.algorithms) == 1
    several = len({scene for _, scene, _ in found}) > 1
    header = [Heading("object"), *(Heading(name, unit="px") for name in PLACE)]
    for metric, name in columns:
        declared = metric_of(metric).metric
        header.append(Heading(metric, "" if alone else name, declared.unit, DIRECTIONS[declared.direction]))
    rows = []
    for key, cells in sorted(found.items(), key=lambda row: -placed[row[0]].pixels):
        one = placed[key]
        label = f"{key[1]} {one.region}" if several else one.region
        rows.append([label, *(getattr(one, name) for name in PLACE), *map(cells.get, columns)])
    return table(kind, title, header, rows)


def density_table(found: ErrorDensity) -> Table:
    """Each algorithm's own density and score, then its scores at each equal density, where there is an order.

    The score at the own density is never marked as best: it compares with no other.
    """
    names = found.algorithms
    points = [found.points[name] for name in names]
    head = heading(found.column)
    columns: list[tuple[str | Heading, Iterable[Any]]] = [
        ("algorithm", names),
        (Heading("density", found.column.region), [share(one.density, 1) for one in points]),
        (replace(head, detail="own density"), [one.value for one in points]),
    ]
    for one in found.equal:
        values = np.array([one.values[name] for name in names])
        marks = emphases(column_costs((found.column,), values[:, None])[:, 0])
        cells = [
            replace(number(value), emphasis=mark, note=one.reasons.get(name, ""))
            for name, value, mark in zip(names, values, marks, strict=True)
        ]
        columns.append((replace(head, detail=one.name), cells))
    notes = [*found.notes]
    if not found.equal:
        notes.append("No two of these can be brought to one density, so there is no order.")
    title = f"{found.column.label} at equal density"
    return of_columns(f"density-{re.sub('[@:,]', '-', str(found.column))}", title, columns, notes)
