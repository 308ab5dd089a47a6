"""Statistics of a selection: tests of difference, relations between columns, histograms, stability of an order."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import BaseModel

from stereogauge.analysis.correlation import determination, scatter
from stereogauge.analysis.histograms import score_histogram
from stereogauge.analysis.stability import threshold_stability, weight_stability
from stereogauge.errors import StereogaugeError
from stereogauge.figures.data.analysis import determination_data, histograms_data, scatter_matrix_data
from stereogauge.figures.data.ranking import critical_difference_data
from stereogauge.figures.palette import Styles
from stereogauge.metrics.declaration import metrics
from stereogauge.ranking.bootstrap import bootstrap
from stereogauge.ranking.costs import oriented
from stereogauge.ranking.run import about_pixels
from stereogauge.ranking.significance import friedman, wilcoxon_pairs
from stereogauge.scores.column import metric_of
from stereogauge.scores.cube import ScoreCube
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.figures import Figure, figure_json
from stereogauge.web.numbers import finite
from stereogauge.web.scores.reader import ScoreReader
from stereogauge.web.scores.tables import Row, rows
from stereogauge.web.selection import SelectionQuery, known_column

MOST_POINTS = 20_000
DRAWS = 1000


class SceneDifference(BaseModel):
    """Scores of two algorithms on one scene; `difference` is first − second as costs: below 0 the first is better."""

    scene: str
    first: float | None
    second: float | None
    difference: float | None


class HeadToHead(BaseModel):
    """Two algorithms in one column; `probability` that the first beats the second over such scenes."""

    first: str
    second: str
    column: str
    unit: str
    wins: int
    losses: int
    probability: float | None
    p_value: float | None
    note: str
    scenes: list[SceneDifference]


class SignificanceAnswer(BaseModel):
    """Friedman's test with Nemenyi's critical distance, best first; `cliques` are runs that it does not tell apart.

    `figure` is the critical-difference diagram for Plotly.
    """

    algorithms: list[str]
    average_rank: list[float]
    blocks: int
    alpha: float
    statistic: float | None
    p_value: float | None
    critical_distance: float | None
    cliques: list[tuple[int, int]]
    caption: str
    note: str
    pair: HeadToHead | None
    figure: Figure | None


class Fit(BaseModel):
    """A least-squares line of one scene."""

    scene: str
    slope: float | None
    intercept: float | None
    r_squared: float | None


class Points(BaseModel):
    """One column against another: values (algorithms, scenes), one line per scene, and the plot for Plotly."""

    x: str
    y: str
    x_unit: str
    y_unit: str
    x_values: list[Row]
    y_values: list[Row]
    fits: list[Fit]
    r_squared: float | None
    figure: Figure


class CorrelationAnswer(BaseModel):
    """r² between all pairs of columns with the number of points, the heat map for Plotly, and the requested plots."""

    columns: list[str]
    r_squared: list[Row]
    points: list[list[int]]
    algorithms: list[str]
    scenes: list[str]
    scatter: list[Points]
    figure: Figure


class HistogramAnswer(BaseModel):
    """Counts of scores between edges, one score per (scene, algorithm); `marked` holds scores of chosen algorithms.

    `figure` is the histogram for Plotly, with the mean score of each marked algorithm.
    """

    column: str
    unit: str
    edges: list[float]
    counts: list[int]
    marked: dict[str, list[float | None]]
    empirical: tuple[float | None, float | None]
    heuristic: tuple[float | None, float | None] | None
    theoretical: tuple[float | None, float | None]
    figure: Figure


class ThresholdOrder(BaseModel):
    """The order at one threshold of a family of metrics."""

    threshold: float
    algorithms: list[str]
    ranks: list[int]


class StabilityAnswer(BaseModel):
    """How easily the winner changes with weights or thresholds; `notes` gives the reason for an empty part."""

    algorithms: list[str]
    first: list[float]
    rank_low: list[int]
    rank_high: list[int]
    changed: float | None
    terms: list[str]
    family: str
    thresholds: list[ThresholdOrder]
    notes: list[str]


def significance_answer(
    scores: ScoreReader, query: SelectionQuery, alpha: float, first: str | None, second: str | None, column: str | None
) -> SignificanceAnswer:
    """The test over all algorithms of the selection; two of them head to head in one column where they are named."""
    cube = scores.values(query)
    pair = None if first is None or second is None else head_to_head(cube, query, first, second, column)
    try:
        chosen = cube if query.metrics is not None else about_pixels(cube)
        test = friedman(chosen, missing=query.missing, alpha=alpha)
    except StereogaugeError as reason:
        return SignificanceAnswer(
            algorithms=[], average_rank=[], blocks=0, alpha=alpha, statistic=None, p_value=None,
            critical_distance=None, cliques=[], caption="", note=str(reason), pair=pair, figure=None,
        )  # fmt: skip
    return SignificanceAnswer(
        algorithms=list(test.algorithms),
        average_rank=test.average_rank.tolist(),
        blocks=test.blocks,
        alpha=alpha,
        statistic=finite(test.statistic),
        p_value=finite(test.p_value),
        critical_distance=finite(test.critical_distance),
        cliques=list(test.cliques),
        caption=test.selection.caption(),
        note=test.sentence,
        pair=pair,
        figure=figure_json(critical_difference_data(test, scores.styles())) if test.can_tell else None,
    )


def head_to_head(cube: ScoreCube, query: SelectionQuery, first: str, second: str, column: str | None) -> HeadToHead:
    """Two algorithms scene by scene, with Wilcoxon's test and the bootstrap's probability over their common scenes."""
    for name in (first, second):
        if name not in cube.algorithms:
            raise UnknownChoiceError("algorithm", name, cube.algorithms)
    if first == second:
        raise StereogaugeError(f"Head to head needs two algorithms; found {first!r} twice.")
    index = known_column(cube, column or str(cube.columns[0]))
    chosen = cube.columns[index]
    both = cube.take(algorithms=[cube.algorithms.index(first), cube.algorithms.index(second)], columns=[index])
    values, costs = both.values[:, :, 0], oriented(both)[:, :, 0]
    difference = costs[0] - costs[1]
    probability, p_value, note = None, None, ""
    try:
        draws = bootstrap(both, "middlebury", missing="drop-column", draws=DRAWS)
        probability = float(draws.beats[draws.algorithms.index(first), draws.algorithms.index(second)])
        p_value = finite(wilcoxon_pairs(both, chosen.metric, [(first, second)], missing="drop-column")[0].p_value)
    except StereogaugeError as reason:
        note = str(reason)
    return HeadToHead(
        first=first,
        second=second,
        column=str(chosen),
        unit=chosen.declared.metric.unit,
        wins=int((difference < 0).sum()),
        losses=int((difference > 0).sum()),
        probability=probability,
        p_value=p_value,
        note=note,
        scenes=[
            SceneDifference(
                scene=scene,
                first=finite(values[0, at]),
                second=finite(values[1, at]),
                difference=finite(difference[at]),
            )
            for at, scene in enumerate(cube.scenes)
        ],
    )


def correlation_answer(scores: ScoreReader, query: SelectionQuery, pairs: list[tuple[str, str]]) -> CorrelationAnswer:
    """r² of the selection; `pairs` are the columns (x, y) to plot against each other."""
    cube = scores.values(query)
    found = determination(cube)
    size = len(found.columns)
    return CorrelationAnswer(
        columns=[str(column) for column in found.columns],
        r_squared=rows(found.r_squared, (size, size)),
        points=found.points.tolist(),
        algorithms=list(cube.algorithms),
        scenes=list(cube.scenes),
        scatter=[points(cube, x, y, scores.styles()) for x, y in pairs],
        figure=figure_json(determination_data(found)),
    )


def points(cube: ScoreCube, x: str, y: str, styles: Styles) -> Points:
    """One scatter plot."""
    first, second = cube.columns[known_column(cube, x)], cube.columns[known_column(cube, y)]
    if cube.values[:, :, 0].size > MOST_POINTS:
        raise StereogaugeError(
            f"A scatter plot shows at most {MOST_POINTS} points; the selection has {cube.values[:, :, 0].size}."
        )
    found = scatter(cube, str(first), str(second))
    shape = (len(cube.algorithms), len(cube.scenes))
    return Points(
        x=str(first),
        y=str(second),
        x_unit=first.declared.metric.unit,
        y_unit=second.declared.metric.unit,
        x_values=rows(found.x_values, shape),
        y_values=rows(found.y_values, shape),
        fits=[
            Fit(scene=f.scene, slope=finite(f.slope), intercept=finite(f.intercept), r_squared=finite(f.r_squared))
            for f in found.fits
        ],
        r_squared=finite(found.r_squared),
        figure=figure_json(scatter_matrix_data(cube, [str(first)], [str(second)], styles)),
    )


def histogram_answer(
    scores: ScoreReader, query: SelectionQuery, metric: str, mark: list[str], bins: int
) -> HistogramAnswer:
    """The histogram of one column's scores."""
    cube = scores.values(query)
    column = cube.columns[known_column(cube, metric)]
    for name in mark:
        if name not in cube.algorithms:
            raise UnknownChoiceError("algorithm", name, cube.algorithms)
    found = score_histogram(cube, str(column), tuple(mark), bins)
    return HistogramAnswer(
        column=str(column),
        unit=column.declared.metric.unit,
        edges=found.edges.tolist(),
        counts=found.counts.tolist(),
        marked={name: [finite(value) for value in scores] for name, scores in found.marked.items()},
        empirical=_bounds(found.empirical),
        heuristic=None if found.heuristic is None else _bounds(found.heuristic),
        theoretical=_bounds(found.theoretical),
        figure=figure_json(histograms_data([found], scores.styles())),
    )


