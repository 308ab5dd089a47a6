"""Which rows of the scores a request means: names of scenes, algorithms, columns and protocols as ids."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from stereogauge.errors import StoreError, unknown_name
from stereogauge.metrics.registry import is_declared
from stereogauge.protocol import Protocol, parse_protocol
from stereogauge.registry import SMALLEST_HASH, PluginWarning
from stereogauge.scores.column import Column, VersionedColumn, columns_of, matching
from stereogauge.store import schema
from stereogauge.store.rows import known_column_sets, mapping
from stereogauge.store.sources import tags_of_text
from stereogauge.tags import TagBook, expanded


class Share(NamedTuple):
    """What a protocol leaves to the others of its scoring: their columns, and the scenes of their datasets."""

    columns: frozenset[Column] = frozenset()
    scenes: frozenset[int] = frozenset()


def others_share(connection: Connection, scoring: int, wanted: str) -> Share:
    """What belongs to other protocols of a scoring when one of them is requested by its name or hash.

    Protocols that aggregate alike form one group. A dataset belongs to those that know most of the columns of one of
    its evaluations; a column that no protocol names belongs to all.
    """
    table = schema.protocols
    rows = connection.execute(sql.select(table.c.name, table.c.hash, table.c.text).where(table.c.scoring_id == scoring))
    columns: dict[str, set[Column]] = {}
    asked = ""
    for name, own, text in rows:
        protocol = parse_protocol(text, "the store")
        way = aggregation_key(protocol)
        columns.setdefault(way, set()).update(protocol_columns(protocol))
        asked = way if wanted in (name, own) else asked
    if not asked or len(columns) < 2:
        return Share()
    foreign = frozenset().union(*(own for way, own in columns.items() if way != asked)) - columns[asked]
    scores, scenes = schema.scores, schema.scenes
    query = (
        sql.select(scenes.c.id, scenes.c.dataset_id, scores.c.column_set_id)
        .join(scores, scores.c.scene_id == scenes.c.id)
        .where(scores.c.scoring_id == scoring)
        .distinct()
    )
    sets = known_column_sets(connection)
    found = connection.execute(query).all()
    mine = {dataset for _, dataset, number in found if asked in _nearest(columns, (one.column for one in sets[number]))}
    return Share(foreign, frozenset(scene for scene, dataset, _ in found if dataset not in mine))


def aggregation_key(protocol: Protocol) -> str:
    """How a protocol aggregates over scenes, as text."""
    return repr((protocol.aggregation, sorted(protocol.scene_weights.items())))


def protocol_columns(protocol: Protocol) -> frozenset[Column]:
    """The columns that a protocol asks for, without metrics whose plug-in is not loaded."""
    return frozenset(columns_of(filter(is_declared, protocol.metrics), protocol.regions))


def best_fitting(candidates: Iterable[Protocol], columns: Iterable[Column]) -> Protocol | None:
    """The protocol that asks for most of these columns; of several the first that asks for little else."""
    present = frozenset(columns)

    def fit(protocol: Protocol) -> tuple[int, int]:
        asked = protocol_columns(protocol)
        return len(asked & present), -len(asked - present)

    return max(candidates, key=fit, default=None)


def _nearest(columns: dict[str, set[Column]], present: Iterable[Column]) -> list[str]:
    """The ways to aggregate whose columns cover these best."""
    wanted = frozenset(present)
    covered = {way: len(own & wanted) for way, own in columns.items()}
    return [way for way, count in covered.items() if count == max(covered.values())]


Names = Iterable[str] | None


class Requested(TypedDict, total=False):
    """A request by names; what is absent or None is all."""

    dataset: str | None
    protocol: Protocol | str | None
    algorithms: Names
    scenes: Names
    columns: Names


@dataclass(frozen=True)
class RowSelection:
    """The requested rows, by id. None means all; `scenes` and `algorithms` are in the order of the answer.

    `foreign` are columns of other protocols with the same scoring.
    """

    scoring: int
    protocol: str
    scenes: dict[int, tuple[str, str]]
    algorithms: dict[int, str]
    named_scenes: bool
    named_algorithms: bool
    columns: tuple[str, ...] | None
    foreign: frozenset[Column] = frozenset()

    def condition(self) -> Any:
        """The rows in SQL."""
        table = schema.scores
        parts = [table.c.scoring_id == self.scoring, table.c.scene_id.in_(list(self.scenes))]
        if self.named_algorithms:
            parts.append(table.c.algorithm_id.in_(list(self.algorithms)))
        return sql.and_(*parts)


def select_rows(
    connection: Connection,
    *,
    dataset: str | None = None,
    protocol: Protocol | str | None = None,
    algorithms: Names = None,
    scenes: Names = None,
    columns: Names = None,
) -> RowSelection:
    """What these names mean in this store; a name that it does not hold is an error."""
    book = tag_book(connection)
    found_scenes = all_scenes(connection, dataset)
    scoring, scoring_hash = scoring_of(connection, protocol, list(found_scenes) if dataset else None)
    others = others_share(connection, scoring, protocol) if isinstance(protocol, str) else Share()
    if dataset is None:
        found_scenes = {number: own for number, own in found_scenes.items() if number not in others.scenes}
    chosen_scenes = found_scenes if scenes is None else named_scenes(found_scenes, scenes, book)
    table = schema.algorithms
    known = mapping(connection, sql.select(table.c.id, table.c.name).order_by(table.c.id))
    return RowSelection(
        scoring=scoring,
        protocol=scoring_hash,
        scenes=chosen_scenes,
        algorithms=known if algorithms is None else _named_algorithms(known, algorithms, book),
        named_scenes=scenes is not None,
        named_algorithms=algorithms is not None,
        columns=None if columns is None else tuple([columns] if isinstance(columns, str) else columns),
        foreign=others.columns if columns is None else frozenset(),
    )


def all_scenes(connection: Connection, dataset: str | None = None) -> dict[int, tuple[str, str]]:
    """(dataset, scene) by id, in the datasets' own order."""
    sets, scenes = schema.datasets, schema.scenes
    known = [name for (name,) in connection.execute(sql.select(sets.c.name))]
    if dataset is not None and dataset not in known:
        raise unknown_name("dataset of this store", dataset, known)
    query = sql.select(scenes.c.id, sets.c.name, scenes.c.name).select_from(schema.named_scenes)
    if dataset is not None:
        query = query.where(sets.c.name == dataset)
    query = query.order_by(sets.c.id, scenes.c.position, scenes.c.id)
    return {number: (owner, name) for number, owner, name in connection.execute(query)}


