"""The report as one HTML file that needs nothing else, with its tables and figures as files beside it.

Scripts, styles, pictures and data are all inside the page. `assets/page.html` is a Jinja2 template with autoescape, so
that names from users are escaped without being named.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from stereogauge.figures.chart import FORMATS, Chart, vega_script
from stereogauge.figures.galleries import Gallery, PictureRows
from stereogauge.figures.pictures import Colours, narrowed
from stereogauge.report.content import Content, FigureEntry, Section
from stereogauge.scores.table import ScoreTable
from stereogauge.tables.formats import csv_table, html_table, latex_table, latex_text
from stereogauge.tables.table import Table
from stereogauge.text import counted

CARD_WIDTH, PICTURE_QUALITY = 360, 82  # pixels; per cent of WebP


def to_html(content: Content, made: str = "") -> str:
    """The whole page; `made` says when and with what it was made."""
    environment = Environment(
        loader=PackageLoader("stereogauge.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        content=content,
        facts=_facts(content),
        summary=_summary(content),
        described=[entry for entry in content.provenance.algorithms if entry[1] or entry[2]],
        made=made,
        style=_asset("page.css"),
        script=_asset("page.js"),
        vega=vega_script(),
        entries=_entries,
        html_table=html_table,
        svg=lambda entry: _base64(entry.data.encoded("svg")),
        declared=_declared,
        webp=_webp,
    )


def _asset(name: str) -> str:
    return resources.files("stereogauge.report").joinpath("assets", name).read_text(encoding="utf-8")


def _summary(content: Content) -> str:
    """What this is, in one line."""
    selection = content.selection
    datasets = ", ".join(dict.fromkeys(name for name in content.cube.datasets if name))
    where = f" of {datasets}" if datasets else ""
    return (
        f"Which stereo matcher is right for you, and why: {counted(len(selection.algorithms), 'algorithm')} on "
        f"{counted(len(selection.scenes), 'scene')}{where}."
    )


def _facts(content: Content) -> dict[str, str]:
    selection, origin = content.selection, content.provenance
    return {
        "algorithms": ", ".join(selection.algorithms),
        "scenes": ", ".join(selection.scenes),
        "metrics": ", ".join(selection.metrics),
        "regions": ", ".join(selection.regions),
        "protocol": " ".join(part for part in (origin.protocol_name, selection.protocol) if part),
        "store": origin.store,
    }


KINDS = {Chart: "figure", Gallery: "gallery", PictureRows: "rows"}


def _entries(section: Section) -> Iterator[tuple[str, Table | FigureEntry]]:
    for entry in section.entries:
        yield "table" if isinstance(entry, Table) else KINDS[type(entry.data)], entry


def _declared(entry: FigureEntry) -> str:
    """The chart's declaration as JSON that cannot end the script element around it."""
    assert isinstance(entry.data, Chart)
    return json.dumps(entry.data.spec()).replace("<", "\\u003c")


def _webp(colours: Colours) -> str:
    import cv2

    options = [cv2.IMWRITE_WEBP_QUALITY, PICTURE_QUALITY]
    ordered = cv2.cvtColor(narrowed(colours, CARD_WIDTH), cv2.COLOR_RGB2BGR)
    return _base64(np.asarray(cv2.imencode(".webp", ordered, options)[1]).tobytes())


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


PREAMBLE = r"""\documentclass[10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage[margin=15mm,landscape]{geometry}
\usepackage{booktabs}
\usepackage{graphicx}
\begin{document}
"""


def write_report(
    content: Content,
    folder: Path,
    *,
    formats: Sequence[str] = FORMATS,
    made: str = "",
    progress: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write everything and return the files; existing ones of the same name are replaced, others stay."""
    report = progress or (lambda _: None)
    written: list[Path] = []

    def put(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)

    for entry in content.tables:
        put(folder / "tables" / f"{entry.name}.tex", latex_table(entry))
        put(folder / "tables" / f"{entry.name}.csv", csv_table(entry))
    put(folder / "tables" / "all.tex", tables_document(content))
    put(folder / "scores.csv", ScoreTable(content.cube.scores()).to_csv())
    for figure in content.figures:
        report(f"figure {figure.name}")
        kinds = [*formats, "csv"] if isinstance(figure.data, Chart) else formats
        written += [figure.data.save(folder / "figures" / f"{figure.name}.{kind}") for kind in kinds]
    report("report.html")
    put(folder / "report.html", to_html(content, made))
    return written


def tables_document(content: Content) -> str:
    """A LaTeX document that holds all tables, each no wider than the page."""
    inputs = "\n".join(rf"\input{{{entry.name}}}" + "\n" + r"\clearpage" for entry in content.tables)
    return f"{PREAMBLE}\\section*{{{latex_text(content.title)}}}\n{inputs}\n\\end{{document}}\n"
