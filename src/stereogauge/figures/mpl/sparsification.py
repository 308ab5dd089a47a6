"""Sparsification plots in Matplotlib."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stereogauge.figures.data.sparsification import SparsificationPanel, SparsificationPlots
from stereogauge.figures.mpl.figure import PAGE_WIDTH, SMALL, figure_of, fitting_columns, new_figure, plain
from stereogauge.figures.palette import FAINT, INK

PANEL_HEIGHT = 1.75  # inches


@figure_of.register
def sparsification_plots(data: SparsificationPlots) -> Figure:
    """One panel per scene; the vertical line marks the share of good pixels."""
    rows = math.ceil(len(data.panels) / data.columns)
    width = PAGE_WIDTH if data.columns > 1 else PAGE_WIDTH * 0.62
    height = rows * (PANEL_HEIGHT if data.columns > 1 else 3.0)
    lines = data.panels[0].lines
    legend = [Line2D([], [], color=line.colour, linestyle=line.dash, linewidth=1.3, label=line.label) for line in lines]
    figure = new_figure(width, height, data.title, data.caption, legend, legend_columns=fitting_columns(legend, width))
    for index, panel in enumerate(data.panels):
        axes = figure.add_subplot(rows, data.columns, index + 1)
        _draw_panel(axes, panel)
        if index % data.columns == 0:
            axes.set_ylabel(data.y_label, fontsize=SMALL)
        if index // data.columns == rows - 1 or index + data.columns >= len(data.panels):
            axes.set_xlabel("density, %", fontsize=SMALL)
        plain(axes, grid="both")
        axes.xaxis.label.set_fontsize(SMALL)
        axes.yaxis.label.set_fontsize(SMALL)
    return figure


def _draw_panel(axes: Axes, panel: SparsificationPanel) -> None:
    if panel.good_share is not None:
        axes.axvline(100 * panel.good_share, color=FAINT, linewidth=2.5, zorder=0)
    for line in panel.lines:
        axes.plot(100 * line.densities, line.values, color=line.colour, linestyle=line.dash, linewidth=1.0)
    axes.set_xlim(0, 100)
    axes.set_ylim(0, panel.top)
    axes.set_title(panel.title, fontsize=SMALL, color=INK, loc="left", pad=2)
