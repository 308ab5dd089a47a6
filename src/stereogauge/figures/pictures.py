"""Per-pixel pictures as colours, as annotated files with colour bar or legend, and in rows with captions.

Errors: plasma, clipped at a stated value. Signed values: blue to red around white. Black = no ground truth; hatched =
no estimate. Disparities: viridis over a fixed range.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.figures.chart import check_format
from stereogauge.figures.palette import INK, MUTED
from stereogauge.metrics.picture import Picture
from stereogauge.model import DisparityMap, Mask
from stereogauge.text import number_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

Colours = NDArray[np.uint8]
DISPARITY_MAP = "viridis"
COLOUR_MAPS = {"sequential": "plasma", "diverging": "RdBu_r", "cyclic": "twilight", "disparity": DISPARITY_MAP}
EXTENDS = {"sequential": "max", "diverging": "both", "cyclic": "neither", "disparity": "neither"}
UNKNOWN = (0, 0, 0)
HATCH_LIGHT, HATCH_DARK = (225, 225, 225), (120, 120, 120)
WIDTH = 7.16  # inches: a page of a two-column paper
SMALL, HEAD = 6.5, 9.0  # points
PANELS_WIDTH = 9.0  # inches
HATCH_PERIOD = 6  # px between the hatching's lines


def _mapped(values: NDArray[np.floating], limits: tuple[float, float], name: str) -> Colours:
    from matplotlib import colormaps

    low, high = limits
    span = high - low if high > low else 1.0
    level = np.clip((np.nan_to_num(values, nan=low) - low) / span, 0.0, 1.0)
    table = (colormaps[name](np.linspace(0, 1, 256))[:, :3] * 255).round().astype(np.uint8)
    colours: Colours = table[(level * 255).round().astype(np.uint8)]
    return colours


def _hatching(shape: tuple[int, int]) -> Colours:
    """Diagonal lines, so that a missing estimate is recognised without colour."""
    y, x = np.indices(shape, dtype=np.int32)
    dark = (x + y) % HATCH_PERIOD < 2
    return np.where(dark[..., None], HATCH_DARK, HATCH_LIGHT).astype(np.uint8)


def _backdrop(picture: Picture) -> Colours:
    if picture.backdrop is None:
        return np.full((*picture.values.shape[:2], 3), 255, np.uint8)
    grey = picture.backdrop if picture.backdrop.ndim == 2 else picture.backdrop.mean(axis=2)
    return np.repeat((128 + grey[..., None] / 2).astype(np.uint8), 3, axis=2)


def picture_limits(picture: Picture) -> tuple[float, float]:
    """The picture's own limits, or those of its finite values."""
    return disparity_limits(picture.values) if picture.limits is None else picture.limits


def render(picture: Picture) -> Colours:
    """The picture as RGB, pixel for pixel."""
    from matplotlib.colors import to_rgb

    if picture.kind == "rgb":
        colours = np.array(picture.values, dtype=np.uint8)
    elif picture.kind == "labels":
        colours = _backdrop(picture)
        for value, (_, colour) in picture.legend.items():
            colours[picture.values == value] = np.round(np.array(to_rgb(colour)) * 255).astype(np.uint8)
    else:
        colours = _mapped(picture.values, picture_limits(picture), COLOUR_MAPS[picture.kind])
        empty = np.isnan(picture.values)
        colours[empty] = _backdrop(picture)[empty]
    if picture.missing is not None and picture.missing.any():
        colours[picture.missing] = _hatching(colours.shape[:2])[picture.missing]
    if picture.unknown is not None:
        colours[picture.unknown] = UNKNOWN
    return colours


def render_disparity(disparity: DisparityMap, limits: tuple[float, float]) -> Colours:
    """A disparity map over a fixed range; unknown pixels hatched."""
    colours = _mapped(disparity, limits, DISPARITY_MAP)
    missing: Mask = np.isnan(disparity)
    colours[missing] = _hatching(disparity.shape)[missing]
    return colours


def disparity_limits(truth: NDArray[Any]) -> tuple[float, float]:
    """The range in which all maps of a scene are drawn: that of its ground truth."""
    known = truth[np.isfinite(truth)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)


def write_png(path: Path, colours: Colours) -> None:
    """Colours as a PNG file, pixel for pixel."""
    import cv2

    path.parent.mkdir(parents=True, exist_ok=True)
    encoded = cv2.imencode(".png", cv2.cvtColor(colours, cv2.COLOR_RGB2BGR))[1]
    path.write_bytes(np.asarray(encoded).tobytes())


