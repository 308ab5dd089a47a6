"""Plotly renderer of the figure of robustness."""

from __future__ import annotations

import plotly.graph_objects as go

from stereogauge.figures.data.robustness import RobustnessBars
from stereogauge.figures.plotly.figure import figure_of, new_figure, placed, small

ROW = 60  # pixels


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
