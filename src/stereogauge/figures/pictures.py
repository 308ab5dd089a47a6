"""Per-pixel pictures as colours, and figures of pictures with titles, colour bar, legend and captions.

Errors: plasma, clipped at a stated value. Signed values: blue to red around white. Black = no ground truth; hatched =
no estimate. Disparities: viridis over a fixed range.

A figure is one SVG document with the pictures inside; vl-convert makes PNG and PDF of it, as of charts.
"""

from __future__ import annotations

import base64
import functools
import re
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.figures.chart import CONFIG, PAGE, SCALE, encoded
from stereogauge.figures.palette import INK, MUTED
from stereogauge.metrics.picture import Picture
from stereogauge.model import DisparityMap, Mask
from stereogauge.text import number_text

Colours = NDArray[np.uint8]
COLOUR_MAPS = {"sequential": 0, "diverging": 1, "cyclic": 2, "disparity": 3}
"""Kinds of pictures with a colour scale, and the row of `assets/colour-maps.png`: plasma, RdBu_r, twilight, viridis."""
EXTENDS = {"sequential": "max", "diverging": "both", "cyclic": "neither", "disparity": "neither"}
UNKNOWN = (0, 0, 0)
HATCH_LIGHT, HATCH_DARK = (225, 225, 225), (120, 120, 120)
HATCH_PERIOD = 6  # px between the hatching's lines
TEXT, HEAD = 8.7, 12.0  # px
LINE = 1.3  # height of a line, in font sizes
GAP = 4.0  # px
SWATCH = 12.0  # px
BAR = 9.0  # px: height of a colour bar
WIDE = 0.56  # mean width of a letter, in font sizes
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f]")


@functools.cache
def colour_table(kind: str) -> Colours:
    """The 256 colours of a kind of picture, from low to high values."""
    import cv2

    content = resources.files("stereogauge.figures").joinpath("assets", "colour-maps.png").read_bytes()
    tables = np.asarray(cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR), np.uint8)
    return tables[COLOUR_MAPS[kind], :, ::-1]


def _mapped(values: NDArray[np.floating], limits: tuple[float, float], kind: str) -> Colours:
    low, high = limits
    span = high - low if high > low else 1.0
    level = np.clip((np.nan_to_num(values, nan=low) - low) / span, 0.0, 1.0)
    return _indexed((level * 255).round().astype(np.uint8), colour_table(kind))


def _indexed(places: NDArray[np.uint8], table: Colours) -> Colours:
    """The colour of each place in a table of 256."""
    import cv2

    channels = np.atleast_2d(places)[..., None].repeat(3, axis=2)
    return np.asarray(cv2.LUT(channels, table[None]), np.uint8).reshape(*places.shape, 3)


def _hatch(colours: Colours, missing: Mask) -> None:
    """Draw diagonal lines into these pixels, so that a missing estimate is recognised without colour."""
    y, x = np.nonzero(missing)
    dark = (x + y) % HATCH_PERIOD < 2
    colours[y, x] = np.array([HATCH_LIGHT, HATCH_DARK], np.uint8)[dark.astype(np.uint8)]


def _over_backdrop(colours: Colours, empty: Mask, image: NDArray[np.uint8] | None) -> Colours:
    """The same with pale pixels of the image, or white where there is none, in the empty places."""
    if not empty.any():
        return colours
    if image is None:
        colours[empty] = 255
    else:
        grey = image[empty] if image.ndim == 2 else image[empty].mean(axis=1)
        colours[empty] = (128 + grey[:, None] / 2).astype(np.uint8)
    return colours


def picture_limits(picture: Picture) -> tuple[float, float]:
    """The picture's own limits, or those of its finite values."""
    return disparity_limits(picture.values) if picture.limits is None else picture.limits


