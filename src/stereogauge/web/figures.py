"""Figures of `stereogauge.figures` as Plotly's JSON, for the page to draw."""

from __future__ import annotations

import json
from typing import Any

from stereogauge.figures import plotly

Figure = dict[str, Any]


def figure_json(data: Any) -> Figure:
    """The traces and layout of a figure's data; the page adds title, caption and theme."""
    figure: Figure = json.loads(plotly.draw(data).to_json())
    for part in ("title", "template", "margin"):
        figure["layout"].pop(part, None)
    return figure
