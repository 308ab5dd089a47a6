"""Rows of the tables: names as integer ids, each name stored once, and the arrays of a cell as packed columns."""

from __future__ import annotations

import importlib
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sql
from sqlalchemy.engine import Connection, RowMapping

from stereogauge.errors import StoreError
from stereogauge.scores.column import VersionedColumn
from stereogauge.scores.score import CellScores
from stereogauge.store import schema

CHUNK = 10_000
"""How many values one IN (…) takes; both databases allow 32 000."""


def chunks(values: Iterable[Any]) -> Iterable[list[Any]]:
    """`values` in lists of at most `CHUNK`."""
    everything = list(values)
    return (everything[start : start + CHUNK] for start in range(0, len(everything), CHUNK))


def mapping(connection: Connection, query: Any) -> dict[Any, Any]:
    """The two columns of a query as keys and values."""
    rows: list[Any] = list(connection.execute(query))
    return dict(rows)


def _insert(connection: Connection, table: sql.Table) -> Any:
    """An INSERT with ON CONFLICT, in the dialect of the connection."""
    return importlib.import_module(f"sqlalchemy.dialects.{connection.dialect.name}").insert(table)


def insert_new(connection: Connection, table: sql.Table, rows: list[dict[str, Any]]) -> None:
    """Insert rows; those whose unique key is there already are left as they are."""
    if rows:
        connection.execute(_insert(connection, table).on_conflict_do_nothing(), rows)


def upsert(connection: Connection, table: sql.Table, key: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    """Insert rows, or bring the row with the same key up to date."""
    if not rows:
        return
    statement = _insert(connection, table)
    changed = {name: statement.excluded[name] for name in rows[0] if name not in key}
    connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=changed), rows)


def ids_of(connection: Connection, column: sql.Column[str], names: Iterable[str]) -> dict[str, int]:
    """Ids of the rows with these names in a column, created where they are new."""
    table, found = column.table, {}

    def read(wanted: list[str]) -> None:
        for some in chunks(wanted):
            found.update(mapping(connection, sql.select(column, table.c.id).where(column.in_(some))))

    wanted = list(dict.fromkeys(names))
    read(wanted)
    absent = [name for name in wanted if name not in found]
    insert_new(connection, table, [{column.name: name} for name in absent])
    read(absent)
    return found


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
    numbers = {column: number for number, column in known_columns(connection).items()}
    absent = dict.fromkeys(column for columns in wanted for column in columns if column not in numbers)
    if absent:
        insert_new(connection, schema.score_columns, [column._asdict() for column in absent])
        numbers = {column: number for number, column in known_columns(connection).items()}
    texts = {columns: json.dumps([numbers[column] for column in columns]) for columns in wanted}
    found = ids_of(connection, schema.column_sets.c.columns, texts.values())
    return {columns: found[text] for columns, text in texts.items()}


def known_column_sets(connection: Connection) -> dict[int, tuple[VersionedColumn, ...]]:
    """All sets of columns by id."""
    columns = known_columns(connection)
    rows = connection.execute(sql.select(schema.column_sets.c.id, schema.column_sets.c.columns))
    return {number: tuple(columns[place] for place in json.loads(text)) for number, text in rows}


class CellKey(NamedTuple):
    """The names of a cell."""

    dataset: str
    scene: str
    algorithm: str
    protocol: str


def of_row(connection: Connection, number: int) -> CellKey:
    """The names of one row of scores."""
    names = (schema.datasets.c.name, schema.scenes.c.name, schema.algorithms.c.name, schema.scorings.c.hash)
    query = sql.select(*names).select_from(schema.named_scores).where(schema.scores.c.id == number)
    return CellKey(*connection.execute(query).one())


PACKED: Mapping[str, tuple[str, str]] = {
    "value": ("values", "<f8"),
    "sum": ("sums", "<f8"),
    "count": ("counts", "<i8"),
    "missing": ("missing", "<i8"),
}
"""The packed arrays of a row, with the part of a cell that each holds and the type of its numbers."""


def packed(cell: CellScores) -> dict[str, Any]:
    """The part of a `scores` row that depends on the cell alone."""
    arrays = {name: getattr(cell, part).astype(kind).tobytes() for name, (part, kind) in PACKED.items()}
    names = names_sum(cell.protocol, cell.dataset, cell.scene, cell.algorithm)
    return {
        **arrays,
        "inputs": cell.inputs,
        "seconds": cell.seconds,
        "host": cell.host,
        "notes": json.dumps({str(place): note for place, note in cell.notes.items()}) if cell.notes else "",
        "crc": check_sum(names, columns_sum(cell.columns), cell.inputs, *arrays.values()),
    }


