"""Scores in and out of a store: long form as CSV or Parquet, one score per row, and the copy of one store into another.

The long forms hold everything that a score is made of, so that importing an export gives the same cells, bit for bit.
"""

from __future__ import annotations

import csv
import itertools
import json
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sql
from sqlalchemy.engine import Connection, RowMapping

from stereogauge.errors import FileError, MissingDependency, cause
from stereogauge.protocol import parse_protocol
from stereogauge.scores.column import VersionedColumn
from stereogauge.scores.score import NEEDED, CellScores, Score, cells_of_scores, score_of_row
from stereogauge.store import schema
from stereogauge.store.listing import map_record
from stereogauge.store.read import all_scenes, tag_book
from stereogauge.store.rows import CellKey, cell_of_row, ids_of, insert_new, known_column_sets, mapping
from stereogauge.store.sources import tags_of_text, tags_text
from stereogauge.store.write import write_cells, write_maps, write_protocol, write_tags
from stereogauge.tags import TagBook, Tags

PathLike = str | os.PathLike[str]

SCORE_FIELDS = Score.__struct_fields__[:-1]
FIELDS = (*SCORE_FIELDS, "metric_version", "region_version", "inputs")
TAG_FIELDS = ("algorithm_tags", "scene_tags")
"""Further columns of a store that has tags: those of the row's algorithm and scene, as JSON."""
NUMBERS = {"value": float, "sum": float, "count": int, "missing": int}
PROTOCOLS_KEY = b"stereogauge.protocols"
BATCH = 100_000


def _rows(cells: Iterable[CellScores], book: TagBook | None) -> Iterator[tuple[Any, ...]]:
    values = operator.attrgetter(*SCORE_FIELDS)
    for cell in cells:
        tags: tuple[str, ...] = ()
        if book:
            scene = book.scenes.get((cell.dataset, cell.scene), {})
            tags = (tags_text(book.algorithms.get(cell.algorithm, {})), tags_text(scene))
        for column, score in zip(cell.columns, cell.scores(), strict=True):
            yield (*values(score), column.metric_version, column.region_version, cell.inputs, *tags)


class LongForm(NamedTuple):
    """The content of a file in long form: cells, the tags of their algorithms and scenes, and texts of protocols."""

    cells: list[CellScores]
    tags: TagBook = TagBook()
    protocols: Sequence[str] = ()


def _cells(rows: Iterable[Mapping[str, Any]], name: str) -> LongForm:
    algorithms: dict[str, Tags] = {}
    scenes: dict[tuple[str, str], Tags] = {}
    groups: dict[tuple[str, str, str, str, int], list[tuple[Score, VersionedColumn]]] = {}
    for line, row in enumerate(rows, start=1):
        try:
            numbers = {field: kind(row[field]) for field, kind in NUMBERS.items()}
            fields: dict[str, Any] = {field: row[field] or "" for field in SCORE_FIELDS} | numbers
            score = Score(**fields)
            versions = int(row["metric_version"]), int(row["region_version"])
            inputs = int(row["inputs"])
            own, where = (tags_of_text(row.get(field) or "") for field in TAG_FIELDS)
        except (TypeError, ValueError, KeyError) as problem:
            raise FileError(
                f"{name}: row {line} is not a score ({problem}); the columns must be {', '.join(FIELDS)}."
            ) from None
        algorithms[score.algorithm], scenes[score.dataset, score.scene] = own, where
        key = (score.dataset, score.scene, score.algorithm, score.protocol, inputs)
        column = VersionedColumn(score.metric, versions[0], score.region, versions[1])
        groups.setdefault(key, []).append((score, column))
    cells = []
    for key, members in groups.items():
        columns = tuple(column for _, column in members)
        cells.append(CellScores.of_scores([score for score, _ in members], columns, inputs=key[4]))
    return LongForm(_checked(cells, name), TagBook(algorithms, scenes))


def export_csv(cells: Iterable[CellScores], path: PathLike, tags: TagBook | None = None) -> int:
    """Write the long form as CSV; the shortest decimals that give the same floats back."""
    amount = 0
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow((*FIELDS, *(TAG_FIELDS if tags else ())))
            for row in _rows(cells, tags):
                writer.writerow(row)
                amount += 1
    except OSError as problem:
        raise FileError(f"{os.fsdecode(path)}: cannot be written ({problem.strerror}).") from problem
    return amount


