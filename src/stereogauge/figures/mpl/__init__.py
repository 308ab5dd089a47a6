"""Figures as files, drawn with Matplotlib: `draw` finds the renderer of any figure's data, `save` writes it."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from stereogauge.errors import StereogaugeError
from stereogauge.figures.mpl import analysis, galleries, geometry, ranking, robustness, sparsification, study, tuning
from stereogauge.figures.mpl.figure import FORMATS, Renderers, check_format, encoded, save

__all__ = ["FORMATS", "check_format", "draw", "encoded", "save"]

_RENDERERS: Renderers = {
    **analysis.RENDERERS,
    **galleries.RENDERERS,
    **geometry.RENDERERS,
    **ranking.RENDERERS,
    **robustness.RENDERERS,
    **sparsification.RENDERERS,
    **study.RENDERERS,
    **tuning.RENDERERS,
}


def _laid_out(figure: Figure) -> Figure:
    """The figure with its layout computed once: saving would compute it again for every format."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def draw(data: Any) -> Figure:
    """The Matplotlib figure of any figure's data."""
    renderer = _RENDERERS.get(type(data))
    if renderer is None:
        raise StereogaugeError(f"No Matplotlib renderer for {type(data).__name__}.")
    return _laid_out(renderer(data))