def _named_algorithms(known: dict[int, str], wanted: Iterable[str], book: TagBook) -> dict[int, str]:
    """Algorithms by name or a selector by tag."""
    numbers = {name: number for number, name in known.items()}
    chosen: dict[int, str] = {}
    for name in expanded("algorithm", numbers, book.algorithms, wanted):
        if name not in numbers:
            raise unknown_name("algorithm of this store", name, numbers)
        chosen[numbers[name]] = name
    return chosen


def named_scenes(known: dict[int, tuple[str, str]], wanted: Iterable[str], book: TagBook) -> dict[int, tuple[str, str]]:
    """Scenes by `scene`, `dataset/scene` or a selector by tag."""
    chosen: dict[int, tuple[str, str]] = {}
    tags = {f"{owner}/{scene}": book.scenes[owner, scene] for owner, scene in known.values()}
    for name in expanded("scene", tags, tags, wanted):
        fitting = [number for number, (owner, scene) in known.items() if name in (scene, f"{owner}/{scene}")]
        if not fitting:
            raise unknown_name("scene of this store", name, (scene for _, scene in known.values()))
        if len(fitting) > 1:
            raise StoreError(f"Several datasets of this store have a scene {name!r}; write it as dataset/{name}.")
        chosen[fitting[0]] = known[fitting[0]]
    return chosen


