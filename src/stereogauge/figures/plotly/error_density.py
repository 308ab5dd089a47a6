"""Error over density in Plotly."""

from __future__ import annotations

from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from stereogauge.figures.data.error_density import DensityPlots
from stereogauge.figures.palette import FAINT
from stereogauge.figures.plotly.figure import figure_of, new_figure, placed, row_count

PANEL_HEIGHT = 320  # px


@figure_of.register
def error_density(data: DensityPlots) -> go.Figure:
    """Curves with the point of each map; a click on a legend entry hides an algorithm in every panel."""
    rows = row_count(data.panels, data.columns)
    titles = [escape(panel.title) for panel in data.panels]
    figure = make_subplots(rows, data.columns, subplot_titles=titles, horizontal_spacing=0.09)
    for index, panel, where in placed(data.panels, data.columns):
        for line in panel.lines:
            mark = {"color": line.style.colour, "symbol": line.style.plotly_marker}
            figure.add_scatter(
                x=[*(100 * line.densities), None, 100 * line.point[0]],
                y=[*line.values, None, line.point[1]],
                mode="lines+markers",
                marker={**mark, "size": [*(0 for _ in line.densities), 0, 10], "opacity": 1},
                line={"color": line.style.colour, "width": 1.6},
                name=line.label,
                legendgroup=line.label,
                showlegend=index == 0,
                hovertemplate=f"{escape(line.label)}: %{{y:.4g}} at %{{x:.1f}} %<extra></extra>",
                **where,
            )
        figure.update_yaxes(title_text=escape(panel.y_label), rangemode="tozero", **where)
        for density in panel.marks:
            figure.add_vline(x=100 * density, line={"color": FAINT, "width": 2}, layer="below", **where)
    frame = new_figure(data.title, data.caption, height=150 + PANEL_HEIGHT * rows)
    figure.update_layout(frame.layout)
    figure.update_xaxes(title_text="density, %", range=[0, 103], gridcolor=FAINT)
    figure.update_yaxes(gridcolor=FAINT)
    return figure
