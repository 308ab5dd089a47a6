"""Reading scores: which rows a selection means, and those rows as a cube or as single scores."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypedDict, Unpack
from zlib import crc32

import numpy as np
import sqlalchemy as sql
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from sqlalchemy.engine import Connection

from stereogauge.errors import StereogaugeError, StoreError, one_of, unknown_name
from stereogauge.metrics.registry import is_declared
from stereogauge.metrics.run_time import states_conditions
from stereogauge.model import Calibration
from stereogauge.protocol import Protocol, parse_protocol
from stereogauge.registry import SMALLEST_HASH, PluginWarning
from stereogauge.scores.column import Column, VersionedColumn, columns_of, matching
from stereogauge.scores.cube import ScoreCube, known_counts, void_scenes
from stereogauge.scores.facts import SceneFacts
from stereogauge.scores.score import CellScores, joined
from stereogauge.store import schema
from stereogauge.store.rows import (
    PACKED,
    CellKey,
    cell_of_row,
    check_sum,
    columns_sum,
    damaged,
    further_name,
    known_column_sets,
    mapping,
    names_sum,
)
from stereogauge.store.sources import tags_of_text
from stereogauge.tags import TagBook, expanded


def others_share(
    connection: Connection, scoring: int, wanted: Protocol | str | None
) -> tuple[frozenset[Column], frozenset[int]]:
    """Columns and scenes that belong to other protocols of a scoring when one of them is requested by name or hash.

    Protocols that aggregate alike form one group. A dataset belongs to those that know most of the columns of one of
    its evaluations; a column that no protocol names belongs to all.
    """
    table = schema.protocols
    query = sql.select(table.c.name, table.c.hash, table.c.text).where(table.c.scoring_id == scoring)
    columns: dict[str, set[Column]] = {}
    asked = ""
    for name, own, text in connection.execute(query) if isinstance(wanted, str) else ():
        protocol = parse_protocol(text, "the store")
        way = aggregation_key(protocol)
        columns.setdefault(way, set()).update(protocol_columns(protocol))
        asked = way if wanted in (name, own) else asked
    if not asked or len(columns) < 2:
        return frozenset(), frozenset()
    foreign = frozenset().union(*(own for way, own in columns.items() if way != asked)) - columns[asked]
    scores, scenes = schema.scores, schema.scenes
    evaluated = (
        sql.select(scenes.c.id, scenes.c.dataset_id, scores.c.column_set_id)
        .join(scores, scores.c.scene_id == scenes.c.id)
        .where(scores.c.scoring_id == scoring)
        .distinct()
    )
    sets = known_column_sets(connection)
    found = connection.execute(evaluated).all()
    mine = set()
    for _, dataset, number in found:
        present = {one.column for one in sets[number]}
        covered = {way: len(own & present) for way, own in columns.items()}
        if covered[asked] == max(covered.values()):
            mine.add(dataset)
    return foreign, frozenset(scene for scene, dataset, _ in found if dataset not in mine)


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


Names = Iterable[str] | None


class Requested(TypedDict, total=False):
    """A request by names; what is absent or None is all."""

    dataset: str | None
    protocol: Protocol | str | None
    algorithms: Names
    scenes: Names
    columns: Names


class RowSelection(Struct, frozen=True):
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


def select_rows(connection: Connection, **wanted: Unpack[Requested]) -> RowSelection:
    """What these names mean in this store; a name that it does not hold is an error."""
    dataset, protocol = wanted.get("dataset"), wanted.get("protocol")
    scenes, algorithms, columns = wanted.get("scenes"), wanted.get("algorithms"), wanted.get("columns")
    book = tag_book(connection)
    found_scenes = all_scenes(connection, dataset)
    scoring, scoring_hash = scoring_of(connection, protocol, list(found_scenes) if dataset else None)
    foreign, elsewhere = others_share(connection, scoring, protocol)
    if dataset is None:
        found_scenes = {number: own for number, own in found_scenes.items() if number not in elsewhere}
    table = schema.algorithms
    known = mapping(connection, sql.select(table.c.id, table.c.name).order_by(table.c.id))
    if algorithms is not None:
        numbers = {name: number for number, name in known.items()}
        names = expanded("algorithm", numbers, book.algorithms, algorithms)
        known = {numbers[one_of("algorithm of this store", name, numbers)]: name for name in names}
    return RowSelection(
        scoring=scoring,
        protocol=scoring_hash,
        scenes=found_scenes if scenes is None else named_scenes(found_scenes, scenes, book),
        algorithms=known,
        named_scenes=scenes is not None,
        named_algorithms=algorithms is not None,
        columns=None if columns is None else tuple([columns] if isinstance(columns, str) else columns),
        foreign=foreign if columns is None else frozenset(),
    )


def all_scenes(connection: Connection, dataset: str | None = None) -> dict[int, tuple[str, str]]:
    """(dataset, scene) by id, in the datasets' own order."""
    sets, scenes = schema.datasets, schema.scenes
    known = [name for (name,) in connection.execute(sql.select(sets.c.name))]
    if dataset is not None:
        one_of("dataset of this store", dataset, known)
    query = sql.select(scenes.c.id, sets.c.name, scenes.c.name).select_from(schema.named_scenes)
    if dataset is not None:
        query = query.where(sets.c.name == dataset)
    query = query.order_by(sets.c.id, scenes.c.position, scenes.c.id)
    return {number: (owner, name) for number, owner, name in connection.execute(query)}


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
) -> list[VersionedColumn]:
    """The columns of the answer: the newest version of each; the requested ones, in that order."""
    newest: dict[Column, VersionedColumn] = {}
    for columns in present:
        for column in columns:
            other = newest.setdefault(column.column, column)
            if other != column:
                newest[column.column] = max(column, other, key=_newness)
    if wanted is None:
        return [column for plain, column in newest.items() if plain not in foreign]
    chosen: dict[Column, None] = {}
    for text in wanted:
        known = list(newest)
        fitting = [known[place] for place in matching(text, known)]
        if not fitting:
            raise unknown_name("column of this store", text, map(str, known))
        chosen.update(dict.fromkeys(fitting))
    return [newest[column] for column in chosen]


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


