"""An empty Plotly figure with its title and caption."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import plotly.graph_objects as go

from stereogauge.figures.palette import FAINT, INK, MUTED

Renderers = Mapping[type, Callable[[Any], go.Figure]]
FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
CAPTION_WIDTH = 120  # characters
LONGEST_TRACE_NAME = 40


def new_figure(title: str, caption: str, height: float = 450) -> go.Figure:
    """An empty figure with its title and, smaller below it, the selection."""
    below = "<br>".join(escape(line) for line in textwrap.wrap(caption, CAPTION_WIDTH))
    figure = go.Figure()
    figure.update_layout(
        template="plotly_white",
        height=height,
        font={"family": FONT, "size": 13, "color": INK},
        title={
            "text": escape(title),
            "subtitle": {"text": below, "font": {"size": 11, "color": MUTED}},
            "x": 0.01,
            "xanchor": "left",
            "y": 0.99,
            "yanchor": "top",
        },
        margin={"t": 70 + 14 * (below.count("<br>") + 1), "l": 60, "r": 20, "b": 60},
        hoverlabel={"namelength": LONGEST_TRACE_NAME},
    )
    figure.update_xaxes(gridcolor=FAINT, automargin=True)
    figure.update_yaxes(gridcolor=FAINT, automargin=True)
    return figure
