"""What the figure of robustness shows, as plain values. `mpl` and `plotly` draw it."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from stereogauge.figures.palette import OKABE_ITO

SERIES = (
    ("changed", "changed, % of pixels with both estimates", OKABE_ITO[0]),
    ("lost", "lost, % of all pixels", OKABE_ITO[1]),
    ("gained", "gained, % of all pixels", OKABE_ITO[2]),
)


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
