"""Copying one store into another."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from stereogauge.protocol import parse_protocol
from stereogauge.scores.cell import CellScores
from stereogauge.scores.column import VersionedColumn
from stereogauge.store import listing, names, read, schema, write
from stereogauge.store.blocks import cell_of_row
from stereogauge.tags import TagBook

Key = tuple[str, str, str, str]


def merge(source: Connection, target: Connection) -> int:
    """Copy everything from `source` that `target` lacks or holds in an older state; returns the number of cells that
    came in.
    """
    _copy_names(source, target)
    runs = _copy_runs(source, target)
    sets = names.known_column_sets(source)
    scene_names = read.all_scenes(source)
    algorithm_names = names.mapping(source, sql.select(schema.algorithms.c.id, schema.algorithms.c.name))
    hashes = names.mapping(source, sql.select(schema.scorings.c.id, schema.scorings.c.hash))
    present = _state(target)
    taken: set[Key] = set()
    for number, (dataset, scene) in scene_names.items():
        arriving: dict[int, list[tuple[CellScores, float]]] = {}
        rows = source.execute(sql.select(schema.scores).where(schema.scores.c.scene_id == number)).mappings()
        for row in rows:
            cell = cell_of_row(
                row,
                sets[row["column_set_id"]],
                dataset=dataset,
                scene=scene,
                algorithm=algorithm_names[row["algorithm_id"]],
                protocol=hashes[row["scoring_id"]],
            )
            key = (cell.dataset, cell.scene, cell.algorithm, cell.protocol)
            wanted = _wanted(cell, row["written"], present.get(key))
            if wanted is not None:
                arriving.setdefault(runs[row["run_id"]], []).append((wanted, row["written"]))
                taken.add(key)
        for run, cells in arriving.items():
            write.write_cells(target, [cell for cell, _ in cells], run, [written for _, written in cells])
    _copy_maps(source, target, {key[:3] for key in taken})
    return len(taken)


def _copy_names(source: Connection, target: Connection) -> None:
    for text in source.execute(sql.select(schema.protocols.c.text)).scalars():
        write.write_protocol(target, parse_protocol(text, "merged store"))
    datasets = source.execute(sql.select(schema.datasets)).mappings().all()
    names.insert_new(
        target, schema.datasets, [{key: row[key] for key in ("name", "version", "root")} for row in datasets]
    )
    numbers = names.dataset_ids(target, [row["name"] for row in datasets])
    owner = {row["id"]: numbers[row["name"]] for row in datasets}
    scenes = source.execute(sql.select(schema.scenes)).mappings().all()
    kept = ("name", "position", "content", "sources", "tags")
    names.insert_new(
        target,
        schema.scenes,
        [{"dataset_id": owner[row["dataset_id"]], **{key: row[key] for key in kept}} for row in scenes],
    )
    algorithms = source.execute(sql.select(schema.algorithms).order_by(schema.algorithms.c.id)).mappings().all()
    names.insert_new(
        target, schema.algorithms, [{key: value for key, value in row.items() if key != "id"} for row in algorithms]
    )
    arriving, present = read.tag_book(source), read.tag_book(target)
    write.write_tags(
        target,
        TagBook(
            {name: tags for name, tags in arriving.algorithms.items() if not present.algorithms.get(name)},
            {scene: tags for scene, tags in arriving.scenes.items() if not present.scenes.get(scene)},
        ),
    )


def _copy_runs(source: Connection, target: Connection) -> dict[int, int]:
    """Runs are copied once: a second merge of the same store finds them by start, host and command."""
    table = schema.runs
    numbers: dict[int, int] = {}
    for row in source.execute(sql.select(table).order_by(table.c.id)).mappings().all():
        values = {key: value for key, value in row.items() if key != "id"}
        same = sql.select(table.c.id).where(
            table.c.started == values["started"], table.c.host == values["host"], table.c.command == values["command"]
        )
        found = target.execute(same).scalar()
        if found is None:
            key = target.execute(table.insert().values(**values)).inserted_primary_key
            assert key is not None
            found = key[0]
        numbers[row["id"]] = int(found)
    return numbers


def _state(target: Connection) -> dict[Key, list[tuple[int, float, frozenset[VersionedColumn]]]]:
    """What the target holds of each cell: (inputs, written, columns) of its rows."""
    table = schema.scores
    sets = {number: frozenset(columns) for number, columns in names.known_column_sets(target).items()}
    scenes = read.all_scenes(target)
    algorithms = names.mapping(target, sql.select(schema.algorithms.c.id, schema.algorithms.c.name))
    hashes = names.mapping(target, sql.select(schema.scorings.c.id, schema.scorings.c.hash))
    state: dict[Key, list[tuple[int, float, frozenset[VersionedColumn]]]] = {}
    query = sql.select(*table.c["scoring_id", "scene_id", "algorithm_id", "column_set_id", "inputs", "written"])
    for scoring, scene, algorithm, column_set, inputs, written in target.execute(query):
        key = (*scenes[scene], algorithms[algorithm], hashes[scoring])
        state.setdefault(key, []).append((inputs, written, sets[column_set]))
    return state


def _wanted(
    cell: CellScores, written: float, present: list[tuple[int, float, frozenset[VersionedColumn]]] | None
) -> CellScores | None:
    """The columns of `cell` that should come in: those that are absent, or all when it is of newer inputs."""
    if present is None:
        return cell
    if any(inputs != cell.inputs for inputs, _, _ in present):
        return cell if written > max(time for _, time, _ in present) else None
    known = frozenset().union(*(columns for _, _, columns in present))
    places = [place for place, column in enumerate(cell.columns) if column not in known]
    return cell.take(places) if places else None


def _copy_maps(source: Connection, target: Connection, wanted: set[tuple[Any, ...]]) -> None:
    found = (listing.map_record(source, algorithm, dataset, scene) for dataset, scene, algorithm in sorted(wanted))
    write.write_maps(target, [record for record in found if record is not None])
