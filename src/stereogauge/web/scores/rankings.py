"""`rank`: the order that a model gives for a selection, with its reasons and intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.ranking.bootstrap import bootstrap
from stereogauge.ranking.model import Ranking, model_declaration
from stereogauge.ranking.profile import shipped_profiles
from stereogauge.ranking.run import about_pixels
from stereogauge.ranking.weighted_score import parse_weights
from stereogauge.tables.markup import latex_tabular
from stereogauge.tables.ranking_tables import DRAWN, leaderboard, leaderboard_columns
from stereogauge.tables.table import Cell, Table
from stereogauge.tables.text import csv_table
from stereogauge.text import json_value
from stereogauge.web.answer import Answer, Number
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.scores.reader import ScoreReader
from stereogauge.web.selection import SelectionQuery

MOST_DRAWN = 100_000_000
"""Draws × algorithms × scenes of one answer."""


class LeftOut(Answer):
    """A selected algorithm or column that the ranking left out."""

    kind: str
    name: str
    reason: str


class Fact(Answer):
    """A cell of a column of the leaderboard; `note` says what a reader should know of it."""

    value: float | int | str | None
    text: str
    note: str


class RankRow(Answer):
    """One algorithm; `extra` holds further values of the model, `facts` the cells of the leaderboard's columns."""

    algorithm: str
    rank: int
    value: Number
    group: int | None
    extra: dict[str, Any]
    facts: list[Fact]


class Interval(Answer):
    """The central 95 % of ranks and values over random draws of scenes; `first` is the share of first places."""

    algorithm: str
    rank_low: int
    rank_high: int
    value_low: Number
    value_high: Number
    first: float


class RankAnswer(Answer):
    """Algorithms from best to worst; relations are lists of row numbers.

    `effective_weights` and `break_even` (one row per algorithm) are in the order of `terms`; `facts` are the headings
    of further columns of the leaderboard; `intervals_name` says what the intervals of values are of.
    """

    model: str
    name: str
    definition: str
    value_name: str
    options: dict[str, Any]
    protocol: str
    caption: str
    scenes: int
    scene_names: list[str]
    columns: list[str]
    dropped: list[LeftOut]
    facts: list[str]
    rows: list[RankRow]
    alike: list[list[int]] | None
    dominates: list[list[int]] | None
    terms: list[str] | None
    scales: list[str] | None
    weights: list[float] | None
    contributions: list[list[float]] | None
    effective_weights: list[float] | None
    break_even: list[list[Number]] | None
    notes: list[str]
    least_coverage: float
    intervals: list[Interval] | None
    intervals_note: str
    intervals_name: str


def model_options(
    model: str,
    ties: str | None = None,
    tau: float | None = None,
    profile: str | None = None,
    normalisation: str | None = None,
    weights: list[str] | None = None,
) -> dict[str, Any]:
    """The stated options that the model has; weights are written `d-fat=2`."""
    given = {
        "ties": ties,
        "tau": tau,
        "profile": None if weights else profile,
        "normalisation": normalisation,
        "weights": parse_weights(weights),
    }
    declared = model_declaration(model)
    if profile is not None and "profile" in declared.options and profile not in shipped_profiles():
        raise UnknownChoiceError("profile", profile, shipped_profiles())
    return {name: value for name, value in given.items() if value is not None and name in declared.options}


