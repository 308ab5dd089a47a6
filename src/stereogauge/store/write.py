"""Writing cells, failures and what is known of scenes and algorithms, in a transaction that the caller opened."""

from __future__ import annotations

import contextlib
import json
import platform
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

import sqlalchemy as sql
from msgspec import Struct, field
from sqlalchemy.engine import Connection

from stereogauge.errors import StoreError
from stereogauge.model import Dataset, ResultSet, Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.column import VersionedColumn
from stereogauge.scores.facts import SceneFacts
from stereogauge.scores.score import CellScores, Failure
from stereogauge.store import schema
from stereogauge.store.rows import (
    cell_of_row,
    chunks,
    column_set_ids,
    ids_of,
    insert_new,
    known_column_sets,
    of_row,
    packed,
    scene_ids,
    upsert,
)
from stereogauge.store.sources import scene_text, tags_text
from stereogauge.tags import TagBook
from stereogauge.version import VERSION

PACKAGES = ("numpy", "opencv-python-headless", "scikit-image", "scipy")


def versions() -> dict[str, str]:
    """Versions of everything that a score's last digits may depend on, by package."""
    found = {"stereogauge": VERSION, "python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def begin_run(connection: Connection, command: str) -> int:
    """Record that a run begins; returns its id."""
    row = {
        "started": time.time(),
        "host": socket.gethostname(),
        "versions": json.dumps(versions(), sort_keys=True),
        "command": command,
    }
    key = connection.execute(schema.runs.insert().values(**row)).inserted_primary_key
    assert key is not None
    return int(key[0])


KEY = ("scoring_id", "scene_id", "algorithm_id")
"""What names a cell in the tables of scores and failures."""
SUBMISSION = "submission"
"""The entry of an algorithm's metadata that names the submission which made it."""


class MapRecord(Struct, frozen=True):
    """Where the map of one algorithm on one scene came from: source texts, the content's hash, and facts of the run.

    `confidence` is the text of `stereogauge.store.sources.confidence_text`.
    """

    dataset: str
    scene: str
    algorithm: str
    content: str
    source: str
    right_source: str = ""
    extras: dict[str, float | str] = field(default_factory=dict)
    confidence: str = ""


def write_protocol(connection: Connection, protocol: Protocol) -> int:
    """Keep the whole text of a protocol; returns the id of its scoring choices."""
    scoring = ids_of(connection, schema.scorings.c.hash, [protocol.scoring_hash])[protocol.scoring_hash]
    row = {
        "hash": protocol.hash,
        "scoring_id": scoring,
        "name": protocol.name,
        "text": protocol.to_toml(),
        "added": time.time(),
    }
    insert_new(connection, schema.protocols, [row])
    return scoring


def write_facts(connection: Connection, facts: Mapping[tuple[str, str], SceneFacts]) -> None:
    """Keep what is known, by (dataset, scene), of scenes without files."""
    datasets = ids_of(connection, schema.datasets.c.name, {dataset for dataset, _ in facts})
    table = schema.scenes
    for (dataset, scene), one in facts.items():
        known = (table.c.dataset_id == datasets[dataset]) & (table.c.name == scene) & (table.c.sources == "{}")
        connection.execute(table.update().where(known).values(sources=json.dumps({"facts": one.to_values()})))


def write_dataset(connection: Connection, dataset: Dataset, contents: dict[str, str]) -> None:
    """Keep the scenes of a dataset in its order, with where they lie and the hash of their content."""
    root = "" if dataset.root is None else str(dataset.root)
    row = {"name": dataset.name, "version": dataset.version, "root": root}
    upsert(connection, schema.datasets, ("name",), [row])
    number = ids_of(connection, schema.datasets.c.name, [dataset.name])[dataset.name]
    table = schema.scenes
    query = sql.select(table.c.name, table.c.content, table.c.sources).where(table.c.dataset_id == number)
    before = {name: (content, json.loads(text)) for name, content, text in connection.execute(query)}
    rows = [
        {
            "dataset_id": number,
            "name": scene.id,
            "position": place,
            "content": contents.get(scene.id, ""),
            "sources": scene_text(scene, _facts(scene, contents.get(scene.id, ""), before.get(scene.id))),
            "tags": tags_text(scene.tags),
        }
        for place, scene in enumerate(dataset)
    ]
    upsert(connection, schema.scenes, ("dataset_id", "name"), rows)


def _facts(scene: Scene, content: str, before: tuple[str, dict[str, Any]] | None) -> dict[str, Any]:
    """What is known of a scene; its ground truth is read again only where its content has changed."""
    if before is not None and content in ("", before[0]) and "facts" in before[1]:
        return dict(before[1]["facts"])
    if not content:
        return {}
    found = SceneFacts.of_scene(scene).to_values()
    scene.release()
    return found


def write_algorithms(connection: Connection, results: Iterable[ResultSet]) -> None:
    """Keep what is known of algorithms; what a result set does not say stays as it is."""
    sets = list(results)
    for result in sets:
        check_texts(result.name, result.name, result.description, result.link, result.colour, *result.about.values())
    numbers = ids_of(connection, schema.algorithms.c.name, [result.name for result in sets])
    for result in sets:
        said = {key: text for key in ("description", "link", "colour") if (text := getattr(result, key))}
        said |= {"tags": tags_text(result.tags)} if result.tags else {}
        table = schema.algorithms
        this = table.c.id == numbers[result.name]
        if result.about:
            known = json.loads(connection.execute(sql.select(table.c.metadata).where(this)).scalar_one())
            said["metadata"] = json.dumps({**known, **result.about})
        if said:
            connection.execute(table.update().where(this).values(**said))


def write_tags(connection: Connection, book: TagBook) -> None:
    """Keep the tags of algorithms and scenes that have any; the others stay as they are."""
    algorithms, scenes = schema.algorithms, schema.scenes
    for name, tags in book.algorithms.items():
        if tags:
            named = algorithms.c.name == name
            connection.execute(algorithms.update().where(named).values(tags=tags_text(tags)))
    tagged = {scene: tags for scene, tags in book.scenes.items() if tags}
    datasets = ids_of(connection, schema.datasets.c.name, [dataset for dataset, _ in tagged])
    for (dataset, scene), own in tagged.items():
        named = (scenes.c.dataset_id == datasets[dataset]) & (scenes.c.name == scene)
        connection.execute(scenes.update().where(named).values(tags=tags_text(own)))


def check_texts(algorithm: str, *texts: str | None) -> None:
    """Refuse a text that a database cannot hold."""
    if any("\0" in (text or "") for text in texts):
        raise StoreError(f"A text about the algorithm {algorithm!r} holds a NUL character; remove it.")


def _numbers(
    connection: Connection, records: Sequence[CellScores | MapRecord | Failure]
) -> tuple[dict[tuple[str, str], int], dict[str, int]]:
    """Ids of the scenes, by dataset and name, and of the algorithms of these records, created where they are new."""
    algorithms = ids_of(connection, schema.algorithms.c.name, [record.algorithm for record in records])
    by_dataset: dict[str, list[str]] = {}
    for record in records:
        by_dataset.setdefault(record.dataset, []).append(record.scene)
    datasets = ids_of(connection, schema.datasets.c.name, by_dataset)
    scenes = {
        (dataset, scene): number
        for dataset, some in by_dataset.items()
        for scene, number in scene_ids(connection, datasets[dataset], some).items()
    }
    return scenes, algorithms


def write_maps(connection: Connection, records: Sequence[MapRecord]) -> None:
    """Keep where maps came from."""
    if not records:
        return
    scenes, algorithms = _numbers(connection, records)
    rows = [
        {
            "scene_id": scenes[record.dataset, record.scene],
            "algorithm_id": algorithms[record.algorithm],
            "content": record.content,
            "source": record.source,
            "right_source": record.right_source,
            "extras": json.dumps(record.extras, sort_keys=True),
            "confidence": record.confidence,
        }
        for record in records
    ]
    upsert(connection, schema.maps, ("scene_id", "algorithm_id"), rows)


def write_cells(
    connection: Connection, cells: Sequence[CellScores], run: int, written: Sequence[float] | None = None
) -> None:
    """Write cells in place of older scores of the same columns and of all scores from other inputs; their failures are
    deleted.
    """
    if not cells:
        return
    keys = _keys(connection, cells)
    _delete_outdated(connection, cells, keys)
    sets = column_set_ids(connection, [cell.columns for cell in cells])
    now = time.time()
    rows = [
        {
            **dict(zip(KEY, key, strict=True)),
            "column_set_id": sets[cell.columns],
            "run_id": run,
            "written": now if written is None else written[place],
            **packed(cell),
        }
        for place, (key, cell) in enumerate(zip(keys, cells, strict=True))
    ]
    connection.execute(schema.scores.insert(), rows)
    _delete_failures(connection, keys)


def write_failures(connection: Connection, failures: Sequence[Failure], run: int) -> None:
    """Keep why cells could not be computed."""
    if not failures:
        return
    rows = [
        {
            **dict(zip(KEY, key, strict=True)),
            "reason": failure.reason,
            "detail": failure.detail,
            "run_id": run,
            "at": failure.at or time.time(),
        }
        for key, failure in zip(_keys(connection, failures), failures, strict=True)
    ]
    upsert(connection, schema.failures, KEY, rows)


class NameTaken(StoreError):  # noqa: N818 - what was found, not whose mistake it is
    """Another algorithm has the name."""


def name_key(name: str) -> str:
    """What two names of algorithms on one leaderboard must differ in: not only in case or spaces."""
    return " ".join(name.lower().split())


def delete_algorithm(connection: Connection, number: int) -> None:
    """Remove an algorithm with its scores, failures, maps and the hashes of its files; nothing is left that belonged to
    it alone.
    """
    maps = schema.maps
    sources = connection.execute(
        sql.select(maps.c.source, maps.c.right_source).where(maps.c.algorithm_id == number)
    ).all()
    connection.execute(schema.algorithms.delete().where(schema.algorithms.c.id == number))
    for some in chunks({text for row in sources for text in row if text}):
        connection.execute(schema.files.delete().where(schema.files.c.source.in_(some)))
    delete_unused_sets(connection)


def delete_unused_sets(connection: Connection) -> None:
    """Remove the sets of columns that no row of scores has any more."""
    used = sql.select(schema.scores.c.column_set_id)
    connection.execute(schema.column_sets.delete().where(schema.column_sets.c.id.not_in(used)))


def _keys(connection: Connection, cells: Sequence[CellScores | Failure]) -> list[tuple[int, int, int]]:
    """Scoring, scene and algorithm of each cell by id."""
    scorings = ids_of(connection, schema.scorings.c.hash, [cell.protocol for cell in cells])
    scenes, algorithms = _numbers(connection, cells)
    return [(scorings[cell.protocol], scenes[cell.dataset, cell.scene], algorithms[cell.algorithm]) for cell in cells]


def _rows_near(table: sql.Table, keys: Sequence[tuple[int, int, int]]) -> Any:
    """The condition that finds the rows of these cells, and perhaps of some others of the same scenes."""
    wanted = zip(KEY, zip(*keys, strict=True), strict=True)
    return sql.and_(*(table.c[name].in_(sorted(set(numbers))) for name, numbers in wanted))


def _delete_outdated(connection: Connection, cells: Sequence[CellScores], keys: Sequence[tuple[int, int, int]]) -> None:
    """Delete stored scores of these cells that came from other inputs, and cut the columns that are about to be written
    again.
    """
    table = schema.scores
    coming: dict[tuple[int, ...], set[VersionedColumn]] = {}
    inputs_now: dict[tuple[int, ...], int] = {}
    for key, cell in zip(keys, cells, strict=True):
        coming.setdefault(key, set()).update(cell.columns)
        inputs_now[key] = cell.inputs
    read = sql.select(*table.c["id", *KEY, "column_set_id", "inputs"]).where(_rows_near(table, keys))
    rows = connection.execute(read).all()
    sets = known_column_sets(connection) if rows else {}
    for number, *found, column_set, inputs in rows:
        key = tuple(found)
        if key in coming:
            same = inputs == inputs_now[key]
            kept = [place for place, column in enumerate(sets[column_set]) if same and column not in coming[key]]
            keep_columns(connection, number, sets[column_set], kept)


def keep_columns(connection: Connection, number: int, columns: tuple[VersionedColumn, ...], kept: list[int]) -> None:
    """Cut a row of scores to those of its columns at the places `kept`; without any, delete it."""
    table = schema.scores
    this = table.c.id == number
    if not kept:
        connection.execute(table.delete().where(this))
    elif len(kept) < len(columns):
        row = connection.execute(sql.select(table).where(this)).mappings().one()
        rest = cell_of_row(row, columns, of_row(connection, number)).take(kept)
        column_set = column_set_ids(connection, [rest.columns])[rest.columns]
        connection.execute(table.update().where(this).values(column_set_id=column_set, **packed(rest)))


def _delete_failures(connection: Connection, keys: Sequence[tuple[int, int, int]]) -> None:
    table = schema.failures
    found = connection.execute(sql.select(*table.c[KEY]).where(_rows_near(table, keys))).all()
    for key in set(map(tuple, found)) & set(keys):
        cell = (table.c[name] == number for name, number in zip(KEY, key, strict=True))
        connection.execute(table.delete().where(*cell))