def scoring_of(
    connection: Connection, protocol: Protocol | str | None, scenes: Sequence[int] | None = None
) -> tuple[int, str]:
    """The scoring that a protocol, its name or its hash means; without one, the only scoring that the scenes have."""
    table, texts = schema.scorings, schema.protocols
    known = mapping(connection, sql.select(table.c.id, table.c.hash))
    named = connection.execute(sql.select(texts.c.scoring_id, texts.c.name, texts.c.hash)).all()
    if protocol is None:
        candidates = _used_scorings(connection, known, scenes)
    else:
        wanted = protocol.scoring_hash if isinstance(protocol, Protocol) else protocol
        candidates = [number for number, text in known.items() if text == wanted] or list(
            dict.fromkeys(number for number, name, text in named if wanted in (name, text))
        )
        if not candidates:
            raise unknown_name("protocol of this store", wanted, {*known.values(), *(name for _, name, _ in named)})
        if len(candidates) > 1 and scenes is not None:
            # Variants of a protocol share its name; often only one of them was used on this dataset.
            candidates = _used_scorings(connection, {number: known[number] for number in candidates}, scenes)
    if len(candidates) == 1:
        return candidates[0], known[candidates[0]]
    if not candidates:
        raise StoreError("The store holds no scores yet for this request; `stereogauge evaluate` computes some.")
    names = {number: dict.fromkeys(name for scoring, name, _ in named if scoring == number) for number in candidates}
    choices = [f"{known[number]} ({'/'.join(own) or 'unnamed'})" for number, own in names.items()]
    raise StoreError(
        f"The store holds scores under several protocols, which do not compare; set protocol to one of them: "
        f"{', '.join(choices)}."
    )


def _used_scorings(connection: Connection, known: dict[int, str], scenes: Sequence[int] | None) -> list[int]:
    table = schema.scores
    used = []
    for number in known:
        query = sql.select(table.c.id).where(table.c.scoring_id == number)
        if scenes is not None:
            query = query.where(table.c.scene_id.in_(scenes))
        if connection.execute(query.limit(1)).first() is not None:
            used.append(number)
    return used


def chosen_columns(
    present: Iterable[tuple[VersionedColumn, ...]],
    wanted: tuple[str, ...] | None,
    foreign: frozenset[Column] = frozenset(),
) -> dict[VersionedColumn, int]:
    """The columns of the answer with their places: the newest version of each; the requested ones, in that
    order.
    """
    newest: dict[tuple[str, str], VersionedColumn] = {}
    for columns in present:
        for column in columns:
            other = newest.setdefault((column.metric, column.region), column)
            if other != column:
                newest[column.metric, column.region] = max(column, other, key=_newness)
    if wanted is None:
        own = [column for column in newest.values() if column.column not in foreign]
        return {column: place for place, column in enumerate(own)}
    chosen: dict[VersionedColumn, None] = {}
    for text in wanted:
        known = list(newest.values())
        fitting = [known[place] for place in matching(text, [column.column for column in known])]
        if not fitting:
            raise unknown_name("column of this store", text, {f"{m}:{r}" for m, r in newest})
        chosen.update(dict.fromkeys(fitting))
    return {column: place for place, column in enumerate(chosen)}


def _newness(column: VersionedColumn) -> tuple[bool, int, int]:
    """Versions of ours count up; of those of a plug-in, which are hashes, the present one is the newest."""
    hashed = max(column.metric_version, column.region_version) >= SMALLEST_HASH
    now = hashed and is_declared(column.metric) and column.column.versioned == column
    return now, column.metric_version, column.region_version


def warn_undeclared(columns: Iterable[Column | VersionedColumn]) -> None:
    """Say which metrics of a store are left out, since nothing here declares them."""
    unknown = list(dict.fromkeys(column.metric for column in columns if not is_declared(column.metric)))
    if unknown:
        warnings.warn(
            f"scores of {', '.join(unknown)} are left out: a plug-in that is not installed here declares them; "
            "give --plugin FILE, the file that declares them",
            PluginWarning,
            stacklevel=3,
        )


def tag_book(connection: Connection) -> TagBook:
    """The tags of all algorithms and scenes of the store."""
    known, sets, scenes = schema.algorithms, schema.datasets, schema.scenes
    query = sql.select(sets.c.name, scenes.c.name, scenes.c.tags).select_from(schema.named_scenes)
    return TagBook(
        {name: tags_of_text(text) for name, text in connection.execute(sql.select(known.c.name, known.c.tags))},
        {(owner, name): tags_of_text(text) for owner, name, text in connection.execute(query)},
    )
