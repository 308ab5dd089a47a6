"""Tables of single objects: one row per plane, fine structure or foreground object, with its place and scores."""

from __future__ import annotations

from stereogauge.masks.geometry.objects import KINDS, ObjectKind, SceneObject
from stereogauge.scores.column import metric_of
from stereogauge.scores.score import Score
from stereogauge.scores.table import ScoreTable
from stereogauge.tables.table import DIRECTIONS, Cell, Heading, Table, count, number, table, words

PLACE = ("x", "y", "width", "height", "pixels")


def object_tables(scores: ScoreTable) -> list[Table]:
    """One table per kind of object, since each kind has metrics of its own; the largest objects first."""
    tables = []
    for kind, name in KINDS.items():
        rows = {key: one for key, one in scores.objects.items() if one.kind == kind}
        if rows:
            tables.append(_table(scores, kind, f"{name}s".capitalize(), rows))
    return tables


def _table(scores: ScoreTable, kind: ObjectKind, title: str, objects: dict[tuple[str, str, str], SceneObject]) -> Table:
    found: dict[tuple[str, str, int], dict[tuple[str, str], Score]] = {}
    for score in scores:
        one = objects.get((score.dataset, score.scene, score.region))
        if one is not None:
            found.setdefault((score.dataset, score.scene, one.number), {})[score.metric, score.algorithm] = score
    placed = {(dataset, scene, one.number): one for (dataset, scene, _), one in objects.items()}
    measured = {key for cells in found.values() for key in cells}
    columns = [(metric, name) for metric in scores.metrics for name in scores.algorithms if (metric, name) in measured]
    alone = len(scores.algorithms) == 1
    several = len({scene for _, scene, _ in found}) > 1
    header = [
        Heading("object"),
        *(Heading(name, unit="px") for name in PLACE),
        *(_heading(metric, "" if alone else name) for metric, name in columns),
    ]
    rows = []
    for key, cells in sorted(found.items(), key=lambda row: -placed[row[0]].pixels):
        one = placed[key]
        place = [count(getattr(one, name)) for name in PLACE]
        label = words(f"{key[1]} {one.region}" if several else one.region)
        rows.append([label, *place, *(_cell(cells.get(column)) for column in columns)])
    return table(f"{kind}s", title, header, rows)


def _heading(metric: str, algorithm: str) -> Heading:
    declared = metric_of(metric).metric
    return Heading(metric, algorithm, declared.unit, DIRECTIONS[declared.direction])


def _cell(score: Score | None) -> Cell:
    return Cell() if score is None else number(score.value)