def import_csv(path: PathLike) -> LongForm:
    """The cells of a CSV in long form, and the tags that came with them."""
    name = os.fsdecode(path)
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if not set(reader.fieldnames or ()).issuperset(FIELDS):
                return _foreign_cells(reader, name)
            return _cells(reader, name)
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise FileError(f"{name}: cannot be read as CSV ({cause(problem)}).") from problem


def export_parquet(
    cells: Iterable[CellScores], path: PathLike, protocols: Mapping[str, str], tags: TagBook | None = None
) -> int:
    """Write the long form as Parquet, in batches; `protocols` (hash → text) go into the file's metadata."""
    arrow, parquet = _arrow()
    integers, floats, text = arrow.int64(), arrow.float64(), arrow.dictionary(arrow.int32(), arrow.string())
    kinds = {"value": floats, "sum": floats, "note": arrow.string()}
    whole = {"count", "missing", "metric_version", "region_version", "inputs"}
    fields = (*FIELDS, *(TAG_FIELDS if tags else ()))
    layout = arrow.schema(
        [(field, integers if field in whole else kinds.get(field, text)) for field in fields],
        metadata={PROTOCOLS_KEY: json.dumps(dict(protocols)).encode()},
    )
    amount = 0
    try:
        with parquet.ParquetWriter(os.fspath(path), layout, compression="zstd") as writer:
            rows = _rows(cells, tags)
            while batch := list(itertools.islice(rows, BATCH)):
                columns = dict(zip(fields, zip(*batch, strict=True), strict=True))
                writer.write_table(arrow.Table.from_pydict(columns, schema=layout))
                amount += len(batch)
    except OSError as problem:
        raise FileError(f"{os.fsdecode(path)}: cannot be written ({problem}).") from problem
    return amount


def import_parquet(path: PathLike) -> LongForm:
    """The cells of a Parquet file in long form, the texts of the protocols and the tags that came with it."""
    arrow, parquet = _arrow()
    name = os.fsdecode(path)
    try:
        table = parquet.read_table(os.fspath(path))
    except (OSError, arrow.ArrowException) as problem:
        raise FileError(f"{name}: cannot be read as Parquet ({str(problem).splitlines()[0]}).") from problem
    if not set(table.column_names).issuperset(FIELDS):
        return _foreign_cells(table.to_pylist(), name)
    texts = json.loads((table.schema.metadata or {}).get(PROTOCOLS_KEY, b"{}"))
    fields = [*FIELDS, *(field for field in TAG_FIELDS if field in table.column_names)]
    return _cells(table.select(fields).to_pylist(), name)._replace(protocols=list(texts.values()))


def _foreign_cells(rows: Iterable[Mapping[str, Any]], name: str) -> LongForm:
    """The cells of a table that was not exported from a store: see `score_of_row`."""
    scores = [score_of_row(row, f"{name}: row {line}") for line, row in enumerate(rows, start=1)]
    if not scores:
        raise FileError(f"{name} holds no scores; a table of scores needs {', '.join(NEEDED)}, and one row per score.")
    return LongForm(_checked(cells_of_scores(scores), name))


def _checked(cells: list[CellScores], name: str) -> list[CellScores]:
    """The cells; one with a column twice is refused."""
    for cell in cells:
        if len(set(cell.columns)) != len(cell.columns):
            raise FileError(
                f"{name}: {cell.algorithm} on {cell.scene} has the same column twice; keep one of the rows."
            )
    return cells


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingDependency("pyarrow", "io", "Parquet") from None
    return pyarrow, parquet


def merge_stores(source: Connection, target: Connection) -> int:
    """Copy everything from `source` that `target` lacks or holds in an older state; returns the number of cells that
    came in.
    """
    _copy_names(source, target)
    runs = _copy_runs(source, target)
    sets, key_of, present = known_column_sets(source), _keys_of(source), _state(target)
    taken: set[CellKey] = set()
    for scene in all_scenes(source):
        arriving: dict[int, list[tuple[CellScores, float]]] = {}
        rows = source.execute(sql.select(schema.scores).where(schema.scores.c.scene_id == scene)).mappings()
        for row in rows:
            key = key_of(row)
            cell = cell_of_row(row, sets[row["column_set_id"]], key)
            wanted = _wanted(cell, row["written"], present.get(key))
            if wanted is not None:
                arriving.setdefault(runs[row["run_id"]], []).append((wanted, row["written"]))
                taken.add(key)
        for run, cells in arriving.items():
            write_cells(target, [cell for cell, _ in cells], run, [written for _, written in cells])
    moved = sorted({key[:3] for key in taken})
    records = (map_record(source, algorithm, dataset, scene) for dataset, scene, algorithm in moved)
    write_maps(target, [record for record in records if record is not None])
    return len(taken)


