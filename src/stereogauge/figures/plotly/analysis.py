"""Plotly renderers of the figures of an analysis."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from stereogauge.figures.data.analysis import CountedErrors, Histograms, ScatterMatrix, Slopes, SquareMap
from stereogauge.figures.palette import INK, segment_styles
from stereogauge.figures.plotly.figure import (
    ROW,
    add_heat_map,
    add_segment,
    figure_of,
    new_figure,
    placed,
    row_count,
    small,
)

PANEL = 300  # pixels
HISTOGRAM_COLUMNS = 3
MOST_NUMBERED = 30


@figure_of.register
def square_map(data: SquareMap) -> go.Figure:
    """A heat map with its numbers where there is room."""
    count = len(data.names)
    low, high = data.limits
    figure = new_figure(data.title, data.caption, max(420, 230 + 26 * count))
    add_heat_map(
        figure,
        z=data.values,
        x=data.names,
        y=data.names,
        zmin=low,
        zmax=high,
        colorscale="Cividis" if low >= 0 else "RdBu",
        texttemplate="%{z:.2f}" if count <= MOST_NUMBERED else None,
        textfont={"size": 10},
        colorbar={"title": data.unit},
        hovertemplate="%{y} and %{x}: %{z:.3f}<extra></extra>",
    )
    return figure


def _panel_figure(data: ScatterMatrix | Histograms, columns: int, height: int, above: int) -> go.Figure:
    rows = row_count(data.panels, columns)
    figure = new_figure(data.title, data.caption, above + height * rows)
    figure.set_subplots(rows, columns, horizontal_spacing=0.09, vertical_spacing=0.36 / rows if rows > 1 else 0)
    return figure


@figure_of.register
def scatter_matrix(data: ScatterMatrix) -> go.Figure:
    """Panels with points and one line per scene: colours are scenes, shapes are algorithms."""
    figure = _panel_figure(data, data.columns, PANEL, 200)
    symbols = [data.styles[name].plotly_marker for name in data.algorithms]
    for index, panel, where in placed(data.panels, data.columns):
        for scene_index, scene in enumerate(data.scenes):
            colour = data.scene_colours[scene]
            x0, y0, x1, y1 = panel.lines[scene_index]
            if np.isfinite([x0, y0, x1, y1]).all():
                figure.add_scatter(
                    x=[x0, x1],
                    y=[y0, y1],
                    mode="lines",
                    line={"color": colour},
                    opacity=float(panel.opacity[scene_index]),
                    legendgroup=scene,
                    showlegend=False,
                    name=f"{scene}: r² = {panel.opacity[scene_index]:.2f}",
                    hoverinfo="name",
                    **where,
                )
            figure.add_scatter(
                x=panel.x[:, scene_index],
                y=panel.y[:, scene_index],
                mode="markers",
                marker={"color": colour, "symbol": symbols, "size": 7},
                text=data.algorithms,
                name=scene,
                legendgroup=scene,
                legendgrouptitle={"text": "colours: scenes"} if scene_index == 0 else None,
                showlegend=index == 0,
                hovertemplate="%{text}: %{x:.4g}, %{y:.4g}",
                **where,
            )
        figure.update_xaxes(title=small(panel.x_label), **where)
        figure.update_yaxes(title=small(panel.y_label), **where)
    _shape_legend(figure, data)
    return figure


def _shape_legend(figure: go.Figure, data: ScatterMatrix) -> None:
    """Name the shape of each algorithm, below the colours of the scenes."""
    for index, name in enumerate(data.algorithms):
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            marker={"color": INK, "symbol": data.styles[name].plotly_marker, "size": 7},
            name=name,
            legendgroup="algorithms",
            legendgrouptitle={"text": "shapes: algorithms"} if index == 0 else None,
            hoverinfo="skip",
            row=1,
            col=1,
        )


@figure_of.register
def histograms(data: Histograms) -> go.Figure:
    """Bars of counts, a line at the heuristic maximum, marked algorithms as markers on the axis."""
    columns = min(HISTOGRAM_COLUMNS, len(data.panels))
    figure = _panel_figure(data, columns, 230, 180)
    shown: set[str] = set()
    for _, panel, where in placed(data.panels, columns):
        centres = (panel.edges[1:] + panel.edges[:-1]) / 2
        figure.add_bar(
            x=centres,
            y=panel.counts,
            width=np.diff(panel.edges),
            marker={"color": "#9db8cc"},
            showlegend=False,
            hovertemplate="%{y} scores about %{x:.3g}<extra></extra>",
            **where,
        )
        if panel.heuristic is not None and panel.heuristic <= 1.5 * panel.edges[-1]:
            figure.add_vline(panel.heuristic, line={"dash": "dash", "color": INK, "width": 1}, **where)
        for name, score in panel.marked.items():
            style = data.styles[name]
            figure.add_scatter(
                x=[score],
                y=[0],
                mode="markers",
                marker={"color": style.colour, "symbol": style.plotly_marker, "size": 11},
                name=f"{name} (mean of scenes)",
                legendgroup=name,
                showlegend=name not in shown,
                cliponaxis=False,
                **where,
            )
            shown.add(name)
        stated = "" if panel.heuristic is None else f"<br>heuristic maximum {panel.heuristic:g}"
        figure.update_xaxes(title=small(panel.label + stated), **where)
    return figure


@figure_of.register
def counted_errors(data: CountedErrors) -> go.Figure:
    """Two stacked bars per algorithm: the nested regions and the partition."""
    figure = new_figure(data.title, data.caption, 240 + 2 * ROW * len(data.algorithms))
    styles = segment_styles([name for _, regions, _ in data.sets for name in regions])
    for kind, regions, errors in data.sets:
        rows = [list(data.algorithms), [kind] * len(data.algorithms)]
        for part, region in enumerate(regions):
            add_segment(figure, rows, errors[:, part], styles[region], region, "%{x:,.0f} px")
    figure.update_layout(barmode="relative")
    figure.update_xaxes(title="counted errors [px]")
    figure.update_yaxes(autorange="reversed")
    return figure


@figure_of.register
def slopes(data: Slopes) -> go.Figure:
    """Lines between the ranks under each order; filled markers are marked ones."""
    figure = new_figure(data.title, data.caption, 240 + ROW * len(data.algorithms))
    for row, name in enumerate(data.algorithms):
        style = data.styles[name]
        symbols = [style.plotly_marker if marked else f"{style.plotly_marker}-open" for marked in data.marks[row]]
        figure.add_scatter(
            x=data.orders,
            y=data.ranks[row],
            mode="lines+markers",
            name=name,
            line={"color": style.colour},
            marker={"symbol": symbols, "size": 11, "line": {"width": 2}},
            hovertemplate="%{x}: rank %{y}",
        )
    figure.update_yaxes(autorange="reversed", title="rank", dtick=1)
    meaning = f"filled: {data.mark_meaning}" if data.mark_meaning else None
    figure.update_xaxes(type="category", title=meaning)
    return figure