class LegendEntry(NamedTuple):
    """A colour of a picture and what it means; `hatched` as drawn for a missing estimate."""

    text: str
    colour: str
    hatched: bool = False


MISSING = LegendEntry("no estimate", "#e1e1e1", hatched=True)


def legend_entries(picture: Picture) -> list[LegendEntry]:
    """The named colours of a picture: its legend, missing estimates and unknown truth, where there are any."""
    entries = [LegendEntry(text, colour) for text, colour in picture.legend.values()]
    if picture.missing is not None and picture.missing.any():
        entries.append(MISSING)
    if picture.unknown is not None and picture.unknown.any():
        entries.append(LegendEntry("no ground truth", "#000000"))
    return entries


def scale_entries(name: str, kind: str, limits: tuple[float, float], unit: str) -> list[LegendEntry]:
    """Both ends and the middle of a colour scale, for a legend without a colour bar."""
    values = np.linspace(*limits, 3)
    below, above = ("≤ " if EXTENDS[kind] == "both" else ""), ("≥ " if EXTENDS[kind] in ("both", "max") else "")
    shown = zip(_mapped(values, limits, COLOUR_MAPS[kind]), (below, "", above), values, strict=True)
    return [
        LegendEntry(f"{name} {sign}{number_text(float(value))} {unit}".strip(), "#{:02x}{:02x}{:02x}".format(*colour))
        for colour, sign, value in shown
    ]


def legend_patch(entry: LegendEntry) -> Patch:
    """An entry as Matplotlib draws it."""
    from matplotlib.patches import Patch

    if entry.hatched:
        return Patch(facecolor=entry.colour, edgecolor="#787878", hatch="////", label=entry.text)
    return Patch(facecolor=entry.colour, label=entry.text)


