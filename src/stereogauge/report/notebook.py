"""How results look in a notebook, and how they are saved: tables as HTML, maps and curves as pictures."""

from __future__ import annotations

import base64
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.confidence_measures.evaluation import SceneCurves
from stereogauge.confidence_measures.sparsification import SparsificationCurve
from stereogauge.decision.answer import Answer
from stereogauge.decision.explain import Explanation
from stereogauge.display import NamedMaps
from stereogauge.errors import StereogaugeError
from stereogauge.figures.chart import FORMATS, Chart, tidy
from stereogauge.figures.confidence import confidence_picture, sparsification_data
from stereogauge.figures.pictures import PictureFigure, panels_figure, picture_figure
from stereogauge.io import write_disparity
from stereogauge.io.encodings import ENCODINGS
from stereogauge.matching.result import MatchResult
from stereogauge.metrics.picture import Picture
from stereogauge.ranking.model import Ranking
from stereogauge.scores.table import ScoreTable
from stereogauge.tables.decision_tables import answer_html, answer_tables, explanation_html, explanation_tables
from stereogauge.tables.formats import csv_table, html_table, json_tables, latex_table, markdown_table
from stereogauge.tables.ranking_tables import ranking_table
from stereogauge.tables.score_table import tables_of_scores
from stereogauge.tables.table import Table, of_records
from stereogauge.tables.terminal import plain_text

SMALL = 1.0
"""Pixels per px of a picture in a notebook."""
STYLE = "<style>td.number,th.number{text-align:right}</style>"


def tables_of(result: Any) -> list[Table]:
    """The tables that a result is shown as; none for one that is a picture."""
    match result:
        case Table():
            return [result]
        case ScoreTable():
            return tables_of_scores(result)
        case Ranking():
            return [ranking_table(result, title=f"Ranking by {result.model}")]
        case Answer():
            return list(answer_tables(result))
        case Explanation():
            return list(explanation_tables(result))
    return []


def figure_of(result: Any) -> PictureFigure | Chart:
    """The picture or chart that a result is shown as."""
    match result:
        case Picture():
            return picture_figure(result)
        case MatchResult():
            return _match_figure(result)
        case NamedMaps():
            return panels_figure([_map_picture(name, values) for name, values in result.items()])
        case SparsificationCurve():
            caption = f"A pixel is bad where its error exceeds {result.threshold:g} px."
            return sparsification_data([SceneCurves("evaluated pixels", {"confidence": result})], caption=caption)
    raise StereogaugeError(f"There is no picture of a {type(result).__name__}.")


def _match_figure(result: MatchResult) -> PictureFigure:
    height, width = result.disparity.shape
    known = np.isfinite(result.disparity)
    title = f"{result.matcher}: {width}×{height}, {result.ndisp} disparities, {result.seconds:.3g} s"
    limits = (0.0, float(result.ndisp - 1))
    picture = Picture(title, result.disparity, "disparity", "disparity, px", limits, missing=~known)
    return picture_figure(picture, f"{100 * known.mean():.1f} % of the pixels estimated")


def _map_picture(name: str, values: Any) -> Picture:
    if values.dtype != np.bool_:
        return confidence_picture(name, values)
    title = f"{name}: {100 * values.mean():.1f} %"
    return Picture(title, values.astype(np.uint8), "labels", legend={1: ("inside", "#0072b2")})


def text(result: Any) -> str:
    """The tables of a result as plain text."""
    return "\n".join(map(plain_text, tables_of(result))).rstrip("\n")


def html(result: Any) -> str:
    """What a notebook shows."""
    if isinstance(result, Answer):
        return STYLE + answer_html(result)
    if isinstance(result, Explanation):
        return STYLE + explanation_html(result)
    tables = tables_of(result)
    if tables:
        return STYLE + "".join(map(html_table, tables))
    figure = figure_of(result)
    drawn = figure.encoded("png") if isinstance(figure, Chart) else figure.encoded("png", SMALL)
    image = base64.b64encode(drawn).decode()
    return f'<img alt="{escape(type(result).__name__)}" src="data:image/png;base64,{image}">'


def show(result: Any) -> None:
    """Below the cell in a notebook; elsewhere a page in the browser, whose path is printed."""
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        from IPython import display

        notebook: Any = display
        notebook.display(notebook.HTML(html(result)))
        return
    with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False, encoding="utf-8") as file:
        file.write(f'<!doctype html><meta charset="utf-8"><title>Stereogauge</title>{html(result)}')
    webbrowser.open(Path(file.name).as_uri())
    sys.stderr.write(f"{file.name} written\n")


def save(result: Any, path: Path) -> Path:
    """Write a result in the form that the suffix names."""
    writers = _writers(result)
    write = writers.get(path.suffix.lower())
    if write is None:
        raise StereogaugeError(
            f"{path}: {type(result).__name__} is saved as {', '.join(writers)}; found {path.suffix or 'no suffix'}."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path)
    return path


def _writers(result: Any) -> dict[str, Callable[[Path], object]]:
    """The ways to write a result, by suffix; a picture is also written as the numbers behind it."""
    tables = tables_of(result)
    if tables:
        words = [f"{result.text}\n"] if isinstance(result, Answer | Explanation) else []
        return {
            ".csv": _text_writer(getattr(result, "to_csv", lambda: csv_table(tables[0]))),
            ".json": _text_writer(getattr(result, "to_json", lambda: json_tables(tables))),
            ".html": _text_writer(lambda: html(result)),
            ".md": _text_writer(lambda: "\n".join([*words, *map(markdown_table, tables)])),
            ".tex": _text_writer(lambda: "\n".join(map(latex_table, tables))),
        }
    writers: dict[str, Callable[[Path], object]] = {}
    match result:
        case MatchResult():
            suffixes = [suffix for encoding in ENCODINGS.values() if encoding.writer for suffix in encoding.suffixes]
            writers = dict.fromkeys(suffixes, lambda path: write_disparity(path, result.disparity))
        case NamedMaps():
            writers = {".npz": lambda path: np.savez_compressed(path, **result)}
        case Picture():
            writers = {".npy": lambda path: np.save(path, result.values)}
        case SparsificationCurve():
            rows = tidy(density=result.density, bad=result.bad, rate=result.rate)
            writers = {".csv": _text_writer(lambda: csv_table(of_records("curve", rows)))}
    return writers | dict.fromkeys((f".{kind}" for kind in FORMATS), lambda path: figure_of(result).save(path))


def _text_writer(text: Callable[[], str]) -> Callable[[Path], object]:
    return lambda path: path.write_text(text(), encoding="utf-8")
