"""Matplotlib figures without global state: an empty figure with title and caption, plain axes, writing to files.

Widths are those of a column and a page of a two-column paper; text is set so that it stays legible there.
"""

from __future__ import annotations

import functools
import io
import math
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.figures.palette import FAINT, INK, MUTED

COLUMN_WIDTH, PAGE_WIDTH = 3.5, 7.16  # inches
TEXT, SMALL, HEAD = 8.0, 6.5, 9.0  # points
FORMATS = ("png", "svg", "pdf")


@functools.singledispatch
def figure_of(data: Any) -> Figure:
    """The Matplotlib figure of any figure's data, by the renderer that is registered for its type."""
    raise StereogaugeError(f"No Matplotlib renderer for {type(data).__name__}.")


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


def fitting_columns(legend: Sequence[Artist], width: float, most: int = 5) -> int:
    """As many columns of a legend as fit into `width` inches beside each other, each as wide as the longest entry."""
    longest = max((len(str(entry.get_label())) for entry in legend), default=0)
    return max(1, min(most, int(width * 72 / (SMALL * (0.56 * longest + 3.2)))))


def panel_figure(
    data: Any,
    count: int,
    columns: int,
    height: float,
    legend: Sequence[Artist] = (),
    legend_columns: int = 3,
    *,
    width: float | None = None,
    **shared: Any,
) -> tuple[Figure, NDArray[Any]]:
    """A figure of `count` panels, `columns` side by side, each row `height` inches tall; the grid of their axes.

    As wide as a page unless `width` says otherwise, a single column of panels as wide as one of text.
    """
    rows = math.ceil(count / columns)
    across = width or (COLUMN_WIDTH if columns == 1 else PAGE_WIDTH)
    figure = new_figure(across, rows * height, data.title, data.caption, legend, legend_columns)
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    for unused in grid.ravel()[count:]:
        unused.set_axis_off()
    return figure, grid


def heat_map(
    figure: Figure,
    values: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    unit: str,
    *,
    number: str | None = ".2f",
    number_size: float = 5.5,
    dark: Callable[[float], bool],
    rotation: float = 60,
    bar: float = 0.04,
    **image: Any,
) -> Axes:
    """Values as colours with a colour bar, and as numbers of the format `number`, white where the colour is `dark`."""
    axes = figure.add_subplot()
    mapped = axes.imshow(values, **image)
    if columns:
        axes.set_xticks(np.arange(len(columns)), columns, rotation=rotation, ha="right", rotation_mode="anchor")
    axes.set_yticks(np.arange(len(rows)), rows)
    axes.tick_params(labelsize=SMALL, length=0)
    for (row, column), value in np.ndenumerate(values):
        if number is not None and np.isfinite(value):
            style: dict[str, Any] = {"fontsize": number_size, "color": "white" if dark(value) else INK}
            axes.text(column, row, f"{value:{number}}", ha="center", va="center", **style)
    colours = figure.colorbar(mapped, ax=axes, fraction=bar, pad=0.02)
    colours.set_label(unit, fontsize=SMALL)
    colours.ax.tick_params(labelsize=SMALL)
    return axes


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
