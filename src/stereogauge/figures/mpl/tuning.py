"""Matplotlib renderers of the figures of a tuning."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from stereogauge.figures.data import tuning as shown
from stereogauge.figures.mpl.figure import (
    COLUMN_WIDTH,
    PAGE_WIDTH,
    SMALL,
    TEXT,
    figure_of,
    new_figure,
    panel_figure,
    plain,
)
from stereogauge.figures.palette import INK, MUTED, OKABE_ITO, SEQUENTIAL

TRIAL, TUNED, DEFAULT = OKABE_ITO[4], OKABE_ITO[1], OKABE_ITO[0]
SLICES_SIDE_BY_SIDE = 3
ROW = 0.2  # inches


def _marks(tuned: str = "recommended") -> list[Line2D]:
    return [
        Line2D([], [], color=DEFAULT, marker="D", linestyle="", markersize=5, label="default parameters"),
        Line2D([], [], color=TUNED, marker="*", linestyle="", markersize=8, label=tuned),
    ]


@figure_of.register
def history(data: shown.TuningHistory) -> Figure:
    """Trials as points, the best so far as steps, the default parameters as a line, ended trials as ticks below."""
    legend = [
        Line2D([], [], color=TRIAL, marker="o", linestyle="", markersize=3.5, label="complete trial"),
        Line2D([], [], color=TUNED, linewidth=1.4, label="best so far"),
        Line2D([], [], color=DEFAULT, linestyle="--", linewidth=1, label="default parameters"),
    ]
    if len(data.pruned):
        legend.append(Line2D([], [], color=MUTED, marker="|", linestyle="", markersize=6, label="ended early"))
    if len(data.failed):
        legend.append(Line2D([], [], color=INK, marker="x", linestyle="", markersize=5, label="failed"))
    figure = new_figure(PAGE_WIDTH, 2.4, data.title, data.caption, legend, 5)
    axes = plain(figure.add_subplot(), grid="y")
    axes.plot(data.positions, data.values, "o", color=TRIAL, markersize=3.5)
    axes.step(data.positions, data.best, where="post", color=TUNED, linewidth=1.4)
    axes.axhline(data.baseline, color=DEFAULT, linestyle="--", linewidth=1)
    below = axes.get_xaxis_transform()
    axes.plot(data.pruned, np.full(len(data.pruned), 0.02), "|", color=MUTED, markersize=6, transform=below)
    axes.plot(data.failed, np.full(len(data.failed), 0.02), "x", color=INK, markersize=5, transform=below)
    axes.set_xlabel("trial", fontsize=TEXT)
    axes.set_ylabel(data.axis, fontsize=TEXT)
    return figure


@figure_of.register
def slices(data: shown.TuningSlices) -> Figure:
    """One panel per parameter; darker points are earlier trials."""
    count, columns = len(data.panels), min(SLICES_SIDE_BY_SIDE, len(data.panels))
    figure, grid = panel_figure(data, count, columns, 1.75, _marks(), 2, width=PAGE_WIDTH, sharey=True)
    for index, (axes, panel) in enumerate(zip(grid.ravel(), data.panels, strict=False)):
        _slice(plain(axes, grid="y"), panel, data)
        if index % columns == 0:
            axes.set_ylabel(data.axis, fontsize=SMALL)
    return figure


def _slice(axes: Axes, panel: shown.SlicePanel, data: shown.TuningSlices) -> None:
    if panel.logarithmic:
        axes.set_xscale("log")
    axes.scatter(panel.coordinates, data.values, c=data.positions, cmap=SEQUENTIAL, s=10, linewidths=0)
    axes.plot(panel.default, data.baseline, "D", color=DEFAULT, markersize=5)
    axes.plot(panel.best, data.best, "*", color=TUNED, markersize=9)
    if panel.choices:
        axes.set_xticks(range(len(panel.choices)), panel.choices)
        axes.set_xlim(-0.5, len(panel.choices) - 0.5)
    axes.set_xlabel(panel.parameter, fontsize=SMALL)


@figure_of.register
def importance(data: shown.ParameterImportance) -> Figure:
    """Bars, the most important parameter on top; one colour per objective."""
    several = len(data.objectives) > 1
    colours = OKABE_ITO[: len(data.objectives)]
    legend = [Patch(color=c, label=name) for c, name in zip(colours, data.objectives, strict=True)] if several else []
    figure = new_figure(COLUMN_WIDTH, 0.45 + 0.26 * len(data.parameters), data.title, data.caption, legend, 2)
    axes = plain(figure.add_subplot(), grid="x")
    thick = 0.8 / len(data.objectives)
    rows = np.arange(len(data.parameters))
    for index, colour in enumerate(colours):
        bars = axes.barh(rows + index * thick, data.shares[:, index], thick, color=colour)
        axes.bar_label(bars, [f"{share:.0%}" for share in data.shares[:, index]], fontsize=SMALL, padding=2)
    axes.set_yticks(rows + thick * (len(colours) - 1) / 2, data.parameters)
    axes.invert_yaxis()
    axes.set_xlim(0, float(data.shares.max()) * 1.18)
    axes.set_xlabel("share of the importance", fontsize=TEXT)
    return figure


@figure_of.register
def trade_off(data: shown.TradeOff) -> Figure:
    """All complete trials, those of the front joined by a line."""
    legend = [
        Line2D([], [], color=MUTED, marker="o", linestyle="", markersize=3, label="dominated trial"),
        Line2D([], [], color=TRIAL, marker="o", linewidth=1, markersize=4.5, label="front"),
        *_marks(),
    ]
    figure = new_figure(COLUMN_WIDTH * 1.4, 3.0, data.title, data.caption, legend, 2)
    axes = plain(figure.add_subplot(), grid="both")
    front = np.array(data.front)
    axes.plot(data.x[~front], data.y[~front], "o", color=MUTED, markersize=3, alpha=0.6)
    order = np.argsort(data.x[front])
    axes.plot(data.x[front][order], data.y[front][order], "o-", color=TRIAL, linewidth=1, markersize=4.5)
    axes.plot(*data.baseline, "D", color=DEFAULT, markersize=5)
    axes.plot(*data.best, "*", color=TUNED, markersize=9)
    axes.set_xlabel(data.x_axis, fontsize=TEXT)
    axes.set_ylabel(data.y_axis, fontsize=TEXT)
    return figure


@figure_of.register
def gains(data: shown.SceneGains) -> Figure:
    """For each scene a line from the default to the tuned value."""
    count = len(data.scenes)
    figure = new_figure(COLUMN_WIDTH * 1.4, 0.5 + ROW * count, data.title, data.caption, _marks("tuned"), 2)
    axes = plain(figure.add_subplot(), grid="x")
    rows = np.arange(count)
    axes.hlines(rows, data.default, data.tuned, color=MUTED, linewidth=1.2)
    axes.plot(data.default, rows, "D", color=DEFAULT, markersize=4.5)
    axes.plot(data.tuned, rows, "*", color=TUNED, markersize=8)
    axes.axhline(count - 1.5, color=MUTED, linewidth=0.6)
    axes.set_yticks(rows, data.scenes)
    axes.invert_yaxis()
    axes.set_xlabel(data.axis, fontsize=TEXT)
    return figure