def picture_figure(picture: Picture, subtitle: str = "") -> Figure:
    """The picture with title, unit and colour bar or legend, for reports and for looking at."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    colours = render(picture)
    height, width = colours.shape[:2]
    patches = [legend_patch(entry) for entry in legend_entries(picture)]
    below = (0.8 if picture.kind in COLOUR_MAPS else 0.0) + 0.25 * -(-len(patches) // 4)
    figure = Figure(figsize=(8.0, 8.0 * height / width + 0.8 + below), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(colours, interpolation="nearest" if width < 900 else "antialiased")
    axes.set_axis_off()
    axes.set_title(f"{picture.title}\n{subtitle}" if subtitle else picture.title, fontsize=11, loc="left")
    if picture.kind in COLOUR_MAPS:
        low, high = picture_limits(picture)
        mappable = ScalarMappable(Normalize(low, high), COLOUR_MAPS[picture.kind])
        bar = figure.colorbar(
            mappable, ax=axes, orientation="horizontal", fraction=0.05, pad=0.02, extend=EXTENDS[picture.kind]
        )
        bar.set_label(picture.unit or "")
    if patches:
        axes.legend(
            handles=patches, loc="upper center", bbox_to_anchor=(0.5, -0.01), ncols=min(4, len(patches)), fontsize=8,
            frameon=False,
        )  # fmt: skip
    FigureCanvasAgg(figure)
    return figure


def panels_figure(pictures: Sequence[Picture], columns: int = 3) -> Figure:
    """Pictures side by side under their titles; one that needs a colour bar is better drawn alone."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = max(1, min(columns, len(pictures)))
    down = max(1, -(-len(pictures) // across))
    shape = pictures[0].values.shape if pictures else (1, 1)
    wide = PANELS_WIDTH / across
    figure = Figure(figsize=(PANELS_WIDTH, down * (wide * shape[0] / shape[1] + 0.35)), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    for axes in grid.ravel():
        axes.set_axis_off()
    for axes, picture in zip(grid.ravel(), pictures, strict=False):
        axes.imshow(render(picture), interpolation="antialiased")
        axes.set_title(picture.title, fontsize=9, loc="left")
    FigureCanvasAgg(figure)
    return figure


def save_picture(path: Path, picture: Picture, subtitle: str = "") -> None:
    """The annotated picture as a file; the suffix chooses PNG, SVG or PDF."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(picture_figure(picture, subtitle), path.suffix.lstrip(".").lower(), 110))


def encoded(figure: Figure, kind: str, dpi: int = 200) -> bytes:
    """A Matplotlib figure as PNG, SVG or PDF; the same data give the same bytes."""
    check_format(kind)
    stream = io.BytesIO()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    figure.savefig(stream, format=kind, dpi=dpi, metadata=undated)
    return stream.getvalue()


class PictureFigure:
    """A figure of pictures that Matplotlib draws; a subclass says how in `figure`."""

    def figure(self) -> Figure:
        """The drawn figure."""
        raise NotImplementedError

    def encoded(self, kind: str) -> bytes:
        """The figure as PNG, SVG or PDF."""
        return encoded(self.figure(), kind)

    def save(self, path: Path) -> Path:
        """Write the figure in the format of the path's suffix."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.encoded(path.suffix.lstrip(".").lower()))
        return path

    def _repr_png_(self) -> bytes:
        return self.encoded("png")


def captioned_figure(
    width: float, height: float, title: str, caption: str, legend: Sequence[LegendEntry] = ()
) -> Figure:
    """An empty figure with its title above, and the legend and the selection below; `height` is for the pictures."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    above = textwrap.wrap(title, max(20, int(width * 72 / (HEAD * 0.56))))
    below = textwrap.wrap(caption, max(30, int(width * 72 / (SMALL * 0.55))))
    longest = max((len(entry.text) for entry in legend), default=0)
    columns = max(1, min(5, int(width * 72 / (SMALL * (0.56 * longest + 3.2)))))
    foot = SMALL * 1.25 / 72 * len(below) + 0.06
    rows = -(-len(legend) // columns)
    bottom = foot + (SMALL * 1.55 / 72 * rows + 0.08 if rows else 0.0)
    total = height + HEAD * 1.35 / 72 * len(above) + 0.06 + bottom
    inside = (0, bottom / total, 1, height / total)
    layout = ConstrainedLayoutEngine(rect=inside, w_pad=0.01, h_pad=0.01, wspace=0.005, hspace=0.005)
    figure = Figure(figsize=(width, total), layout=layout)
    FigureCanvasAgg(figure)
    figure.text(0.01, 1 - 0.04 / total, "\n".join(above), fontsize=HEAD, color=INK, va="top")
    figure.text(0.01, 0.04 / total, "\n".join(below), fontsize=SMALL, color=MUTED, va="bottom", linespacing=1.15)
    if rows:
        figure.legend(
            handles=[legend_patch(entry) for entry in legend], loc="lower center", bbox_to_anchor=(0.5, foot / total),
            ncols=min(columns, len(legend)), fontsize=SMALL, frameon=False, borderpad=0.1, borderaxespad=0.2,
            labelspacing=0.35, columnspacing=1.2, handletextpad=0.5, handlelength=1.4,
        )  # fmt: skip
    return figure


class Panel(NamedTuple):
    """A picture of a grid with the text above and below it."""

    picture: Colours
    above: str = ""
    below: str = ""


def grid_figure(
    title: str, caption: str, rows: Sequence[Sequence[Panel]], legend: Sequence[LegendEntry] = (), columns: int = 0
) -> Figure:
    """Panels in rows; a picture is as wide as `columns` of them in a page, or as the longest row needs."""
    count = max(len(row) for row in rows)
    across = WIDTH / max(columns, count)
    line = SMALL * 1.3 / 72
    tall = []
    for row in rows:
        shape = row[0].picture.shape
        texts = max(_lines(panel.above) for panel in row) + max(_lines(panel.below) for panel in row)
        tall.append(across * shape[0] / shape[1] + line * texts + 0.05)
    width = max(across * count, WIDTH / 2)
    figure = captioned_figure(width, sum(tall), title, caption, legend)
    grid = figure.subplots(len(rows), count, squeeze=False, height_ratios=tall)
    for axes in grid.ravel():
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_frame_on(False)
    for place, row in enumerate(rows):
        above = max(_lines(panel.above) for panel in row)
        for axes, panel in zip(grid[place], row, strict=False):
            axes.imshow(panel.picture, interpolation="antialiased")
            if panel.below:
                axes.set_xlabel(panel.below, fontsize=SMALL - 1, labelpad=1)
            if above:
                axes.set_title("\n".join([" "] * above), fontsize=SMALL, pad=2)  # keeps the room of the text
                text = axes.annotate(
                    panel.above, (0, 1), (0, 2), xycoords="axes fraction", textcoords="offset points", fontsize=SMALL
                )
                text.set_in_layout(False)  # it may be wider than its picture
    return figure


def _lines(text: str) -> int:
    return text.count("\n") + 1 if text else 0
