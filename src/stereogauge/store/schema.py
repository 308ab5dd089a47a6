"""The tables of a store.

One row of `scores` holds all columns that were computed together for one algorithm on one scene under one protocol:
four packed arrays (value, sum, count, missing), each with one entry per column of its column set. That is a twentieth
of the rows of a table with one row per score, so that a cube of a million scores is read in a fraction of a second
(docs/store.md). A cell has each column at most once.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

schema_version = Table("schema_version", metadata, Column("version", Integer, nullable=False))

datasets = Table(
    "datasets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("version", String, nullable=False, server_default=""),
    Column("root", String, nullable=False, server_default=""),
)

scenes = Table(
    "scenes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("dataset_id", ForeignKey("datasets.id", ondelete="CASCADE"), nullable=False),
    Column("name", String, nullable=False),
    Column("position", Integer, nullable=False, server_default="0"),
    Column("content", String, nullable=False, server_default=""),
    Column("sources", Text, nullable=False, server_default="{}"),
    Column("tags", Text, nullable=False, server_default="{}"),
    UniqueConstraint("dataset_id", "name"),
)

algorithms = Table(
    "algorithms",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("description", Text, nullable=False, server_default=""),
    Column("link", String, nullable=False, server_default=""),
    Column("colour", String, nullable=False, server_default=""),
    Column("metadata", Text, nullable=False, server_default="{}"),
    Column("tags", Text, nullable=False, server_default="{}"),
    Column("added", Float, nullable=False),
)

scorings = Table(
    "scorings",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hash", String, nullable=False, unique=True),
)

protocols = Table(
    "protocols",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hash", String, nullable=False, unique=True),
    Column("scoring_id", ForeignKey("scorings.id", ondelete="CASCADE"), nullable=False),
    Column("name", String, nullable=False),
    Column("text", Text, nullable=False),
    Column("added", Float, nullable=False),
)

score_columns = Table(
    "score_columns",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("metric", String, nullable=False),
    Column("metric_version", Integer, nullable=False),
    Column("region", String, nullable=False),
    Column("region_version", Integer, nullable=False),
    UniqueConstraint("metric", "metric_version", "region", "region_version"),
)

column_sets = Table(
    "column_sets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("columns", Text, nullable=False, unique=True),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("started", Float, nullable=False),
    Column("finished", Float),
    Column("host", String, nullable=False),
    Column("versions", Text, nullable=False),
    Column("command", Text, nullable=False, server_default=""),
)


def _cell_key() -> list[Column[int]]:
    return [
        Column("scoring_id", ForeignKey("scorings.id", ondelete="CASCADE"), nullable=False),
        Column("scene_id", ForeignKey("scenes.id", ondelete="CASCADE"), nullable=False),
        Column("algorithm_id", ForeignKey("algorithms.id", ondelete="CASCADE"), nullable=False),
    ]


scores = Table(
    "scores",
    metadata,
    Column("id", Integer, primary_key=True),
    *_cell_key(),
    Column("column_set_id", ForeignKey("column_sets.id"), nullable=False),
    Column("inputs", BigInteger, nullable=False),
    Column("run_id", ForeignKey("runs.id"), nullable=False),
    Column("seconds", Float, nullable=False),
    Column("host", String, nullable=False),
    Column("written", Float, nullable=False),
    Column("notes", Text, nullable=False, server_default=""),
    Column("value", LargeBinary, nullable=False),
    Column("sum", LargeBinary, nullable=False),
    Column("count", LargeBinary, nullable=False),
    Column("missing", LargeBinary, nullable=False),
    # The check sum of the numbers and of their names; verified whenever they are read.
    Column("crc", BigInteger, nullable=False, server_default="0"),
    # The plan reads these five and nothing else, so the index alone answers it.
    Index("scores_by_cell", "scoring_id", "scene_id", "algorithm_id", "column_set_id", "inputs", unique=True),
    Index("scores_by_algorithm", "algorithm_id"),
)

failures = Table(
    "failures",
    metadata,
    *_cell_key(),
    Column("reason", Text, nullable=False),
    Column("detail", Text, nullable=False, server_default=""),
    Column("run_id", ForeignKey("runs.id"), nullable=False),
    Column("at", Float, nullable=False),
    PrimaryKeyConstraint("scoring_id", "scene_id", "algorithm_id"),
)

maps = Table(
    "maps",
    metadata,
    Column("scene_id", ForeignKey("scenes.id", ondelete="CASCADE"), nullable=False),
    Column("algorithm_id", ForeignKey("algorithms.id", ondelete="CASCADE"), nullable=False),
    Column("content", String, nullable=False),
    Column("source", Text, nullable=False),
    Column("right_source", Text, nullable=False, server_default=""),
    Column("extras", Text, nullable=False, server_default="{}"),
    Column("confidence", Text, nullable=False, server_default=""),
    PrimaryKeyConstraint("scene_id", "algorithm_id"),
    Index("maps_by_algorithm", "algorithm_id"),
)

named_scenes = scenes.join(datasets)
"""Scenes with their datasets."""
named_maps = maps.join(scenes).join(datasets).join(algorithms)
named_scores = scores.join(scenes).join(datasets).join(algorithms).join(scorings)
named_failures = failures.join(scenes).join(datasets).join(algorithms).join(scorings)
"""Rows with the names that their ids mean."""

files = Table(
    "files",
    metadata,
    Column("source", String, primary_key=True),
    Column("stamp", String, nullable=False),
    Column("hash", String, nullable=False),
)
