"""What the figures of a study (made by `stereogauge.study.figures`) and of robustness show, as plain values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stereogauge.figures.palette import OKABE_ITO

SERIES = (
    ("changed", "changed, % of pixels with both estimates", OKABE_ITO[0]),
    ("lost", "lost, % of all pixels", OKABE_ITO[1]),
    ("gained", "gained, % of all pixels", OKABE_ITO[2]),
)


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


class RobustnessSeries(NamedTuple):
    """One value per algorithm, in per cent; NaN where there is none."""

    label: str
    colour: str
    values: tuple[float, ...]


class RobustnessPanel(NamedTuple):
    """One condition."""

    label: str
    series: tuple[RobustnessSeries, ...]


class RobustnessBars(NamedTuple):
    """One panel per condition, one group of bars per algorithm."""

    title: str
    caption: str
    algorithms: tuple[str, ...]
    panels: tuple[RobustnessPanel, ...]


def robustness_data(table: pd.DataFrame, *, threshold: float, pixels: str = "all pixels") -> RobustnessBars:
    """The bars of a table as `stereogauge.study.robustness.robustness_table` makes it."""
    algorithms = tuple(dict.fromkeys(table["algorithm"]))
    panels = []
    for (condition, first, second), rows in table.groupby(["condition", "first", "second"], sort=False):
        values = rows.set_index("algorithm").reindex(algorithms)
        series = tuple(
            RobustnessSeries(label, colour, tuple(float(value) for value in values[name]))
            for name, label, colour in SERIES
        )
        panels.append(RobustnessPanel(f"{condition}: {first} → {second}", series))
    caption = f"Changed: disparities that differ by more than {threshold:g} px. Pixels: {pixels}. 0 is full robustness."
    return RobustnessBars("Change of the maps when only lighting or time changes", caption, algorithms, tuple(panels))