def read_cube(connection: Connection, selection: RowSelection) -> ScoreCube:
    """The scores as a cube; scenes and algorithms without any score are left out unless they were named."""
    table = schema.scores
    wanted = table.c["scene_id", "algorithm_id", "column_set_id", *PACKED, "inputs", "crc"]
    rows = connection.execute(sql.select(*wanted).where(selection.condition())).all()
    sets = known_column_sets(connection)
    _verify(rows, sets, selection)
    parts = list(zip(*rows, strict=True)) if rows else [()] * 9
    scenes, scene_at = _kept(selection.scenes, parts[0], selection.named_scenes)
    algorithms, algorithm_at = _kept(selection.algorithms, parts[1], selection.named_algorithms)
    set_numbers = np.array(parts[2], np.int64)
    used = sorted(set(parts[2]))
    present = [sets[number] for number in used]
    chosen = chosen_columns(present, selection.columns, selection.foreign)
    warn_undeclared(chosen)
    columns = {column: place for place, column in enumerate(filter(lambda one: is_declared(one.metric), chosen))}
    shape = (len(algorithms), len(scenes), len(columns))
    filled: dict[str, Any] = {part: np.zeros(shape) for part, _ in PACKED.values()}
    filled["values"][:] = np.nan
    measured = np.zeros(shape, bool)
    for number in used:
        members = np.flatnonzero(set_numbers == number)
        inside = [place for place, column in enumerate(sets[number]) if column in columns]
        if not inside:
            continue
        place = (
            algorithm_at[members][:, None],
            scene_at[members][:, None],
            np.array([columns[sets[number][at]] for at in inside])[None, :],
        )
        width = len(sets[number])
        for blobs, (part, kind) in zip(parts[3:7], PACKED.values(), strict=True):
            matrix = np.frombuffer(b"".join([blobs[member] for member in members]), kind).reshape(-1, width)
            filled[part][place] = matrix[:, inside]
        measured[place] = True
    filled["counts"], filled["missing"] = known_counts(filled["values"], filled["counts"], filled["missing"])
    owners = [selection.scenes[number] for number in scenes]
    several = len({owner for owner, _ in owners}) > 1
    shown = {
        number: f"{owner}/{name}" if several else name for number, (owner, name) in zip(scenes, owners, strict=True)
    }
    texts = sql.select(schema.protocols.c.text).where(schema.protocols.c.scoring_id == selection.scoring).limit(1)
    text = connection.execute(texts).scalar()
    protocol = None if text is None else parse_protocol(text, "the store")
    units: dict[bool | None, str] = (
        {known: protocol.sigma_z.unit(calibrated=known) for known in (True, False)} if protocol else {}
    )
    facts = scene_facts(connection)
    return ScoreCube(
        algorithms=tuple(selection.algorithms[number] for number in algorithms),
        scenes=tuple(shown.values()),
        columns=tuple(Column(column.metric, column.region) for column in columns),
        protocol=selection.protocol,
        datasets=tuple(owner for owner, _ in owners),
        facts=tuple(facts[owner] for owner in owners),
        depth_units=tuple(units.get(facts[owner].calibrated, "") for owner in owners),
        tags=tag_book(connection),
        runs=_run_conditions(connection, selection, {number: sets[number] for number in used}, columns, shown),
        invalid=protocol.invalid if protocol else "count",
        void=void_scenes(measured, filled["counts"], filled["missing"]),
        known_scenes=_requested(selection, {owner for owner, _ in owners}, protocol),
        **filled,
    )


