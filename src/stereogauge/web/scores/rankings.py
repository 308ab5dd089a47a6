"""`rank`: the order that a model gives for a selection, with its reasons and intervals."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from fastapi import Response
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.decision.verdict import not_considered
from stereogauge.errors import StereogaugeError
from stereogauge.figures.chart import Spec
from stereogauge.figures.ranking import stacked_bars_data
from stereogauge.ranking.bootstrap import bootstrap
from stereogauge.ranking.model import Ranking, model_declaration
from stereogauge.ranking.profile import parse_weights, property_of, shipped_profiles
from stereogauge.ranking.run import about_pixels
from stereogauge.scores.scope import MissingPixels
from stereogauge.tables.formats import csv_table, latex_tabular
from stereogauge.tables.ranking_tables import further_columns, leaderboard
from stereogauge.tables.score_table import score_table
from stereogauge.text import json_value
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.responses import Plain, plain
from stereogauge.web.scores.reader import ScoreReader, aggregation_name
from stereogauge.web.selection import SelectionQuery

MOST_DRAWN = 100_000_000
"""Draws × algorithms × scenes of one answer."""
MOST_DROPPED = 200


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
    scores: ScoreReader,
    query: SelectionQuery,
    model: str,
    options: dict[str, Any],
    missing_pixels: MissingPixels = "charged",
    draws: int = 0,
    bars: Literal["term", "property"] | None = None,
) -> Plain:
    """Algorithms from best to worst; with `draws` greater than 0 also the intervals of a bootstrap over scenes.

    `place` is the position of an algorithm in the selection. Relations (`alike`, `dominates`) are lists of row numbers;
    `effective_weights` and `break_even` (one row per algorithm) are in the order of `terms`; `facts` are the headings
    of further columns of the leaderboard; `intervals_name` says what the intervals of values are of. `changed_if` is
    the other rule for missing pixels, where the order would change under it; `shared_regions` are those whose pixels
    count several times. `not_considered` are those that a weighted score orders and an answer leaves out, each with the
    reason: they cover less than is needed, and their missing pixels are charged. `figure` shows a weighted order as
    bars with one segment per term, or per property where `bars` says so and there are several.
    """
    declared = model_declaration(model)
    options = scores.options(query, model, options)
    ranking = scores.ranking(query, model, options, missing_pixels)
    chosen = ranking.selection
    intervals, note = _intervals(scores, query, ranking, options, draws)
    facts = further_columns(ranking)
    weighted = "weights" in declared.options
    left_out = not_considered(scores.ordered(query)) if weighted else ()
    extra = {name: [json_value(value) for value in values] for name, values in ranking.extra.items()}
    places = {name: place for place, name in enumerate(scores.values(query).algorithms)}
    arrays = ("weights", "contributions", "effective_weights", "break_even")
    return {
        "model": model,
        **plain(declared, ("name", "definition", "value_name")),
        "options": ranking.to_dict()["options"],
        "protocol": chosen.protocol,
        "caption": replace(chosen, dropped=()).caption(),
        "scenes": len(chosen.scenes),
        "scene_names": chosen.scenes,
        "columns": [str(column) for column in chosen.columns],
        "dropped": [what._asdict() for what in chosen.dropped[:MOST_DROPPED]],
        "facts": list(facts),
        "rows": [
            {
                "algorithm": name,
                "rank": int(ranking.rank[index]),
                "place": places[name],
                "value": json_value(ranking.value[index]),
                "group": None if ranking.group is None else int(ranking.group[index]),
                "extra": {key: values[index] for key, values in extra.items()},
                "facts": [plain(cells[index], ("value", "note"), text=cells[index].shown) for cells in facts.values()],
            }
            for index, name in enumerate(ranking.algorithms)
        ],
        "alike": _relation(ranking, "alike"),
        "dominates": _relation(ranking, "dominates"),
        "terms": ranking.names.get("terms"),
        "properties": [property_of(term) for term in ranking.names.get("terms", ())],
        "scales": ranking.names.get("scales"),
        **{name: json_value(ranking.arrays.get(name)) for name in arrays},
        "notes": ranking.notes,
        "missing_pixels": chosen.missing_pixels,
        "changed_if": ranking.changed_if,
        "not_considered": {one.name: one.reason for one in left_out},
        "shared_regions": ranking.shared_regions,
        "least_coverage": query.coverage,
        "figure": _bars(ranking, bars) if bars and "weights" in ranking.arrays else None,
        "intervals": intervals,
        "intervals_note": note,
        "intervals_name": "group" if declared.classes else declared.value_name,
    }


def _bars(ranking: Ranking, by: Literal["term", "property"]) -> Spec:
    several = len(set(map(property_of, ranking.names["terms"]))) > 1
    return stacked_bars_data(ranking, by=by if several else "term").page_spec()


def _relation(ranking: Ranking, name: str) -> list[list[int]] | None:
    relation: NDArray[np.bool_] | None = ranking.arrays.get(name)
    if relation is None:
        return None
    return [[int(other) for other in np.flatnonzero(row) if other != index] for index, row in enumerate(relation)]


def _intervals(
    scores: ScoreReader, query: SelectionQuery, ranking: Ranking, options: dict[str, Any], draws: int
) -> tuple[list[Plain] | None, str]:
    """The central 95 % of ranks and values over random draws of scenes, and the share of first places."""
    if draws < 1:
        return None, ""
    cube = scores.ordered(query) if query.metrics is not None else about_pixels(scores.ordered(query))
    size = max(1, len(cube.algorithms) * len(cube.scenes))
    if draws * size > MOST_DRAWN:
        allowed = MOST_DRAWN // size
        raise StereogaugeError(f"At most {allowed} draws of a selection of this size are made; found {draws}.")
    try:
        rule = ranking.selection.missing_pixels
        found = bootstrap(cube, ranking.model, missing=query.missing, missing_pixels=rule, draws=draws, **options)
    except StereogaugeError as reason:
        return None, str(reason)
    parts = ("rank_low", "rank_high", "value_low", "value_high", "first")
    rows = [
        {"algorithm": name} | {part: json_value(getattr(found, part)[index]) for part in parts}
        for index, name in enumerate(found.algorithms)
    ]
    note = f"{100 * found.level:g} % of {draws} draws of {len(found.selection.scenes)} scenes"
    return rows, note


def leaderboard_file(
    scores: ScoreReader,
    query: SelectionQuery,
    model: str,
    options: dict[str, Any],
    missing_pixels: MissingPixels,
    form: Literal["csv", "tex"],
) -> Response:
    """One row per algorithm with its scores, as CSV or as a tabular for a paper.

    The selection and the notes of the model precede it as comments.
    """
    ranking = scores.ranking(query, model, scores.options(query, model, options), missing_pixels)
    read, aggregation = scores.record(query).protocol, scores.aggregation(query)
    cube = scores.with_statistics(query)
    if not scores.hidden.splits(cube, ranking.selection.scenes):
        cube = cube.select(scenes=ranking.selection.scenes)
    table = leaderboard(ranking, score_table(cube, aggregation, read.scene_weights if read else None))
    caption = ranking.selection.caption()
    if form == "tex":
        comments = [f"% {' '.join(line.split())}" for line in (caption, *ranking.notes)]
        text, kind = "\n".join([*comments, latex_tabular(table)]), "application/x-tex"
    else:
        chosen = f"model: {ranking.model} (value: {ranking.value_name})", f"selection: {caption}"
        over_scenes = f"aggregation over scenes: {aggregation_name(aggregation)}"
        text, kind = csv_table(table, [*chosen, over_scenes, *ranking.notes]), "text/csv"
    return Response(text, media_type=f"{kind}; charset=utf-8")
