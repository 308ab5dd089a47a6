"""Tables of error over density: scores at equal density, and the maps as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stereogauge.evaluation.error_density import ErrorDensity
from stereogauge.scores.costs import column_costs
from stereogauge.tables.score_table import emphases, heading
from stereogauge.tables.table import Cell, Emphasis, Heading, Table, number, share, table, words


def density_table(found: ErrorDensity) -> Table:
    """Each algorithm's own density and score, then its scores at each equal density, where there is an order.

    The score at the own density is never marked as best: it compares with no other.
    """
    names = found.algorithms
    columns: list[list[Cell]] = [
        [_share(found.points[name].density) for name in names],
        [number(found.points[name].value) for name in names],
    ]
    for one in found.equal:
        values = np.array([one.values[name] for name in names])
        marks: list[Emphasis] = emphases(column_costs((found.column,), values[:, None])[:, 0])
        columns.append(
            [
                replace(number(one.values[name]), emphasis=mark, note=one.reasons.get(name, ""))
                for name, mark in zip(names, marks, strict=True)
            ]
        )
    head = heading(found.column)
    header = [
        Heading("algorithm"),
        Heading("density", found.column.region),
        Heading(head.name, "own density", head.unit, head.remark),
        *(Heading(head.name, one.name, head.unit, head.remark) for one in found.equal),
    ]
    rows = [[words(name), *(column[row] for column in columns)] for row, name in enumerate(names)]
    notes = [*found.notes]
    if not found.equal:
        notes.append("No two of these can be brought to one density, so there is no order.")
    title = f"{found.column.label} at equal density"
    return table(f"density-{_file_name(found)}", title, header, rows, notes)


def _share(density: float) -> Cell:
    return Cell() if np.isnan(density) else share(density, 1)


def _file_name(found: ErrorDensity) -> str:
    return str(found.column).replace("@", "-").replace(":", "-").replace(",", "-")
