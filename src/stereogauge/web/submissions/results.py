"""A submission's scores beside those of the other algorithms."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel

from stereogauge.protocol import Protocol
from stereogauge.ranking.ranks import column_ranks
from stereogauge.scores.aggregation import aggregated, column_costs
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.table import ScoreTable
from stereogauge.web.hiding import Hidden
from stereogauge.web.scores.reader import joined


class ColumnResult(BaseModel):
    """One column of a submission, the best value of the other algorithms, and its rank among all with a value."""

    column: str
    value: float | None
    best: float | None
    rank: int | None
    of: int


def column_results(
    others: ScoreCube, name: str, table: ScoreTable, hidden: Hidden, protocol: Protocol | None = None
) -> list[ColumnResult]:
    """Means over the scenes per column; an earlier version under the same name is not one of the other algorithms."""
    if not len(table):
        return []
    keep = [index for index, other in enumerate(others.algorithms) if other != name]
    cube = hidden.rounded(joined(others.take(algorithms=keep), table))
    values = aggregated(cube)
    costs = column_costs(cube.columns, values)
    ranks = column_ranks(np.where(np.isnan(costs), np.inf, costs))
    results = []
    for index, column in enumerate(cube.columns):
        rest = costs[:-1, index]
        best = int(np.nanargmin(rest)) if np.isfinite(rest).any() else None
        known = bool(np.isfinite(costs[-1, index]))
        results.append(
            ColumnResult(
                column=str(column),
                value=float(values[-1, index]) if known else None,
                best=None if best is None else float(values[best, index]),
                rank=int(ranks[-1, index]) if known else None,
                of=int(np.isfinite(costs[:, index]).sum()),
            )
        )
    return results
