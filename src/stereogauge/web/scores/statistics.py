"""Statistics of a selection: tests of difference, relations between columns, histograms, stability of an order."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from stereogauge.decision.words import Claim, break_even_claim, sentences
from stereogauge.errors import StereogaugeError
from stereogauge.figures.analysis import (
    coloured_algorithms,
    determination_data,
    histograms_data,
    scatter_matrix_data,
)
from stereogauge.figures.chart import Spec
from stereogauge.figures.palette import Styles
from stereogauge.figures.ranking import RadarPoint, critical_difference_data, parallel, radar, ranks_data
from stereogauge.metrics.registry import metrics
from stereogauge.ranking.bootstrap import resample_scenes
from stereogauge.ranking.profile import Profile
from stereogauge.ranking.relations import determination, scatter, score_histogram, telling_pairs
from stereogauge.ranking.run import about_pixels
from stereogauge.ranking.significance import friedman, friedman_of, signed_rank_p
from stereogauge.ranking.stability import threshold_stability, weight_stability
from stereogauge.ranking.weighted_score import weigh
from stereogauge.scores.aggregation import oriented
from stereogauge.scores.column import metric_of
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.facts import unit_means
from stereogauge.scores.scope import DRAWS
from stereogauge.text import counted, json_value, number_text
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.responses import Plain, plain
from stereogauge.web.scores.reader import ScoreReader
from stereogauge.web.scores.tables import rows, table_answer
from stereogauge.web.selection import SelectionQuery, check_algorithms, known_column, refuse_order

MOST_AXES = 12
LEAST_AXES = 3
MOST_POINTS = 20_000
LEAST_SCENES = 2
NO_FIGURES: Plain = {"figure": None, "list": None}
SCORE = "score"
"""The name of the weighted score among columns."""


def significance_answer(
    scores: ScoreReader,
    query: SelectionQuery,
    alpha: float,
    first: str | None = None,
    second: str | None = None,
    column: str | None = None,
    purpose: Profile | None = None,
) -> Plain:
    """Friedman's test with Nemenyi's critical distance, best first; two algorithms head to head where they are named.

    With a purpose its weighted score is tested, by what each scene adds to it; else the ranks over all columns,
    averaged within each scene. `cliques` are runs that the test does not distinguish, `figure` is the
    critical-difference diagram in Vega-Lite, and `list` the ranks with their distances, for many algorithms.
    """
    refuse_order(query)
    pair = None if first is None or second is None else head_to_head(scores, query, first, second, column, purpose)
    what = "weighted score" if purpose else "ranks over all columns"
    compared = scores.ordered(query)
    try:
        if purpose:
            score, selection = weigh(compared, profile=purpose, missing=query.missing)
            test = friedman_of(score.algorithms, score.unit_contributions, selection, alpha)
        else:
            test = friedman(compared if query.metrics else about_pixels(compared), missing=query.missing, alpha=alpha)
    except StereogaugeError as reason:
        return {"algorithms": [], "alpha": alpha, "of": what, "note": str(reason), "pair": pair} | NO_FIGURES
    styles = scores.source.styles(test.algorithms)
    figure = critical_difference_data(test, styles).page_spec() if test.can_tell else None
    listed = ranks_data(test, styles).page_spec() if test.can_tell else None
    names = ("algorithms", "average_rank", "blocks", "alpha", "statistic", "p_value", "critical_distance", "cliques")
    said = {"caption": test.selection.caption(), "note": test.sentence}
    return plain(test, names, of=what) | said | {"pair": pair, "figure": figure, "list": listed}


def head_to_head(
    scores: ScoreReader, query: SelectionQuery, first: str, second: str, column: str | None, purpose: Profile | None
) -> Plain:
    """Two algorithms scene by scene in one column, or by what each scene adds to their weighted scores.

    `difference` is first − second as costs: below 0 the first is better. `probability` is that of the first being
    better over independent scenes drawn from the `units` that both have; `p_value` is of a test over the same.
    """
    cube = scores.values(query)
    check_algorithms(cube, (first, second))
    if first == second:
        raise StereogaugeError(f"Head to head needs two algorithms; found {first!r} twice.")
    seen = ~scores.hidden.mask(cube) | ("scores" in scores.hidden.shows)
    if purpose and column is None:
        found = weigh(cube, profile=purpose, missing=query.missing)[0]
        for name in (first, second):
            if name not in found.algorithms:
                raise StereogaugeError(f"{name} has no weighted score here; choose a column, or another algorithm.")
        names, unit, title = found.scenes, "", SCORE
        values = costs = found.contributions[[found.algorithms.index(name) for name in (first, second)]]
        seen = seen[[cube.scenes.index(name) for name in names]]
        unit_of = found.costs.unit_of
    else:
        index = known_column(cube, column or str(cube.columns[0]))
        both = cube.take(algorithms=[cube.algorithms.index(name) for name in (first, second)], columns=[index])
        names, unit, title = cube.scenes, cube.columns[index].unit(cube.depth_unit), str(cube.columns[index])
        values, costs = both.values[:, :, 0], oriented(both)[:, :, 0]
        unit_of = cube.unit_of
    difference = costs[0] - costs[1]
    paired = np.isfinite(difference)
    known = unit_means(difference[paired], unit_of[paired])
    probability, p_value, note = None, None, ""
    if known.size < LEAST_SCENES:
        scenes = counted(known.size, "independent scene")
        note = f"Both have scores on {scenes}; comparing them needs at least {LEAST_SCENES}."
    else:
        drawn = resample_scenes(known.size, DRAWS, 0) @ known
        probability = float((drawn < 0).mean() + (drawn == 0).mean() / 2)
        p_value = float(signed_rank_p(known[:, None])[0])
    return {
        "first": first,
        "second": second,
        "column": title,
        "unit": unit,
        "wins": int((difference < 0).sum()),
        "losses": int((difference > 0).sum()),
        "units": known.size,
        "probability": probability,
        "p_value": json_value(p_value),
        "note": note,
        "scenes": [
            dict(zip(("scene", "first", "second", "difference"), json_value(row), strict=True))
            for row in zip(names, *np.where(seen, (*values, difference), np.nan), strict=True)
        ],
    }


def correlation_answer(
    scores: ScoreReader, query: SelectionQuery, pairs: list[tuple[str, str]], mark: list[str]
) -> Plain:
    """r² of the selection; `pairs` are the columns (x, y) to plot against each other, else those that tell most."""
    cube = scores.scene_by_scene(query)
    found = determination(cube)
    styles = scores.source.styles(cube.algorithms)
    telling = [(str(x), str(y)) for x, y in telling_pairs(found)]
    return {
        "columns": [str(column) for column in found.columns],
        "r_squared": rows(found.r_squared),
        "points": found.points.tolist(),
        "algorithms": cube.algorithms,
        "scenes": cube.scenes,
        "scatter": [points(cube, x, y, styles, mark) for x, y in pairs or telling],
        "figure": determination_data(found).page_spec(),
    }


def points(cube: ScoreCube, x: str, y: str, styles: Styles, mark: list[str]) -> Plain:
    """One scatter plot; `coloured` algorithms have their own colour, the others are grey."""
    first, second = cube.columns[known_column(cube, x)], cube.columns[known_column(cube, y)]
    if cube.values[:, :, 0].size > MOST_POINTS:
        raise StereogaugeError(
            f"A scatter plot shows at most {MOST_POINTS} points; the selection has {cube.values[:, :, 0].size}."
        )
    check_algorithms(cube, mark)
    found = scatter(cube, str(first), str(second))
    chart = scatter_matrix_data(cube, [str(first)], [str(second)], styles, mark)
    return {
        "x": str(found.x),
        "y": str(found.y),
        "x_unit": first.unit(cube.depth_unit),
        "y_unit": second.unit(cube.depth_unit),
        "x_values": rows(found.x_values),
        "y_values": rows(found.y_values),
        "fits": [json_value(fit._asdict()) for fit in found.fits],
        "r_squared": json_value(found.r_squared),
        "coloured": coloured_algorithms(cube, found, mark),
        "figure": chart.page_spec(),
    }


def shapes_answer(scores: ScoreReader, query: SelectionQuery) -> Plain:
    """Algorithms over all columns at once: radar charts by rank and by score, and parallel coordinates.

    `columns` are the axes, at most twelve, in which every algorithm that is drawn has a rank, so that no shape has
    gaps: `partial` columns lack some, `empty` ones have no score, and `lacking` algorithms share too few columns with
    the others. A chart with too few axes is null.
    """
    table = table_answer(scores, query)
    names, columns = table["algorithms"], table["columns"]
    metrics = [column["metric"] for column in columns]
    ranked = np.array([[rank is not None for rank in row] for row in table["ranks"]], bool).reshape(len(names), -1)
    drawn = list(np.argsort(-ranked.sum(axis=1), kind="stable"))
    while len(drawn) > 1 and ranked[drawn].all(axis=0).sum() < LEAST_AXES:
        drawn.pop()
    drawn.sort()
    algorithms = [names[row] for row in drawn]
    styles = {name: style for name, style in scores.source.styles(algorithms).items() if name in algorithms}
    whole = np.flatnonzero(ranked[drawn].all(axis=0)) if drawn else np.zeros(0, int)
    axes = {
        place: metrics[place] if metrics.count(metrics[place]) == 1 else columns[place]["id"]
        for place in whole[:MOST_AXES].tolist()
    }

    def radar_by(by: Literal["rank", "score"]) -> Spec | None:
        points = []
        for row, algorithm in zip(drawn, algorithms, strict=True):
            for place, label in axes.items():
                value, rank, share = (table[part][row][place] for part in ("values", "ranks", "shares"))
                radius = share if by == "score" else rank / len(names)
                text = f"{number_text(float(value))} {columns[place]['unit']}, rank {rank:g}"
                points.append(RadarPoint(algorithm, label, radius, text))
        return radar("", "", points, by, styles).page_spec() if len(axes) >= LEAST_AXES else None

    lines = None
    if len(axes) > 1:
        values, ranks = ([[table[part][row][place] for place in axes] for row in drawn] for part in ("values", "ranks"))
        directions = {label: columns[place]["direction"] for place, label in axes.items()}
        lines = parallel("", directions, algorithms, values, ranks, styles).page_spec()
    some = np.asarray(ranked.any(axis=0))
    return {
        "columns": [columns[place]["id"] for place in axes],
        "usable": len(whole),
        "partial": [one["id"] for place, one in enumerate(columns) if some[place] and place not in whole],
        "empty": [one["id"] for place, one in enumerate(columns) if not some[place]],
        "lacking": [name for name in names if name not in algorithms],
        "radar": {"rank": radar_by("rank"), "score": radar_by("score")},
        "parallel": lines,
    }


def histogram_answer(scores: ScoreReader, query: SelectionQuery, metric: str, mark: list[str], bins: int) -> Plain:
    """The histogram of one column's scores."""
    cube = scores.scene_by_scene(query)
    column = cube.columns[known_column(cube, metric)]
    check_algorithms(cube, mark)
    found = score_histogram(cube, str(column), tuple(mark), bins)
    figure = histograms_data([found], scores.source.styles(mark)).page_spec()
    names = ("edges", "counts", "marked", "empirical", "heuristic", "theoretical")
    return plain(found, names, column=str(column), unit=column.unit(cube.depth_unit)) | {"figure": figure}