def names_sum(*names: str) -> int:
    """The check sum of the names of a row: protocol, dataset, scene, algorithm."""
    return zlib.crc32("\0".join(names).encode("utf-8", "surrogatepass"))


def further_name(name: str) -> bytes:
    """What a further name adds: crc32(further_name(last), names_sum(*others)) = names_sum(*others, last)."""
    return f"\0{name}".encode("utf-8", "surrogatepass")


def columns_sum(columns: tuple[VersionedColumn, ...]) -> bytes:
    """The check sum of the names and versions of columns, as bytes."""
    return zlib.crc32(repr([tuple(column) for column in columns]).encode()).to_bytes(4, "little")


def check_sum(names: int, columns: bytes, inputs: int, *arrays: bytes) -> int:
    """The check sum of a row: CRC-32 of what its numbers are called and of the packed numbers."""
    return zlib.crc32(b"".join((columns, inputs.to_bytes(8, "little", signed=True), *arrays)), names)


def damaged(what: str) -> StoreError:
    """The error for a row that is not what was written."""
    return StoreError(
        f"The store is damaged: the scores of {what} are not those that were written; `stereogauge store check` lists "
        "what is damaged. Restore a copy, or delete the algorithm and evaluate it again."
    )


def cell_of_row(row: RowMapping, columns: tuple[VersionedColumn, ...], key: CellKey) -> CellScores:
    """The cell that a `scores` row holds; one that is not as it was written is refused."""
    names = names_sum(key.protocol, *key[:3])
    if row["crc"] != check_sum(names, columns_sum(columns), row["inputs"], *(bytes(row[name]) for name in PACKED)):
        raise damaged(f"{key.algorithm} on {key.scene}")
    arrays: dict[str, Any] = {
        part: np.frombuffer(row[name], kind).astype(kind[1:]) for name, (part, kind) in PACKED.items()
    }
    return CellScores(
        **key._asdict(),
        columns=columns,
        **arrays,
        notes={int(place): note for place, note in json.loads(row["notes"]).items()} if row["notes"] else {},
        inputs=row["inputs"],
        seconds=row["seconds"],
        host=row["host"],
    )


COUNTED = tuple(
    table
    for table in schema.metadata.sorted_tables
    if table not in (schema.schema_version, schema.row_counts, schema.files)
)
"""The tables that only lose rows when something is deleted on purpose."""


def count_rows(connection: Connection) -> None:
    """Keep how many rows each table has, at the end of a transaction that wrote; others wait for its end here."""
    table = schema.row_counts
    connection.execute(sql.select(table.c.rows).with_for_update()).all()
    rows = [{"name": name, "rows": number} for name, number in _row_counts(connection).items()]
    upsert(connection, table, ("name",), rows)


def _row_counts(connection: Connection) -> dict[str, int]:
    counts = [sql.select(sql.func.count()).select_from(table).scalar_subquery().label(table.name) for table in COUNTED]
    return {str(name): int(number) for name, number in connection.execute(sql.select(*counts)).mappings().one().items()}


def read_damage(connection: Connection) -> list[str]:
    """One sentence per row of scores that is not as it was written, and per table that lost or got rows elsewhere."""
    known = schema.row_counts
    counted = sql.inspect(connection).has_table(known.name)
    stored = mapping(connection, sql.select(known.c.name, known.c.rows)) if counted else {}
    found = [
        f"The table {name!r} has {number} rows, {stored.get(name, 0)} were written; another program changed it."
        for name, number in _row_counts(connection).items()
        if counted and stored.get(name, 0) != number
    ]
    table = schema.scores
    sets = known_column_sets(connection)
    for number in connection.execute(sql.select(table.c.id).order_by(table.c.id)).scalars().all():
        row = connection.execute(sql.select(table).where(table.c.id == number)).mappings().one()
        try:
            cell_of_row(row, sets[row["column_set_id"]], of_row(connection, number))
        except StoreError as problem:
            found.append(str(problem))
        except (KeyError, ValueError, TypeError, sql.exc.NoResultFound) as problem:
            found.append(f"Row {number} of the scores belongs to nothing that the store knows ({problem}).")
    return found
