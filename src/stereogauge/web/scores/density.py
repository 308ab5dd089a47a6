"""`density`: error over density of a selection, and its scores at equal density."""

from __future__ import annotations

from collections.abc import Iterable

from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.error_density import density_columns, density_curves
from stereogauge.figures.confidence import error_density_data
from stereogauge.model import ResultSet, Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube
from stereogauge.store.write import MapRecord
from stereogauge.tables.score_table import density_table
from stereogauge.tables.table import Heading
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.hiding import Hidden
from stereogauge.web.responses import Plain, plain
from stereogauge.web.scores.reader import ScoreReader, submitted_name
from stereogauge.web.selection import SelectionQuery

STEPS, MOST_SCENES, MOST_ALGORITHMS = 10, 8, 12
"""What one answer shows: curves are measured while a visitor waits."""


def density_answer(
    scores: ScoreReader,
    hidden: Hidden,
    query: SelectionQuery,
    column: str | None,
    private: Iterable[MapRecord] = (),
) -> Plain:
    """Error over density of the selected algorithms on the selected scenes whose ground truth is public.

    The curves of one column as a chart in Vega-Lite, and the table of scores at equal density. `columns` lists those
    that have curves, `scenes` the scenes that were measured; `note` says what was left out, and is the reason where
    there is no figure. `private` are the maps of the visitor's unpublished submission, which is always shown.
    """
    cube = scores.values(query)
    known = density_columns(cube)
    shown = [name for name, owner in zip(cube.scenes, cube.datasets, strict=True) if not hidden(name, owner)]
    public = scores.source.cube(scores.record(query).key, query.dataset)
    own: dict[str, list[MapRecord]] = {}
    for record in private:
        own.setdefault(submitted_name(record.algorithm, public), []).append(record)
    first = (*cube.algorithms[:MOST_ALGORITHMS], *(name for name in cube.algorithms[MOST_ALGORITHMS:] if name in own))
    part = cube.select(scenes=shown[:MOST_SCENES], algorithms=first)
    answer: Plain = {
        "column": "", "columns": [str(one) for one in known], "scenes": part.scenes, "header": [], "rows": [],
        "notes": [], "curves": 0, "figure": None, "note": _left_out(cube, part, len(shown)),
    }  # fmt: skip
    if not known or not part.scenes:
        reason = "No selected metric can be measured on part of a map; select one such as bad@1 or rms."
        secret = "The ground truth of these scenes is hidden."
        return answer | {"note": secret if known else reason}
    try:
        found = scores.source.results(part, own)
        chosen = next((one for one in known if column in (None, str(one))), None)
        if chosen is None:
            raise UnknownChoiceError("column with a curve", str(column), map(str, known))
        return answer | _measured(scores, found, chosen, query)
    except StereogaugeError as reason:
        if isinstance(reason, UnknownChoiceError):
            raise
        return answer | {"note": str(reason)}


def _left_out(cube: ScoreCube, part: ScoreCube, public: int) -> str:
    """What one answer does not show, in words."""
    counts = ("scenes", len(part.scenes), public), ("algorithms", len(part.algorithms), len(cube.algorithms))
    lacking = [f"the first {shown} of {count} {kind}" for kind, shown, count in counts if shown < count]
    return f"Shown are {' and '.join(lacking)}; select others to see them." if lacking else ""


def _text(heading: Heading) -> str:
    unit = f" [{heading.unit}]" if heading.unit else ""
    return f"{heading.name} {heading.detail}".strip() + unit


def _measured(
    scores: ScoreReader, maps: tuple[dict[str, Scene], list[ResultSet]], column: Column, query: SelectionQuery
) -> Plain:
    scenes, results = maps
    protocol = (scores.record(query).protocol or Protocol()).replace(aggregation=scores.aggregation(query))
    found = density_curves(scenes, results, column.metric, column.region, protocol, steps=STEPS)
    made = density_table(found)
    return {
        "column": str(column),
        "scenes": found.scenes,
        "header": [_text(heading) for heading in made.header],
        "rows": [
            {
                "algorithm": str(row[0].value),
                "cells": [plain(cell, ("value", "emphasis", "note"), text=cell.shown) for cell in row[1:]],
            }
            for row in made.rows
        ],
        "notes": made.notes,
        "curves": len(found.curves),
        "figure": error_density_data([found], scores.source.styles(found.algorithms)).page_spec(),
    }
