"""The tables of a store.

One row of `scores` holds all columns that were computed together for one algorithm on one scene under one protocol:
four packed arrays (value, sum, count, missing), each with one entry per column of its column set. That is a twentieth
of the rows of a table with one row per score, so that a cube of a million scores is read in a fraction of a second
(docs/store.md). A cell has each column at most once.
"""

from __future__ import annotations

import time

import sqlalchemy as sql

metadata = sql.MetaData()

schema_version = sql.Table("schema_version", metadata, sql.Column("version", sql.Integer, nullable=False))

datasets = sql.Table(
    "datasets",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("name", sql.String, nullable=False, unique=True),
    sql.Column("version", sql.String, nullable=False, server_default=""),
    sql.Column("root", sql.String, nullable=False, server_default=""),
)

scenes = sql.Table(
    "scenes",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("dataset_id", sql.ForeignKey("datasets.id", ondelete="CASCADE"), nullable=False),
    sql.Column("name", sql.String, nullable=False),
    sql.Column("position", sql.Integer, nullable=False, server_default="0"),
    sql.Column("content", sql.String, nullable=False, server_default=""),
    sql.Column("sources", sql.Text, nullable=False, server_default="{}"),
    sql.Column("tags", sql.Text, nullable=False, server_default="{}"),
    sql.UniqueConstraint("dataset_id", "name"),
)

algorithms = sql.Table(
    "algorithms",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("name", sql.String, nullable=False, unique=True),
    sql.Column("description", sql.Text, nullable=False, server_default=""),
    sql.Column("link", sql.String, nullable=False, server_default=""),
    sql.Column("colour", sql.String, nullable=False, server_default=""),
    sql.Column("metadata", sql.Text, nullable=False, server_default="{}"),
    sql.Column("tags", sql.Text, nullable=False, server_default="{}"),
    sql.Column("added", sql.Float, nullable=False, default=time.time),
)

scorings = sql.Table(
    "scorings",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("hash", sql.String, nullable=False, unique=True),
)

protocols = sql.Table(
    "protocols",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("hash", sql.String, nullable=False, unique=True),
    sql.Column("scoring_id", sql.ForeignKey("scorings.id", ondelete="CASCADE"), nullable=False),
    sql.Column("name", sql.String, nullable=False),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("added", sql.Float, nullable=False),
)

score_columns = sql.Table(
    "score_columns",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("metric", sql.String, nullable=False),
    sql.Column("metric_version", sql.Integer, nullable=False),
    sql.Column("region", sql.String, nullable=False),
    sql.Column("region_version", sql.Integer, nullable=False),
    sql.UniqueConstraint("metric", "metric_version", "region", "region_version"),
)

column_sets = sql.Table(
    "column_sets",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("columns", sql.Text, nullable=False, unique=True),
)

runs = sql.Table(
    "runs",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("started", sql.Float, nullable=False),
    sql.Column("finished", sql.Float),
    sql.Column("host", sql.String, nullable=False),
    sql.Column("versions", sql.Text, nullable=False),
    sql.Column("command", sql.Text, nullable=False, server_default=""),
)


def _cell_key() -> list[sql.Column[int]]:
    return [
        sql.Column("scoring_id", sql.ForeignKey("scorings.id", ondelete="CASCADE"), nullable=False),
        sql.Column("scene_id", sql.ForeignKey("scenes.id", ondelete="CASCADE"), nullable=False),
        sql.Column("algorithm_id", sql.ForeignKey("algorithms.id", ondelete="CASCADE"), nullable=False),
    ]


scores = sql.Table(
    "scores",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True),
    *_cell_key(),
    sql.Column("column_set_id", sql.ForeignKey("column_sets.id"), nullable=False),
    sql.Column("inputs", sql.BigInteger, nullable=False),
    sql.Column("run_id", sql.ForeignKey("runs.id"), nullable=False),
    sql.Column("seconds", sql.Float, nullable=False),
    sql.Column("host", sql.String, nullable=False),
    sql.Column("written", sql.Float, nullable=False),
    sql.Column("notes", sql.Text, nullable=False, server_default=""),
    sql.Column("value", sql.LargeBinary, nullable=False),
    sql.Column("sum", sql.LargeBinary, nullable=False),
    sql.Column("count", sql.LargeBinary, nullable=False),
    sql.Column("missing", sql.LargeBinary, nullable=False),
    # The check sum of the numbers and of their names; verified whenever they are read.
    sql.Column("crc", sql.BigInteger, nullable=False, server_default="0"),
    # The plan reads these five and nothing else, so the index alone answers it.
    sql.Index("scores_by_cell", "scoring_id", "scene_id", "algorithm_id", "column_set_id", "inputs", unique=True),
    sql.Index("scores_by_algorithm", "algorithm_id"),
)

failures = sql.Table(
    "failures",
    metadata,
    *_cell_key(),
    sql.Column("reason", sql.Text, nullable=False),
    sql.Column("detail", sql.Text, nullable=False, server_default=""),
    sql.Column("run_id", sql.ForeignKey("runs.id"), nullable=False),
    sql.Column("at", sql.Float, nullable=False),
    sql.PrimaryKeyConstraint("scoring_id", "scene_id", "algorithm_id"),
)

maps = sql.Table(
    "maps",
    metadata,
    sql.Column("scene_id", sql.ForeignKey("scenes.id", ondelete="CASCADE"), nullable=False),
    sql.Column("algorithm_id", sql.ForeignKey("algorithms.id", ondelete="CASCADE"), nullable=False),
    sql.Column("content", sql.String, nullable=False),
    sql.Column("source", sql.Text, nullable=False),
    sql.Column("right_source", sql.Text, nullable=False, server_default=""),
    sql.Column("extras", sql.Text, nullable=False, server_default="{}"),
    sql.Column("confidence", sql.Text, nullable=False, server_default=""),
    sql.PrimaryKeyConstraint("scene_id", "algorithm_id"),
    sql.Index("maps_by_algorithm", "algorithm_id"),
)

named_scenes = scenes.join(datasets)
"""Scenes with their datasets."""
named_maps = maps.join(scenes).join(datasets).join(algorithms)
named_scores = scores.join(scenes).join(datasets).join(algorithms).join(scorings)
named_failures = failures.join(scenes).join(datasets).join(algorithms).join(scorings)
"""Rows with the names that their ids mean."""

row_counts = sql.Table(
    "row_counts",
    metadata,
    sql.Column("name", sql.String, primary_key=True),
    sql.Column("rows", sql.BigInteger, nullable=False),
)
"""How many rows each table had after the last write through `Store`.

Stores of earlier versions lack it until they are opened for writing.
"""

files = sql.Table(
    "files",
    metadata,
    sql.Column("source", sql.String, primary_key=True),
    sql.Column("stamp", sql.String, nullable=False),
    sql.Column("hash", sql.String, nullable=False),
)
