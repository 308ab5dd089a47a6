"""What a store holds beside scores: datasets, scenes, algorithms, protocols, runs, failures, origins of maps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sql
from msgspec import Struct, field
from sqlalchemy.engine import Connection

from stereogauge.datasets.places import place_of
from stereogauge.errors import one_of, unknown_name
from stereogauge.model import Scene
from stereogauge.scores.score import Failure
from stereogauge.store import schema
from stereogauge.store.engine import Database
from stereogauge.store.read import scene_facts, tag_book
from stereogauge.store.rows import known_column_sets
from stereogauge.store.sources import scene_of_text, source_of_text, tags_of_text
from stereogauge.store.write import MapRecord
from stereogauge.tags import TagBook, Tags


class StoredDataset(Struct, frozen=True):
    """A dataset and where it lay when it was last evaluated; `tags` holds those of its scenes, by scene."""

    name: str
    version: str
    root: str
    scenes: tuple[str, ...]
    tags: Mapping[str, Tags] = field(default_factory=dict)


class StoredAlgorithm(Struct, frozen=True):
    """An algorithm. `seconds` is its mean run time over the maps whose run time is known, None where none is."""

    name: str
    description: str
    link: str
    colour: str
    metadata: Mapping[str, Any]
    added: float
    seconds: float | None
    tags: Tags = field(default_factory=dict)


class StoredProtocol(Struct, frozen=True):
    """A protocol with its text; scores refer to `scoring_hash`."""

    name: str
    hash: str
    scoring_hash: str
    text: str


class StoredRun(Struct, frozen=True):
    """One evaluation; `finished` is None when it was interrupted. Times are seconds since 1970, UTC."""

    id: int
    started: float
    finished: float | None
    host: str
    versions: Mapping[str, str]
    command: str


class Listings:
    """What an open store holds beside scores."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def datasets(self) -> list[StoredDataset]:
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
                StoredDataset(name, version, root, tuple(members.get(number, ())), tags.get(number, {}))
                for name, version, root, number in rows
            ]

    def algorithms(self) -> list[StoredAlgorithm]:
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
                StoredAlgorithm(
                    **{name: row[name] for name in ("name", "description", "link", "colour", "added")},
                    metadata=json.loads(row["metadata"]),
                    seconds=means.get(row["id"]),
                    tags=tags_of_text(row["tags"]),
                )
                for row in connection.execute(sql.select(table).order_by(table.c.id)).mappings()
            ]

    def protocols(self) -> list[StoredProtocol]:
        """The protocols with their whole text, in the order in which they came."""
        with self._database.reading() as connection:
            table, scorings = schema.protocols, schema.scorings
            query = (
                sql.select(table.c.name, table.c.hash, scorings.c.hash, table.c.text)
                .join(scorings, scorings.c.id == table.c.scoring_id)
                .order_by(table.c.id)
            )
            return [StoredProtocol(*row) for row in connection.execute(query)]

    def scorings(self) -> list[str]:
        """The scoring hashes of all scores; imported ones may belong to no protocol that is known here."""
        with self._database.reading() as connection:
            table = schema.scorings
            return list(connection.execute(sql.select(table.c.hash).order_by(table.c.id)).scalars())

    def runs(self) -> list[StoredRun]:
        """The evaluations that wrote here: when, where and with which versions; the first one first."""
        with self._database.reading() as connection:
            table = schema.runs
            return [
                StoredRun(**{**row, "versions": json.loads(row["versions"])})
                for row in connection.execute(sql.select(table).order_by(table.c.id)).mappings()
            ]

    def failures(self) -> list[Failure]:
        """Cells that could not be computed, with the reason, ordered by dataset, scene and algorithm."""
        with self._database.reading() as connection:
            sets, scenes, algorithms, table = schema.datasets, schema.scenes, schema.algorithms, schema.failures
            query = (
                sql.select(
                    sets.c.name,
                    scenes.c.name,
                    algorithms.c.name,
                    schema.scorings.c.hash,
                    *table.c["reason", "detail", "at"],
                )
                .select_from(schema.named_failures)
                .order_by(sets.c.id, scenes.c.position, algorithms.c.id)
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
            widths = {number: len(columns) for number, columns in known_column_sets(connection).items()}
            by_set = connection.execute(
                sql.select(table.c.column_set_id, sql.func.count()).group_by(table.c.column_set_id)
            ).all()
            cell = sql.select(table.c.scoring_id, table.c.scene_id, table.c.algorithm_id).distinct().subquery()
            sizes["cells"] = _count(connection, cell)
            sizes["scores"] = sum(widths[number] * amount for number, amount in by_set)
            return sizes

    def scene(self, dataset: str, name: str) -> Scene:
        """A scene, rebuilt from where its files lay when it was evaluated."""
        query = (
            sql.select(schema.scenes.c.sources)
            .select_from(schema.named_scenes)
            .where(schema.datasets.c.name == dataset, schema.scenes.c.name == name)
        )
        with self._database.reading() as connection:
            text = connection.execute(query).scalar()
        if text is None:
            known = {entry.name: entry.scenes for entry in self.datasets()}
            raise unknown_name(f"scene of {dataset}", name, known[one_of("dataset of this store", dataset, known)])
        return scene_of_text(text, name, dataset)

    def repeated_scenes(self) -> list[tuple[str, ...]]:
        """Scenes, as DATASET/SCENE, that have the same ground truth: each group counts as one in every test.

        Known variants of one scene of a dataset, such as other light, are not listed.
        """
        with self._database.reading() as connection:
            facts = scene_facts(connection)
        by_truth: dict[str, dict[tuple[str, str], str]] = {}
        for (dataset, scene), one in facts.items():
            if one.truth:
                by_truth.setdefault(one.truth, {}).setdefault((dataset, place_of(scene)), f"{dataset}/{scene}")
        return [tuple(group.values()) for group in by_truth.values() if len(group) > 1]

    def tags(self) -> TagBook:
        """The tags of all algorithms and scenes."""
        with self._database.reading() as connection:
            return tag_book(connection)

    def map_source(self, algorithm: str, dataset: str, scene: str) -> Any:
        """Where an algorithm's map lay when it was evaluated: a file of `stereogauge.io.files` or a path; None when it
        was an array.
        """
        record = self.map_record(algorithm, dataset, scene)
        return None if record is None else source_of_text(record.source)

    def map_record(self, algorithm: str, dataset: str, scene: str) -> MapRecord | None:
        """What is known of an algorithm's map: source, content hash, run time; None when it was never evaluated."""
        with self._database.reading() as connection:
            return map_record(connection, algorithm, dataset, scene)

    def map_origins(self, dataset: str) -> dict[tuple[str, str], tuple[str, str]]:
        """Where every map of a dataset lay, as text, and its content hash, by (algorithm, scene)."""
        query = (
            sql.select(schema.algorithms.c.name, schema.scenes.c.name, schema.maps.c.source, schema.maps.c.content)
            .select_from(schema.named_maps)
            .where(schema.datasets.c.name == dataset)
        )
        with self._database.reading() as connection:
            return {(name, scene): (source, content) for name, scene, source, content in connection.execute(query)}


def _count(connection: Connection, rows: sql.FromClause) -> int:
    return int(connection.execute(sql.select(sql.func.count()).select_from(rows)).scalar_one())


def map_record(connection: Connection, algorithm: str, dataset: str, scene: str) -> MapRecord | None:
    """What is known of one map."""
    query = (
        sql.select(*schema.maps.c["content", "source", "right_source", "extras", "confidence"])
        .select_from(schema.named_maps)
        .where(schema.datasets.c.name == dataset, schema.scenes.c.name == scene, schema.algorithms.c.name == algorithm)
    )
    row = connection.execute(query).first()
    if row is None:
        return None
    return MapRecord(dataset, scene, algorithm, row[0], row[1], row[2], json.loads(row[3]), row[4])
