"""Bringing a store to the current schema: new stores are made as `schema` says, older ones take the steps that they
lack, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sqlalchemy as sql
from sqlalchemy.engine import Connection
from sqlalchemy.schema import CreateTable

from stereogauge.errors import StoreError
from stereogauge.store import schema
from stereogauge.store.engine import Database
from stereogauge.store.rows import PACKED, check_sum, columns_sum, count_rows, known_column_sets, names_sum, of_row

Step = Callable[[Connection], None]


def _tags_and_confidence(connection: Connection) -> None:
    """Version 2: tags of algorithms and scenes, and where the confidence map of a result lies."""
    for table, column, default in (("algorithms", "tags", "{}"), ("scenes", "tags", "{}"), ("maps", "confidence", "")):
        connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {column} TEXT NOT NULL DEFAULT '{default}'")


def add_check_sums(connection: Connection) -> None:
    """Version 3: each row of scores has a check sum."""
    connection.exec_driver_sql("ALTER TABLE scores ADD COLUMN crc BIGINT NOT NULL DEFAULT 0")
    sets = {number: columns_sum(columns) for number, columns in known_column_sets(connection).items()}
    table = schema.scores
    for number in connection.execute(sql.select(table.c.id)).scalars().all():
        row = connection.execute(sql.select(table).where(table.c.id == number)).mappings().one()
        own = of_row(connection, number)
        named = names_sum(own.protocol, *own[:3])
        arrays = [bytes(row[part]) for part in PACKED]
        crc = check_sum(named, sets[row["column_set_id"]], row["inputs"], *arrays)
        connection.execute(table.update().where(table.c.id == number).values(crc=crc))


STEPS: tuple[Step, ...] = (_tags_and_confidence, add_check_sums)
"""STEPS[n] brings a store of version n + 1 to version n + 2; the current version is len(STEPS) + 1."""


def current_version(steps: Sequence[Step] = STEPS) -> int:
    """The version that these steps lead to."""
    return len(steps) + 1


def prepare(database: Database, steps: Sequence[Step] = STEPS) -> None:
    """Make the tables of a new store, or bring an older one up to date, in one transaction."""
    wanted = current_version(steps)
    with database.reading() as connection:
        found = _version(database, connection)
    if found == wanted:
        _add_counts(database)
        return
    if found is not None and found > wanted:
        raise StoreError(
            f"{database.name} was written by a newer Stereogauge (its schema is version {found}, this one knows "
            f"{wanted}); install the newer version to use it."
        )
    if database.read_only:
        if found is None:
            raise StoreError(f"{database.name} holds no scores; fill it with `stereogauge evaluate`.")
        raise StoreError(
            f"{database.name} has the older schema version {found} and was opened read-only; run `stereogauge store "
            f"upgrade {database.name}` once."
        )
    with database.writing() as connection:
        _upgrade(database, connection, steps)


def _add_counts(database: Database) -> None:
    """Give a store of an earlier version its table of counts when it is first opened for writing."""
    if not database.read_only:
        with database.reading() as connection:
            there = sql.inspect(connection).has_table(schema.row_counts.name)
        if not there:
            with database.writing() as connection:
                _count(connection)


def _count(connection: Connection) -> None:
    connection.execute(CreateTable(schema.row_counts, if_not_exists=True))
    count_rows(connection)


def _upgrade(database: Database, connection: Connection, steps: Sequence[Step]) -> None:
    if not database.sqlite:
        # Two programs that open a new database at once must not both make the tables.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7307311)")
    found = _version(database, connection)
    if found is None:
        schema.metadata.create_all(connection)
        connection.execute(schema.schema_version.insert().values(version=current_version(steps)))
        return
    for step in steps[found - 1 :]:
        step(connection)
    _count(connection)
    connection.execute(schema.schema_version.update().values(version=current_version(steps)))


def _version(database: Database, connection: Connection) -> int | None:
    """The store's version; None when the database is empty."""
    tables = sql.inspect(connection).get_table_names()
    if schema.schema_version.name in tables:
        version = connection.execute(sql.select(schema.schema_version.c.version)).scalar()
        return None if version is None else int(version)
    if tables and database.sqlite:
        some = ", ".join(sorted(tables)[:4])
        raise StoreError(f"{database.name} is a database of something else (it holds {some}); give another --store.")
    return None
