"""The tables behind submissions, in a separate database, so that a store can be copied without them."""

from __future__ import annotations

from sqlalchemy import Column, Float, Index, MetaData, String, Table, Text

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
    Index("jobs_by_submitter", "submitter", "created"),
    Index("jobs_by_state", "state", "created"),
)
