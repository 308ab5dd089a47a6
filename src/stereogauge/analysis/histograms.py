"""Where a score lies among those of others: histograms of a metric with its ranges.

Honauer et al., The HCI Stereo Metrics, 2015, figure 12.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import unknown_name
from stereogauge.ranking.normalisation import heuristic_maximum
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import Selection


class ScoreHistogram(NamedTuple):
    """Counts of scores between `edges`, one score per (scene, algorithm), and where chosen algorithms lie.

    `marked` holds the scores of each chosen algorithm by scene. `empirical` is the range in this selection,
    `heuristic` what real algorithms reach as stated by the HCI supplement (None where unstated), `theoretical` the
    declared range.
    """

    selection: Selection
    column: Column
    edges: Values
    counts: NDArray[np.int64]
    marked: dict[str, Values]
    empirical: tuple[float, float]
    heuristic: tuple[float, float] | None
    theoretical: tuple[float, float]


def score_histogram(cube: ScoreCube, column: str, mark: tuple[str, ...] = (), bins: int = 20) -> ScoreHistogram:
    """The histogram of one column's finite scores over all scenes and algorithms."""
    column_index = cube.column(column)
    for name in mark:
        if name not in cube.algorithms:
            raise unknown_name("algorithm of these scores", name, cube.algorithms)
    scores = cube.values[:, :, column_index]
    finite = scores[np.isfinite(scores)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (np.nan, np.nan)
    declared = cube.columns[column_index].declared.metric
    start = declared.range[0] if declared.range[0] == 0 else low
    span = (start, high if high > start else start + 1.0) if finite.size else (0.0, 1.0)
    counts, edges = np.histogram(finite, bins=bins, range=span)
    maximum = heuristic_maximum(cube.columns[column_index].metric)
    return ScoreHistogram(
        selection=Selection.of(cube.take(columns=[column_index])),
        column=cube.columns[column_index],
        edges=edges,
        counts=counts.astype(np.int64),
        marked={name: scores[cube.algorithms.index(name)] for name in mark},
        empirical=(low, high),
        heuristic=None if maximum is None else ((declared.heuristic_range or (0.0, 0.0))[0], maximum),
        theoretical=declared.range,
    )
