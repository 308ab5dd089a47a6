"""A cell's arrays as the packed columns of one row, and back."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.engine import RowMapping

from stereogauge.errors import StoreError
from stereogauge.scores.cell import CellScores
from stereogauge.scores.column import VersionedColumn

FLOATS = np.dtype("<f8")
INTEGERS = np.dtype("<i8")


ARRAYS = ("value", "sum", "count", "missing")


def packed(cell: CellScores) -> dict[str, Any]:
    """The part of a `scores` row that depends on the cell alone."""
    row = _packed(cell)
    names = (cell.protocol, cell.dataset, cell.scene, cell.algorithm)
    return {**row, "crc": check_sum(names_sum(*names), columns_sum(cell.columns), row["inputs"], *_arrays(row))}


def names_sum(*names: str) -> int:
    """The check sum of the names of a row: protocol, dataset, scene, algorithm."""
    return zlib.crc32("\0".join(names).encode("utf-8", "surrogatepass"))


def further_name(name: str) -> bytes:
    """What a further name adds: crc32(further_name(last), names_sum(*others)) = names_sum(*others, last)."""
    return f"\0{name}".encode("utf-8", "surrogatepass")


def columns_sum(columns: tuple[VersionedColumn, ...]) -> bytes:
    """The check sum of the names and versions of columns, as bytes."""
    return zlib.crc32(repr([tuple(column) for column in columns]).encode()).to_bytes(4, "little")


def check_sum(names: int, columns: bytes, inputs: int, *arrays: bytes) -> int:
    """The check sum of a row: CRC-32 of what its numbers are called and of the packed numbers."""
    return zlib.crc32(b"".join((columns, inputs.to_bytes(8, "little", signed=True), *arrays)), names)


def damaged(what: str) -> StoreError:
    """The error for a row that is not what was written."""
    return StoreError(
        f"The store is damaged: the scores of {what} are not those that were written; `stereogauge store check` lists "
        "what is damaged. Restore a copy, or delete the algorithm and evaluate it again."
    )


def _arrays(row: Any) -> list[bytes]:
    return [bytes(row[name]) for name in ARRAYS]


def _packed(cell: CellScores) -> dict[str, Any]:
    return {
        "inputs": cell.inputs,
        "seconds": cell.seconds,
        "host": cell.host,
        "notes": json.dumps({str(place): note for place, note in cell.notes.items()}) if cell.notes else "",
        "value": cell.values.astype(FLOATS).tobytes(),
        "sum": cell.sums.astype(FLOATS).tobytes(),
        "count": cell.counts.astype(INTEGERS).tobytes(),
        "missing": cell.missing.astype(INTEGERS).tobytes(),
    }


def unpacked(blobs: list[bytes], dtype: np.dtype[Any], width: int) -> NDArray[Any]:
    """Rows of packed arrays as one matrix (rows, width)."""
    return np.frombuffer(b"".join(blobs), dtype).reshape(len(blobs), width)


def cell_of_row(
    row: RowMapping, columns: tuple[VersionedColumn, ...], *, dataset: str, scene: str, algorithm: str, protocol: str
) -> CellScores:
    """The cell that a `scores` row holds; one that is not as it was written is refused."""
    names = names_sum(protocol, dataset, scene, algorithm)
    if row["crc"] != check_sum(names, columns_sum(columns), row["inputs"], *_arrays(row)):
        raise damaged(f"{algorithm} on {scene}")
    return CellScores(
        dataset=dataset,
        scene=scene,
        algorithm=algorithm,
        protocol=protocol,
        columns=columns,
        values=np.frombuffer(row["value"], FLOATS).astype(np.float64),
        sums=np.frombuffer(row["sum"], FLOATS).astype(np.float64),
        counts=np.frombuffer(row["count"], INTEGERS).astype(np.int64),
        missing=np.frombuffer(row["missing"], INTEGERS).astype(np.int64),
        notes={int(place): note for place, note in json.loads(row["notes"]).items()} if row["notes"] else {},
        inputs=row["inputs"],
        seconds=row["seconds"],
        host=row["host"],
    )
