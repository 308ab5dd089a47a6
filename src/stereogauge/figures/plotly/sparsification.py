"""Sparsification plots in Plotly."""

from __future__ import annotations

from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from stereogauge.figures.data.sparsification import SparsificationPlots
from stereogauge.figures.palette import FAINT
from stereogauge.figures.plotly.figure import figure_of, new_figure, placed, row_count

DASHES = {"solid": "solid", "dashed": "dash", "dotted": "dot", "dashdot": "dashdot"}
PANEL_HEIGHT = 300  # px


@figure_of.register
def sparsification_plots(data: SparsificationPlots) -> go.Figure:
    """One panel per scene; a click on a legend entry hides that curve in every panel."""
    rows = row_count(data.panels, data.columns)
    figure = make_subplots(rows, data.columns, subplot_titles=[escape(panel.title) for panel in data.panels])
    for index, panel, where in placed(data.panels, data.columns):
        for line in panel.lines:
            figure.add_scatter(
                x=100 * line.densities,
                y=line.values,
                mode="lines",
                name=line.label,
                legendgroup=line.label,
                showlegend=index == 0,
                line={"color": line.colour, "dash": DASHES[line.dash], "width": 1.6},
                hovertemplate="%{y:.4g} at %{x:.1f} %",
                **where,
            )
        figure.update_yaxes(range=[0, panel.top], **where)
        if panel.good_share is not None:
            figure.add_vline(x=100 * panel.good_share, line={"color": FAINT, "width": 3}, layer="below", **where)
    frame = new_figure(data.title, data.caption, height=140 + PANEL_HEIGHT * rows)
    figure.update_layout(frame.layout)
    figure.update_xaxes(title_text="density, %", range=[0, 100], gridcolor=FAINT)
    figure.update_yaxes(title_text=data.y_label, gridcolor=FAINT)
    return figure
