"""Plotly renderer of galleries: all pictures zoom and pan together."""

from __future__ import annotations

import base64
import math

import cv2
import numpy as np
import plotly.graph_objects as go

from stereogauge.figures.galleries import Colours, Gallery, heading
from stereogauge.figures.plotly_ import new_figure

SIDE_BY_SIDE = 4
PANEL_WIDTH = 240  # pixels


def data_address(colours: Colours) -> str:
    """The picture as a PNG inside a data: address."""
    encoded = np.asarray(cv2.imencode(".png", cv2.cvtColor(colours, cv2.COLOR_RGB2BGR))[1])
    return "data:image/png;base64," + base64.b64encode(encoded.tobytes()).decode("ascii")


def gallery(data: Gallery) -> go.Figure:
    """Blocks of pictures under their headings, four algorithms side by side, best first."""
    columns = min(SIDE_BY_SIDE, len(data.items))
    blocks, kinds = math.ceil(len(data.items) / columns), len(data.rows)
    height, width = data.items[0].pictures[0].shape[:2]
    rows = blocks * kinds
    figure = new_figure(data.title, data.caption, 120 + rows * (PANEL_WIDTH * height / width + 60 / kinds))
    titles = [""] * (rows * columns)
    for place, item in enumerate(data.items):
        block, column = divmod(place, columns)
        titles[block * kinds * columns + column] = heading(data, item).replace("\n", "<br>")
    figure.set_subplots(
        rows, columns, subplot_titles=titles, shared_xaxes="all", shared_yaxes="all", horizontal_spacing=0.01
    )
    for place, item in enumerate(data.items):
        block, column = divmod(place, columns)
        for kind, picture in enumerate(item.pictures):
            figure.add_trace(
                go.Image(source=data_address(picture), hoverinfo="none"), row=block * kinds + kind + 1, col=column + 1
            )
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.update_annotations(font={"size": 11})
    return figure


RENDERERS = {Gallery: gallery}
