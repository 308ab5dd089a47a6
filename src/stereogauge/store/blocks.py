"""A cell's arrays as the packed columns of one row, and back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.engine import RowMapping

from stereogauge.scores.cell import CellScores
from stereogauge.scores.column import VersionedColumn

FLOATS = np.dtype("<f8")
INTEGERS = np.dtype("<i8")


def packed(cell: CellScores) -> dict[str, Any]:
    """The part of a `scores` row that depends on the cell alone."""
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
    """The cell that a `scores` row holds."""
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
