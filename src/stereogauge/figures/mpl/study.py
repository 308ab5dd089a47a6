"""Matplotlib renderers of the figures of a study and of robustness."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from stereogauge.figures.data.study import ResponseCurves, ResponsePanel, RobustnessBars, SensitivityMap
from stereogauge.figures.mpl.figure import (
    COLUMN_WIDTH,
    PAGE_WIDTH,
    SMALL,
    figure_of,
    heat_map,
    new_figure,
    panel_figure,
    plain,
)
from stereogauge.figures.palette import FAINT, INK, MUTED, SEQUENTIAL

COLUMNS = 3
PANEL_HEIGHT = 1.75  # inches
BAR = 0.11  # inches
GAP = 0.3  # of a group of bars
CELL = 0.3  # inches


@figure_of.register
def response_curves(data: ResponseCurves) -> Figure:
    """One panel per metric; the strongest curves in colour with their names, the others faint."""
    figure, grid = panel_figure(data, len(data.panels), min(COLUMNS, len(data.panels)), PANEL_HEIGHT)
    for axes, panel in zip(grid.ravel(), data.panels, strict=False):
        _panel(plain(axes, grid="y"), panel)
    for axes in grid[-1]:
        axes.set_xlabel("relative strength", fontsize=SMALL)
    return figure


def _panel(axes: Axes, panel: ResponsePanel) -> None:
    for curve in panel.curves:
        if not curve.colour:
            axes.plot(curve.relative, curve.values, color=FAINT, linewidth=0.8, zorder=1)
    for curve in sorted(panel.curves, key=lambda one: one.rank):
        if curve.colour:
            style: Any = {"color": curve.colour, "linewidth": 1.3, "marker": "o", "markersize": 2, "zorder": 2}
            axes.plot(curve.relative, curve.values, label=curve.damage, **style)
    axes.set_title(panel.label, fontsize=SMALL + 0.5, loc="left", color=INK)
    if any(curve.colour for curve in panel.curves):
        axes.legend(
            fontsize=5,
            framealpha=0.85,
            edgecolor="none",
            labelcolor=MUTED,
            handlelength=1.2,
            borderaxespad=0.2,
            borderpad=0.2,
            labelspacing=0.2,
        )


@figure_of.register
def sensitivity_map(data: SensitivityMap) -> Figure:
    """A heat map with its numbers; the named damages are framed."""
    rows, columns = data.values.shape
    width = min(PAGE_WIDTH, max(COLUMN_WIDTH, 1.9 + CELL * 1.15 * columns))
    figure = new_figure(width, 1.35 + CELL * rows, data.title, data.caption)
    image: Any = {"cmap": SEQUENTIAL, "vmin": 0.0, "vmax": 1.0, "aspect": "auto"}
    labels = (data.metrics, data.damages, data.unit)
    axes = heat_map(figure, data.values, *labels, dark=lambda value: value < 0.5, rotation=45, bar=0.03, **image)
    for row, column in data.marked:
        axes.add_patch(
            Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, edgecolor="#D55E00", linewidth=1.4)
        )
    return figure


@figure_of.register
def robustness_bars(data: RobustnessBars) -> Figure:
    """One panel per condition, algorithms from above, the values beside their bars."""
    columns = min(COLUMNS, len(data.panels))
    series = data.panels[0].series
    legend = [Patch(color=one.colour, label=one.label) for one in series]
    height = 0.55 + BAR * (len(series) + 1) * len(data.algorithms)
    side_by_side = 1 if columns == 1 else 3
    figure, grid = panel_figure(data, len(data.panels), columns, max(height, 1.0), legend, side_by_side, sharey=True)
    positions = np.arange(len(data.algorithms))
    thickness = (1 - GAP) / len(series)
    for axes, panel in zip(grid.ravel(), data.panels, strict=False):
        plain(axes, grid="x")
        for number, one in enumerate(panel.series):
            middle = positions + (number - (len(series) - 1) / 2) * thickness
            values = np.array(one.values)
            known = np.isfinite(values)
            axes.barh(middle[known], values[known], thickness, color=one.colour)
            for y, value in zip(middle, values, strict=True):
                text = f" {value:.3g}" if np.isfinite(value) else " –"
                axes.text(np.nan_to_num(value), y, text, fontsize=5, va="center", color=MUTED)
        axes.set_title(panel.label, fontsize=SMALL + 0.5, loc="left", color=INK)
        axes.set_yticks(positions, data.algorithms, fontsize=SMALL)
        largest = max((value for one in panel.series for value in one.values if np.isfinite(value)), default=0.0)
        axes.set_xlim(0, 1.15 * largest or 1.0)
        axes.set_xlabel("%", fontsize=SMALL)
    grid[0, 0].set_ylim(len(data.algorithms) - 0.5, -0.5)
    return figure
