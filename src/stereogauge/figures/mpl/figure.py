"""Matplotlib figures without global state: an empty figure with title and caption, plain axes, writing to files.

Widths are those of a column and a page of a two-column paper; text is set so that it stays legible there.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from stereogauge.errors import StereogaugeError
from stereogauge.figures.palette import FAINT, INK, MUTED

COLUMN_WIDTH, PAGE_WIDTH = 3.5, 7.16  # inches
TEXT, SMALL, HEAD = 8.0, 6.5, 9.0  # points
Renderers = Mapping[type, Callable[[Any], Figure]]
FORMATS = ("png", "svg", "pdf")


def new_figure(
    width: float,
    height: float,
    title: str,
    caption: str,
    legend: Sequence[Artist] = (),
    legend_columns: int = 3,
    padding: float = 0.04,
) -> Figure:
    """An empty figure with its title above, and the legend and the selection below; `height` is what the axes get."""
    above = textwrap.wrap(title, max(20, int(width * 72 / (HEAD * 0.56))))
    below = textwrap.wrap(caption, max(30, int(width * 72 / (SMALL * 0.55))))
    top = HEAD * 1.35 / 72 * len(above) + 0.06
    foot = SMALL * 1.25 / 72 * len(below) + 0.06
    rows = math.ceil(len(legend) / legend_columns)
    bottom = foot + (SMALL * 1.55 / 72 * rows + 0.08 if rows else 0.0)
    total = height + top + bottom
    inside = (0, bottom / total, 1, height / total)
    layout = ConstrainedLayoutEngine(rect=inside, w_pad=padding, h_pad=padding, wspace=padding / 2, hspace=padding / 2)
    figure = Figure(figsize=(width, total), layout=layout)
    FigureCanvasAgg(figure)
    figure.text(0.01, 1 - 0.04 / total, "\n".join(above), fontsize=HEAD, color=INK, va="top")
    figure.text(0.01, 0.04 / total, "\n".join(below), fontsize=SMALL, color=MUTED, va="bottom", linespacing=1.15)
    if rows:
        figure.legend(
            handles=list(legend),
            loc="lower center",
            bbox_to_anchor=(0.5, foot / total),
            ncols=min(legend_columns, len(legend)),
            fontsize=SMALL,
            frameon=False,
            borderpad=0.1,
            borderaxespad=0.2,
            labelspacing=0.35,
            columnspacing=1.2,
            handletextpad=0.5,
            handlelength=1.4,
        )
    return figure


def plain(axes: Axes, *, grid: Literal["x", "y", "both"] | None = None) -> Axes:
    """Small text, no box, an optional faint grid along one axis."""
    axes.tick_params(labelsize=SMALL, colors=INK, width=0.6, length=2.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_linewidth(0.6)
    axes.xaxis.label.set_fontsize(TEXT)
    axes.yaxis.label.set_fontsize(TEXT)
    if grid is not None:
        axes.grid(True, axis=grid, color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
    return axes


def save(figure: Figure, path: Path, dpi: int = 200) -> Path:
    """Write the figure in the format that the path's ending names."""
    kind = path.suffix.lstrip(".").lower()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(figure, kind, dpi))
    return path


def check_format(kind: str) -> None:
    """Refuse a format that figures are not written in."""
    if kind not in FORMATS:
        raise StereogaugeError(f"Figures are written as {', '.join(FORMATS)}; found {kind!r}.")


def encoded(figure: Figure, kind: str, dpi: int = 200) -> bytes:
    """The figure as PNG, SVG or PDF; the same data give the same bytes."""
    check_format(kind)
    stream = io.BytesIO()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    figure.savefig(stream, format=kind, dpi=dpi, metadata=undated)
    return stream.getvalue()
