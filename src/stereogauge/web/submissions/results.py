"""A submission's scores beside those of everybody else."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel

from stereogauge.protocol import Protocol
from stereogauge.ranking.costs import column_costs
from stereogauge.ranking.ranks import column_ranks
from stereogauge.scores.aggregation import aggregated
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.table import ScoreTable
from stereogauge.web.scores.joining import joined


class ColumnResult(BaseModel):
    """One column of a submission, the best of the others, and its rank among all with a value there."""

    column: str
    value: float | None
    best: float | None
    rank: int | None
    of: int


def column_results(
    others: ScoreCube, name: str, table: ScoreTable, protocol: Protocol | None = None
) -> list[ColumnResult]:
    """Means over the scenes for each column; an earlier version under the same name does not count among the others."""
    if not len(table):
        return []
    keep = [place for place, other in enumerate(others.algorithms) if other != name]
    cube = joined(others.take(algorithms=keep), table)
    values = aggregated(cube)
    costs = column_costs(cube.columns, values)
    ranks = column_ranks(np.where(np.isnan(costs), np.inf, costs))
    results = []
    for place, column in enumerate(cube.columns):
        rest = costs[:-1, place]
        best = int(np.nanargmin(rest)) if np.isfinite(rest).any() else None
        known = bool(np.isfinite(costs[-1, place]))
        results.append(
            ColumnResult(
                column=str(column),
                value=float(values[-1, place]) if known else None,
                best=None if best is None else float(values[best, place]),
                rank=int(ranks[-1, place]) if known else None,
                of=int(np.isfinite(costs[:, place]).sum()),
            )
        )
    return results
