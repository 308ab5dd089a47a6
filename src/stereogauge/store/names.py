"""Integer ids for names: rows of scores hold small numbers, and each name stands once in its own table."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from stereogauge.scores.column import VersionedColumn
from stereogauge.store import schema

CHUNK = 10_000
"""How many values one IN (…) takes; both databases allow 32 000."""


def chunks(values: Iterable[Any], size: int = CHUNK) -> Iterable[list[Any]]:
    """`values` in lists of at most `size`."""
    everything = list(values)
    return (everything[start : start + size] for start in range(0, len(everything), size))


def mapping(connection: Connection, query: Any) -> dict[Any, Any]:
    """The two columns of a query as keys and values."""
    rows: list[Any] = list(connection.execute(query))
    return dict(rows)


def insert(connection: Connection, table: sql.Table) -> Any:
    """An INSERT that knows ON CONFLICT, for the database at hand."""
    return importlib.import_module(f"sqlalchemy.dialects.{connection.dialect.name}").insert(table)


def insert_new(connection: Connection, table: sql.Table, rows: list[dict[str, Any]]) -> None:
    """Insert rows; those whose unique key is there already are left as they are."""
    if rows:
        connection.execute(insert(connection, table).on_conflict_do_nothing(), rows)


def replace(connection: Connection, table: sql.Table, key: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    """Insert rows, or bring the row with the same key up to date."""
    if not rows:
        return
    statement = insert(connection, table)
    changed = {name: statement.excluded[name] for name in rows[0] if name not in key}
    connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=changed), rows)


def _ids(connection: Connection, table: sql.Table, column: str, names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for some in chunks(dict.fromkeys(names)):
        found |= mapping(connection, sql.select(table.c[column], table.c.id).where(table.c[column].in_(some)))
    return found


def _ensured(
    connection: Connection, table: sql.Table, column: str, names: Iterable[str], **defaults: Any
) -> dict[str, int]:
    wanted = list(dict.fromkeys(names))
    found = _ids(connection, table, column, wanted)
    absent = [name for name in wanted if name not in found]
    insert_new(connection, table, [{column: name, **defaults} for name in absent])
    return found | _ids(connection, table, column, absent)


def dataset_ids(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """Ids of datasets, created where they are new."""
    return _ensured(connection, schema.datasets, "name", names)


def algorithm_ids(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """Ids of algorithms, created where they are new."""
    return _ensured(connection, schema.algorithms, "name", names, added=time.time())


def scoring_ids(connection: Connection, hashes: Iterable[str]) -> dict[str, int]:
    """Ids of scoring hashes, created where they are new."""
    return _ensured(connection, schema.scorings, "hash", hashes)


def scene_ids(connection: Connection, dataset_id: int, names: Iterable[str]) -> dict[str, int]:
    """Ids of a dataset's scenes; new ones follow the others."""
    wanted = list(dict.fromkeys(names))
    table = schema.scenes
    query = sql.select(table.c.name, table.c.id).where(table.c.dataset_id == dataset_id)
    found = mapping(connection, query)
    absent = [name for name in wanted if name not in found]
    if absent:
        rows = [
            {"dataset_id": dataset_id, "name": name, "position": len(found) + place}
            for place, name in enumerate(absent)
        ]
        insert_new(connection, table, rows)
        found = mapping(connection, query)
    return {name: found[name] for name in wanted}


def column_ids(connection: Connection, columns: Iterable[VersionedColumn]) -> dict[VersionedColumn, int]:
    """Ids of columns, created where they are new."""
    wanted = dict.fromkeys(columns)
    found = {column: number for number, column in known_columns(connection).items()}
    absent = [column._asdict() for column in wanted if column not in found]
    if absent:
        insert_new(connection, schema.score_columns, absent)
        found = {column: number for number, column in known_columns(connection).items()}
    return {column: found[column] for column in wanted}


def known_columns(connection: Connection) -> dict[int, VersionedColumn]:
    """All columns by id."""
    table = schema.score_columns
    query = sql.select(table.c.id, table.c.metric, table.c.metric_version, table.c.region, table.c.region_version)
    return {row[0]: VersionedColumn(*row[1:]) for row in connection.execute(query)}


def column_set_ids(
    connection: Connection, sets: Iterable[tuple[VersionedColumn, ...]]
) -> Mapping[tuple[VersionedColumn, ...], int]:
    """Ids of ordered sets of columns, created where they are new."""
    wanted = list(dict.fromkeys(sets))
    numbers = column_ids(connection, (column for columns in wanted for column in columns))
    texts = {columns: json.dumps([numbers[column] for column in columns]) for columns in wanted}
    found = _ensured(connection, schema.column_sets, "columns", texts.values())
    return {columns: found[text] for columns, text in texts.items()}


def known_column_sets(connection: Connection) -> dict[int, tuple[VersionedColumn, ...]]:
    """All sets of columns by id."""
    columns = known_columns(connection)
    rows = connection.execute(sql.select(schema.column_sets.c.id, schema.column_sets.c.columns))
    return {number: tuple(columns[place] for place in json.loads(text)) for number, text in rows}


def of_row(connection: Connection, number: int) -> dict[str, str]:
    """Dataset, scene, algorithm and protocol of one row of scores."""
    scores, scenes, sets = schema.scores, schema.scenes, schema.datasets
    algorithms, scorings = schema.algorithms, schema.scorings
    query = (
        sql.select(
            sets.c.name.label("dataset"),
            scenes.c.name.label("scene"),
            algorithms.c.name.label("algorithm"),
            scorings.c.hash.label("protocol"),
        )
        .select_from(scores)
        .join(scenes, scenes.c.id == scores.c.scene_id)
        .join(sets, sets.c.id == scenes.c.dataset_id)
        .join(algorithms, algorithms.c.id == scores.c.algorithm_id)
        .join(scorings, scorings.c.id == scores.c.scoring_id)
        .where(scores.c.id == number)
    )
    return dict(connection.execute(query).mappings().one())
