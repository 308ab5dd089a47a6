"""Writes a report into a folder: report.html, tables as LaTeX and CSV, and every figure as PNG, SVG and PDF."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from stereogauge.figures import mpl
from stereogauge.report.content import Content, FigureEntry
from stereogauge.report.page import to_html
from stereogauge.scores.table import ScoreTable
from stereogauge.tables.latex import latex_table, latex_text
from stereogauge.tables.text import csv_table

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
    formats: Sequence[str] = mpl.FORMATS,
    made: str = "",
    progress: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write everything and return the files; existing ones of the same name are replaced, others stay."""
    tell = progress or (lambda _: None)
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
    drawn: dict[str, bytes] = {}
    for figure_entry in content.figures:
        tell(f"figure {figure_entry.name}")
        figure = mpl.draw(figure_entry.data)
        written += [mpl.save(figure, folder / "figures" / f"{figure_entry.name}.{kind}") for kind in formats]
        if isinstance(figure_entry, FigureEntry):
            drawn[figure_entry.name] = mpl.encoded(figure, "svg")
    tell("report.html")
    put(folder / "report.html", to_html(content, made, drawn))
    return written


def tables_document(content: Content) -> str:
    """A LaTeX document that holds all tables, each no wider than the page."""
    inputs = "\n".join(rf"\input{{{entry.name}}}" + "\n" + r"\clearpage" for entry in content.tables)
    return f"{PREAMBLE}\\section*{{{latex_text(content.title)}}}\n{inputs}\n\\end{{document}}\n"
