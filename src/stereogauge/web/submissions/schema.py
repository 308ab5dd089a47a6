"""The tables behind submissions, in a separate database, so that a store can be copied without them."""

from __future__ import annotations

import sqlalchemy as sql
from sqlalchemy import JSON, Column, Float, Index, Integer, MetaData, String, Table, Text
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
    Column("name", String, nullable=False, server_default=""),
    Column("description", Text, nullable=False, server_default=""),
    Column("link", String, nullable=False, server_default=""),
    Column("state", String, nullable=False),
    Column("progress", Float, nullable=False, server_default="0"),
    Column("message", Text, nullable=False, server_default=""),
    Column("findings", JSON, nullable=False, server_default="[]"),
    Column("scores", JSON, nullable=False, server_default="[]"),
    Column("maps", JSON, nullable=False, server_default="[]"),
    Column("created", Float, nullable=False),
    # When its evaluation last began; of several submitters, the one who waited longest is next.
    Column("began", Float, nullable=False, server_default="0"),
    # Counts every start of the evaluation; what an earlier start reports is not recorded.
    Column("attempt", Integer, nullable=False, server_default="0"),
    # Counts the starts that ended through no fault of the upload that could be named.
    Column("losses", Integer, nullable=False, server_default="0"),
    # 1 for one that exists no more, and is kept for a period because it counts.
    Column("withdrawn", Integer, nullable=False, server_default="0"),
    Index("jobs_by_submitter", "submitter", "created"),
    Index("jobs_by_state", "state", "created"),
)

OF_EARLIER_VERSIONS = ("attempts", "turns", "published_names")
"""Tables of what a submission's own row says now."""


def prepare(connection: Connection) -> None:
    """Make the tables, and bring those of an earlier version up to date."""
    metadata.create_all(connection)
    for table in metadata.sorted_tables:
        present = {column["name"] for column in sql.inspect(connection).get_columns(table.name)}
        for column in table.columns:
            if column.name not in present:
                kind = column.type.compile(connection.dialect)
                default = column.server_default.arg if isinstance(column.server_default, sql.DefaultClause) else ""
                added = f"ALTER TABLE {table.name} ADD COLUMN {column.name} {kind} NOT NULL DEFAULT '{default}'"
                connection.exec_driver_sql(added)
    # The store says which are public.
    connection.exec_driver_sql("UPDATE jobs SET state = 'done' WHERE state IN ('published', 'publishing')")
    known = sql.inspect(connection).get_table_names()
    if "attempts" in known:  # those without a submission were withdrawn, and still count
        connection.exec_driver_sql(
            "INSERT INTO jobs (id, submitter, name, state, created, withdrawn) "
            "SELECT job, submitter, '', CASE invalid WHEN 1 THEN 'invalid' ELSE 'done' END, at, 1 FROM attempts "
            "WHERE job <> '' AND job NOT IN (SELECT id FROM jobs)"
        )
    for name in set(OF_EARLIER_VERSIONS).intersection(known):
        connection.exec_driver_sql(f"DROP TABLE {name}")
