"""Plotly renderer of galleries: all pictures zoom and pan together."""

from __future__ import annotations

import base64

import numpy as np
import plotly.graph_objects as go

from stereogauge import opencv as cv2
from stereogauge.figures.data.galleries import Colours, Gallery, heading
from stereogauge.figures.plotly.figure import figure_of, new_figure, placed, row_count

SIDE_BY_SIDE = 4
PANEL_WIDTH, LINE = 240, 15  # pixels


def data_address(colours: Colours) -> str:
    """The picture as a PNG inside a data: address."""
    encoded = np.asarray(cv2.imencode(".png", cv2.cvtColor(colours, cv2.COLOR_RGB2BGR))[1])
    return "data:image/png;base64," + base64.b64encode(encoded.tobytes()).decode("ascii")


@figure_of.register
def gallery(data: Gallery) -> go.Figure:
    """The pictures of an algorithm under its heading, four algorithms side by side, best first."""
    columns = min(SIDE_BY_SIDE, len(data.items))
    rows = row_count(data.items, columns)
    stacked = [np.concatenate(item.pictures, axis=0) for item in data.items]
    height, width = stacked[0].shape[:2]
    room = LINE * (2 + len(data.others)) + 8
    tall = PANEL_WIDTH * height / width
    figure = new_figure(data.title, data.caption)
    margin = figure.layout.margin.t + room
    figure.set_subplots(
        rows,
        columns,
        subplot_titles=[heading(data, item).replace("\n", "<br>") for item in data.items],
        shared_xaxes="all",
        shared_yaxes="all",
        horizontal_spacing=0.01,
        vertical_spacing=room / (rows * (tall + room)) if rows > 1 else 0,
    )
    figure.update_layout(
        margin={"t": margin, "l": 10, "r": 10, "b": 10}, height=margin + 10 + rows * tall + (rows - 1) * room
    )
    for _, picture, where in placed(stacked, columns):
        figure.add_trace(go.Image(source=data_address(picture), hoverinfo="none"), **where)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.update_annotations(font={"size": 11})
    return figure