def rank_answer(
    scores: ScoreReader, query: SelectionQuery, model: str, options: dict[str, Any], draws: int = 0
) -> RankAnswer:
    """The ranking; with `draws` greater than 0 also the intervals of a bootstrap over scenes."""
    declared = model_declaration(model)
    ranking = scores.ranking(query, model, options)
    intervals, note = _intervals(scores, query, ranking, options, draws)
    facts = [column for column in leaderboard_columns(ranking) if column.id not in DRAWN]
    extra = {name: [json_value(value) for value in values] for name, values in ranking.extra.items()}
    return RankAnswer.of(
        declared,
        model=model,
        options=ranking.to_dict()["options"],
        protocol=ranking.selection.protocol,
        caption=replace(ranking.selection, dropped=()).caption(),
        scenes=len(ranking.selection.scenes),
        scene_names=list(ranking.selection.scenes),
        columns=[str(column) for column in ranking.selection.columns],
        dropped=[LeftOut(**what._asdict()) for what in ranking.selection.dropped[:200]],
        facts=[column.heading(ranking).line for column in facts],
        rows=[
            RankRow(
                algorithm=name,
                rank=int(ranking.rank[index]),
                value=ranking.value[index],
                group=None if ranking.group is None else int(ranking.group[index]),
                extra={key: values[index] for key, values in extra.items()},
                facts=[_fact(column.cell(ranking, index)) for column in facts],
            )
            for index, name in enumerate(ranking.algorithms)
        ],
        alike=_relation(ranking, "alike"),
        dominates=_relation(ranking, "dominates"),
        terms=list(ranking.names["terms"]) if "terms" in ranking.names else None,
        scales=list(ranking.names["scales"]) if "scales" in ranking.names else None,
        weights=ranking.arrays["weights"].tolist() if "weights" in ranking.arrays else None,
        contributions=ranking.arrays["contributions"].tolist() if "contributions" in ranking.arrays else None,
        effective_weights=json_value(ranking.arrays.get("effective_weights")),
        break_even=json_value(ranking.arrays.get("break_even")),
        notes=list(ranking.notes),
        least_coverage=query.least_coverage,
        intervals=intervals,
        intervals_note=note,
        intervals_name="group" if declared.classes else declared.value_name,
    )


def _fact(cell: Cell) -> Fact:
    return Fact(value=json_value(cell.value), text=cell.shown, note=cell.note)


def _relation(ranking: Ranking, name: str) -> list[list[int]] | None:
    relation: NDArray[np.bool_] | None = ranking.arrays.get(name)
    if relation is None:
        return None
    return [[int(other) for other in np.flatnonzero(row) if other != index] for index, row in enumerate(relation)]


def _intervals(
    scores: ScoreReader, query: SelectionQuery, ranking: Ranking, options: dict[str, Any], draws: int
) -> tuple[list[Interval] | None, str]:
    if draws < 1:
        return None, ""
    cube = scores.ordered(query) if query.metrics is not None else about_pixels(scores.ordered(query))
    size = max(1, len(cube.algorithms) * len(cube.scenes))
    if draws * size > MOST_DRAWN:
        allowed = MOST_DRAWN // size
        raise StereogaugeError(f"At most {allowed} draws of a selection of this size are made; found {draws}.")
    try:
        found = bootstrap(cube, ranking.model, missing=query.missing, draws=draws, **options)
    except StereogaugeError as reason:
        return None, str(reason)
    rows = [
        Interval(
            algorithm=name,
            rank_low=int(found.rank_low[index]),
            rank_high=int(found.rank_high[index]),
            value_low=found.value_low[index],
            value_high=found.value_high[index],
            first=float(found.first[index]),
        )
        for index, name in enumerate(found.algorithms)
    ]
    return rows, f"{100 * found.level:g} % of {draws} draws of {len(found.selection.scenes)} scenes"


def leaderboard_csv(ranking: Ranking, scores: Table, aggregation: str) -> str:
    """One row per algorithm; the selection precedes it in lines that begin with #."""
    comments = [
        f"model: {ranking.model} (value: {ranking.value_name})",
        f"selection: {ranking.selection.caption()}",
        f"aggregation over scenes: {aggregation}",
    ]
    return csv_table(leaderboard(ranking, scores), comments)


def leaderboard_latex(ranking: Ranking, scores: Table) -> str:
    """A tabular for a paper; the selection precedes it as a comment."""
    return f"% {' '.join(ranking.selection.caption().split())}\n{latex_tabular(leaderboard(ranking, scores))}"
