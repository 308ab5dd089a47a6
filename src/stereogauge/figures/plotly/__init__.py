"""Interactive figures, drawn with Plotly: `draw` finds the renderer of any figure's data."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from stereogauge.errors import StereogaugeError
from stereogauge.figures.plotly import analysis, galleries, ranking, robustness, sparsification, study, tuning
from stereogauge.figures.plotly.figure import Renderers

_RENDERERS: Renderers = {
    **analysis.RENDERERS,
    **galleries.RENDERERS,
    **ranking.RENDERERS,
    **robustness.RENDERERS,
    **sparsification.RENDERERS,
    **study.RENDERERS,
    **tuning.RENDERERS,
}


def draw(data: Any) -> go.Figure:
    """The Plotly figure of any figure's data."""
    renderer = _RENDERERS.get(type(data))
    if renderer is None:
        raise StereogaugeError(f"No Plotly renderer for {type(data).__name__}.")
    return renderer(data)