def render(picture: Picture) -> Colours:
    """The picture as RGB, pixel for pixel."""
    if picture.kind == "rgb":
        colours = np.array(picture.values, dtype=np.uint8)
    elif picture.kind == "labels":
        places = np.zeros(picture.values.shape, np.uint8)
        table = np.zeros((256, 3), np.uint8)
        for place, (value, (_, colour)) in enumerate(picture.legend.items(), 1):
            places[picture.values == value] = place
            table[place] = np.frombuffer(bytes.fromhex(colour[1:]), np.uint8)
        colours = _over_backdrop(_indexed(places, table), places == 0, picture.backdrop)
    else:
        colours = _mapped(picture.values, picture_limits(picture), picture.kind)
        colours = _over_backdrop(colours, np.isnan(picture.values), picture.backdrop)
    if picture.missing is not None:
        _hatch(colours, picture.missing)
    if picture.unknown is not None:
        colours[picture.unknown] = UNKNOWN
    return colours


def render_disparity(disparity: DisparityMap, limits: tuple[float, float]) -> Colours:
    """A disparity map over a fixed range; unknown pixels hatched."""
    colours = _mapped(disparity, limits, "disparity")
    _hatch(colours, np.isnan(disparity))
    return colours


def disparity_limits(truth: NDArray[Any]) -> tuple[float, float]:
    """The range in which all maps of a scene are drawn: that of its ground truth."""
    known = truth[np.isfinite(truth)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)


def image_colours(image: NDArray[Any]) -> Colours:
    """An image of 8 or 16 bits, grey or in colours, as RGB."""
    plain = image if image.dtype == np.uint8 else np.clip(image / (257.0 if image.dtype == np.uint16 else 1), 0, 255)
    return np.asarray(np.repeat(plain[..., None], 3, axis=2) if plain.ndim == 2 else plain, np.uint8)


def narrowed(colours: Colours, widest: float) -> Colours:
    """A picture that is at most `widest` pixels wide."""
    import cv2

    height, width = colours.shape[:2]
    if width <= widest:
        return colours
    size = (round(widest), max(1, round(height * widest / width)))
    return np.asarray(cv2.resize(colours, size, interpolation=cv2.INTER_AREA), np.uint8)


def png_bytes(colours: Colours) -> bytes:
    """Colours as the content of a PNG file, pixel for pixel."""
    import cv2

    return np.asarray(cv2.imencode(".png", cv2.cvtColor(colours, cv2.COLOR_RGB2BGR))[1]).tobytes()


