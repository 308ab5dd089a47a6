"""Plotly renderers of the figures of a tuning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from stereogauge.figures.data.tuning import ParameterImportance, SceneGains, TradeOff, TuningHistory, TuningSlices
from stereogauge.figures.palette import INK, MUTED, OKABE_ITO
from stereogauge.figures.plotly.figure import figure_of, new_figure, placed, row_count, small

TRIAL, TUNED, DEFAULT = OKABE_ITO[4], OKABE_ITO[1], OKABE_ITO[0]
SLICES_SIDE_BY_SIDE = 3
PANEL, ROW = 250, 26  # pixels
BOTTOM_LEGEND = {"orientation": "h", "yanchor": "top", "y": -0.18, "x": 0}


def _add_marks(
    figure: go.Figure, default: Any, tuned: Any, name: str, size: int, *, grouped: bool = False, **options: Any
) -> None:
    """Mark the (x, y) of the default parameters and of the tuned ones, which the legend calls `name`."""
    kinds = ((default, DEFAULT, "diamond", "default parameters"), (tuned, TUNED, "star", name))
    for (x, y), colour, symbol, label in kinds:
        group = {"legendgroup": label} if grouped else {}
        marker = {"color": colour, "symbol": symbol, "size": size}
        figure.add_scatter(x=x, y=y, mode="markers", marker=marker, name=label, **group, **options)


@figure_of.register
def history(data: TuningHistory) -> go.Figure:
    """Trials as points, the best so far as steps, the default parameters as a line, ended trials as ticks below."""
    figure = new_figure(data.title, data.caption)
    figure.add_scatter(x=data.positions, y=data.values, mode="markers", marker={"color": TRIAL}, name="complete trial")
    figure.add_scatter(
        x=data.positions, y=data.best, mode="lines", line={"color": TUNED, "shape": "hv"}, name="best so far"
    )
    if math.isfinite(data.baseline):
        figure.add_hline(y=data.baseline, line={"color": DEFAULT, "dash": "dash"}, annotation_text="default parameters")
    for positions, name, symbol, colour in (
        (data.pruned, "ended early", "line-ns-open", MUTED),
        (data.failed, "failed", "x", INK),
    ):
        if len(positions):
            level = np.full(len(positions), float(data.values.min()))
            marker = {"color": colour, "symbol": symbol, "size": 9}
            figure.add_scatter(
                x=positions, y=level, mode="markers", marker=marker, name=name, hovertemplate="trial %{x}"
            )
    figure.update_xaxes(title="trial")
    figure.update_yaxes(title=data.axis)
    figure.update_layout(legend=BOTTOM_LEGEND)
    return figure


@figure_of.register
def slices(data: TuningSlices) -> go.Figure:
    """One panel per parameter; darker points are earlier trials."""
    columns = min(SLICES_SIDE_BY_SIDE, len(data.panels))
    rows = row_count(data.panels, columns)
    figure = new_figure(data.title, data.caption, 160 + PANEL * rows)
    figure.set_subplots(rows, columns, shared_yaxes=True, vertical_spacing=0.35 / rows, horizontal_spacing=0.03)
    for index, panel, where in placed(data.panels, columns):
        figure.add_scatter(
            x=panel.coordinates,
            y=data.values,
            mode="markers",
            marker={"color": data.positions, "colorscale": "Cividis", "size": 6},
            text=[f"trial {position:.0f}" for position in data.positions],
            hovertemplate=f"{panel.parameter} = %{{x}}<br>%{{y:.4g}}<br>%{{text}}<extra></extra>",
            showlegend=False,
            **where,
        )
        default, best = ([panel.default], [data.baseline]), ([panel.best], [data.best])
        _add_marks(figure, default, best, "recommended", 12, grouped=True, showlegend=index == 0, **where)
        figure.update_xaxes(title=small(panel.parameter), **where)
        if panel.logarithmic:
            figure.update_xaxes(type="log", **where)
        if panel.choices:
            ticks = {"tickvals": list(range(len(panel.choices))), "ticktext": panel.choices}
            figure.update_xaxes(range=[-0.5, len(panel.choices) - 0.5], **ticks, **where)
        if index % columns == 0:
            figure.update_yaxes(title=small(data.axis), **where)
    return figure


@figure_of.register
def importance(data: ParameterImportance) -> go.Figure:
    """Bars, the most important parameter on top; one colour per objective."""
    figure = new_figure(data.title, data.caption, 190 + ROW * len(data.parameters) * len(data.objectives))
    for index, name in enumerate(data.objectives):
        figure.add_bar(
            y=data.parameters,
            x=data.shares[:, index],
            orientation="h",
            name=name,
            marker={"color": OKABE_ITO[index % len(OKABE_ITO)]},
            texttemplate="%{x:.0%}",
            hovertemplate="%{y}: %{x:.1%}",
        )
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_xaxes(title="share of the importance", tickformat=".0%")
    figure.update_layout(barmode="group", showlegend=len(data.objectives) > 1, legend=BOTTOM_LEGEND)
    return figure


@figure_of.register
def trade_off(data: TradeOff) -> go.Figure:
    """All complete trials, those of the front joined by a line; pointing at one shows its parameters."""
    figure = new_figure(data.title, data.caption, 520)
    front = np.array(data.front)
    labels = np.array(data.labels)
    order = np.argsort(data.x[front])
    hover = "%{text}<br>%{x:.4g}, %{y:.4g}<extra></extra>"
    figure.add_scatter(
        x=data.x[~front],
        y=data.y[~front],
        text=labels[~front],
        mode="markers",
        marker={"color": MUTED, "size": 5},
        name="dominated trial",
        hovertemplate=hover,
    )
    figure.add_scatter(
        x=data.x[front][order],
        y=data.y[front][order],
        text=labels[front][order],
        mode="lines+markers",
        marker={"color": TRIAL, "size": 8},
        line={"color": TRIAL, "width": 1},
        name="front",
        hovertemplate=hover,
    )
    default, best = (([x], [y]) for x, y in (data.baseline, data.best))
    _add_marks(figure, default, best, "recommended", 13)
    figure.update_xaxes(title=data.x_axis)
    figure.update_yaxes(title=data.y_axis)
    figure.update_layout(legend=BOTTOM_LEGEND)
    return figure


@figure_of.register
def gains(data: SceneGains) -> go.Figure:
    """For each scene a line from the default to the tuned value."""
    figure = new_figure(data.title, data.caption, 210 + ROW * len(data.scenes))
    for scene, before, after in zip(data.scenes, data.default, data.tuned, strict=True):
        line = {"color": MUTED, "width": 1.5}
        figure.add_scatter(
            x=[before, after], y=[scene, scene], mode="lines", line=line, showlegend=False, hoverinfo="skip"
        )
    _add_marks(figure, (data.default, data.scenes), (data.tuned, data.scenes), "tuned", 10)
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_xaxes(title=data.axis)
    figure.update_layout(legend=BOTTOM_LEGEND)
    return figure
