"""Error over density in Matplotlib."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stereogauge.figures.data.error_density import DensityPlots
from stereogauge.figures.mpl.figure import PAGE_WIDTH, SMALL, figure_of, panel_figure, plain
from stereogauge.figures.palette import FAINT, INK

PANEL_HEIGHT = 2.6  # inches


@figure_of.register
def error_density(data: DensityPlots) -> Figure:
    """Curves with the point of each map; vertical lines mark the densities of the comparison."""
    legend = [
        Line2D(
            [],
            [],
            color=line.style.colour,
            marker=line.style.marker,
            markersize=4,
            linewidth=1.2 if len(line.densities) else 0,
            label=line.label,
        )
        for line in data.panels[0].lines
    ]
    width = PAGE_WIDTH if data.columns > 1 else PAGE_WIDTH * 0.7
    figure, grid = panel_figure(data, len(data.panels), data.columns, PANEL_HEIGHT, legend, 4, width=width)
    for panel, axes in zip(data.panels, grid.ravel(), strict=False):
        for density in panel.marks:
            axes.axvline(100 * density, color=FAINT, linewidth=1.5, zorder=0)
        for line in panel.lines:
            axes.plot(100 * line.densities, line.values, color=line.style.colour, linewidth=1.2)
            axes.plot(
                100 * line.point[0], line.point[1], color=line.style.colour, marker=line.style.marker, markersize=5
            )
        axes.set_title(panel.title, fontsize=SMALL, color=INK, loc="left", pad=2)
        axes.set_xlim(0, 103)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("density, %")
        axes.set_ylabel(panel.y_label)
        plain(axes, grid="both")
    return figure
