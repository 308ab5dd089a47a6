"""Plotly renderers of the figures of a study and of robustness."""

from __future__ import annotations

import plotly.graph_objects as go

from stereogauge.figures.data.study import ResponseCurves, RobustnessBars, SensitivityMap
from stereogauge.figures.palette import FAINT
from stereogauge.figures.plotly.figure import add_heat_map, figure_of, new_figure, placed, row_count, small

COLUMNS = 3
PANEL = 260  # pixels
ROW = 60  # pixels


@figure_of.register
def response_curves(data: ResponseCurves) -> go.Figure:
    """One panel per metric; hovering names the damage, its strength and the value."""
    columns = min(COLUMNS, len(data.panels))
    rows = row_count(data.panels, columns)
    figure = new_figure(data.title, data.caption, 150 + PANEL * rows)
    spacing = min(0.3, 0.5 / rows) if rows > 1 else 0.0
    titles = [panel.label for panel in data.panels]
    figure.set_subplots(rows, columns, horizontal_spacing=0.08, vertical_spacing=spacing, subplot_titles=titles)
    figure.update_annotations(font={"size": 12})
    for _, panel, where in placed(data.panels, columns):
        for curve in sorted(panel.curves, key=lambda one: bool(one.colour)):
            figure.add_scatter(
                x=curve.relative,
                y=curve.values,
                customdata=curve.strengths,
                mode="lines+markers+text" if curve.colour else "lines",
                text=[*("" for _ in curve.values[1:]), curve.damage if curve.colour else ""],
                textposition="top left",
                textfont={"size": 9, "color": curve.colour or FAINT},
                line={"color": curve.colour or FAINT, "width": 2 if curve.colour else 1},
                name=curve.damage,
                showlegend=False,
                hovertemplate="%{customdata:.3g} " + curve.unit + ": %{y:.4g}",
                **where,
            )
        figure.update_xaxes(title=small("relative strength"), **where)
    return figure


@figure_of.register
def sensitivity_map(data: SensitivityMap) -> go.Figure:
    """A heat map with its numbers; the named damages are framed."""
    rows, _ = data.values.shape
    figure = new_figure(data.title, data.caption, 330 + 28 * rows)
    add_heat_map(
        figure,
        angle=-40,
        z=data.values,
        x=data.damages,
        y=data.metrics,
        zmin=0.0,
        zmax=1.0,
        colorscale="Cividis",
        texttemplate="%{z:.2f}",
        textfont={"size": 10},
        colorbar={"title": data.unit},
        hovertemplate="%{y} on %{x}: %{z:.3f}<extra></extra>",
    )
    for row, column in data.marked:
        frame = {"color": "#D55E00", "width": 2}
        figure.add_shape(type="rect", x0=column - 0.48, x1=column + 0.48, y0=row - 0.48, y1=row + 0.48, line=frame)
    return figure


@figure_of.register
def robustness_bars(data: RobustnessBars) -> go.Figure:
    """One panel per condition below the other; hovering tells the value."""
    rows = len(data.panels)
    figure = new_figure(data.title, data.caption, 180 + rows * (70 + ROW * len(data.algorithms)))
    spacing = min(0.25, 0.4 / rows) if rows > 1 else 0.0
    titles = [panel.label for panel in data.panels]
    figure.set_subplots(rows, 1, vertical_spacing=spacing, subplot_titles=titles)
    figure.update_annotations(font={"size": 12})
    for index, panel, where in placed(data.panels, 1):
        for one in panel.series:
            figure.add_bar(
                x=one.values,
                y=data.algorithms,
                orientation="h",
                name=one.label,
                legendgroup=one.label,
                showlegend=index == 0,
                marker={"color": one.colour},
                hovertemplate="%{y}: %{x:.3g} %<extra>" + one.label + "</extra>",
                **where,
            )
    figure.update_xaxes(title=small("%"), rangemode="tozero")
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_layout(barmode="group", legend={"orientation": "h", "y": -0.12 / rows, "yanchor": "top"})
    return figure
