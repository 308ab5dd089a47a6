"""Matplotlib renderers of the figures of an analysis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import StrMethodFormatter

from stereogauge.figures.data import analysis as shown
from stereogauge.figures.mpl.figure import (
    COLUMN_WIDTH,
    PAGE_WIDTH,
    SMALL,
    TEXT,
    figure_of,
    heat_map,
    new_figure,
    panel_figure,
    plain,
)
from stereogauge.figures.palette import INK, MUTED, SEQUENTIAL, Style, segment_styles
from stereogauge.scores.cube import Values

ROW = 0.19  # inches a row of text
MOST_NUMBERED = 22
HISTOGRAM_COLUMNS = 3


@figure_of.register
def square_map(data: shown.SquareMap) -> Figure:
    """A heat map with its numbers where there is room."""
    count = len(data.names)
    side = max(COLUMN_WIDTH, min(PAGE_WIDTH, 1.2 + 0.33 * count))
    figure = new_figure(side, 0.9 * side, data.title, data.caption)
    low, high = data.limits
    heat_map(
        figure,
        data.values,
        data.names,
        data.names,
        data.unit,
        number=".2f" if count <= MOST_NUMBERED else None,
        dark=lambda value: value < 0.5 * (low + high) if low >= 0 else abs(value) > 0.65,
        cmap=SEQUENTIAL if low >= 0 else "RdBu",
        vmin=low,
        vmax=high,
    )
    return figure


@figure_of.register
def scatter_matrix(data: shown.ScatterMatrix) -> Figure:
    """Panels with points and one line per scene; legends for scenes (colours) and algorithms (shapes)."""
    columns = data.columns
    legend = [Line2D([], [], color=data.scene_colours[scene], linewidth=2.5, label=scene) for scene in data.scenes]
    legend += [
        Line2D([], [], color=MUTED, marker=data.styles[name].marker, linestyle="", markersize=4, label=name)
        for name in data.algorithms
    ]
    height, side_by_side = (0.8 * COLUMN_WIDTH, 3) if columns == 1 else (0.8 * PAGE_WIDTH / columns, 7)
    figure, grid = panel_figure(data, len(data.panels), columns, height, legend, side_by_side)
    for axes, panel in zip(grid.ravel(), data.panels, strict=False):
        _scatter_panel(plain(axes, grid="both"), panel, data)
    return figure


def _scatter_panel(axes: Axes, panel: shown.ScatterPanel, data: shown.ScatterMatrix) -> None:
    for index, scene in enumerate(data.scenes):
        colour = data.scene_colours[scene]
        x0, y0, x1, y1 = panel.lines[index]
        axes.plot([x0, x1], [y0, y1], color=colour, alpha=float(panel.opacity[index]), linewidth=1.2)
        for row, name in enumerate(data.algorithms):
            marker = data.styles[name].marker
            axes.plot(
                panel.x[row, index], panel.y[row, index], marker=marker, color=colour, markersize=3.2, linestyle=""
            )
    axes.set_xlabel(panel.x_label, fontsize=SMALL)
    axes.set_ylabel(panel.y_label, fontsize=SMALL)
    axes.set_title(f"r² = {panel.r_squared:.2f} over all points", fontsize=SMALL, loc="right", color=MUTED)


@figure_of.register
def histograms(data: shown.Histograms) -> Figure:
    """Bars of counts, a line at the heuristic maximum, marked algorithms as markers on the axis."""
    columns = min(HISTOGRAM_COLUMNS, len(data.panels))
    legend = [
        Line2D([], [], color=colour, marker=marker, linestyle="", markersize=5, label=f"{name} (mean of scenes)")
        for name, (colour, marker, _) in data.styles.items()
    ]
    legend.append(Line2D([], [], color=INK, linestyle="--", linewidth=1, label="heuristic maximum"))
    figure, grid = panel_figure(data, len(data.panels), columns, 1.5, legend, 4 if columns > 1 else 2)
    for axes, panel in zip(grid.ravel(), data.panels, strict=False):
        _histogram_panel(plain(axes, grid="y"), panel, data.styles)
    return figure


def _histogram_panel(axes: Axes, panel: shown.HistogramPanel, styles: dict[str, Style]) -> None:
    axes.bar(panel.edges[:-1], panel.counts, np.diff(panel.edges), align="edge", color="#9db8cc", linewidth=0)
    end = panel.edges[-1]
    if panel.heuristic is not None and panel.heuristic <= 1.5 * end:
        axes.axvline(panel.heuristic, color=INK, linestyle="--", linewidth=1)
    elif panel.heuristic is not None:
        note = f"heuristic maximum {panel.heuristic:g} →"
        axes.annotate(note, (1, 1), xycoords="axes fraction", ha="right", va="top", fontsize=SMALL, color=MUTED)
    top = panel.counts.max() if panel.counts.size else 1.0
    for name, score in panel.marked.items():
        style = styles[name]
        axes.plot(score, 0.06 * top, marker=style.marker, color=style.colour, markersize=6, markeredgecolor="white")
    bound = "∞" if math.isinf(panel.theoretical) else f"{panel.theoretical:g}"
    axes.set_xlabel(f"{panel.label}, at most {bound}", fontsize=SMALL)
    axes.set_ylabel("scores", fontsize=SMALL)


@figure_of.register
def counted_errors(data: shown.CountedErrors) -> Figure:
    """Two stacked bars per algorithm; a line marks the number of distinct erroneous pixels."""
    styles = segment_styles([name for _, regions, _ in data.sets for name in regions])
    legend: list[Artist] = [
        Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=name) for name, (colour, hatch) in styles.items()
    ]
    legend.append(Line2D([], [], color=INK, linewidth=1.2, label="distinct"))
    figure = new_figure(COLUMN_WIDTH, 0.5 + 1.5 * ROW * len(data.algorithms), data.title, data.caption, legend, 4)
    axes = plain(figure.add_subplot(), grid="x")
    rows = np.arange(len(data.algorithms))
    for index, (_, regions, errors) in enumerate(data.sets):
        left = np.zeros(len(rows))
        for part, region in enumerate(regions):
            colour, hatch = styles[region]
            offset = rows + (index - 0.5) * 0.4
            axes.barh(offset, errors[:, part], 0.38, left, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4)
            left += errors[:, part]
    for row, distinct in enumerate(data.distinct):
        axes.plot([distinct, distinct], [row - 0.42, row + 0.42], color=INK, linewidth=1.2)
    axes.set_yticks(rows, data.algorithms)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("counted errors [px]: nested above, partition below", fontsize=SMALL)
    return figure


@figure_of.register
def slopes(data: shown.Slopes) -> Figure:
    """Lines between the ranks under each order; filled markers are marked ones."""
    figure = new_figure(COLUMN_WIDTH, 0.35 + 0.22 * len(data.algorithms), data.title, data.caption)
    axes = figure.add_subplot()
    positions = np.arange(len(data.orders))
    spread = _spread(data.ranks)
    for row, name in enumerate(data.algorithms):
        style = data.styles[name]
        axes.plot(positions, spread[row], color=style.colour, linewidth=1.4)
        for index in positions:
            filled = data.marks[row][index]
            face = style.colour if filled else "white"
            axes.plot(
                index, spread[row, index], marker=style.marker, color=style.colour, markerfacecolor=face, markersize=5.5
            )
        axes.annotate(f"{data.ranks[row, 0]:g}  {name} ", (0, spread[row, 0]), (-6, 0), **_beside("right"))
        axes.annotate(f" {data.ranks[row, -1]:g}  {name}", (positions[-1], spread[row, -1]), (6, 0), **_beside("left"))
    axes.set_xticks(positions, data.orders)
    axes.tick_params(labelsize=TEXT, length=0)
    axes.set_xlim(-0.75, positions[-1] + 0.75)
    axes.set_yticks([])
    axes.invert_yaxis()
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    if data.mark_meaning:
        axes.set_xlabel(f"filled: {data.mark_meaning}", fontsize=SMALL, color=MUTED)
    return figure


def _beside(side: str) -> dict[str, Any]:
    return {"textcoords": "offset points", "ha": side, "va": "center", "fontsize": SMALL}


def _spread(ranks: Values) -> Values:
    """Places with ties set apart, so that names do not overlap."""
    order = np.argsort(ranks, axis=0, kind="stable")
    positions = np.empty_like(ranks)
    np.put_along_axis(positions, order, np.arange(1.0, len(ranks) + 1)[:, None] + np.zeros_like(ranks), axis=0)
    return positions
