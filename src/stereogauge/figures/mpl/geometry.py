"""Matplotlib renderers of plane segmentations and direction histograms."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from stereogauge.figures.data.geometry import DirectionHistograms, PlaneSegmentation
from stereogauge.figures.mpl.figure import PAGE_WIDTH, SMALL, figure_of, new_figure, panel_figure, plain
from stereogauge.figures.palette import INK, colour
from stereogauge.figures.pictures import render

COLUMNS = 3
PANEL_HEIGHT = 1.5  # inches
LEAST_TILT = 1e-3


@figure_of.register
def plane_segmentation(data: PlaneSegmentation) -> Figure:
    """Planes in colours with their numbers; an arrow shows which way each leans, its length how much."""
    colours = render(data.picture)
    height, width = colours.shape[:2]
    legend = [Patch(facecolor=shade, label=text) for text, shade in data.picture.legend.values()]
    figure = new_figure(PAGE_WIDTH, PAGE_WIDTH * height / width, data.title, data.caption, legend, legend_columns=3)
    axes = figure.add_subplot()
    axes.imshow(colours, interpolation="nearest" if width < 900 else "antialiased")
    axes.set_axis_off()
    tilt = np.hypot(data.normals[:, 0], data.normals[:, 1])
    longest = 0.09 * width / max(float(tilt.max(initial=0.0)), LEAST_TILT)
    for number, ((x, y), normal) in enumerate(zip(data.points, data.normals, strict=True), 1):
        tip = (x + longest * normal[0], y + longest * normal[1])
        axes.annotate("", xy=tip, xytext=(x, y), arrowprops={"arrowstyle": "-|>", "color": "white", "lw": 3.2})
        axes.annotate("", xy=tip, xytext=(x, y), arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.4})
        box = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": INK, "linewidth": 0.6}
        axes.text(x, y, str(number), fontsize=SMALL, ha="center", va="center", color=INK, bbox=box)
    return figure


@figure_of.register
def direction_histograms(data: DirectionHistograms) -> Figure:
    """One panel per estimate: its histogram as a line over the ground truth's as a filled area."""
    names = list(data.estimates)
    columns = min(COLUMNS, max(len(names), 1))
    legend = [Patch(facecolor="#bbbbbb", label="ground truth"), Patch(facecolor=colour(0), label="estimate")]
    figure, grid = panel_figure(
        data, len(names), columns, PANEL_HEIGHT, legend, width=PAGE_WIDTH, sharex=True, sharey=True
    )
    half = 180 / data.centres.size
    edges = np.append(data.centres - half, data.centres[-1] + half)
    for axes, name in zip(grid.ravel(), names, strict=False):
        plain(axes, grid="y")
        axes.stairs(np.maximum(data.truth, 0.5), edges, fill=True, color="#bbbbbb", baseline=0.5)
        axes.stairs(np.maximum(data.estimates[name], 0.5), edges, color=colour(0), linewidth=1.1, baseline=0.5)
        axes.set_yscale("log")
        axes.set_xlim(edges[0], edges[-1])
        axes.set_xticks([-180, -90, 0, 90])
        axes.set_title(f"{name} ({data.distances[name]:.1f}°)", fontsize=SMALL + 0.5, loc="left", color=INK)
    for axes in grid[-1]:
        axes.set_xlabel("direction (°)", fontsize=SMALL)
    for axes in grid[:, 0]:
        axes.set_ylabel("pixels", fontsize=SMALL)
    return figure
