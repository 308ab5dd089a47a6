"""Reading scores: which rows a selection means, and those rows as a cube or as single scores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import sqlalchemy as sql
from numpy.typing import NDArray
from sqlalchemy.engine import Connection

from stereogauge.errors import StereogaugeError
from stereogauge.metrics.registry import is_declared
from stereogauge.metrics.run_time import states_conditions
from stereogauge.model import Calibration
from stereogauge.protocol import Protocol, parse_protocol
from stereogauge.scores.column import Column, VersionedColumn
from stereogauge.scores.cube import ScoreCube, known_counts, void_scenes
from stereogauge.scores.facts import SceneFacts
from stereogauge.scores.score import CellScores, joined
from stereogauge.store import schema
from stereogauge.store.rows import (
    FLOATS,
    INTEGERS,
    cell_of_row,
    check_sum,
    columns_sum,
    damaged,
    further_name,
    known_column_sets,
    mapping,
    names_sum,
    unpacked,
)
from stereogauge.store.selection import RowSelection, chosen_columns, tag_book, warn_undeclared


def read_cube(connection: Connection, selection: RowSelection) -> ScoreCube:
    """The scores as a cube; scenes and algorithms without any score are left out unless they were named."""
    table = schema.scores
    wanted = table.c["scene_id", "algorithm_id", "column_set_id", "value", "sum", "count", "missing", "inputs", "crc"]
    rows = connection.execute(sql.select(*wanted).where(selection.condition())).all()
    sets = known_column_sets(connection)
    _verify(rows, sets, selection)
    parts = list(zip(*rows, strict=True)) if rows else [()] * 9
    scene_numbers, algorithm_numbers, set_numbers = (np.array(part, np.int64) for part in parts[:3])
    scenes = _kept(selection.scenes, parts[0], selection.named_scenes)
    algorithms = _kept(selection.algorithms, parts[1], selection.named_algorithms)
    used = sorted(set(parts[2]))
    present = [sets[number] for number in used]
    chosen = chosen_columns(present, selection.columns, selection.foreign)
    warn_undeclared(chosen)
    columns = {column: place for place, column in enumerate(filter(lambda one: is_declared(one.metric), chosen))}
    shape = (len(algorithms), len(scenes), len(columns))
    filled = {"values": np.full(shape, np.nan), **{part: np.zeros(shape) for part in ("sums", "counts", "missing")}}
    measured = np.zeros(shape, bool)
    for number in used:
        members = np.flatnonzero(set_numbers == number)
        inside = [place for place, column in enumerate(sets[number]) if column in columns]
        if not inside:
            continue
        place = (
            _positions(algorithms, algorithm_numbers[members])[:, None],
            _positions(scenes, scene_numbers[members])[:, None],
            np.array([columns[sets[number][at]] for at in inside])[None, :],
        )
        width = len(sets[number])
        for part, blobs, dtype in zip(filled, parts[3:7], (FLOATS, FLOATS, INTEGERS, INTEGERS), strict=True):
            matrix = unpacked([blobs[member] for member in members], dtype, width)
            filled[part][place] = matrix[:, inside]
        measured[place] = True
    filled["counts"], filled["missing"] = known_counts(filled["values"], filled["counts"], filled["missing"])
    owners = [selection.scenes[number] for number in scenes]
    several = len({owner for owner, _ in owners}) > 1
    shown = {
        number: f"{owner}/{name}" if several else name for number, (owner, name) in zip(scenes, owners, strict=True)
    }
    facts, protocol = scene_facts(connection), _scored_by(connection, selection.scoring)
    return ScoreCube(
        algorithms=tuple(selection.algorithms[number] for number in algorithms),
        scenes=tuple(shown.values()),
        columns=tuple(Column(column.metric, column.region) for column in columns),
        protocol=selection.protocol,
        datasets=tuple(owner for owner, _ in owners),
        facts=tuple(facts[owner] for owner in owners),
        depth_units=tuple(_depth_unit(facts[owner], protocol) for owner in owners),
        tags=tag_book(connection),
        runs=_run_conditions(connection, selection, {number: sets[number] for number in used}, columns, shown),
        invalid=protocol.invalid if protocol else "count",
        void=void_scenes(measured, filled["counts"], filled["missing"]),
        known_scenes=_requested(selection, {owner for owner, _ in owners}, protocol),
        values=filled["values"],
        sums=filled["sums"],
        counts=filled["counts"],
        missing=filled["missing"],
    )


def _requested(selection: RowSelection, datasets: set[str], protocol: Protocol | None) -> int:
    """The number of scenes of these datasets that the protocol evaluates, with or without scores."""
    count = 0
    for dataset in datasets:
        names = [scene for owner, scene in selection.scenes.values() if owner == dataset]
        try:
            count += len(names if protocol is None else protocol.selected(names, dataset))
        except StereogaugeError:
            count += len(names)  # some of the scenes that the protocol names were deleted
    return count


def _run_conditions(
    connection: Connection,
    selection: RowSelection,
    sets: Mapping[int, tuple[VersionedColumn, ...]],
    columns: Iterable[VersionedColumn],
    scenes: Mapping[int, str],
) -> dict[tuple[str, str], str]:
    """The remarks on run times, which say size, threads and processor, by (algorithm, scene)."""
    timed = {column for column in columns if column.column.declared.metric.counts == "runs"}
    holding = [number for number, own in sets.items() if timed.intersection(own)]
    if not holding:
        return {}
    table = schema.scores
    query = sql.select(*table.c["algorithm_id", "scene_id", "column_set_id", "notes"]).where(
        selection.condition(), table.c.column_set_id.in_(holding), table.c.notes != ""
    )
    found = {}
    for algorithm, scene, number, text in connection.execute(query):
        remarks = json.loads(text)
        for place, column in enumerate(sets[number]):
            note = remarks.get(str(place), "")
            if column in timed and states_conditions(note) and scene in scenes:
                found[selection.algorithms[algorithm], scenes[scene]] = note
    return found


def _verify(rows: Sequence[Any], sets: Mapping[int, tuple[VersionedColumn, ...]], selection: RowSelection) -> None:
    """Raise an error where a row is not as it was written."""
    columns = {number: columns_sum(own) for number, own in sets.items()}
    scenes = {number: names_sum(selection.protocol, *own) for number, own in selection.scenes.items()}
    algorithms = {number: further_name(name) for number, name in selection.algorithms.items()}
    for scene, algorithm, column_set, value, total, count, missing, inputs, crc in rows:
        names = crc32(algorithms[algorithm], scenes[scene])
        if check_sum(names, columns[column_set], inputs, value, total, count, missing) != crc:
            raise damaged(f"{selection.algorithms[algorithm]} on {selection.scenes[scene][1]}")


def scene_facts(connection: Connection) -> dict[tuple[str, str], SceneFacts]:
    """What the store knows of scenes, by (dataset, scene)."""
    sets, scenes = schema.datasets, schema.scenes
    query = sql.select(sets.c.name, scenes.c.name, scenes.c.sources).select_from(schema.named_scenes)
    return {(owner, name): _facts(json.loads(text)) for owner, name, text in connection.execute(query)}


def _facts(described: Mapping[str, Any]) -> SceneFacts:
    """The facts of a scene; those of stores of before are beside its sources."""
    found = SceneFacts.of_values({**described, **described.get("facts", {})})
    if "calibration" in described:
        return replace(found, calibrated=Calibration(**described["calibration"]).metric)
    return found


def _depth_unit(facts: SceneFacts, protocol: Protocol | None) -> str:
    """The unit of depth errors on a scene, "" where it is not known."""
    if protocol is None or facts.calibrated is None:
        return ""
    return protocol.sigma_z.unit(calibrated=facts.calibrated)


def _scored_by(connection: Connection, scoring: int) -> Protocol | None:
    """A protocol with these scoring choices; None where only their hash is known."""
    table = schema.protocols
    text = connection.execute(sql.select(table.c.text).where(table.c.scoring_id == scoring).limit(1)).scalar()
    return None if text is None else parse_protocol(text, "the store")


def _kept(order: dict[int, Any], present: Sequence[int], named: bool) -> list[int]:
    if named:
        return list(order)
    found = set(present)
    return [number for number in order if number in found]


def _positions(order: list[int], numbers: NDArray[np.int64]) -> NDArray[np.intp]:
    table = np.zeros(max(order, default=0) + 1, np.intp)
    table[order] = np.arange(len(order))
    return table[numbers]


def read_cells(connection: Connection, selection: RowSelection) -> Iterator[CellScores]:
    """The stored cells, scene by scene, older versions of columns left out."""
    table = schema.scores
    sets = known_column_sets(connection)
    used = connection.execute(sql.select(table.c.column_set_id).where(selection.condition()).distinct()).scalars()
    columns = chosen_columns([sets[number] for number in sorted(used)], selection.columns, selection.foreign)
    for scene_number, (dataset, scene) in selection.scenes.items():
        rows = connection.execute(
            sql.select(table)
            .where(selection.condition(), table.c.scene_id == scene_number)
            .order_by(table.c.algorithm_id, table.c.id)
        ).mappings()
        by_algorithm: dict[int, list[CellScores]] = {}
        for row in rows:
            number = row["algorithm_id"]
            cell = cell_of_row(
                row,
                sets[row["column_set_id"]],
                dataset=dataset,
                scene=scene,
                algorithm=selection.algorithms[number],
                protocol=selection.protocol,
            )
            by_algorithm.setdefault(number, []).append(cell)
        for number in selection.algorithms:
            whole = joined(by_algorithm[number]) if number in by_algorithm else None
            places = {column: place for place, column in enumerate(whole.columns)} if whole else {}
            kept = [places[column] for column in columns if column in places]
            if whole is not None and kept:
                yield whole.take(kept)


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
        # Most cells have the same sets, so the difference is computed once for all of them. Wanted columns are compared
        # by identity, since the hash of many columns takes longer than all the rest; they are kept with it.
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
    of_dataset = sql.select(scenes.c.id, scenes.c.name).select_from(schema.named_scenes).where(sets.c.name == dataset)
    scene_names = mapping(connection, of_dataset)
    scoring = connection.execute(
        sql.select(schema.scorings.c.id).where(schema.scorings.c.hash == scoring_hash)
    ).scalar()
    if scoring is None or not scene_names:
        return StoredCells({}, {})
    algorithm_names = mapping(connection, sql.select(algorithms.c.id, algorithms.c.name))
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
    return StoredCells(cells, known_column_sets(connection))
