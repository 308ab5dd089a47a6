"""Is it the pixels or the function? RMS on each metric's own pixel set against the metric.

Honauer et al., The HCI Stereo Metrics, 2015, section 4.4.

A metric differs from plain RMS in two ways: where it looks and what it computes there. RMS on the metric's own pixels
has only the first; what it leaves unexplained is due to the second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stereogauge.analysis.correlation import line
from stereogauge.analysis.orders import agreement
from stereogauge.errors import StereogaugeError
from stereogauge.ranking.run import rank
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.selection import Selection


class SubsetComparison(NamedTuple):
    """One metric against RMS everywhere and against RMS on the metric's own pixels.

    `r_squared_*` over all (scene, algorithm) points, `kendall_*` between the orders of the Middlebury model; NaN
    where there are too few scores.
    """

    metric: str
    subset: str
    r_squared_whole: float
    r_squared_subset: float
    kendall_whole: float
    kendall_subset: float


class SubsetExperiment(NamedTuple):
    """The comparison for every metric whose own pixel set also has an RMS."""

    selection: Selection
    reference: Column
    rows: tuple[SubsetComparison, ...]


def subset_experiment(cube: ScoreCube, reference: str | None = None, metric: str = "rms") -> SubsetExperiment:
    """Compare each metric that is bound to a pixel set with `reference` and with `metric` on that set.

    The reference is by default `metric` on the region "all", else on "nonocc", else on the first region that
    is no metric's own pixel set.
    """
    bound = [column for column in cube.columns if column.declared.metric.region is not None]
    whole = cube.columns[cube.column(reference or _everywhere(cube, metric, {column.region for column in bound}))]
    rows = []
    for column in bound:
        subset = Column(metric, column.region)
        if subset not in cube.columns:
            continue
        rows.append(
            SubsetComparison(
                column.metric,
                column.region,
                _r_squared(cube, column, whole),
                _r_squared(cube, column, subset),
                _kendall(cube, column, whole),
                _kendall(cube, column, subset),
            )
        )
    if not rows:
        raise StereogaugeError(
            f"The experiment with {metric} on each metric's own pixels needs such a metric and {metric} on its pixel "
            f"set, for example d-fat and {metric}:disc-background; found {', '.join(cube.metrics)}."
        )
    return SubsetExperiment(Selection.of(cube), whole, tuple(rows))


def _everywhere(cube: ScoreCube, metric: str, sets: set[str]) -> str:
    regions = [column.region for column in cube.columns if column.metric == metric and column.region not in sets]
    usual = [name for name in ("all", "nonocc") if name in regions]
    return f"{metric}:{[*usual, *regions, 'all'][0]}"


def _values(cube: ScoreCube, column: Column) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return cube.values[:, :, cube.columns.index(column)].ravel()


def _r_squared(cube: ScoreCube, first: Column, second: Column) -> float:
    return line(_values(cube, first), _values(cube, second))[2]


def _kendall(cube: ScoreCube, first: Column, second: Column) -> float:
    orders = {
        str(column): rank(cube, "middlebury", metrics=[str(column)], missing="worst") for column in (first, second)
    }
    return float(agreement(orders).kendall[0, 1])
