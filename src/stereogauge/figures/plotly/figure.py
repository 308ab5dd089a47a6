"""Plotly figures: an empty one with title and caption, panels, heat maps, the marks of algorithms."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, TypeVar

import plotly.graph_objects as go

from stereogauge.errors import StereogaugeError
from stereogauge.figures.palette import FAINT, INK, MUTED, Styles

Panel = TypeVar("Panel")
FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
CAPTION_WIDTH = 120  # characters
LONGEST_TRACE_NAME = 40
ROW = 24  # pixels per row of names
PATTERNS = {"": "", "////": "/", "....": ".", "xxxx": "x", "----": "-"}


@functools.singledispatch
def figure_of(data: Any) -> go.Figure:
    """The Plotly figure of any figure's data, by the renderer that is registered for its type."""
    raise StereogaugeError(f"No Plotly renderer for {type(data).__name__}.")


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


def row_count(panels: Sequence[Any], columns: int) -> int:
    """Rows that the panels take, `columns` side by side."""
    return math.ceil(len(panels) / columns)


def placed(panels: Iterable[Panel], columns: int) -> Iterator[tuple[int, Panel, dict[str, int]]]:
    """Each panel with its number and where its axes stand, `columns` side by side."""
    for index, panel in enumerate(panels):
        yield index, panel, {"row": index // columns + 1, "col": index % columns + 1}


def small(text: str) -> dict[str, Any]:
    """The title of a panel's axis."""
    return {"text": text, "font": {"size": 11}}


def algorithm_marks(algorithms: Iterable[str], styles: Styles, size: int) -> dict[str, Any]:
    """The markers of a trace with one point per algorithm."""
    shown = [styles[name] for name in algorithms]
    return {"color": [one.colour for one in shown], "symbol": [one.plotly_marker for one in shown], "size": size}


def add_segment(figure: go.Figure, y: Any, x: Any, style: tuple[str, str], name: str, hover: str) -> None:
    """Add one part of horizontal stacked bars."""
    colour, hatch = style
    marker = {"color": colour, "pattern": {"shape": PATTERNS[hatch]}}
    figure.add_bar(y=y, x=x, orientation="h", name=name, marker=marker, hovertemplate=hover)


def add_heat_map(figure: go.Figure, angle: float = -50, **style: Any) -> None:
    """Add a heat map with its first row on top."""
    figure.add_heatmap(**style)
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_xaxes(tickangle=angle, type="category")