def stability_answer(scores: ScoreReader, query: SelectionQuery, options: dict[str, Any], family: str) -> Plain:
    """Weights drawn around those stated, the smallest change that puts another first, and thresholds of a family."""
    refuse_order(query)
    cube = scores.ordered(query)
    families = {metric.id for metric in metrics().values() if metric.parameters}
    if family not in families:
        raise UnknownChoiceError("family of metrics", family, families)
    names = ("algorithms", "first", "rank_low", "rank_high", "changed", "terms")
    try:
        options = scores.options(query, "weighted", options)
        found = weight_stability(cube, missing=query.missing, **options)
        claim = break_even_claim(found.tie) if found.tie else Claim("no-break-even", found.algorithms[1:2])
        answer = plain(found, names, notes=[]) | {"tie": "".join(sentences([claim])) if claim.names else ""}
    except StereogaugeError as reason:
        answer = {name: [] for name in names} | {"changed": None, "notes": [str(reason)], "tie": ""}
    answer |= {"family": family, "thresholds": []}
    members = sum(metric_of(metric).metric.id == family for metric in cube.metrics)
    if members < 2:
        answer["notes"].append(f"Comparing thresholds of {family} needs two of them; {members} in this selection.")
        return answer
    along = threshold_stability(cube, family, missing=query.missing)
    answer["thresholds"] = [
        plain(ranking, ("algorithms",), threshold=threshold, ranks=ranking.rank)
        for threshold, ranking in zip(along.thresholds, along.rankings, strict=True)
    ]
    return answer