def _requested(selection: RowSelection, datasets: set[str], protocol: Protocol | None) -> int:
    """The number of scenes of these datasets that the protocol evaluates, with or without scores."""
    count = 0
    for dataset in datasets:
        names = [scene for owner, scene in selection.scenes.values() if owner == dataset]
        try:
            count += len(names if protocol is None else protocol.selected(names, dataset))
        except StereogaugeError:
            count += len(names)  # some of the scenes that the protocol names were deleted
    return count


def _run_conditions(
    connection: Connection,
    selection: RowSelection,
    sets: Mapping[int, tuple[VersionedColumn, ...]],
    columns: Iterable[VersionedColumn],
    scenes: Mapping[int, str],
) -> dict[tuple[str, str], str]:
    """The remarks on run times, which say size, threads and processor, by (algorithm, scene)."""
    timed = {column for column in columns if column.column.declared.metric.counts == "runs"}
    holding = [number for number, own in sets.items() if timed.intersection(own)]
    if not holding:
        return {}
    table = schema.scores
    query = sql.select(*table.c["algorithm_id", "scene_id", "column_set_id", "notes"]).where(
        selection.condition(), table.c.column_set_id.in_(holding), table.c.notes != ""
    )
    found = {}
    for algorithm, scene, number, text in connection.execute(query):
        remarks = json.loads(text)
        for place, column in enumerate(sets[number]):
            note = remarks.get(str(place), "")
            if column in timed and states_conditions(note) and scene in scenes:
                found[selection.algorithms[algorithm], scenes[scene]] = note
    return found


def _verify(rows: Sequence[Any], sets: Mapping[int, tuple[VersionedColumn, ...]], selection: RowSelection) -> None:
    """Raise an error where a row is not as it was written."""
    columns = {number: columns_sum(own) for number, own in sets.items()}
    scenes = {number: names_sum(selection.protocol, *own) for number, own in selection.scenes.items()}
    algorithms = {number: further_name(name) for number, name in selection.algorithms.items()}
    for scene, algorithm, column_set, value, total, count, missing, inputs, crc in rows:
        names = crc32(algorithms[algorithm], scenes[scene])
        if check_sum(names, columns[column_set], inputs, value, total, count, missing) != crc:
            raise damaged(f"{selection.algorithms[algorithm]} on {selection.scenes[scene][1]}")


def scene_facts(connection: Connection) -> dict[tuple[str, str], SceneFacts]:
    """What the store knows of scenes, by (dataset, scene)."""
    sets, scenes = schema.datasets, schema.scenes
    query = sql.select(sets.c.name, scenes.c.name, scenes.c.sources).select_from(schema.named_scenes)
    return {(owner, name): _facts(json.loads(text)) for owner, name, text in connection.execute(query)}


def _facts(described: Mapping[str, Any]) -> SceneFacts:
    """The facts of a scene; those of stores of before are beside its sources."""
    found = SceneFacts.of_values({**described, **described.get("facts", {})})
    if "calibration" in described:
        return replace(found, calibrated=Calibration(**described["calibration"]).metric)
    return found


