"""Interactive figures, drawn with Plotly: `draw` finds the renderer of any figure's data."""

from stereogauge.figures.plotly import (  # noqa: F401 – each registers its renderers
    analysis,
    decision,
    error_density,
    galleries,
    ranking,
    reliability,
    sparsification,
    study,
    tuning,
)
from stereogauge.figures.plotly.figure import figure_of as draw

__all__ = ["draw"]
