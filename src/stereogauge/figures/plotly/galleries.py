"""Plotly renderer of galleries: all pictures zoom and pan together."""

from __future__ import annotations

import base64

import numpy as np
import plotly.graph_objects as go

from stereogauge.figures.data.galleries import Colours, Gallery
from stereogauge.figures.plotly.figure import figure_of, new_figure, placed, row_count
from stereogauge.opencv import cv2

SIDE_BY_SIDE = 4
PANEL_WIDTH, LINE, LEGEND_ROW = 240, 15, 24  # pixels
LEGEND_COLUMNS = 4
HATCHING = "#787878"


def data_address(colours: Colours) -> str:
    """The picture as a PNG inside a data: address."""
    encoded = np.asarray(cv2.imencode(".png", cv2.cvtColor(colours, cv2.COLOR_RGB2BGR))[1])
    return "data:image/png;base64," + base64.b64encode(encoded.tobytes()).decode("ascii")


@figure_of.register
def gallery(data: Gallery) -> go.Figure:
    """Pictures under their headings, four side by side: the reference, then the algorithms, best first."""
    panels = data.panels
    columns = min(SIDE_BY_SIDE, len(panels))
    rows = row_count(panels, columns)
    stacked = [np.concatenate(pictures, axis=0) for _, pictures in panels]
    height, width = stacked[0].shape[:2]
    room = LINE * (2 + len(data.others)) + 8
    tall = PANEL_WIDTH * height / width
    figure = new_figure(data.title, data.caption)
    margin = figure.layout.margin.t + room
    figure.set_subplots(
        rows,
        columns,
        subplot_titles=[heading.replace("\n", "<br>") for heading, _ in panels],
        shared_xaxes="all",
        shared_yaxes="all",
        horizontal_spacing=0.01,
        vertical_spacing=room / (rows * (tall + room)) if rows > 1 else 0,
    )
    below = 10 + LEGEND_ROW * row_count(data.legend, LEGEND_COLUMNS)
    figure.update_layout(
        margin={"t": margin, "l": 10, "r": 10, "b": below}, height=margin + below + rows * tall + (rows - 1) * room
    )
    for _, picture, where in placed(stacked, columns):
        figure.add_trace(go.Image(source=data_address(picture), hoverinfo="none"), **where)
    for entry in data.legend:
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            marker={"color": HATCHING, "symbol": "square-x-open", "size": 12}
            if entry.hatched
            else {"color": entry.colour, "symbol": "square", "size": 12},
            name=entry.text,
            row=1,
            col=1,
        )
    figure.update_layout(legend={"orientation": "h", "yanchor": "top", "y": -0.01, "itemclick": False})
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.update_annotations(font={"size": 11})
    return figure