def _bounds(pair: tuple[float, float]) -> tuple[float | None, float | None]:
    return finite(pair[0]), finite(pair[1])


def stability_answer(
    scores: ScoreReader, query: SelectionQuery, options: dict[str, Any], family: str
) -> StabilityAnswer:
    """Weights drawn around those stated, and the thresholds of one family of metrics."""
    cube = scores.values(query)
    families = {metric.id for metric in metrics().values() if metric.parameters}
    if family not in families:
        raise UnknownChoiceError("family of metrics", family, families)
    answer = StabilityAnswer(
        algorithms=[], first=[], rank_low=[], rank_high=[], changed=None, terms=[], family=family, thresholds=[],
        notes=[],
    )  # fmt: skip
    try:
        moved = weight_stability(cube, missing=query.missing, **options)
    except StereogaugeError as reason:
        answer.notes.append(str(reason))
    else:
        answer.algorithms, answer.first = list(moved.algorithms), moved.first.tolist()
        answer.rank_low, answer.rank_high = moved.rank_low.tolist(), moved.rank_high.tolist()
        answer.changed, answer.terms = moved.changed, list(moved.terms)
    members = sum(metric_of(metric).metric.id == family for metric in cube.metrics)
    if members < 2:
        answer.notes.append(f"Only {members} threshold(s) of {family} are selected; two are needed to compare.")
        return answer
    along = threshold_stability(cube, family, missing=query.missing)
    answer.thresholds = [
        ThresholdOrder(
            threshold=threshold,
            algorithms=list(ranking.algorithms),
            ranks=np.asarray(ranking.rank).tolist(),
        )
        for threshold, ranking in zip(along.thresholds, along.rankings, strict=True)
    ]
    return answer
