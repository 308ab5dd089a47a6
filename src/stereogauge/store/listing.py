"""Lists of what a store holds beside scores: datasets, algorithms, protocols, runs, failures, origins of maps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from stereogauge.store import names, schema
from stereogauge.store.engine import Database
from stereogauge.store.sources import tags_of_text
from stereogauge.store.write import Failure, MapRecord
from stereogauge.tags import Tags


@dataclass(frozen=True)
class DatasetEntry:
    """A dataset and where it lay when it was last evaluated; `tags` holds those of its scenes, by scene."""

    name: str
    version: str
    root: str
    scenes: tuple[str, ...]
    tags: Mapping[str, Tags] = field(default_factory=dict)


@dataclass(frozen=True)
class AlgorithmEntry:
    """An algorithm. `seconds` is its mean run time over the maps whose run time is known, None where none is."""

    name: str
    description: str
    link: str
    colour: str
    metadata: Mapping[str, Any]
    added: float
    seconds: float | None
    tags: Tags = field(default_factory=dict)


@dataclass(frozen=True)
class ProtocolEntry:
    """A protocol with its text; scores carry `scoring_hash`."""

    name: str
    hash: str
    scoring_hash: str
    text: str


@dataclass(frozen=True)
class RunEntry:
    """One evaluation; `finished` is None when it was interrupted. Times are seconds since 1970, UTC."""

    id: int
    started: float
    finished: float | None
    host: str
    versions: Mapping[str, str]
    command: str


class Listings:
    """Lists of what an open store holds beside scores."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def datasets(self) -> list[DatasetEntry]:
        """The datasets with the names of their scenes, in the order in which they came."""
        with self._database.reading() as connection:
            table, scenes = schema.datasets, schema.scenes
            members: dict[int, list[str]] = {}
            tags: dict[int, dict[str, Tags]] = {}
            ordered = sql.select(scenes.c.dataset_id, scenes.c.name, scenes.c.tags).order_by(scenes.c.position)
            for owner, name, text in connection.execute(ordered):
                members.setdefault(owner, []).append(name)
                if own := tags_of_text(text):
                    tags.setdefault(owner, {})[name] = own
            rows = connection.execute(sql.select(*table.c["name", "version", "root", "id"]).order_by(table.c.id))
            return [
                DatasetEntry(name, version, root, tuple(members.get(number, ())), tags.get(number, {}))
                for name, version, root, number in rows
            ]

    def algorithms(self) -> list[AlgorithmEntry]:
        """The algorithms with what is known of them, in the order in which they came."""
        with self._database.reading() as connection:
            table = schema.algorithms
            seconds: dict[int, list[float]] = {}
            known = sql.select(schema.maps.c.algorithm_id, schema.maps.c.extras).where(schema.maps.c.extras != "{}")
            for number, extras in connection.execute(known):
                if "seconds" in (facts := json.loads(extras)):
                    seconds.setdefault(number, []).append(facts["seconds"])
            means = {number: sum(times) / len(times) for number, times in seconds.items()}
            return [
                AlgorithmEntry(
                    **{name: row[name] for name in ("name", "description", "link", "colour", "added")},
                    metadata=json.loads(row["metadata"]),
                    seconds=means.get(row["id"]),
                    tags=tags_of_text(row["tags"]),
                )
                for row in connection.execute(sql.select(table).order_by(table.c.id)).mappings()
            ]

    def protocols(self) -> list[ProtocolEntry]:
        """The protocols with their whole text, in the order in which they came."""
        with self._database.reading() as connection:
            table, scorings = schema.protocols, schema.scorings
            query = (
                sql.select(table.c.name, table.c.hash, scorings.c.hash, table.c.text)
                .join(scorings, scorings.c.id == table.c.scoring_id)
                .order_by(table.c.id)
            )
            return [ProtocolEntry(*row) for row in connection.execute(query)]

    def scorings(self) -> list[str]:
        """The scoring hashes of all scores; imported ones may belong to no protocol that is known here."""
        with self._database.reading() as connection:
            table = schema.scorings
            return list(connection.execute(sql.select(table.c.hash).order_by(table.c.id)).scalars())

    def runs(self) -> list[RunEntry]:
        """The evaluations that wrote here: when, where and with which versions; the first one first."""
        with self._database.reading() as connection:
            table = schema.runs
            return [
                RunEntry(**{**row, "versions": json.loads(row["versions"])})
                for row in connection.execute(sql.select(table).order_by(table.c.id)).mappings()
            ]

    def failures(self) -> list[Failure]:
        """Cells that could not be computed, with the reason, ordered by dataset, scene and algorithm."""
        with self._database.reading() as connection:
            table, scenes, sets = schema.failures, schema.scenes, schema.datasets
            algorithms_, scorings = schema.algorithms, schema.scorings
            query = (
                sql.select(
                    sets.c.name, scenes.c.name, algorithms_.c.name, scorings.c.hash, *table.c["reason", "detail", "at"]
                )
                .join(scenes, scenes.c.id == table.c.scene_id)
                .join(sets, sets.c.id == scenes.c.dataset_id)
                .join(algorithms_, algorithms_.c.id == table.c.algorithm_id)
                .join(scorings, scorings.c.id == table.c.scoring_id)
                .order_by(sets.c.id, scenes.c.position, algorithms_.c.id)
            )
            return [Failure(*row) for row in connection.execute(query)]

    def state(self) -> str:
        """A text that changes whenever an answer of this store may: with scores, algorithms, protocols or runs."""
        with self._database.reading() as connection:
            scores, known = schema.scores.c, schema.algorithms.c
            texts = sum(sql.func.length(known[part]) for part in ("description", "link", "colour", "tags"))
            questions = (
                sql.select(sql.func.count(), sql.func.max(scores.id), sql.func.max(scores.written)),
                sql.select(sql.func.count(), sql.func.max(known.id), sql.func.sum(texts)),
                sql.select(sql.func.sum(sql.func.length(schema.scenes.c.tags))),
                sql.select(sql.func.count(), sql.func.max(schema.protocols.c.id)),
                sql.select(sql.func.count(), sql.func.max(schema.runs.c.id), sql.func.max(schema.runs.c.finished)),
            )
            return repr([tuple(connection.execute(question).one()) for question in questions])

    def counts(self) -> dict[str, int]:
        """Numbers of datasets, scenes, algorithms, protocols, failures, runs, cells and scores."""
        with self._database.reading() as connection:
            sizes = {
                name: _count(connection, schema.metadata.tables[name])
                for name in ("datasets", "scenes", "algorithms", "protocols", "failures", "runs")
            }
            table = schema.scores
            widths = {number: len(columns) for number, columns in names.known_column_sets(connection).items()}
            by_set = connection.execute(
                sql.select(table.c.column_set_id, sql.func.count()).group_by(table.c.column_set_id)
            ).all()
            cell = sql.select(table.c.scoring_id, table.c.scene_id, table.c.algorithm_id).distinct().subquery()
            sizes["cells"] = _count(connection, cell)
            sizes["scores"] = sum(widths[number] * amount for number, amount in by_set)
            return sizes


