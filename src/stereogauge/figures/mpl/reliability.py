"""Reliability diagrams in Matplotlib."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stereogauge.figures.data.reliability import ReliabilityDiagram
from stereogauge.figures.mpl.figure import COLUMN_WIDTH, SMALL, figure_of, fitting_columns, new_figure, plain
from stereogauge.figures.palette import FAINT, INK

PANEL_HEIGHT = 3.2  # inches


@figure_of.register
def reliability_diagram(data: ReliabilityDiagram) -> Figure:
    """One panel per kind of map; below the diagonal a map promises too much."""
    width = max(1, len(data.panels)) * COLUMN_WIDTH + 0.6
    legend = [
        Line2D([], [], color=line.colour, linestyle=line.dash, linewidth=1.3, label=line.label)
        for panel in data.panels
        for line in panel.lines
    ]
    figure = new_figure(
        width, PANEL_HEIGHT, data.title, data.caption, legend, legend_columns=fitting_columns(legend, width, 3)
    )
    for index, panel in enumerate(data.panels):
        axes = figure.add_subplot(1, len(data.panels), index + 1)
        axes.plot([0, 100], [0, 100], color=FAINT, linewidth=2.5, zorder=0)
        for line in panel.lines:
            axes.plot(
                100 * np.array(line.predicted),
                100 * np.array(line.observed),
                color=line.colour,
                linestyle=line.dash,
                linewidth=1.0,
                marker="o",
                markersize=2.5,
            )
        axes.set_xlim(0, 100)
        axes.set_ylim(0, 100)
        axes.set_title(panel.title, fontsize=SMALL, color=INK, loc="left", pad=2)
        plain(axes, grid="both")
        axes.set_xlabel(panel.x_label, fontsize=SMALL)
        axes.set_ylabel(panel.y_label, fontsize=SMALL)
    return figure
