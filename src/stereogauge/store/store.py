"""`Store`: what the rest of the package reads and writes scores through."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from stereogauge.errors import StereogaugeError, StoreError, one_of
from stereogauge.metrics.registry import is_declared
from stereogauge.model import Dataset, ResultSet
from stereogauge.protocol import Protocol, load_protocol, parse_protocol, preset_names
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.score import CellScores, Failure, Score, cells_of_scores
from stereogauge.scores.table import ScoreTable
from stereogauge.store import exchange, schema, write
from stereogauge.store.engine import Database
from stereogauge.store.exchange import merge_stores
from stereogauge.store.listing import Listings
from stereogauge.store.migrations import prepare
from stereogauge.store.read import (
    Requested,
    StoredCells,
    all_scenes,
    best_fitting,
    named_scenes,
    read_cells,
    read_cube,
    scene_facts,
    scoring_of,
    select_rows,
    stored_cells,
    tag_book,
    warn_undeclared,
)
from stereogauge.store.rows import (
    chunks,
    count_rows,
    ids_of,
    known_column_sets,
    mapping,
    read_damage,
    upsert,
)
from stereogauge.store.sources import tags_text
from stereogauge.store.write import MapRecord
from stereogauge.tags import as_tags

PathLike = str | os.PathLike[str]


class Store(Listings):
    """An open store; use it in a `with` block, or `close()` it. Every problem with the database is a `StoreError`."""

    def __repr__(self) -> str:
        return f"Store({self.name!r})"

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The file, or the URL without its password."""
        return self._database.name

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def check_writable(self) -> None:
        """Raise the `StoreError` that a write would raise for a store that is read-only or locked."""
        with self._database.writing():
            pass

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A transaction that changes the store, with the count of rows that `check` compares."""
        with self._database.writing() as connection:
            yield connection
            count_rows(connection)

    def backup(self, target: PathLike) -> None:
        """Copy the store into a new file while others read and write it; the copy is one state of it."""
        self._database.backup(Path(target))

    # reading

    def cube(self, **selection: Unpack[Requested]) -> ScoreCube:
        """Scores as algorithms × scenes × columns, gaps as NaN.

        A selection is by `dataset`, `protocol`, `algorithms`, `scenes` and `columns`; what is not given is all.
        `protocol` is a protocol, its name, or a hash; it may be left out where the store holds only one. A column is
        written `bad@1:nonocc`, or `bad@1` for all its regions. Only the newest version of a metric is read. Columns of
        a metric whose plug-in is not loaded are left out, with one warning.
        """
        with self._database.reading() as connection:
            cube = read_cube(connection, select_rows(connection, **selection))
        return cube.read_by(self.protocol(cube.protocol, cube.columns) if cube.columns else None)

    def scores(self, **selection: Unpack[Requested]) -> ScoreTable:
        """The same selection as single scores with their notes, under the protocol's whole text."""
        cells = self.cells(**selection)
        warn_undeclared(column for cell in cells for column in cell.columns)
        scores = [score for cell in cells for score in cell.scores() if is_declared(score.metric)]
        if not scores:
            return ScoreTable(())
        with self._database.reading() as connection:
            facts, tags = scene_facts(connection), tag_book(connection)
        found = {Column(score.metric, score.region) for score in scores}
        return ScoreTable(scores, self.protocol(scores[0].protocol, found), facts, tags)

    def cells(self, **selection: Unpack[Requested]) -> list[CellScores]:
        """The same selection as cells."""
        with self._database.reading() as connection:
            return list(read_cells(connection, select_rows(connection, **selection)))

    def all_cells(self) -> Iterator[CellScores]:
        """Every cell under every protocol, scene by scene."""
        with self._database.reading() as connection:
            hashes = list(connection.execute(sql.select(schema.scorings.c.hash)).scalars())
            for scoring in hashes:
                yield from read_cells(connection, select_rows(connection, protocol=scoring))

    def stored(self, dataset: str, protocol: str) -> StoredCells:
        """Which columns are there for which cell of a dataset under a scoring hash, and from which inputs."""
        with self._database.reading() as connection:
            return stored_cells(connection, dataset, protocol)

    def protocol(self, wanted: str, columns: Iterable[Column] = ()) -> Protocol | None:
        """The protocol with this name or hash; None when only its hash was imported and no preset has it.

        Several protocols may share a scoring hash: of those the one is meant that asks for most of `columns`.
        """
        with self._database.reading() as connection:
            _, scoring = scoring_of(connection, wanted)
        known = [
            parse_protocol(entry.text, self.name)
            for entry in self.protocols()
            if entry.scoring_hash == scoring and wanted in (entry.hash, entry.name, scoring)
        ]
        if known:
            return best_fitting(known, columns)
        presets = (load_protocol(name) for name in preset_names())
        return next((preset for preset in presets if preset.scoring_hash == scoring), None)

    # writing

    def write(
        self,
        scores: ScoreTable | Iterable[Score] | Iterable[CellScores],
        *,
        protocol: Protocol | None = None,
        maps: Sequence[MapRecord] = (),
        failures: Sequence[Failure] = (),
        run: int | None = None,
    ) -> None:
        """Store scores, whole or not at all. The same columns of a cell are replaced; `run` is from `begin_run`."""
        chosen = protocol or (scores.protocol if isinstance(scores, ScoreTable) else None)
        given = list(scores)
        cells = [cell for cell in given if isinstance(cell, CellScores)]
        cells += cells_of_scores(score for score in given if isinstance(score, Score))
        with self._writing() as connection:
            number = write.begin_run(connection, "") if run is None else run
            if chosen is not None:
                write.write_protocol(connection, chosen)
            write.write_cells(connection, cells, number)
            if isinstance(scores, ScoreTable):
                write.write_facts(connection, scores.facts)
                write.write_tags(connection, scores.tags)
            write.write_maps(connection, maps)
            write.write_failures(connection, failures, number)

    def register(
        self, dataset: Dataset, contents: Mapping[str, str], results: Iterable[ResultSet], protocol: Protocol
    ) -> None:
        """Keep what is known of a dataset's scenes, of algorithms and of a protocol before scores arrive."""
        with self._writing() as connection:
            write.write_protocol(connection, protocol)
            write.write_dataset(connection, dataset, dict(contents))
            write.write_algorithms(connection, results)

    def begin_run(self, command: str = "") -> int:
        """Record that an evaluation begins, with host and versions; returns the id of the run."""
        with self._writing() as connection:
            return write.begin_run(connection, command)

    def finish_run(self, run: int) -> None:
        """Record that an evaluation came to its end."""
        with self._writing() as connection:
            connection.execute(schema.runs.update().where(schema.runs.c.id == run).values(finished=time.time()))

    def describe_algorithm(
        self,
        name: str,
        *,
        description: str | None = None,
        link: str | None = None,
        colour: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        tags: Mapping[str, Any] | None = None,
    ) -> None:
        """Change what is known of an algorithm; None leaves a part as it is. `tags` replaces all of its tags."""
        changes = {"description": description, "link": link, "colour": colour}
        write.check_texts(name, description, link, colour)
        values: dict[str, Any] = {key: text for key, text in changes.items() if text is not None}
        if metadata is not None:
            values["metadata"] = json.dumps(dict(metadata), sort_keys=True)
        if tags is not None:
            values["tags"] = tags_text(as_tags(tags, name))
        with self._writing() as connection:
            number = self._algorithm(connection, name)
            if values:
                connection.execute(schema.algorithms.update().where(schema.algorithms.c.id == number).values(**values))

    def publish(
        self,
        name: str,
        scores: ScoreTable,
        *,
        submission: str,
        replaces: Collection[str],
        protocol: Protocol | None,
        maps: Sequence[MapRecord],
        description: str = "",
        link: str = "",
    ) -> None:
        """Write a submission's algorithm with all its scores in place of its owner's earlier one, whole or not at all.

        `replaces` are the ids of earlier submissions of the same owner. Any other algorithm of this name raises
        `NameTaken`.
        """
        with self._writing() as connection:
            for number, other, metadata in self._described(connection):
                if write.name_key(other) == write.name_key(name):
                    if metadata.get(write.SUBMISSION) not in {submission, *replaces}:
                        raise write.NameTaken(f"There is an algorithm called {other!r} already; choose another name.")
                    write.delete_algorithm(connection, number)
            this = schema.algorithms.c.id == ids_of(connection, schema.algorithms.c.name, [name])[name]
            about = {"description": description, "link": link, "metadata": json.dumps({write.SUBMISSION: submission})}
            connection.execute(schema.algorithms.update().where(this).values(**about))
            run = write.begin_run(connection, "submission")
            if protocol is not None:
                write.write_protocol(connection, protocol)
            write.write_cells(connection, cells_of_scores(scores), run)
            write.write_maps(connection, maps)

    def withdraw(self, submission: str) -> bool:
        """Delete the algorithm that a submission made; False where there is none."""
        with self._writing() as connection:
            known = self._described(connection)
            numbers = [number for number, _, metadata in known if metadata.get(write.SUBMISSION) == submission]
            for number in numbers:
                write.delete_algorithm(connection, number)
            return bool(numbers)

    def _described(self, connection: Connection) -> list[tuple[int, str, dict[str, Any]]]:
        """Id, name and metadata of every algorithm."""
        rows = connection.execute(sql.select(*schema.algorithms.c["id", "name", "metadata"])).all()
        return [(number, name, json.loads(text)) for number, name, text in rows]

    def delete_algorithm(self, name: str) -> None:
        """Remove an algorithm and everything that belongs to it."""
        with self._writing() as connection:
            write.delete_algorithm(connection, self._algorithm(connection, name))

    def delete_scenes(self, names: Sequence[str]) -> None:
        """Remove scenes, `SCENE` or `DATASET/SCENE`, and everything that belongs to them."""
        with self._writing() as connection:
            chosen = named_scenes(all_scenes(connection), names, tag_book(connection))
            connection.execute(schema.scenes.delete().where(schema.scenes.c.id.in_(list(chosen))))
            write.delete_unused_sets(connection)

    def delete_columns(self, names: Sequence[str]) -> None:
        """Remove the scores of columns, `METRIC:REGION`, or of all columns of a metric."""
        wanted, table = set(names), schema.scores
        with self._writing() as connection:
            sets = known_column_sets(connection)
            called = {one: {one.metric, str(one)} for columns in sets.values() for one in columns}
            for name in names:
                one_of("column of this store", name, {text for texts in called.values() for text in texts})
            for number, column_set in connection.execute(sql.select(table.c.id, table.c.column_set_id)).all():
                kept = [place for place, one in enumerate(sets[column_set]) if not called[one] & wanted]
                write.keep_columns(connection, number, sets[column_set], kept)
            write.delete_unused_sets(connection)

    def _algorithm(self, connection: sql.Connection, name: str) -> int:
        table = schema.algorithms
        known: dict[str, int] = mapping(connection, sql.select(table.c.name, table.c.id))
        return known[one_of("algorithm of this store", name, known)]

    # hashes of files that were read before

    def known_hashes(self, sources: Iterable[str]) -> dict[str, tuple[str, str]]:
        """What was remembered of files: (stamp, hash) by source text, and that of other files where these are few."""
        table = schema.files
        query = sql.select(table.c.source, table.c.stamp, table.c.hash)
        wanted = list(sources)
        found: dict[str, tuple[str, str]] = {}
        with self._database.reading() as connection:
            remembered = connection.execute(sql.select(sql.func.count()).select_from(table)).scalar_one()
            # Looking one up takes three times as long as reading it along with all others.
            everything = remembered < 2 * len(wanted)
            queries = [query] if everything else [query.where(table.c.source.in_(some)) for some in chunks(wanted)]
            for one in queries:
                found.update({source: (stamp, text) for source, stamp, text in connection.execute(one).all()})
        return found

    def remember_hashes(self, hashes: Mapping[str, tuple[str, str]]) -> None:
        """Keep (stamp, hash) by source text."""
        rows = [{"source": source, "stamp": stamp, "hash": text} for source, (stamp, text) in hashes.items()]
        with self._writing() as connection:
            upsert(connection, schema.files, ("source",), rows)

    def check(self) -> list[str]:
        """What is damaged in the store, one sentence each; none where everything is as it was written."""
        found = self._database.damage()
        for listed in (self.datasets, self.algorithms, self.protocols, self.runs, self.failures, self.counts):
            try:
                listed()
            except StoreError as problem:
                found.append(str(problem))
        found += self._changed_protocols()
        try:
            with self._database.reading() as connection:
                found += read_damage(connection)
        except StoreError as problem:
            found.append(str(problem))
        return list(dict.fromkeys(found))

    def _changed_protocols(self) -> list[str]:
        """One sentence per protocol whose text does not belong to its name and its hash."""
        found = []
        for entry in self.protocols():
            try:
                own = parse_protocol(entry.text, self.name)
                same = (own.name, own.hash, own.scoring_hash) == (entry.name, entry.hash, entry.scoring_hash)
            except StereogaugeError:
                same = False
            if not same:
                found.append(
                    f"The text of the protocol {entry.name!r} ({entry.hash}) or its name was changed. Restore a copy."
                )
        return found

    def _check_whole(self) -> None:
        """Raise an error where the database itself is damaged: rows may be missing without anybody noticing."""
        found = self._database.damage()
        if found:
            raise StoreError(found[0])

    # exchange

    def export_csv(self, path: PathLike, **selection: Unpack[Requested]) -> int:
        """Write scores in long form as CSV, floats with all their digits; returns how many."""
        self._check_whole()
        return exchange.export_csv(self._chosen(selection), path, self.tags())

    def export_parquet(self, path: PathLike, **selection: Unpack[Requested]) -> int:
        """Write scores in long form as Parquet, with the protocols' texts in the file's metadata; returns how many."""
        self._check_whole()
        texts = {entry.hash: entry.text for entry in self.protocols()}
        return exchange.export_parquet(self._chosen(selection), path, texts, self.tags())

    def _chosen(self, selection: Requested) -> Iterable[CellScores]:
        return self.cells(**selection) if any(value is not None for value in selection.values()) else self.all_cells()

    def import_csv(self, path: PathLike) -> int:
        """Import scores in long form from CSV; returns how many."""
        return self._import(path, exchange.import_csv(path))

    def import_parquet(self, path: PathLike) -> int:
        """Import scores in long form from Parquet; returns how many."""
        return self._import(path, exchange.import_parquet(path))

    def _import(self, path: PathLike, content: exchange.LongForm) -> int:
        cells, tags, texts = content
        with self._writing() as connection:
            for text in texts:
                write.write_protocol(connection, parse_protocol(text, os.fsdecode(path)))
            write.write_cells(connection, cells, write.begin_run(connection, "import"))
            write.write_tags(connection, tags)
        return sum(len(cell.columns) for cell in cells)

    def merge(self, other: Store) -> int:
        """Copy everything that `other` holds into this store; returns how many cells came in.

        Where both have a cell from different inputs, the one written later stays.
        """
        if other.name == self.name:
            raise StoreError(f"{self.name} cannot be merged into itself; name two stores.")
        with other._database.reading() as source, self._writing() as target:
            return merge_stores(source, target)


def open_store(url: PathLike, *, read_only: bool = False, timeout: float = 30.0) -> Store:
    """The store at a path (SQLite) or a database URL (`postgresql+psycopg://user@host/name`); made when it does not
    exist.

    `read_only` refuses to write and works on media that cannot be written. `timeout` is how many seconds to wait for
    another writer.

    >>> truth = np.array([[4, 4, 8], [4, 4, 8], [4, 4, 8]])
    >>> with sg.open_store("scores.sqlite") as store:
    ...     store.write(sg.evaluate({"near": truth + 2}, sg.Scene("step", gt=truth), ["mae"], ["all"]))
    >>> with sg.open_store("scores.sqlite", read_only=True) as store:
    ...     store.scores(algorithms=["near"]).value("mae")
    2.0
    """
    database = Database(url, read_only=read_only, timeout=timeout)
    try:
        prepare(database)
    except StoreError:
        database.close()
        raise
    return Store(database)
