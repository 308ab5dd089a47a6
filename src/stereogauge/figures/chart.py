"""Charts: tidy rows and one Vega-Lite declaration, from which every picture of the chart is drawn.

A `Chart` is a plain value. `encoded` and `save` draw it as PNG, SVG or PDF with vl-convert, without a browser or a
network; `save_page` writes a page with hover texts; `page_spec` is what the site and the report draw in the browser;
a notebook shows the declaration itself. `csv` holds the rows behind it. The functions below shorten the parts of a
declaration that most charts share; what they return is Vega-Lite (https://vega.github.io/vega-lite/docs/).
"""

from __future__ import annotations

import functools
import json
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from stereogauge.errors import StereogaugeError
from stereogauge.figures.palette import FAINT, INK, MUTED, Styles
from stereogauge.paths import cache_folder
from stereogauge.tables.formats import csv_table
from stereogauge.tables.table import of_records

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Spec = dict[str, Any]
Row = Mapping[str, Any]
FORMATS = ("png", "svg", "pdf")
COLUMN, PAGE = 336, 687
"""Widths of a column and of a page of a two-column paper, in px at 96 px per inch."""
ROW = 17
"""Height of a row of names, in px."""
LETTER = 6.2  # px per letter of labels and captions
ABREAST = 3
"""The most panels side by side."""
SCALE = 2.1  # pixels of a PNG per px: about 200 per inch
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
HIDDEN, EMPHASIS = "hidden", "emphasis"
"""Parameters that a page may set: the series that are not drawn, and the one that is emphasised."""
ZOOM = {
    "type": "interval",
    "translate": "[mousedown, window:mouseup] > window:mousemove!",
    "zoom": "wheel![event.shiftKey]",
}
"""Only a mouse moves a chart, so that a finger scrolls the page."""
CONFIG: Spec = {
    "background": "white",
    "font": "Helvetica, Arial, DejaVu Sans, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 10, "titleFontSize": 10.5, "titleFontWeight": "normal", "labelColor": INK, "titleColor": INK,
        "gridColor": FAINT, "domainColor": MUTED, "tickColor": MUTED, "labelLimit": 260, "titleLimit": 400,
        "titlePadding": 5,
    },
    "legend": {
        "orient": "bottom", "labelFontSize": 10, "titleFontSize": 10, "titleFontWeight": "normal", "labelLimit": 420,
        "labelColor": INK, "rowPadding": 3, "columnPadding": 12, "symbolSize": 55, "offset": 8,
        "layout": {"bottom": {"anchor": "start", "direction": "vertical"}},
    },
    "header": {"labelFontSize": 10.5, "labelColor": INK, "labelAnchor": "start", "title": None},
    "title": {
        "anchor": "start", "fontSize": 11.5, "fontWeight": "bold", "color": INK, "subtitleFontSize": 9.5,
        "subtitleColor": MUTED, "offset": 10, "subtitlePadding": 5,
    },
    "text": {"fontSize": 10, "color": INK},
    "line": {"strokeWidth": 1.4},
    "point": {"filled": True, "opacity": 1},
    "concat": {"spacing": 16},
    "facet": {"spacing": 16},
}  # fmt: skip


