"""What the figures of a study show, as plain values. `stereogauge.study.figures` makes them from a study."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class ResponseCurve(NamedTuple):
    """Values of one metric over the strength of one damage.

    `relative` strengths run from 0 to 1; `rank` orders the curves of a panel by their largest change, 0 first; a curve
    without a `colour` is drawn faintly.
    """

    damage: str
    relative: tuple[float, ...]
    strengths: tuple[float, ...]
    values: tuple[float, ...]
    unit: str
    rank: int
    colour: str


class ResponsePanel(NamedTuple):
    """All curves of one metric."""

    metric: str
    label: str
    curves: tuple[ResponseCurve, ...]


class ResponseCurves(NamedTuple):
    """One panel per metric, one curve per damage."""

    title: str
    caption: str
    panels: tuple[ResponsePanel, ...]


class SensitivityMap(NamedTuple):
    """Metrics × damages as a heat map between 0 and 1; NaN is left blank; `marked` cells (row, column) get a frame."""

    title: str
    caption: str
    metrics: tuple[str, ...]
    damages: tuple[str, ...]
    values: NDArray[np.float64]
    marked: tuple[tuple[int, int], ...]
    unit: str
