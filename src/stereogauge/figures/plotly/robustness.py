"""Plotly renderer of the figure of robustness."""

from __future__ import annotations

import plotly.graph_objects as go

from stereogauge.figures.data.robustness import RobustnessBars
from stereogauge.figures.plotly.figure import Renderers, new_figure

ROW = 60  # pixels


def robustness_bars(data: RobustnessBars) -> go.Figure:
    """One panel per condition below the other; hovering tells the value."""
    rows = len(data.panels)
    figure = new_figure(data.title, data.caption, 180 + rows * (70 + ROW * len(data.algorithms)))
    spacing = min(0.25, 0.4 / rows) if rows > 1 else 0.0
    titles = [panel.label for panel in data.panels]
    figure.set_subplots(rows, 1, vertical_spacing=spacing, subplot_titles=titles)
    figure.update_annotations(font={"size": 12})
    for row, panel in enumerate(data.panels, start=1):
        for one in panel.series:
            figure.add_bar(
                x=one.values,
                y=data.algorithms,
                orientation="h",
                name=one.label,
                legendgroup=one.label,
                showlegend=row == 1,
                marker={"color": one.colour},
                hovertemplate="%{y}: %{x:.3g} %<extra>" + one.label + "</extra>",
                row=row,
                col=1,
            )
    figure.update_xaxes(title={"text": "%", "font": {"size": 11}}, rangemode="tozero")
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_layout(barmode="group", legend={"orientation": "h", "y": -0.12 / rows, "yanchor": "top"})
    return figure


RENDERERS: Renderers = {RobustnessBars: robustness_bars}