class Chart(Struct, frozen=True, dict=True):
    """A chart: what it is called, the selection that it shows, its tidy rows, and the Vega-Lite view over them.

    `series` names the field whose values a page can hide by their names in the legend.
    """

    title: str
    caption: str
    rows: Sequence[Row]
    view: Spec
    series: str = ""

    def column(self, name: str) -> list[Any]:
        """The values of one field in the order of the rows."""
        return [row.get(name) for row in self.rows]

    def page_spec(self) -> Spec:
        """The declaration without title and style, for a page that has its own."""
        spec: Spec = {"$schema": SCHEMA, "data": {"values": [dict(row) for row in self.rows]}, **self.view}
        spec["usermeta"] = {"series": self.series}
        spec["params"] = [{"name": HIDDEN, "value": []}, {"name": EMPHASIS, "value": None}, *spec.get("params", ())]
        if self.series:
            shown = {"filter": f"indexof({HIDDEN}, datum.{self.series}) < 0"}
            spec["transform"] = [shown, *spec.get("transform", ())]
        cleaned: Spec = plain(spec)
        return cleaned

    def spec(self) -> Spec:
        """The whole declaration: data, view, title with the selection below it, and style."""
        wide = max(COLUMN, _width(self.view))
        own = self.view.get("title", {}).get("text", "")
        caption = " · ".join(text for text in (own, self.caption) if text)
        title = {
            "text": textwrap.wrap(self.title, int(wide / 7.7)),
            "subtitle": textwrap.wrap(caption, int(wide / 5.4)),
        }
        return {**self.page_spec(), "title": title, "config": CONFIG}

    @functools.cached_property
    def svg(self) -> str:
        """The drawn chart, from which the other formats are made."""
        import vl_convert

        return str(vl_convert.vegalite_to_svg(self.spec()))

    @property
    def script(self) -> str:
        """The whole declaration as JSON that cannot end the script element around it."""
        return json.dumps(self.spec()).replace("<", "\\u003c")

    def csv(self) -> str:
        """The rows behind the chart."""
        return csv_table(of_records("rows", [plain(dict(row)) for row in self.rows]))

    def encoded(self, kind: str) -> bytes:
        """The chart as PNG, SVG or PDF; the same data give the same picture (and the same bytes of a PNG)."""
        check_format(kind)
        return encoded(self.svg, kind)

    def save(self, path: Path) -> Path:
        """Write the chart in the format of the suffix: a picture, .csv for its rows, .html for a page."""
        path.parent.mkdir(parents=True, exist_ok=True)
        kind = path.suffix.lstrip(".").lower()
        if kind == "csv":
            path.write_text(self.csv(), encoding="utf-8")
        elif kind == "html":
            self._save_page(path)
        else:
            path.write_bytes(self.encoded(kind))
        return path

    def _save_page(self, path: Path) -> None:
        """Write a page with hover texts; pages in one folder share the script beside them."""
        script = path.parent / "vega.js"
        if not script.exists():
            script.write_text(vega_script(), encoding="utf-8")
        path.write_text(
            '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f'<title>Stereogauge</title><script src="{script.name}"></script><div id="chart"></div>'
            f'<script>vegaEmbed("#chart", {self.script}, {{renderer: "svg"}})</script></html>\n',
            encoding="utf-8",
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"application/vnd.vegalite.v6+json": self.spec(), "image/png": self.encoded("png")}


def encoded(svg: str, kind: str, scale: float = SCALE) -> bytes:
    """A drawn figure as PNG (`scale` pixels per px), SVG or PDF."""
    import vl_convert

    check_format(kind)
    if kind == "png":
        return bytes(vl_convert.svg_to_png(svg, scale=scale))
    return bytes(vl_convert.svg_to_pdf(svg)) if kind == "pdf" else svg.encode()


def check_format(kind: str) -> None:
    """Refuse a format that figures are not written in."""
    if kind not in FORMATS:
        raise StereogaugeError(f"Figures are written as {', '.join(FORMATS)}; found {kind!r}.")


def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that defines `vegaEmbed`."""
    return vega_file().read_text(encoding="utf-8")


@functools.cache
def vega_file() -> Path:
    """The file of that script, made from vl-convert's own copy of the libraries (BSD 3-clause licence).

    Making it takes two seconds and 100 MB, so it is kept in the cache folder, by the versions.
    """
    import vl_convert

    lite = vl_convert.get_vegalite_versions()[-1]
    kept = cache_folder("scripts") / f"vega-{vl_convert.get_vega_version()}-{lite}.js"
    if not kept.exists():
        made = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
        unfinished = kept.with_suffix(".new")
        unfinished.write_text(made, encoding="utf-8")
        unfinished.replace(kept)
    return kept


def plain(value: Any) -> Any:
    """A value as JSON knows it: NumPy's numbers as Python's, and None for what is not finite."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _width(view: Spec) -> float:
    """About how wide a view is, in px."""
    if "concat" in view:
        across = min(view.get("columns", 1), len(view["concat"]))
        return float(across * (_width(view["concat"][0]) - 40))
    if "vconcat" in view:
        return _width(view["vconcat"][0])
    return float(view["width"]) + (0 if "autosize" in view else 100)


