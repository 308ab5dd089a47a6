"""What an error–density figure shows, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.evaluation.error_density import ErrorDensity
from stereogauge.figures.palette import Style, Styles, algorithm_styles

Values = NDArray[np.float64]


class DensityLine(NamedTuple):
    """One algorithm: its curve (empty without a confidence map), and the point of the map as it is."""

    label: str
    densities: Values
    values: Values
    point: tuple[float, float]
    style: Style


class DensityPanel(NamedTuple):
    """The curves of one metric; `marks` are the densities at which scores are compared."""

    title: str
    y_label: str
    lines: tuple[DensityLine, ...]
    marks: tuple[float, ...]


class DensityPlots(NamedTuple):
    """Panels side by side, `columns` in a row."""

    title: str
    caption: str
    panels: tuple[DensityPanel, ...]
    columns: int


def error_density_data(found: Sequence[ErrorDensity], styles: Styles | None = None, columns: int = 3) -> DensityPlots:
    """One panel per metric; curves of algorithms with confidence maps, points of all."""
    names = tuple(dict.fromkeys(name for one in found for name in one.algorithms))
    shown = algorithm_styles(names) if styles is None else styles
    scenes = found[0].scenes
    where = scenes[0] if len(scenes) == 1 else f"{len(scenes)} scenes, each cut to the same density"
    caption = (
        f"Metric over the pixels that are kept; {where}. Curves: the surest pixels by the algorithm's own confidence. "
        "Large marks: the map as it is. Only scores at one density can be put in order."
    )
    panels = tuple(_panel(one, shown) for one in found)
    return DensityPlots("Error over density", caption, panels, max(1, min(columns, len(panels))))


def _panel(found: ErrorDensity, styles: Styles) -> DensityPanel:
    lines = []
    for name in found.algorithms:
        values = found.curves.get(name, np.empty(0))
        known = ~np.isnan(values)
        densities = found.densities[: len(values)][known]
        point = found.points[name]
        lines.append(DensityLine(name, densities, values[known], (point.density, point.value), styles[name]))
    unit = found.column.declared.metric.unit
    label = f"{found.column.metric}{f' [{unit}]' if unit else ''}"
    return DensityPanel(found.column.label, label, tuple(lines), tuple(one.density for one in found.equal))