def write_png(path: Path, colours: Colours) -> None:
    """Colours as a PNG file, pixel for pixel."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png_bytes(colours))


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


def scale_marks(kind: str, limits: tuple[float, float], count: int) -> list[tuple[float, str]]:
    """Evenly spaced values of a colour scale with their texts; ≤ and ≥ where the ends hold all values beyond."""
    values = np.linspace(*limits, count).tolist()
    signs = [""] * count
    signs[0] = "≤ " if EXTENDS[kind] == "both" else ""
    signs[-1] = "≥ " if EXTENDS[kind] in ("both", "max") else ""
    return [(value, sign + number_text(value)) for value, sign in zip(values, signs, strict=True)]


def scale_entries(name: str, kind: str, limits: tuple[float, float], unit: str) -> list[LegendEntry]:
    """Both ends and the middle of a colour scale, for a legend without a colour bar."""
    marks = scale_marks(kind, limits, 3)
    shades = _mapped(np.array([value for value, _ in marks]), limits, kind)
    return [
        LegendEntry(f"{name} {text} {unit}".strip(), "#{:02x}{:02x}{:02x}".format(*shade))
        for (_, text), shade in zip(marks, shades, strict=True)
    ]


class Crop(NamedTuple):
    """A part of an image, in px."""

    x: int
    y: int
    width: int
    height: int

    @property
    def inside(self) -> tuple[slice, slice]:
        """Its rows and columns, to index an image with."""
        return slice(self.y, self.y + self.height), slice(self.x, self.x + self.width)


SMALL_SET = 0.02  # share of the image below which a set of pixels is shown as crops
CROP_SHARE = 0.16  # of the image's width and height: the least crop
MOST_CROPS, ABREAST = 6, 3


def set_crops(inside: Mask) -> list[Crop]:
    """The parts of the image that hold a small set of pixels, those with most of its pixels first.

    >>> inside = np.zeros((100, 200), bool)
    >>> inside[10:14, 20:24] = inside[80:90, 150] = True
    >>> set_crops(inside)
    [Crop(x=5, y=3, width=33, height=17), Crop(x=133, y=76, width=34, height=18)]
    """
    import cv2

    height, width = inside.shape
    reach = max(1, round(CROP_SHARE * width / 4))
    square = np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)
    near = cv2.dilate(inside.astype(np.uint8), square)
    number, labels, boxes, _ = cv2.connectedComponentsWithStats(near, connectivity=8)
    pixels = np.bincount(labels[inside], minlength=number)
    crops = []
    for part in np.argsort(-pixels[1:], kind="stable")[:MOST_CROPS] + 1:
        left, top, wide, tall = (int(side) for side in boxes[part][:4])
        spans = [
            _span(left, wide, round(CROP_SHARE * width), width),
            _span(top, tall, round(CROP_SHARE * height), height),
        ]
        crops.append(Crop(spans[0][0], spans[1][0], spans[0][1], spans[1][1]))
    return crops


def _span(start: int, length: int, least: int, limit: int) -> tuple[int, int]:
    """Start and length of a side, widened around its middle to at least `least` and kept inside the image."""
    wider = min(max(length, least), limit)
    return min(max(start - (wider - length) // 2, 0), limit - wider), wider


def shown_pixels(picture: Picture) -> Mask:
    """The pixels of a picture that are neither background nor missing."""
    if picture.kind == "labels":
        return np.isin(picture.values, list(picture.legend))
    return np.isfinite(picture.values) if picture.kind != "rgb" else np.ones(picture.values.shape[:2], np.bool_)


class PicturePanel(NamedTuple):
    """A picture of a figure with the text above and below it, and SVG marks over it, in its own pixels."""

    picture: Colours
    above: str = ""
    below: str = ""
    marks: str = ""


class PictureFigure(Struct, frozen=True, eq=False, dict=True):
    """A figure of pictures: rows of panels under a title, then colour bar, legend and caption.

    `columns` is the number of pictures side by side that fill the width; 0 takes the longest row. `scale` is a picture
    for which a colour bar is drawn.
    """

    title: str
    caption: str
    rows: Sequence[Sequence[PicturePanel]]
    legend: Sequence[LegendEntry] = ()
    columns: int = 0
    scale: Picture | None = None

    def svg(self, *, sharp: bool = False) -> str:
        """The figure as one SVG document; `sharp` pictures are drawn without smoothing, in a third of the time."""
        return self._page.document(sharp=sharp)

    @functools.cached_property
    def _page(self) -> _Page:
        longest = max(map(len, self.rows))
        across = PAGE / max(self.columns, longest)
        page = _Page(max(across * longest, PAGE / 2))
        page.text(self.title, HEAD, bold=True)
        for row in self.rows:
            page.row(row, across)
        if self.scale is not None:
            page.colour_bar(self.scale)
        page.legend(self.legend)
        page.text(self.caption, TEXT, MUTED)
        return page

    def encoded(self, kind: str, scale: float = SCALE) -> bytes:
        """The figure as PNG (`scale` pixels per px of the figure), SVG or PDF; the same data give the same picture."""
        # The pictures inside already have the resolution of a PNG.
        return encoded(self.svg(sharp=kind == "png"), kind, scale)

    def save(self, path: Path, scale: float = SCALE) -> Path:
        """Write the figure in the format of the path's suffix."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.encoded(path.suffix.lstrip(".").lower(), scale))
        return path

    def _repr_png_(self) -> bytes:
        return self.encoded("png")


