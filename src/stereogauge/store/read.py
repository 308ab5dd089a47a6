"""Reading scores: which rows a selection means, and those rows as a cube or as single scores."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import sqlalchemy as sql
from numpy.typing import NDArray
from sqlalchemy.engine import Connection

from stereogauge.errors import StoreError, unknown_name
from stereogauge.metrics.declaration import is_declared
from stereogauge.model import Calibration
from stereogauge.protocol import Protocol, parse_protocol
from stereogauge.registry import SMALLEST_HASH, PluginWarning
from stereogauge.scores.cell import CellScores, joined
from stereogauge.scores.column import Column, VersionedColumn, matching
from stereogauge.scores.cube import ScoreCube, void_scenes
from stereogauge.store import names, schema
from stereogauge.store.blocks import (
    FLOATS,
    INTEGERS,
    cell_of_row,
    check_sum,
    columns_sum,
    damaged,
    further_name,
    names_sum,
    unpacked,
)
from stereogauge.store.shared import Share, others_share
from stereogauge.store.sources import tags_of_text
from stereogauge.tags import TagBook, expanded

Names = Iterable[str] | None


@dataclass(frozen=True)
class Selection:
    """The rows that were asked for, by id. None means all; `scenes` and `algorithms` are in the order of the answer.

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