def _kept(order: Iterable[int], present: Sequence[int], named: bool) -> tuple[list[int], NDArray[np.intp]]:
    """The ids that are present, all of them where they were named, and the place of each row's id among them."""
    found = set(present)
    kept = [number for number in order if named or number in found]
    places = {number: place for place, number in enumerate(kept)}
    return kept, np.array([places[number] for number in present], np.intp)


def read_cells(connection: Connection, selection: RowSelection) -> Iterator[CellScores]:
    """The stored cells, scene by scene, older versions of columns left out."""
    table = schema.scores
    sets = known_column_sets(connection)
    used = connection.execute(sql.select(table.c.column_set_id).where(selection.condition()).distinct()).scalars()
    columns = chosen_columns([sets[number] for number in sorted(used)], selection.columns, selection.foreign)
    for scene_number, (dataset, scene) in selection.scenes.items():
        rows = connection.execute(
            sql.select(table)
            .where(selection.condition(), table.c.scene_id == scene_number)
            .order_by(table.c.algorithm_id, table.c.id)
        ).mappings()
        by_algorithm: dict[int, list[CellScores]] = {}
        for row in rows:
            number = row["algorithm_id"]
            key = CellKey(dataset, scene, selection.algorithms[number], selection.protocol)
            cell = cell_of_row(row, sets[row["column_set_id"]], key)
            by_algorithm.setdefault(number, []).append(cell)
        for whole in (joined(by_algorithm[number]) for number in selection.algorithms if number in by_algorithm):
            places = {column: place for place, column in enumerate(whole.columns)}
            kept = [places[column] for column in columns if column in places]
            if kept:
                yield whole.take(kept)


Columns: TypeAlias = tuple[VersionedColumn, ...]


class StoredCells:
    """The cells that a store holds.

    `cells`: for each (scene, algorithm), the fingerprint of its inputs and the ids of its column sets. `column_sets`:
    the columns of each set.
    """

    def __init__(
        self,
        cells: dict[tuple[str, str], tuple[int, tuple[int, ...]]],
        column_sets: dict[int, Columns],
    ) -> None:
        self.cells = cells
        self.column_sets = column_sets
        # Most cells have the same sets, so the difference is computed once for all of them. Wanted columns are compared
        # by identity, since the hash of many columns takes longer than all the rest; they are kept with it.
        self._differences: dict[tuple[tuple[int, ...], int], tuple[Columns, Columns]] = {}

    def missing(self, scene: str, algorithm: str, inputs: int, wanted: Columns) -> Columns:
        """The columns that must be computed for a cell whose inputs are these."""
        found = self.cells.get((scene, algorithm))
        if found is None or found[0] != inputs:
            return wanted
        key = (found[1], id(wanted))
        if key not in self._differences:
            present = {column for number in found[1] for column in self.column_sets[number]}
            self._differences[key] = wanted, tuple(column for column in wanted if column not in present)
        return self._differences[key][1]


def stored_cells(connection: Connection, dataset: str, scoring_hash: str) -> StoredCells:
    """The stored cells of `dataset` under the scoring hash; empty when the store knows neither."""
    scores, scenes, sets, algorithms = schema.scores, schema.scenes, schema.datasets, schema.algorithms
    of_dataset = sql.select(scenes.c.id, scenes.c.name).select_from(schema.named_scenes).where(sets.c.name == dataset)
    scene_names = mapping(connection, of_dataset)
    scoring = connection.execute(
        sql.select(schema.scorings.c.id).where(schema.scorings.c.hash == scoring_hash)
    ).scalar()
    if scoring is None or not scene_names:
        return StoredCells({}, {})
    algorithm_names = mapping(connection, sql.select(algorithms.c.id, algorithms.c.name))
    rows = connection.execute(
        sql.select(scores.c.scene_id, scores.c.algorithm_id, scores.c.column_set_id, scores.c.inputs).where(
            scores.c.scoring_id == scoring, scores.c.scene_id.in_(list(scene_names))
        )
    ).all()
    cells: dict[tuple[str, str], tuple[int, tuple[int, ...]]] = {}
    for scene, algorithm, column_set, inputs in rows:
        key = (scene_names[scene], algorithm_names[algorithm])
        found = cells.get(key)
        cells[key] = (inputs, (*found[1], column_set) if found and found[0] == inputs else (column_set,))
    return StoredCells(cells, known_column_sets(connection))
