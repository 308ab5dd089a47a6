"""Matplotlib renderers of the figures of a ranking."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.projections.polar import PolarAxes
from matplotlib.textpath import TextPath

from stereogauge.figures.data import ranking as shown
from stereogauge.figures.mpl.figure import (
    COLUMN_WIDTH,
    HEAD,
    PAGE_WIDTH,
    SMALL,
    TEXT,
    figure_of,
    heat_map,
    new_figure,
    plain,
)
from stereogauge.figures.palette import FAINT, INK, MUTED, RANKS, segment_styles
from stereogauge.text import p_text

ROW = 0.19  # inches a row of text
MOST_NUMBERED_COLUMNS = 30
MOST_NAMED = 60
INCHES_A_LETTER = 0.055
MOST_LETTERS = 44


@figure_of.register
def stacked_bars(data: shown.StackedBars) -> Figure:
    """Horizontal stacked bars, shortest on top; the legend states the weights."""
    styles = segment_styles(data.terms)
    legend = [
        Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=f"{term} ({100 * weight:.0f} %)")
        for (term, (colour, hatch)), weight in zip(styles.items(), data.weights, strict=True)
    ]
    figure = new_figure(COLUMN_WIDTH, 0.5 + ROW * len(data.algorithms), data.title, data.caption, legend)
    axes = plain(figure.add_subplot(), grid="x")
    rows = np.arange(len(data.algorithms))
    ahead, behind = np.zeros(len(rows)), np.zeros(len(rows))
    for index, (colour, hatch) in enumerate(styles.values()):
        widths = data.segments[:, index]
        left = np.where(widths >= 0, ahead, behind)
        axes.barh(rows, widths, left=left, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4)
        ahead, behind = ahead + np.maximum(widths, 0), behind + np.minimum(widths, 0)
    axes.set_yticks(rows, data.algorithms)
    axes.invert_yaxis()
    axes.set_xlabel(data.axis)
    for row, total in enumerate(data.segments.sum(axis=1)):
        axes.annotate(
            f"{total:.3f}", (ahead[row], row), (2, 0), textcoords="offset points", va="center", fontsize=SMALL
        )
    axes.margins(x=0.14)
    return figure


@figure_of.register
def radar(data: shown.Radar) -> Figure:
    """Closed lines over the axes; the centre is best."""
    legend = [
        Line2D([], [], color=style.colour, marker=style.marker, markersize=4, linewidth=1.0, label=name)
        for name, style in ((name, data.styles[name]) for name in data.algorithms)
    ]
    figure = new_figure(COLUMN_WIDTH, 3.1, data.title, data.caption, legend)
    axes = figure.add_subplot(projection="polar")
    assert isinstance(axes, PolarAxes)
    angles = np.linspace(0, 2 * np.pi, len(data.axes), endpoint=False)
    for index, name in enumerate(data.algorithms):
        style = data.styles[name]
        around, radii = np.append(angles, angles[0]), np.append(data.radii[index], data.radii[index, 0])
        axes.plot(around, radii, color=style.colour, marker=style.marker, markersize=3.5, linewidth=1.0, clip_on=False)
        beyond = data.clipped[index]
        if beyond.any():
            axes.plot(
                angles[beyond], data.radii[index][beyond], "^", color=style.colour, markersize=7, mfc="white",
                clip_on=False, zorder=5,
            )  # fmt: skip
    axes.set_xticks(angles, data.axes)
    axes.tick_params(labelsize=SMALL, pad=1)
    for text, side in zip(axes.get_xticklabels(), np.cos(angles), strict=True):
        text.set_horizontalalignment("left" if side > 0.2 else "right" if side < -0.2 else "center")
    axes.set_ylim(0, data.furthest)
    axes.set_yticks([radius for radius, _ in data.rings], [text for _, text in data.rings])
    axes.set_rlabel_position(np.degrees(angles[1] / 2))
    axes.grid(color=FAINT, linewidth=0.6)
    axes.spines["polar"].set_color(FAINT)
    return figure


def _text_width(texts: Iterable[str]) -> float:
    """How wide the widest of these small texts stands, in inches."""
    font = FontProperties(size=SMALL)
    return 0.06 + max(TextPath((0, 0), text, prop=font, usetex=False).get_extents().width / 72 for text in texts)


@figure_of.register
def critical_difference(data: shown.CriticalDifference) -> Figure:
    """Average ranks on one line, names left and right, bars over those that are not told apart."""
    count = len(data.algorithms)
    half = -(-count // 2)
    bars = 0.5 + 0.55 * len(data.cliques)
    lowest = bars + half
    short = [name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…" for name in data.algorithms]
    labels = [
        f"{name}  {rank:.2f} " if index < half else f" {rank:.2f}  {name}"
        for index, (name, rank) in enumerate(zip(short, data.average_rank, strict=True))
    ]
    before, after = _text_width(labels[:half]), _text_width(labels[half:])
    width = COLUMN_WIDTH if before + after <= 0.7 * COLUMN_WIDTH else PAGE_WIDTH
    figure = new_figure(width, 0.155 * (lowest + 3.6), data.title, data.caption)
    axes = figure.add_subplot()
    low, high = 1.0, float(count)
    # The line of ranks gets what the names leave: their widths, in units of rank, lie outside of it.
    unit = (width - 0.1 - before - after) / (1.08 * (high - low))
    axes.set_xlim(low - 0.04 * (high - low) - before / unit, high + 0.04 * (high - low) + after / unit)
    axes.set_ylim(lowest, -3.6)
    axes.set_axis_off()
    axes.plot([low, high], [0, 0], color=INK, linewidth=0.8)
    for tick in range(1, count + 1, max(1, math.ceil(0.16 / unit))):
        axes.plot([tick, tick], [-0.3, 0], color=INK, linewidth=0.8)
        axes.text(tick, -0.4, str(tick), ha="center", va="bottom", fontsize=SMALL)
    axes.plot([low, low + data.distance], [-2.0, -2.0], color=INK, linewidth=1.2, marker="|", markersize=4)
    said = f"CD = {data.distance:.2f} · Friedman {p_text(data.p_value)}"
    axes.text(low, -2.5, said, va="bottom", fontsize=SMALL)
    for index, name in enumerate(data.algorithms):
        left = index < half
        row = bars + (index if left else count - 1 - index)
        rank, edge = data.average_rank[index], low - 0.04 * (high - low) if left else high + 0.04 * (high - low)
        axes.plot([rank, rank, edge], [0, row, row], color=data.styles[name].colour, linewidth=0.9)
        axes.text(edge, row, labels[index], ha="right" if left else "left", va="center", fontsize=SMALL)
    for index, (first, last) in enumerate(data.cliques):
        level = 0.55 * (index + 0.7)
        ends = data.average_rank[[first, last]] + np.array([-0.08, 0.08])
        axes.plot(ends, [level, level], color=INK, linewidth=2.4, solid_capstyle="butt", zorder=3)
    return figure


@figure_of.register
def rank_map(data: shown.RankMap) -> Figure:
    """Ranks as colours and, where there is room, as numbers; bright is best."""
    rows, columns = data.ranks.shape
    width = COLUMN_WIDTH if columns <= 12 else PAGE_WIDTH
    figure = new_figure(width, 1.1 + ROW * rows, data.title, data.caption)
    heat_map(
        figure,
        data.ranks,
        data.algorithms,
        data.columns if columns <= MOST_NAMED else (),
        "rank (1 = best)",
        number="g" if columns <= MOST_NUMBERED_COLUMNS and rows <= MOST_NAMED else None,
        number_size=SMALL,
        dark=lambda rank: rank > 0.55 * rows,
        cmap=RANKS,
        vmin=1,
        vmax=max(rows, 2),
        aspect="auto",
    )
    return figure


@figure_of.register
def layers(data: shown.Layers) -> Figure:
    """Groups as rows of names, the first on top; lines lead down to those that are dominated."""
    depth = int(data.group.max())
    members = [[data.algorithms[index] for index in np.flatnonzero(data.group == one)] for one in range(1, depth + 1)]
    widest = max(len(names) for names in members)
    longest = max(sum(len(name) + 4 for name in names) for names in members)
    width = COLUMN_WIDTH if longest * INCHES_A_LETTER + 0.5 < COLUMN_WIDTH else PAGE_WIDTH
    figure = new_figure(width, 0.2 + 0.55 * depth, data.title, data.caption)
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-0.14, 1.02)
    axes.set_ylim(-depth - 0.5, -0.5)
    for first, second in data.edges:
        (x0, y0), (x1, y1) = data.positions[first], data.positions[second]
        axes.plot([x0, x1], [y0, y1], color=MUTED, linewidth=0.6, alpha=0.6, zorder=1)
    for group in range(1, depth + 1):
        axes.text(-0.14, -group, f"A*$_{{{group}}}$", fontsize=HEAD, va="center", ha="left")
    size = SMALL if widest <= 12 else max(3.0, SMALL * 12 / widest)
    for index, name in enumerate(data.algorithms):
        x, y = data.positions[index]
        style = data.styles[name]
        box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": style.colour, "linewidth": 1.2}
        axes.text(x, y, name, ha="center", va="center", fontsize=size, bbox=box, zorder=2)
    return figure


@figure_of.register
def intervals(data: shown.Intervals) -> Figure:
    """A point and a bar for each algorithm; the share of draws that it wins stands at the right."""
    figure = new_figure(COLUMN_WIDTH, 0.55 + ROW * len(data.algorithms), data.title, data.caption)
    axes = plain(figure.add_subplot(), grid="x")
    for row, name in enumerate(data.algorithms):
        style = data.styles[name]
        axes.plot([data.low[row], data.high[row]], [row, row], color=style.colour, linewidth=1.6)
        axes.plot(data.value[row], row, color=style.colour, marker=style.marker, markersize=4.5)
        share = f"{100 * data.first[row]:.0f} %"
        axes.annotate(share, (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=SMALL)
    axes.annotate("first", (1.01, 1.0), xycoords="axes fraction", va="bottom", fontsize=SMALL, color=MUTED)
    axes.set_yticks(np.arange(len(data.algorithms)), data.algorithms)
    axes.invert_yaxis()
    axes.set_xlabel(f"{data.axis} (lower is better)")
    return figure


@figure_of.register
def alike(data: shown.Alike) -> Figure:
    """Rank sums on a line with the names below; each bar joins algorithms that perform alike."""
    figure = new_figure(COLUMN_WIDTH, 0.55 + ROW * len(data.algorithms), data.title, data.caption)
    axes = plain(figure.add_subplot(), grid="x")
    for row, name in enumerate(data.algorithms):
        style = data.styles[name]
        axes.plot(data.sums[row], row, color=style.colour, marker=style.marker, markersize=5)
    span = float(np.ptp(data.sums)) or 1.0
    for index, (first, last) in enumerate(data.bars):
        x = data.sums.max() + span * (0.06 + 0.035 * index)
        axes.plot([x, x], [first - 0.25, last + 0.25], color=INK, linewidth=2.0, solid_capstyle="butt")
    axes.set_yticks(np.arange(len(data.algorithms)), data.algorithms)
    axes.invert_yaxis()
    axes.set_xlabel("sum of ranks (lower is better)", fontsize=TEXT)
    return figure