def _count(connection: Connection, rows: sql.FromClause) -> int:
    return int(connection.execute(sql.select(sql.func.count()).select_from(rows)).scalar_one())


def scene_sources(connection: Connection, dataset: str, name: str) -> str | None:
    """The text that says where a scene lay; None for a scene that the store does not hold."""
    table, sets = schema.scenes, schema.datasets
    query = (
        sql.select(table.c.sources)
        .join(sets, sets.c.id == table.c.dataset_id)
        .where(sets.c.name == dataset, table.c.name == name)
    )
    return connection.execute(query).scalar()


def map_origins(connection: Connection, dataset: str) -> dict[tuple[str, str], tuple[str, str]]:
    """Source and content hash of every map of a dataset, by (algorithm, scene)."""
    table, scenes, sets, algorithms_ = schema.maps, schema.scenes, schema.datasets, schema.algorithms
    query = (
        sql.select(algorithms_.c.name, scenes.c.name, table.c.source, table.c.content)
        .join_from(table, scenes, scenes.c.id == table.c.scene_id)
        .join(sets, sets.c.id == scenes.c.dataset_id)
        .join(algorithms_, algorithms_.c.id == table.c.algorithm_id)
        .where(sets.c.name == dataset)
    )
    return {(name, scene): (source, content) for name, scene, source, content in connection.execute(query).all()}


def map_record(connection: Connection, algorithm: str, dataset: str, scene: str) -> MapRecord | None:
    """What is known of one map."""
    table, scenes, sets, algorithms_ = schema.maps, schema.scenes, schema.datasets, schema.algorithms
    query = (
        sql.select(*table.c["content", "source", "right_source", "extras", "confidence"])
        .join(scenes, scenes.c.id == table.c.scene_id)
        .join(sets, sets.c.id == scenes.c.dataset_id)
        .join(algorithms_, algorithms_.c.id == table.c.algorithm_id)
        .where(sets.c.name == dataset, scenes.c.name == scene, algorithms_.c.name == algorithm)
    )
    row = connection.execute(query).first()
    if row is None:
        return None
    return MapRecord(dataset, scene, algorithm, row[0], row[1], row[2], json.loads(row[3]), row[4])
