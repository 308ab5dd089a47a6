"""Cells compared bit for bit."""

from __future__ import annotations

import math

import numpy as np

from stereogauge.scores.column import VersionedColumn
from stereogauge.scores.score import CellScores


def same_scores(left: CellScores, right: CellScores) -> bool:
    """Whether two cells hold the same columns with the same numbers, bit for bit, whatever the order."""

    def bits(cell: CellScores) -> dict[VersionedColumn, tuple[bytes, bytes, int, int, str]]:
        return {
            column: (
                _bits(cell.values[place]),
                _bits(cell.sums[place]),
                int(cell.counts[place]),
                int(cell.missing[place]),
                cell.notes.get(place, ""),
            )
            for place, column in enumerate(cell.columns)
        }

    return bits(left) == bits(right)


def _bits(value: np.float64) -> bytes:
    return b"nan" if math.isnan(value) else value.tobytes()
