"""Scores of metrics that nothing here declares, since their plug-in is not loaded."""

from __future__ import annotations

import warnings

from stereogauge.metrics.declaration import is_declared
from stereogauge.registry import PluginWarning
from stereogauge.scores.cube import ScoreCube


def of_known_metrics(cube: ScoreCube) -> ScoreCube:
    """The columns whose metric is declared here: of another, neither the unit nor which values are better is known."""
    known = [place for place, column in enumerate(cube.columns) if is_declared(column.metric)]
    if len(known) == len(cube.columns):
        return cube
    others = sorted({column.metric for column in cube.columns if not is_declared(column.metric)})
    warnings.warn(
        f"this store also holds scores of {', '.join(others)}, which nothing here declares; they are left out until "
        "the plug-in is installed or given with --plugin FILE.",
        PluginWarning,
        stacklevel=3,
    )
    return cube.take(columns=known)
