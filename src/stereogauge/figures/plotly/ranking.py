"""Plotly renderers of the figures of a ranking."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from stereogauge.figures.data import ranking as shown
from stereogauge.figures.palette import FAINT, INK, MUTED, segment_styles
from stereogauge.figures.plotly.figure import ROW, add_heat_map, add_segment, algorithm_marks, figure_of, new_figure
from stereogauge.scores.cube import Values
from stereogauge.text import p_text

MOST_NUMBERED_COLUMNS = 40


@figure_of.register
def stacked_bars(data: shown.StackedBars) -> go.Figure:
    """Horizontal stacked bars, shortest on top; a click on a legend entry removes a metric."""
    figure = new_figure(data.title, data.caption, 230 + ROW * len(data.algorithms))
    for index, (term, style) in enumerate(segment_styles(data.terms).items()):
        name = f"{term} ({100 * data.weights[index]:.0f} %)"
        add_segment(figure, data.algorithms, data.segments[:, index], style, name, "%{y}: %{x:.4f}")
    figure.update_layout(barmode="relative", legend={"traceorder": "normal"})
    figure.update_xaxes(title=data.axis)
    figure.update_yaxes(autorange="reversed", type="category")
    return figure


@figure_of.register
def radar(data: shown.Radar) -> go.Figure:
    """Closed lines over the axes; the centre is best. Points say the rank or score that they stand for."""
    figure = new_figure(data.title, data.caption, 560)
    for index, name in enumerate(data.algorithms):
        style = data.styles[name]
        figure.add_scatterpolar(
            r=np.append(data.radii[index], data.radii[index, 0]),
            theta=[*data.axes, data.axes[0]],
            text=[*data.labels[index], data.labels[index][0]],
            hovertemplate="%{theta}: %{text}",
            name=name,
            mode="lines+markers",
            line={"color": style.colour},
            marker={
                "symbol": [
                    "triangle-up-open" if beyond else style.plotly_marker
                    for beyond in (*data.clipped[index], data.clipped[index][0])
                ],
                "size": 8,
            },
        )
    figure.update_polars(
        radialaxis={
            "range": [0, data.furthest],
            "tickvals": [radius for radius, _ in data.rings],
            "ticktext": [text for _, text in data.rings],
            "gridcolor": FAINT,
        }
    )
    return figure


@figure_of.register
def critical_difference(data: shown.CriticalDifference) -> go.Figure:
    """Average ranks as points by algorithm; bars join those that the test does not tell apart."""
    figure = _joined_points(data, data.average_rank, "%{x:.2f}", "average rank (lower is better)")
    places = float(data.average_rank[-1]) + 0.35 + 0.25 * np.arange(len(data.cliques))
    _join(figure, data, data.average_rank, dict(zip(places.tolist(), data.cliques, strict=True)), "not told apart")
    figure.add_annotation(
        xref="paper",
        yref="paper",
        x=1,
        y=1,
        xanchor="right",
        yanchor="bottom",
        showarrow=False,
        text=f"CD = {data.distance:.2f}, {p_text(data.p_value)}",
    )
    return figure


def _joined_points(data: shown.CriticalDifference | shown.Alike, values: Values, number: str, axis: str) -> go.Figure:
    """One point per algorithm, each in its row; `_join` adds the bars."""
    rows = list(range(len(data.algorithms)))
    figure = new_figure(data.title, data.caption, 220 + ROW * len(rows))
    figure.add_scatter(
        x=values,
        y=rows,
        mode="markers",
        marker=algorithm_marks(data.algorithms, data.styles, 11),
        text=data.algorithms,
        hovertemplate=f"%{{text}}: {number}<extra></extra>",
        showlegend=False,
    )
    figure.update_yaxes(tickvals=rows, ticktext=data.algorithms, autorange="reversed")
    figure.update_xaxes(title=axis)
    return figure


def _join(
    figure: go.Figure,
    data: shown.CriticalDifference | shown.Alike,
    values: Values,
    bars: Mapping[float, tuple[int, int]],
    why: str,
) -> None:
    """Add the bars by their place on the axis of `values`, each from a first to a last row, with room beside them."""
    for x, (first, last) in bars.items():
        figure.add_scatter(
            x=[x, x],
            y=[first - 0.2, last + 0.2],
            mode="lines",
            line={"color": INK, "width": 5},
            name=f"{why}: {', '.join(data.algorithms[first : last + 1])}",
            hoverinfo="name",
            showlegend=False,
        )
    low, high = float(values.min()), max(float(values.max()), *bars) if bars else float(values.max())
    room = 0.04 * ((high - low) or 1.0)
    figure.update_xaxes(range=[low - room, high + room])


@figure_of.register
def rank_map(data: shown.RankMap) -> go.Figure:
    """Ranks as colours and, where there is room, as numbers; bright is best."""
    rows, columns = data.ranks.shape
    figure = new_figure(data.title, data.caption, 260 + ROW * rows)
    add_heat_map(
        figure,
        z=data.ranks,
        x=data.columns,
        y=data.algorithms,
        colorscale="Cividis",
        reversescale=True,
        zmin=1,
        zmax=max(rows, 2),
        texttemplate="%{z:.3~g}" if columns <= MOST_NUMBERED_COLUMNS else None,
        colorbar={"title": "rank"},
        hovertemplate="%{y}, %{x}: rank %{z:.3~g}<extra></extra>",
    )
    return figure


@figure_of.register
def layers(data: shown.Layers) -> go.Figure:
    """Groups as rows of points, the first on top; lines lead down to those that are dominated."""
    depth = int(data.group.max())
    figure = new_figure(data.title, data.caption, 200 + 90 * depth)
    xs: list[float | None] = []
    ys: list[float | None] = []
    for first, second in data.edges:
        xs += [data.positions[first, 0], data.positions[second, 0], None]
        ys += [data.positions[first, 1], data.positions[second, 1], None]
    figure.add_scatter(
        x=xs, y=ys, mode="lines", line={"color": MUTED, "width": 1}, opacity=0.5, hoverinfo="skip", showlegend=False
    )
    dominated: dict[int, list[str]] = {index: [] for index in range(len(data.algorithms))}
    for first, second in data.edges:
        dominated[second].append(data.algorithms[first])
    figure.add_scatter(
        x=data.positions[:, 0],
        y=data.positions[:, 1],
        mode="markers+text",
        text=data.algorithms,
        textposition="top center",
        customdata=[", ".join(names) or "none" for names in dominated.values()],
        hovertemplate="%{text}: directly dominated by %{customdata}<extra></extra>",
        marker=algorithm_marks(data.algorithms, data.styles, 15),
        showlegend=False,
    )
    groups = list(range(1, depth + 1))
    names = [f"A*<sub>{group}</sub>" for group in groups]
    figure.update_yaxes(tickvals=[-group for group in groups], ticktext=names, showgrid=False, zeroline=False)
    figure.update_yaxes(range=[-depth - 0.4, -0.4])
    figure.update_xaxes(visible=False, range=[-0.02, 1.02])
    return figure


@figure_of.register
def intervals(data: shown.Intervals) -> go.Figure:
    """A point and a bar for each algorithm."""
    figure = new_figure(data.title, data.caption, 220 + ROW * len(data.algorithms))
    for row, name in enumerate(data.algorithms):
        style = data.styles[name]
        figure.add_scatter(
            x=[data.value[row]],
            y=[name],
            error_x={
                "array": [data.high[row] - data.value[row]],
                "arrayminus": [data.value[row] - data.low[row]],
                "color": style.colour,
                "thickness": 2,
            },
            mode="markers",
            marker={"color": style.colour, "symbol": style.plotly_marker, "size": 9},
            name=name,
            hovertemplate=(
                f"{data.value[row]:.3f} [{data.low[row]:.3f}, {data.high[row]:.3f}], first in "
                f"{100 * data.first[row]:.1f} %"
            ),
            showlegend=False,
        )
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_xaxes(title=f"{data.axis} (lower is better)")
    return figure


@figure_of.register
def alike(data: shown.Alike) -> go.Figure:
    """Rank sums by algorithm; each bar joins algorithms that perform alike."""
    figure = _joined_points(data, data.sums, "%{x:.0f}", "sum of ranks (lower is better)")
    span = float(np.ptp(data.sums)) or 1.0
    places = float(data.sums.max()) + span * (0.06 + 0.035 * np.arange(len(data.bars)))
    _join(figure, data, data.sums, dict(zip(places.tolist(), data.bars, strict=True)), "alike")
    return figure
