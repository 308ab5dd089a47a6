"""The tables behind submissions, in a separate database, so that a store can be copied without them."""

from __future__ import annotations

import sqlalchemy as sql
from sqlalchemy import Column, Float, Index, Integer, MetaData, String, Table, Text
from sqlalchemy.engine import Connection

metadata = MetaData()

tokens = Table(
    "tokens",
    metadata,
    Column("hash", String, primary_key=True),
    Column("submitter", String, nullable=False),
    Column("issued", Float, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", String, primary_key=True),
    Column("submitter", String, nullable=False),
    Column("name", String, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    Column("link", String, nullable=False, server_default=""),
    Column("state", String, nullable=False),
    Column("progress", Float, nullable=False, server_default="0"),
    Column("message", Text, nullable=False, server_default=""),
    Column("findings", Text, nullable=False, server_default="[]"),
    Column("scores", Text, nullable=False, server_default="[]"),
    Column("maps", Text, nullable=False, server_default="[]"),
    Column("created", Float, nullable=False),
    # Counts every start of the evaluation; what an earlier start reports is not recorded.
    Column("attempt", Integer, nullable=False, server_default="0"),
    # Counts the starts that ended through no fault of the upload that could be named.
    Column("losses", Integer, nullable=False, server_default="0"),
    Index("jobs_by_submitter", "submitter", "created"),
    Index("jobs_by_state", "state", "created"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("submitter", String, nullable=False),
    Column("at", Float, nullable=False),
    Column("job", String, nullable=False, server_default=""),
    # 1 for an upload that was found invalid and therefore does not count.
    Column("invalid", Integer, nullable=False, server_default="0"),
    Index("attempts_by_submitter", "submitter", "at"),
)

turns = Table(
    "turns",
    metadata,
    Column("submitter", String, primary_key=True),
    Column("at", Float, nullable=False),
)
"""When an evaluation of a submitter last began."""

published_names = Table(
    "published_names",
    metadata,
    Column("key", String, primary_key=True),
    Column("submitter", String, nullable=False),
    Column("job", String, nullable=False),
)
"""Whose a published name is; `key` is the name as `store.lookalikes.folded` gives it, so that no two look alike."""


def prepare(connection: Connection) -> None:
    """Make the tables, and add the columns that a database of an earlier version lacks."""
    metadata.create_all(connection)
    for table in metadata.sorted_tables:
        present = {column["name"] for column in sql.inspect(connection).get_columns(table.name)}
        for column in table.columns:
            if column.name not in present:
                kind = column.type.compile(connection.dialect)
                default = column.server_default.arg if isinstance(column.server_default, sql.DefaultClause) else ""
                added = f"ALTER TABLE {table.name} ADD COLUMN {column.name} {kind} NOT NULL DEFAULT '{default}'"
                connection.exec_driver_sql(added)
