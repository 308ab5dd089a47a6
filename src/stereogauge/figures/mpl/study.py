"""Matplotlib renderers of the figures of a study."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from stereogauge.figures.data.study import ResponseCurves, ResponsePanel, SensitivityMap
from stereogauge.figures.mpl.figure import COLUMN_WIDTH, PAGE_WIDTH, SMALL, Renderers, new_figure, plain
from stereogauge.figures.palette import FAINT, INK, MUTED, SEQUENTIAL

COLUMNS = 3
PANEL_HEIGHT = 1.75  # inches
CELL = 0.3  # inches


def response_curves(data: ResponseCurves) -> Figure:
    """One panel per metric; the strongest curves in colour with their names, the others faint."""
    columns = min(COLUMNS, len(data.panels))
    rows = math.ceil(len(data.panels) / columns)
    width = COLUMN_WIDTH if columns == 1 else PAGE_WIDTH
    figure = new_figure(width, PANEL_HEIGHT * rows, data.title, data.caption)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, panel in zip(grid.ravel(), data.panels, strict=False):
        _panel(plain(axes, grid="y"), panel)
    for axes in grid.ravel()[len(data.panels) :]:
        axes.set_axis_off()
    for axes in grid[-1]:
        axes.set_xlabel("relative strength", fontsize=SMALL)
    return figure


def _panel(axes: Axes, panel: ResponsePanel) -> None:
    for curve in panel.curves:
        if not curve.colour:
            axes.plot(curve.relative, curve.values, color=FAINT, linewidth=0.8, zorder=1)
    for curve in sorted(panel.curves, key=lambda one: one.rank):
        if curve.colour:
            axes.plot(
                curve.relative,
                curve.values,
                color=curve.colour,
                linewidth=1.3,
                marker="o",
                markersize=2,
                label=curve.damage,
                zorder=2,
            )
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


def sensitivity_map(data: SensitivityMap) -> Figure:
    """A heat map with its numbers; the named damages are framed."""
    rows, columns = data.values.shape
    width = min(PAGE_WIDTH, max(COLUMN_WIDTH, 1.9 + CELL * 1.15 * columns))
    figure = new_figure(width, 1.35 + CELL * rows, data.title, data.caption)
    axes = figure.add_subplot()
    image = axes.imshow(data.values, cmap=SEQUENTIAL, vmin=0.0, vmax=1.0, aspect="auto")
    axes.set_xticks(np.arange(columns), data.damages, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(np.arange(rows), data.metrics)
    axes.tick_params(labelsize=SMALL, length=0)
    for (row, column), value in np.ndenumerate(data.values):
        if np.isfinite(value):
            colour = "white" if value < 0.5 else INK
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=5.5, color=colour)
    for row, column in data.marked:
        axes.add_patch(
            Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, edgecolor="#D55E00", linewidth=1.4)
        )
    bar = figure.colorbar(image, ax=axes, fraction=0.03, pad=0.02)
    bar.set_label(data.unit, fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)
    return figure


RENDERERS: Renderers = {ResponseCurves: response_curves, SensitivityMap: sensitivity_map}
