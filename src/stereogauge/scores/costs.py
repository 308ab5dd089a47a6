"""Scores as costs: lower is better in every column.

A cost is the score (direction "lower"), its negative ("higher", as for PSNR) or its absolute value ("zero", as for a
bias).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values


def oriented(cube: ScoreCube) -> Values:
    """The cube's values as costs, NaN where there is a gap."""
    return column_costs(cube.columns, cube.values)


def column_costs(columns: Sequence[Column], values: Values) -> Values:
    """Values whose last axis counts columns, as costs."""
    costs = np.array(values, np.float64)
    for place, column in enumerate(columns):
        direction = column.declared.metric.direction
        if direction == "higher":
            costs[..., place] *= -1.0
        elif direction == "zero":
            np.abs(costs[..., place], out=costs[..., place])
    return costs