def quantity(name: str, title: str | list[str] | None = None, **options: Any) -> Spec:
    """A channel of numbers."""
    return {"field": name, "type": "quantitative", "title": title, **options}


def around(values: Iterable[float]) -> Spec:
    """A scale around these values, not from 0; also around a single one, which Vega would label with a rounded 0."""
    known = [value for value in values if math.isfinite(value)]
    if not known or min(known) < max(known):
        return {"zero": False}
    margin = 0.1 * abs(known[0]) or 1.0
    return {"zero": False, "domain": [known[0] - margin, known[0] + margin]}


def names(name: str, order: Sequence[Any] | None = None, title: str | None = None, **options: Any) -> Spec:
    """A channel of names, in the given order or in that of the rows."""
    scale = {**options.pop("scale", {}), **({} if order is None else {"domain": list(order)})}
    return {"field": name, "type": "nominal", "title": title, "sort": None, "scale": scale, **options}


def scaled(name: str, values: Mapping[str, Any], width: float = COLUMN, **options: Any) -> Spec:
    """A channel with a stated value per name (colours, shapes, dashes), and a legend that fits into `width` px."""
    longest = max(map(len, values), default=1)
    legend = {"title": None, "columns": max(1, int(width / (LETTER * longest + 34)))}
    scale = {"domain": list(values), "range": list(values.values())}
    return {"field": name, "type": "nominal", "scale": scale, "legend": legend, "title": None, **options}


def algorithm_marks(styles: Styles, width: float = COLUMN, name: str = "algorithm", **options: Any) -> Spec:
    """The channels that colour and shape the marks of algorithms."""
    return {
        "color": scaled(name, {one: style.colour for one, style in styles.items()}, width, **options),
        "shape": scaled(name, {one: style.shape for one, style in styles.items()}, width, **options),
    }


def hover(*shown: str | tuple[str, str] | tuple[str, str, str]) -> list[Spec]:
    """The fields of a hover text, each with its title and d3 format; without a title the field's own name."""
    parts = [(one, one) if isinstance(one, str) else one for one in shown]
    return [{"field": part[0], "title": part[1], **({"format": part[2]} if len(part) > 2 else {})} for part in parts]


def layer(
    kind: str,
    encoding: Spec,
    data: Iterable[Row] | None = None,
    *,
    where: str = "",
    calculate: Mapping[str, str] | None = None,
    **style: Any,
) -> Spec:
    """One layer of marks over the chart's rows, or over rows of its own.

    `where` is a Vega expression about `datum` that is true of the rows to draw; `calculate` gives them further fields,
    each by an expression.
    """
    drawn: Spec = {} if data is None else {"data": {"values": list(data)}}
    steps = [{"filter": where}] if where else []
    steps += [{"calculate": value, "as": name} for name, value in (calculate or {}).items()]
    return {**drawn, **({"transform": steps} if steps else {}), "mark": {"type": kind, **style}, "encoding": encoding}


def tidy(**columns: Any) -> list[Row]:
    """Rows from columns of one length; what is no list or array is the same in every row.

    >>> tidy(algorithm="A", density=[0, 1])
    [{'algorithm': 'A', 'density': 0}, {'algorithm': 'A', 'density': 1}]
    """
    several = {name: one for name, one in columns.items() if isinstance(one, Iterable) and not isinstance(one, str)}
    return [columns | dict(zip(several, row, strict=True)) for row in zip(*several.values(), strict=True)]


def equal(name: str, value: Any) -> str:
    """A test of a field, as an expression."""
    return f"datum.{name} === {quoted(value)}"


def quoted(value: Any) -> str:
    """A text or number as a constant of a Vega expression."""
    return json.dumps(value)