def _keys_of(connection: Connection) -> Callable[[RowMapping], CellKey]:
    """What gives the names of a row of scores."""
    scenes = all_scenes(connection)
    algorithms = mapping(connection, sql.select(schema.algorithms.c.id, schema.algorithms.c.name))
    hashes = mapping(connection, sql.select(schema.scorings.c.id, schema.scorings.c.hash))
    return lambda row: CellKey(*scenes[row["scene_id"]], algorithms[row["algorithm_id"]], hashes[row["scoring_id"]])


def _rows_of(connection: Connection, table: sql.Table) -> dict[int, dict[str, Any]]:
    """The rows of a table by id."""
    rows = map(dict, connection.execute(sql.select(table).order_by(table.c.id)).mappings())
    return {row.pop("id"): row for row in rows}


def _copy_names(source: Connection, target: Connection) -> None:
    for text in source.execute(sql.select(schema.protocols.c.text)).scalars():
        write_protocol(target, parse_protocol(text, "merged store"))
    datasets, scenes = _rows_of(source, schema.datasets), _rows_of(source, schema.scenes).values()
    insert_new(target, schema.datasets, list(datasets.values()))
    numbers = ids_of(target, schema.datasets.c.name, [row["name"] for row in datasets.values()])
    moved = [row | {"dataset_id": numbers[datasets[row["dataset_id"]]["name"]]} for row in scenes]
    insert_new(target, schema.scenes, moved)
    insert_new(target, schema.algorithms, list(_rows_of(source, schema.algorithms).values()))
    arriving, present = tag_book(source), tag_book(target)
    write_tags(
        target,
        TagBook(
            {name: tags for name, tags in arriving.algorithms.items() if not present.algorithms.get(name)},
            {scene: tags for scene, tags in arriving.scenes.items() if not present.scenes.get(scene)},
        ),
    )


def _copy_runs(source: Connection, target: Connection) -> dict[int, int]:
    """Runs are copied once: a second merge of the same store finds them by start, host and command."""
    table = schema.runs
    numbers: dict[int, int] = {}
    for number, row in _rows_of(source, table).items():
        same = (table.c[name] == row[name] for name in ("started", "host", "command"))
        found = target.execute(sql.select(table.c.id).where(*same)).scalar()
        if found is None:
            key = target.execute(table.insert().values(**row)).inserted_primary_key
            assert key is not None
            found = key[0]
        numbers[number] = int(found)
    return numbers


def _state(target: Connection) -> dict[CellKey, list[tuple[int, float, frozenset[VersionedColumn]]]]:
    """What the target holds of each cell: (inputs, written, columns) of its rows."""
    sets = {number: frozenset(columns) for number, columns in known_column_sets(target).items()}
    key_of = _keys_of(target)
    state: dict[CellKey, list[tuple[int, float, frozenset[VersionedColumn]]]] = {}
    table = schema.scores
    query = sql.select(*table.c["scoring_id", "scene_id", "algorithm_id", "column_set_id", "inputs", "written"])
    for row in target.execute(query).mappings():
        state.setdefault(key_of(row), []).append((row["inputs"], row["written"], sets[row["column_set_id"]]))
    return state


def _wanted(
    cell: CellScores, written: float, present: list[tuple[int, float, frozenset[VersionedColumn]]] | None
) -> CellScores | None:
    """The columns of `cell` that should come in: those that are absent, or all when it is of newer inputs."""
    if present is None:
        return cell
    if any(inputs != cell.inputs for inputs, _, _ in present):
        return cell if written > max(time for _, time, _ in present) else None
    known = frozenset().union(*(columns for _, _, columns in present))
    places = [place for place, column in enumerate(cell.columns) if column not in known]
    return cell.take(places) if places else None
