"""Matplotlib renderers of the figures of an answer and its explanation."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from stereogauge.figures.data import decision as shown
from stereogauge.figures.mpl.figure import COLUMN_WIDTH, PAGE_WIDTH, SMALL, figure_of, new_figure, plain
from stereogauge.figures.palette import INK, OKABE_ITO

ROW = 0.19  # inches per bar
FIRST, SECOND = OKABE_ITO[0], OKABE_ITO[1]


@figure_of.register
def difference_bars(data: shown.DifferenceBars) -> Figure:
    """One panel per division, bars to the left speak for the first algorithm."""
    legend = [
        Patch(facecolor=FIRST, label=f"speaks for {data.first}"),
        Patch(facecolor=SECOND, hatch="////", edgecolor="white", label=f"speaks for {data.second}"),
    ]
    counts = [len(names) for _, names, _ in data.groups]
    height = sum(0.35 + ROW * count for count in counts)
    figure = new_figure(PAGE_WIDTH * 0.72, height, data.title, data.caption, legend)
    ratios = [0.35 + ROW * count for count in counts]
    grid = figure.subplots(len(counts), 1, squeeze=False, height_ratios=ratios, sharex=True)
    for axes, (heading, names, amounts) in zip(grid[:, 0], data.groups, strict=True):
        plain(axes, grid="x")
        rows = np.arange(len(names))
        for row, amount in zip(rows, amounts, strict=True):
            style = {"color": FIRST} if amount <= 0 else {"color": SECOND, "hatch": "////", "edgecolor": "white"}
            axes.barh(row, amount, **style)
        axes.axvline(0, color=INK, linewidth=0.7)
        axes.set_yticks(rows, names)
        axes.invert_yaxis()
        axes.set_title(f"by {heading}", fontsize=SMALL, loc="left", pad=2)
    grid[-1, 0].set_xlabel("adds to the difference of the weighted scores", fontsize=SMALL)
    return figure


@figure_of.register
def error_curves(data: shown.ErrorCurves) -> Figure:
    """One line per algorithm, thresholds on a logarithmic axis."""
    legend = [
        Line2D([], [], color=style.colour, marker=style.marker, markersize=4, linewidth=1.1, label=name)
        for name, style in ((name, data.styles[name]) for name in data.algorithms)
    ]
    figure = new_figure(COLUMN_WIDTH * 1.4, 2.6, data.title, data.caption, legend)
    axes = plain(figure.add_subplot(), grid="both")
    for place, name in enumerate(data.algorithms):
        style = data.styles[name]
        axes.plot(
            data.thresholds, data.bad[place], color=style.colour, marker=style.marker, markevery=8, markersize=3.5,
            linewidth=1.1,
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    ticks = [tick for tick in (0.125, 0.25, 0.5, 1, 2, 4, 8, 16) if data.thresholds[0] <= tick <= data.thresholds[-1]]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_ylim(0, None)
    axes.set_xlabel("threshold δ, px")
    axes.set_ylabel("bad@δ, %")
    return figure


@figure_of.register
def picture_rows(data: shown.PictureRows) -> Figure:
    """Pictures side by side, a heading above each row and a caption below each picture."""
    columns = max(len(row.pictures) for row in data.rows)
    legend = [Patch(facecolor=colour, edgecolor="#888888", label=text) for text, colour in data.legend]
    across = PAGE_WIDTH / columns
    tall = [across * row.pictures[0].shape[0] / row.pictures[0].shape[1] + 0.34 for row in data.rows]
    figure = new_figure(PAGE_WIDTH, sum(tall), data.title, data.caption, legend, 4, padding=0.01)
    grid = figure.subplots(len(data.rows), columns, squeeze=False, height_ratios=tall)
    for axes in grid.ravel():
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_frame_on(False)
    for place, row in enumerate(data.rows):
        grid[place, 0].set_title(" ", fontsize=SMALL, pad=2)  # keeps the room of the heading
        heading = grid[place, 0].annotate(
            row.heading, (0, 1), (0, 2), xycoords="axes fraction", textcoords="offset points", fontsize=SMALL
        )
        heading.set_in_layout(False)  # it is wider than its picture
        for axes, picture, caption in zip(grid[place], row.pictures, row.captions, strict=False):
            axes.imshow(picture, interpolation="antialiased")
            axes.set_xlabel(caption, fontsize=SMALL - 1, labelpad=1)
    return figure
