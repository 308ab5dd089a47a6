"""Figures as files, drawn with Matplotlib: `draw` finds the renderer of any figure's data, `save` writes it."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from stereogauge.figures.mpl import (  # noqa: F401 – each registers its renderers
    analysis,
    decision,
    error_density,
    galleries,
    geometry,
    panels,
    ranking,
    reliability,
    sparsification,
    study,
    tuning,
)
from stereogauge.figures.mpl.figure import FORMATS, check_format, encoded, figure_of, save

__all__ = ["FORMATS", "check_format", "draw", "encoded", "save"]


def draw(data: Any) -> Figure:
    """The Matplotlib figure of any figure's data, its layout computed once: saving would do it for every format."""
    figure = figure_of(data)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure
