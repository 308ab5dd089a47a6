"""Matplotlib renderer of the figure of robustness."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from stereogauge.figures.data.robustness import RobustnessBars
from stereogauge.figures.mpl.figure import SMALL, figure_of, panel_figure, plain
from stereogauge.figures.palette import INK, MUTED

COLUMNS = 3
BAR = 0.11  # inches
GAP = 0.3  # of a group of bars


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
