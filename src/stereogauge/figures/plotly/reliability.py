"""Reliability diagrams in Plotly."""

from __future__ import annotations

from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from stereogauge.figures.data.reliability import ReliabilityDiagram
from stereogauge.figures.palette import FAINT
from stereogauge.figures.plotly.figure import figure_of, new_figure, placed

DASHES = {"solid": "solid", "dashed": "dash"}


@figure_of.register
def reliability_diagram(data: ReliabilityDiagram) -> go.Figure:
    """One panel per kind of map; below the diagonal a map promises too much."""
    columns = max(1, len(data.panels))
    figure = make_subplots(1, columns, subplot_titles=[escape(panel.title) for panel in data.panels])
    for _, panel, where in placed(data.panels, columns):
        figure.add_scatter(
            x=[0, 100], y=[0, 100], mode="lines", line={"color": FAINT, "width": 3}, showlegend=False, **where
        )
        for line in panel.lines:
            figure.add_scatter(
                x=[100 * value for value in line.predicted],
                y=[100 * value for value in line.observed],
                mode="lines+markers",
                name=escape(line.label),
                line={"color": line.colour, "dash": DASHES[line.dash]},
                hovertemplate="%{y:.1f} % observed, %{x:.1f} % predicted",
                **where,
            )
        figure.update_xaxes(title_text=panel.x_label, range=[0, 100], **where)
        figure.update_yaxes(title_text=panel.y_label, range=[0, 100], **where)
    figure.update_layout(new_figure(data.title, data.caption).layout)
    return figure
