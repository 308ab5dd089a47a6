"""Which columns a store already holds for each cell of a dataset; the database answers that from an index alone."""

from __future__ import annotations

from typing import TypeAlias

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from stereogauge.scores.column import VersionedColumn
from stereogauge.store import names, schema

Columns: TypeAlias = tuple[VersionedColumn, ...]


class StoredCells:
    """The cells that a store holds.

    `cells`: for each (scene, algorithm), the fingerprint of its inputs and the ids of its column sets. `column_sets`:
    the columns of each set.
    """

    def __init__(
        self,
        cells: dict[tuple[str, str], tuple[int, tuple[int, ...]]],
        column_sets: dict[int, Columns],
    ) -> None:
        self.cells = cells
        self.column_sets = column_sets
        # Most cells have the same sets, so the difference is taken once for all of them. Wanted columns are told apart
        # by their identity, since the hash of many columns takes longer than all the rest; they are kept with it.
        self._differences: dict[tuple[tuple[int, ...], int], tuple[Columns, Columns]] = {}

    def missing(self, scene: str, algorithm: str, inputs: int, wanted: Columns) -> Columns:
        """The columns that must be computed for a cell whose inputs are these."""
        found = self.cells.get((scene, algorithm))
        if found is None or found[0] != inputs:
            return wanted
        key = (found[1], id(wanted))
        if key not in self._differences:
            present = {column for number in found[1] for column in self.column_sets[number]}
            self._differences[key] = wanted, tuple(column for column in wanted if column not in present)
        return self._differences[key][1]


def stored_cells(connection: Connection, dataset: str, scoring_hash: str) -> StoredCells:
    """The stored cells of `dataset` under the scoring hash; empty when the store knows neither."""
    scores, scenes, sets, algorithms = schema.scores, schema.scenes, schema.datasets, schema.algorithms
    of_dataset = (
        sql.select(scenes.c.id, scenes.c.name)
        .join(sets, sets.c.id == scenes.c.dataset_id)
        .where(sets.c.name == dataset)
    )
    scene_names = names.mapping(connection, of_dataset)
    scoring = connection.execute(
        sql.select(schema.scorings.c.id).where(schema.scorings.c.hash == scoring_hash)
    ).scalar()
    if scoring is None or not scene_names:
        return StoredCells({}, {})
    algorithm_names = names.mapping(connection, sql.select(algorithms.c.id, algorithms.c.name))
    rows = connection.execute(
        sql.select(scores.c.scene_id, scores.c.algorithm_id, scores.c.column_set_id, scores.c.inputs).where(
            scores.c.scoring_id == scoring, scores.c.scene_id.in_(list(scene_names))
        )
    ).all()
    cells: dict[tuple[str, str], tuple[int, tuple[int, ...]]] = {}
    for scene, algorithm, column_set, inputs in rows:
        key = (scene_names[scene], algorithm_names[algorithm])
        found = cells.get(key)
        cells[key] = (inputs, (*found[1], column_set) if found and found[0] == inputs else (column_set,))
    return StoredCells(cells, names.known_column_sets(connection))