class _Page:
    """An SVG document that grows downwards."""

    def __init__(self, width: float) -> None:
        self.width, self.height = width, GAP
        self.parts: list[str] = []

    def text(self, text: str, size: float, colour: str = INK, *, bold: bool = False) -> None:
        """A paragraph over the whole width."""
        lines = list(_wrapped(text, self.width - 2 * GAP, size * (1.1 if bold else 1)))
        for place, line in enumerate(lines):
            self._line(line, GAP, self.height + size * (1 + LINE * place), size, colour, bold=bold)
        self.height += size * LINE * len(lines) + (GAP if lines else 0)

    def row(self, panels: Sequence[PicturePanel], across: float) -> None:
        """Pictures side by side, each `across` px wide; a single text above them may use the whole row."""
        alone = sum(bool(panel.above) for panel in panels) == 1
        above = [list(_wrapped(panel.above, self.width if alone else across - GAP, TEXT)) for panel in panels]
        below = [list(_wrapped(panel.below, across - GAP, TEXT)) for panel in panels]
        top = self.height + TEXT * LINE * max(map(len, above))
        tall = max((across - GAP) * panel.picture.shape[0] / panel.picture.shape[1] for panel in panels)
        for place, panel in enumerate(panels):
            left = place * across + GAP / 2
            for number, line in enumerate(above[place]):
                self._line(line, left, self.height + TEXT * (1 + LINE * number), TEXT)
            self._picture(panel, left, top, across - GAP)
            for number, line in enumerate(below[place]):
                self._line(line, left, top + tall + TEXT * (1.1 + LINE * number), TEXT)
        self.height = top + tall + GAP + TEXT * LINE * max(map(len, below))

    def colour_bar(self, picture: Picture) -> None:
        """The colour scale of a picture with values and unit."""
        left, wide = self.width / 6, self.width * 2 / 3
        low, high = limits = picture_limits(picture)
        strip = np.repeat(colour_table(picture.kind)[None], 2, axis=0)
        self._image(strip, f'x="{left:.1f}" y="{self.height:.1f}" width="{wide:.1f}" height="{BAR}"')
        for value, text in scale_marks(picture.kind, limits, 5):
            x = left + wide * ((value - low) / (high - low) if high > low else 0.0)
            self._line(text, x, self.height + BAR + TEXT * 1.1, TEXT, anchor="middle")
        self._line(picture.unit, left + wide / 2, self.height + BAR + TEXT * 2.4, TEXT, anchor="middle")
        self.height += BAR + TEXT * 2.4 + 2 * GAP

    def legend(self, entries: Sequence[LegendEntry]) -> None:
        """Colours and their meanings in as many columns as fit."""
        if not entries:
            return
        longest = max(len(entry.text) for entry in entries)
        columns = max(1, int(self.width / (WIDE * TEXT * longest + SWATCH + 4 * GAP)))
        for place, (text, colour, hatched) in enumerate(entries):
            x = GAP + (place % columns) * self.width / columns
            y = self.height + (place // columns) * SWATCH * 1.2
            box = f'x="{x:.1f}" y="{y:.1f}" width="{SWATCH}" height="{SWATCH * 0.75}"'
            self.parts.append(f'<rect {box} fill="{"url(#hatched)" if hatched else escape(colour)}"/>')
            self._line(text, x + SWATCH + GAP, y + TEXT * 0.9, TEXT)
        self.height += -(-len(entries) // columns) * SWATCH * 1.2 + GAP

    def document(self, *, sharp: bool) -> str:
        """All of it."""
        parts = "".join(self.parts)
        if sharp:
            parts = parts.replace("<image ", '<image image-rendering="optimizeSpeed" ')
        size = f'width="{self.width:.0f}" height="{self.height:.0f}"'
        hatching = (
            f'<defs><pattern id="hatched" width="{HATCH_PERIOD}" height="{HATCH_PERIOD}" '
            f'patternUnits="userSpaceOnUse"><rect width="{HATCH_PERIOD}" height="{HATCH_PERIOD}" '
            f'fill="rgb{HATCH_LIGHT}"/><path d="M-1,{HATCH_PERIOD + 1}L{HATCH_PERIOD + 1},-1" '
            f'stroke="rgb{HATCH_DARK}" stroke-width="1.5"/></pattern></defs>'
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" {size} '
            f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" font-family="{CONFIG["font"]}">{hatching}'
            f'<rect width="100%" height="100%" fill="white"/>{parts}</svg>'
        )

    def _picture(self, panel: PicturePanel, left: float, top: float, wide: float) -> None:
        height, width = panel.picture.shape[:2]
        factor = wide / width
        place = f'x="{left:.1f}" y="{top:.1f}" width="{wide:.2f}" height="{wide * height / width:.2f}"'
        self._image(narrowed(panel.picture, wide * SCALE), place)
        if panel.marks:
            self.parts.append(f'<g transform="translate({left:.1f},{top:.1f}) scale({factor:.4f})">{panel.marks}</g>')

    def _image(self, colours: Colours, place: str) -> None:
        content = base64.b64encode(png_bytes(colours)).decode()
        self.parts.append(f'<image {place} preserveAspectRatio="none" xlink:href="data:image/png;base64,{content}"/>')

    def _line(
        self, text: str, x: float, y: float, size: float, colour: str = INK, *, bold: bool = False, anchor: str = ""
    ) -> None:
        style = (f' text-anchor="{anchor}"' if anchor else "") + (' font-weight="bold"' if bold else "")
        shown = escape(UNPRINTABLE.sub("", text))
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}"{style}>{shown}</text>')


def _wrapped(text: str, width: float, size: float) -> Iterator[str]:
    """The lines of a text that fit into `width` px, its own line breaks kept."""
    letters = max(8, int(width / (WIDE * size)))
    for line in text.splitlines():
        yield from textwrap.wrap(line, letters, break_on_hyphens=False) or [""]


def picture_row(heading: str, pictures: Sequence[Colours], captions: Sequence[str]) -> list[PicturePanel]:
    """Pictures side by side under a heading, each with its caption."""
    captioned = zip(pictures, captions, strict=True)
    return [PicturePanel(one, "" if place else heading, below) for place, (one, below) in enumerate(captioned)]


def picture_crops(picture: Picture) -> list[tuple[Crop, int]]:
    """The parts of a picture that hold its pixels, each with their number; none where they are no small set.

    A small set over the image would be a few coloured pixels of the whole.
    """
    shown = shown_pixels(picture)
    if picture.backdrop is None or not 0 < np.count_nonzero(shown) < SMALL_SET * shown.size:
        return []
    return [(crop, int(np.count_nonzero(shown[crop.inside]))) for crop in set_crops(shown)]


def picture_figure(picture: Picture, subtitle: str = "") -> PictureFigure:
    """The picture with title, unit and colour bar or legend, for reports and for looking at.

    A small set of pixels over the image is shown as crops of that set, below the whole image with their frames.
    """
    scale = picture if picture.kind in COLOUR_MAPS else None
    colours, crops = render(picture), picture_crops(picture)
    stroke = max(1.0, colours.shape[1] / 300)
    frames = "".join(
        f'<rect x="{crop.x}" y="{crop.y}" width="{crop.width}" height="{crop.height}" fill="none" stroke="{INK}" '
        f'stroke-width="{stroke:.1f}"/>'
        for crop, _ in crops
    )
    parts = [PicturePanel(colours[crop.inside], "", f"{size} px at x {crop.x}, y {crop.y}") for crop, size in crops]
    whole = [PicturePanel(colours, subtitle, marks=frames)]
    rows = [whole, *(parts[place : place + ABREAST] for place in range(0, len(parts), ABREAST))]
    return PictureFigure(picture.title, "", rows, legend_entries(picture), scale=scale)


def panels_figure(pictures: Sequence[Picture]) -> PictureFigure:
    """Pictures side by side under their titles; one that needs a colour bar is better drawn alone."""
    panels = [PicturePanel(render(picture), picture.title) for picture in pictures]
    across = max(1, min(ABREAST, len(panels)))
    rows = [panels[start : start + across] for start in range(0, len(panels), across)]
    return PictureFigure("", "", rows, columns=across)


def file_name(text: str) -> str:
    """`text` as a file name that every system accepts."""
    text = text.replace("&", "+").replace("|", "_or_")
    return re.sub(r"[^\w.@+-]+", "-", text).strip("-.") or "unnamed"


def save_picture(path: Path, picture: Picture, subtitle: str = "") -> None:
    """The annotated picture as a file; the suffix chooses PNG, SVG or PDF."""
    picture_figure(picture, subtitle).save(path, 1.3)