def emphasis(name: str) -> Spec:
    """The opacity of a series: faint while another one is emphasised."""
    test = f"{EMPHASIS} === null || datum.{name} === {EMPHASIS}"
    return {"condition": {"test": test, "value": 1}, "value": 0.2}


def heading(text: str, **style: Any) -> Spec:
    """The title of a panel."""
    return {"text": text, "anchor": "start", "fontWeight": "normal", "fontSize": 10, "offset": 4, **style}


def layered(
    *layers: Spec, width: float = COLUMN, height: float = 200, where: str = "", zoom: str = "", **options: Any
) -> Spec:
    """Layers over each other; `width` includes the axes, `height` does not.

    `where` is true of the chart's rows to draw. `zoom` names a parameter by which a visitor moves (drag) and zooms
    (Shift and wheel) the axes of the last layer.
    """
    drawn = list(layers)
    if zoom:
        drawn[-1] = {**drawn[-1], "params": [{"name": zoom, "select": ZOOM, "bind": "scales"}]}
    if where:
        options["transform"] = [{"filter": where}]
    autosize = {"type": "fit-x", "contains": "padding"}
    return {"width": width, "height": height, "autosize": autosize, "layer": drawn, **options}


def panels(views: Sequence[Spec], columns: int = ABREAST) -> Spec:
    """Views, so many side by side, with one legend; a single view stays as it is."""
    if len(views) == 1:
        return views[0]
    inner = [{key: value for key, value in view.items() if key != "autosize"} for view in views]
    shared = {"color": "shared", "shape": "shared", "strokeDash": "shared"}
    return {"concat": inner, "columns": columns, "resolve": {"scale": shared}}


def row_widths(texts: Iterable[str]) -> tuple[float, float]:
    """The width of a chart that has a row for each of these names, and what the names leave of it, in px."""
    names_take = LETTER * max(map(len, texts), default=0) + 12
    width = COLUMN if names_take < 0.6 * COLUMN else PAGE
    return width, width - names_take


def panel_width(columns: int, alone: float = COLUMN) -> float:
    """The width of the axes of each of several panels in a page, in px; `alone` that of one panel with its labels."""
    return alone if columns == 1 else (PAGE - 66 * columns) / columns


def heat_map(
    title: str,
    caption: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: NDArray[np.float64],
    unit: str,
    scale: Spec,
    *,
    number: str | None,
    dark: str,
    cell: tuple[float, float],
    frames: Callable[[str, str], bool] | None = None,
) -> Chart:
    """Coloured cells with numbers of a d3 format, where `dark` tests the colour; a value that is not known is blank.

    Rows: row, column, value; and with `frames`, which says which cells of a row and a column have one, marked.
    """
    cells = [cell for row, own in zip(rows, values, strict=True) for cell in tidy(row=row, column=columns, value=own)]
    if frames is not None:
        cells = [{**cell, "marked": frames(cell["row"], cell["column"])} for cell in cells]
    place = {
        "x": names("column", columns, axis={"labelAngle": -50, "title": None, "labels": len(columns) <= 60}),
        "y": names("row", rows, axis={"title": None}),
    }
    shown = hover(("row", "row"), ("column", "column"), ("value", unit, number or ".3f"))
    colour = quantity("value", unit, scale=scale, legend={"orient": "right", "title": unit, "gradientLength": 120})
    layers = [layer("rect", {**place, "color": colour, "tooltip": shown}, where="isValid(datum.value)")]
    if number is not None:
        ink = {"condition": {"test": dark, "value": "white"}, "value": "black"}
        text = {**place, "text": quantity("value", format=number), "color": ink}
        layers.append(layer("text", text, where="isValid(datum.value)", fontSize=9))
    if frames is not None:
        around = {"x": names("column", columns), "y": names("row", rows)}
        layers.append(layer("rect", around, where="datum.marked", fill=None, stroke="#D55E00", strokeWidth=1.8))
    size = {"width": max(cell[0] * len(columns), 120), "height": cell[1] * len(rows)}
    return Chart(title, caption, cells, {**size, "layer": layers})