def select(
    connection: Connection,
    *,
    dataset: str | None = None,
    protocol: Protocol | str | None = None,
    algorithms: Names = None,
    scenes: Names = None,
    columns: Names = None,
) -> Selection:
    """What these names mean in this store; a name that it does not hold is an error."""
    book = tag_book(connection)
    found_scenes = all_scenes(connection, dataset)
    scoring, scoring_hash = scoring_of(connection, protocol, list(found_scenes) if dataset else None)
    others = others_share(connection, scoring, protocol) if isinstance(protocol, str) else Share()
    if dataset is None:
        found_scenes = {number: own for number, own in found_scenes.items() if number not in others.scenes}
    chosen_scenes = found_scenes if scenes is None else _named_scenes(found_scenes, scenes, book)
    table = schema.algorithms
    known = names.mapping(connection, sql.select(table.c.id, table.c.name).order_by(table.c.id))
    return Selection(
        scoring=scoring,
        protocol=scoring_hash,
        scenes=chosen_scenes,
        algorithms=known
        if algorithms is None
        else _named(
            known,
            expanded("algorithm", known.values(), book.algorithms, algorithms),
            "algorithm of this store",
        ),
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
    query = sql.select(scenes.c.id, sets.c.name, scenes.c.name).join(sets, sets.c.id == scenes.c.dataset_id)
    if dataset is not None:
        query = query.where(sets.c.name == dataset)
    query = query.order_by(sets.c.id, scenes.c.position, scenes.c.id)
    return {number: (owner, name) for number, owner, name in connection.execute(query)}


def _named(known: dict[int, str], wanted: Iterable[str], kind: str) -> dict[int, str]:
    numbers = {name: number for number, name in known.items()}
    chosen: dict[int, str] = {}
    for name in [wanted] if isinstance(wanted, str) else wanted:
        if name not in numbers:
            raise unknown_name(kind, name, numbers)
        chosen[numbers[name]] = name
    return chosen


def _named_scenes(
    known: dict[int, tuple[str, str]], wanted: Iterable[str], book: TagBook
) -> dict[int, tuple[str, str]]:
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
    known = names.mapping(connection, sql.select(table.c.id, table.c.hash))
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
        raise StoreError("The store holds no scores yet for what was asked; `stereogauge evaluate` computes some.")
    choices = [f"{known[number]} ({_names_of(number, named)})" for number in candidates]
    raise StoreError(
        f"The store holds scores under several protocols, which do not compare; choose one with "
        f'protocol="{known[candidates[0]]}": {", ".join(choices)}.'
    )


def _names_of(number: int, named: Sequence[Any]) -> str:
    return "/".join(dict.fromkeys(name for scoring, name, _ in named if scoring == number)) or "unnamed"


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
    """The columns of the answer with their places: the newest version of each; those that were asked for, in that
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


def read_cube(connection: Connection, selection: Selection) -> ScoreCube:
    """The scores as a cube; scenes and algorithms without any score are left out unless they were named."""
    table = schema.scores
    wanted = table.c["scene_id", "algorithm_id", "column_set_id", "value", "sum", "count", "missing", "inputs", "crc"]
    rows = connection.execute(sql.select(*wanted).where(selection.condition())).all()
    sets = names.known_column_sets(connection)
    _verify(rows, sets, selection)
    parts = list(zip(*rows, strict=True)) if rows else [()] * 9
    scene_numbers, algorithm_numbers, set_numbers = (np.array(part, np.int64) for part in parts[:3])
    scenes = _kept(selection.scenes, parts[0], selection.named_scenes)
    algorithms = _kept(selection.algorithms, parts[1], selection.named_algorithms)
    used = sorted(set(parts[2]))
    present = [sets[number] for number in used]
    chosen = chosen_columns(present, selection.columns, selection.foreign)
    warn_undeclared(chosen)
    columns = {column: place for place, column in enumerate(filter(lambda one: is_declared(one.metric), chosen))}
    shape = (len(algorithms), len(scenes), len(columns))
    filled = {"values": np.full(shape, np.nan), **{part: np.zeros(shape) for part in ("sums", "counts", "missing")}}
    measured = np.zeros(shape, bool)
    for number in used:
        members = np.flatnonzero(set_numbers == number)
        inside = [place for place, column in enumerate(sets[number]) if column in columns]
        if not inside:
            continue
        place = (
            _positions(algorithms, algorithm_numbers[members])[:, None],
            _positions(scenes, scene_numbers[members])[:, None],
            np.array([columns[sets[number][at]] for at in inside])[None, :],
        )
        width = len(sets[number])
        for part, blobs, dtype in zip(filled, parts[3:7], (FLOATS, FLOATS, INTEGERS, INTEGERS), strict=True):
            matrix = unpacked([blobs[member] for member in members], dtype, width)
            filled[part][place] = matrix[:, inside]
        measured[place] = True
    owners = [selection.scenes[number] for number in scenes]
    several = len({owner for owner, _ in owners}) > 1
    shown = {
        number: f"{owner}/{name}" if several else name for number, (owner, name) in zip(scenes, owners, strict=True)
    }
    facts, protocol = scene_facts(connection), _scored_by(connection, selection.scoring)
    return ScoreCube(
        algorithms=tuple(selection.algorithms[number] for number in algorithms),
        scenes=tuple(shown.values()),
        columns=tuple(Column(column.metric, column.region) for column in columns),
        protocol=selection.protocol,
        datasets=tuple(owner for owner, _ in owners),
        sizes=tuple(facts[owner].size for owner in owners),
        depth_units=tuple(_depth_unit(facts[owner], protocol) for owner in owners),
        tags=tag_book(connection),
        runs=_run_conditions(connection, selection, {number: sets[number] for number in used}, columns, shown),
        invalid=protocol.invalid if protocol else "count",
        void=void_scenes(measured, filled["counts"], filled["missing"]),
        values=filled["values"],
        sums=filled["sums"],
        counts=filled["counts"],
        missing=filled["missing"],
    )


def _run_conditions(
    connection: Connection,
    selection: Selection,
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
            if column in timed and str(place) in remarks and scene in scenes:
                found[selection.algorithms[algorithm], scenes[scene]] = remarks[str(place)]
    return found


def _verify(rows: Sequence[Any], sets: Mapping[int, tuple[VersionedColumn, ...]], selection: Selection) -> None:
    """Raise an error where a row is not as it was written."""
    columns = {number: columns_sum(own) for number, own in sets.items()}
    scenes = {number: names_sum(selection.protocol, *own) for number, own in selection.scenes.items()}
    algorithms = {number: further_name(name) for number, name in selection.algorithms.items()}
    for scene, algorithm, column_set, value, total, count, missing, inputs, crc in rows:
        names = crc32(algorithms[algorithm], scenes[scene])
        if check_sum(names, columns[column_set], inputs, value, total, count, missing) != crc:
            raise damaged(f"{selection.algorithms[algorithm]} on {selection.scenes[scene][1]}")


class SceneFacts(NamedTuple):
    """The size of a scene relative to full resolution (NaN: unknown), and whether it has a calibration (None)."""

    size: float
    calibrated: bool | None


def scene_facts(connection: Connection) -> dict[tuple[str, str], SceneFacts]:
    """What the store knows of scenes, by (dataset, scene)."""
    sets, scenes = schema.datasets, schema.scenes
    query = sql.select(sets.c.name, scenes.c.name, scenes.c.sources).join(sets, sets.c.id == scenes.c.dataset_id)
    return {(owner, name): _facts(json.loads(text)) for owner, name, text in connection.execute(query)}


def _facts(described: Mapping[str, Any]) -> SceneFacts:
    calibrated = described.get("calibrated")
    if "calibration" in described:
        calibrated = Calibration(**described["calibration"]).metric
    return SceneFacts(described.get("size") or math.nan, calibrated)


def _depth_unit(facts: SceneFacts, protocol: Protocol | None) -> str:
    """The unit of depth errors on a scene, "" where it is not known."""
    if protocol is None or facts.calibrated is None:
        return ""
    return protocol.sigma_z.unit(calibrated=facts.calibrated)


def tag_book(connection: Connection) -> TagBook:
    """The tags of all algorithms and scenes of the store."""
    known, sets, scenes = schema.algorithms, schema.datasets, schema.scenes
    query = sql.select(sets.c.name, scenes.c.name, scenes.c.tags).join(sets, sets.c.id == scenes.c.dataset_id)
    return TagBook(
        {name: tags_of_text(text) for name, text in connection.execute(sql.select(known.c.name, known.c.tags))},
        {(owner, name): tags_of_text(text) for owner, name, text in connection.execute(query)},
    )


def _scored_by(connection: Connection, scoring: int) -> Protocol | None:
    """A protocol with these scoring choices; None where only their hash is known."""
    table = schema.protocols
    text = connection.execute(sql.select(table.c.text).where(table.c.scoring_id == scoring).limit(1)).scalar()
    return None if text is None else parse_protocol(text, "the store")


def _kept(order: dict[int, Any], present: Sequence[int], named: bool) -> list[int]:
    if named:
        return list(order)
    found = set(present)
    return [number for number in order if number in found]


def _positions(order: list[int], numbers: NDArray[np.int64]) -> NDArray[np.intp]:
    table = np.zeros(max(order, default=0) + 1, np.intp)
    table[order] = np.arange(len(order))
    return table[numbers]


def read_cells(connection: Connection, selection: Selection) -> Iterator[CellScores]:
    """The stored cells, scene by scene, older versions of columns left out."""
    table = schema.scores
    sets = names.known_column_sets(connection)
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
            cell = cell_of_row(
                row,
                sets[row["column_set_id"]],
                dataset=dataset,
                scene=scene,
                algorithm=selection.algorithms[number],
                protocol=selection.protocol,
            )
            by_algorithm.setdefault(number, []).append(cell)
        for number in selection.algorithms:
            whole = joined(by_algorithm[number]) if number in by_algorithm else None
            places = {column: place for place, column in enumerate(whole.columns)} if whole else {}
            kept = [places[column] for column in columns if column in places]
            if whole is not None and kept:
                yield whole.take(kept)
