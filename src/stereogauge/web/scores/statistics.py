"""Statistics of a selection: tests of difference, relations between columns, histograms, stability of an order."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from stereogauge.errors import StereogaugeError
from stereogauge.figures.analysis import determination_data, histograms_data, scatter_matrix_data
from stereogauge.figures.chart import Spec
from stereogauge.figures.palette import Styles
from stereogauge.figures.ranking import RadarPoint, critical_difference_data, parallel, radar
from stereogauge.metrics.registry import metrics
from stereogauge.ranking.bootstrap import bootstrap
from stereogauge.ranking.relations import determination, scatter, score_histogram
from stereogauge.ranking.run import about_pixels
from stereogauge.ranking.significance import friedman, wilcoxon_pairs
from stereogauge.ranking.stability import threshold_stability, weight_stability
from stereogauge.scores.aggregation import oriented
from stereogauge.scores.column import metric_of
from stereogauge.scores.cube import ScoreCube
from stereogauge.web.answer import Answer, Bounds, Integers, Number, Numbers, Text
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.scores.reader import ScoreReader
from stereogauge.web.scores.tables import Row, rows, table_answer
from stereogauge.web.selection import SelectionQuery, known_column, refuse_order

MOST_AXES = 12
MOST_POINTS = 20_000
DRAWS = 1000


class SceneDifference(Answer):
    """Scores of two algorithms on one scene; `difference` is first − second as costs: below 0 the first is better."""

    scene: str
    first: Number
    second: Number
    difference: Number


class HeadToHead(Answer):
    """Two algorithms in one column; `probability` that the first beats the second over such scenes."""

    first: str
    second: str
    column: str
    unit: str
    wins: int
    losses: int
    probability: Number
    p_value: Number
    note: str
    scenes: list[SceneDifference]


class SignificanceAnswer(Answer):
    """Friedman's test with Nemenyi's critical distance, best first; `cliques` are runs that it does not distinguish.

    `figure` is the critical-difference diagram in Vega-Lite.
    """

    algorithms: list[str]
    average_rank: Numbers
    blocks: int
    alpha: float
    statistic: Number
    p_value: Number
    critical_distance: Number
    cliques: list[tuple[int, int]]
    caption: str
    note: str
    pair: HeadToHead | None
    figure: Spec | None


class Fit(Answer):
    """A least-squares line of one scene."""

    scene: str
    slope: Number
    intercept: Number
    r_squared: Number


class ScatterPoints(Answer):
    """One column against another: values (algorithms, scenes), one line per scene, and the plot in Vega-Lite."""

    x: Text
    y: Text
    x_unit: str
    y_unit: str
    x_values: list[Row]
    y_values: list[Row]
    fits: list[Fit]
    r_squared: Number
    figure: Spec


class CorrelationAnswer(Answer):
    """r² between all pairs of columns with the number of points, the heat map in Vega-Lite, and the requested plots."""

    columns: list[str]
    r_squared: list[Row]
    points: list[list[int]]
    algorithms: list[str]
    scenes: list[str]
    scatter: list[ScatterPoints]
    figure: Spec


class ShapesAnswer(Answer):
    """Algorithms over all columns at once: radar charts by rank and by score, and parallel coordinates.

    `columns` are the axes, at most twelve of `usable`; `empty` columns have no score. A chart with too few axes is
    null.
    """

    columns: list[str]
    usable: int
    empty: list[str]
    radar: dict[str, Spec | None]
    parallel: Spec | None


class HistogramAnswer(Answer):
    """Counts of scores between edges, one score per (scene, algorithm); `marked` holds scores of chosen algorithms.

    `figure` is the histogram in Vega-Lite, with the mean score of each marked algorithm.
    """

    column: Text
    unit: str
    edges: Numbers
    counts: Integers
    marked: dict[str, Row]
    empirical: Bounds
    heuristic: Bounds | None
    theoretical: Bounds
    figure: Spec


class ThresholdOrder(Answer):
    """The order at one threshold of a family of metrics."""

    threshold: float
    algorithms: list[str]
    ranks: Integers


class StabilityAnswer(Answer):
    """How easily the winner changes with weights or thresholds; `notes` gives the reason for an empty part."""

    algorithms: list[str]
    first: Numbers
    rank_low: Integers
    rank_high: Integers
    changed: Number
    terms: list[str]
    family: str
    thresholds: list[ThresholdOrder]
    notes: list[str]


def significance_answer(
    scores: ScoreReader, query: SelectionQuery, alpha: float, first: str | None, second: str | None, column: str | None
) -> SignificanceAnswer:
    """The test over all algorithms of the selection; two of them head to head in one column where they are named."""
    refuse_order(query)
    cube = scores.values(query)
    shown = scores.scene_by_scene(query)
    pair = None if first is None or second is None else head_to_head(cube, shown, first, second, column)
    try:
        compared = scores.ordered(query)
        chosen = compared if query.metrics is not None else about_pixels(compared)
        test = friedman(chosen, missing=query.missing, alpha=alpha)
    except StereogaugeError as reason:
        return SignificanceAnswer(
            algorithms=[], average_rank=[], blocks=0, alpha=alpha, statistic=None, p_value=None,
            critical_distance=None, cliques=[], caption="", note=str(reason), pair=pair, figure=None,
        )  # fmt: skip
    figure = critical_difference_data(test, scores.styles(test.algorithms)).page_spec() if test.can_tell else None
    return SignificanceAnswer.of(test, caption=test.selection.caption(), note=test.sentence, pair=pair, figure=figure)


def head_to_head(cube: ScoreCube, shown: ScoreCube, first: str, second: str, column: str | None) -> HeadToHead:
    """Two algorithms scene by scene, with Wilcoxon's test and the bootstrap's probability over their common scenes.

    `shown` holds the scores that may be listed by scene.
    """
    for name in (first, second):
        if name not in cube.algorithms:
            raise UnknownChoiceError("algorithm", name, cube.algorithms)
    if first == second:
        raise StereogaugeError(f"Head to head needs two algorithms; found {first!r} twice.")
    index = known_column(cube, column or str(cube.columns[0]))
    chosen = cube.columns[index]
    both = cube.take(algorithms=[cube.algorithms.index(first), cube.algorithms.index(second)], columns=[index])
    costs = oriented(both)[:, :, 0]
    listed = shown.values[[cube.algorithms.index(first), cube.algorithms.index(second)], :, index]
    difference = costs[0] - costs[1]
    differences = np.where(np.isnan(listed).any(axis=0), np.nan, difference)
    probability, p_value, note = None, None, ""
    try:
        draws = bootstrap(both, "middlebury", missing="drop-column", draws=DRAWS)
        probability = float(draws.beats[draws.algorithms.index(first), draws.algorithms.index(second)])
        p_value = wilcoxon_pairs(both, chosen.metric, [(first, second)], missing="drop-column")[0].p_value
    except StereogaugeError as reason:
        note = str(reason)
    return HeadToHead(
        first=first,
        second=second,
        column=str(chosen),
        unit=chosen.unit(cube.depth_unit),
        wins=int((difference < 0).sum()),
        losses=int((difference > 0).sum()),
        probability=probability,
        p_value=p_value,
        note=note,
        scenes=[
            SceneDifference(scene=scene, first=one, second=other, difference=between)
            for scene, one, other, between in zip(cube.scenes, *listed, differences, strict=True)
        ],
    )


def correlation_answer(scores: ScoreReader, query: SelectionQuery, pairs: list[tuple[str, str]]) -> CorrelationAnswer:
    """r² of the selection; `pairs` are the columns (x, y) to plot against each other."""
    cube = scores.scene_by_scene(query)
    found = determination(cube)
    size, styles = len(found.columns), scores.styles(cube.algorithms)
    return CorrelationAnswer(
        columns=[str(column) for column in found.columns],
        r_squared=rows(found.r_squared, (size, size)),
        points=found.points.tolist(),
        algorithms=list(cube.algorithms),
        scenes=list(cube.scenes),
        scatter=[points(cube, x, y, styles) for x, y in pairs],
        figure=determination_data(found).page_spec(),
    )


def points(cube: ScoreCube, x: str, y: str, styles: Styles) -> ScatterPoints:
    """One scatter plot."""
    first, second = cube.columns[known_column(cube, x)], cube.columns[known_column(cube, y)]
    if cube.values[:, :, 0].size > MOST_POINTS:
        raise StereogaugeError(
            f"A scatter plot shows at most {MOST_POINTS} points; the selection has {cube.values[:, :, 0].size}."
        )
    found = scatter(cube, str(first), str(second))
    shape = (len(cube.algorithms), len(cube.scenes))
    return ScatterPoints.of(
        found,
        x_unit=first.unit(cube.depth_unit),
        y_unit=second.unit(cube.depth_unit),
        x_values=rows(found.x_values, shape),
        y_values=rows(found.y_values, shape),
        fits=[Fit.of(fit) for fit in found.fits],
        figure=scatter_matrix_data(cube, [str(first)], [str(second)], styles).page_spec(),
    )


def shapes_answer(scores: ScoreReader, query: SelectionQuery) -> ShapesAnswer:
    """The table of a selection as shapes; what covers too little to be ranked is not drawn."""
    table = table_answer(scores, query)
    styles = scores.styles(table.algorithms)
    styles = {name: styles[name] for name in table.algorithms}
    metrics = [column.metric for column in table.columns]
    known = [any(row[place] is not None for row in table.values) for place in range(len(table.columns))]
    usable = [place for place, some in enumerate(known) if some]
    axes = {
        place: table.columns[place].metric if metrics.count(metrics[place]) == 1 else table.columns[place].id
        for place in usable[:MOST_AXES]
    }

    def number(row: int, place: int, values: list[Row]) -> float | None:
        value = values[row][place]
        return None if table.faint[row][place] or isinstance(value, str) else value

    def radar_by(by: Literal["rank", "score"]) -> Spec | None:
        if len(axes) < 3:
            return None
        points = []
        for row, algorithm in enumerate(table.algorithms):
            for place, label in axes.items():
                value, rank = number(row, place, table.values), number(row, place, table.ranks)
                share = number(row, place, table.shares)
                radius = share if by == "score" else None if rank is None else rank / len(table.algorithms)
                text = "" if value is None else f"{value:.3g} {table.columns[place].unit}, rank {rank:g}"
                points.append(RadarPoint(algorithm, label, radius, text))
        return radar("", "", points, by, styles).page_spec()

    drawn = None
    if len(axes) > 1:
        every = range(len(table.algorithms))
        values = [[number(row, place, table.values) for place in axes] for row in every]
        ranks = [[number(row, place, table.ranks) for place in axes] for row in every]
        directions = {label: table.columns[place].direction for place, label in axes.items()}
        drawn = parallel("", directions, table.algorithms, values, ranks, styles).page_spec()
    return ShapesAnswer(
        columns=[table.columns[place].id for place in axes],
        usable=len(usable),
        empty=[column.id for column, some in zip(table.columns, known, strict=True) if not some],
        radar={"rank": radar_by("rank"), "score": radar_by("score")},
        parallel=drawn,
    )


def histogram_answer(
    scores: ScoreReader, query: SelectionQuery, metric: str, mark: list[str], bins: int
) -> HistogramAnswer:
    """The histogram of one column's scores."""
    cube = scores.scene_by_scene(query)
    column = cube.columns[known_column(cube, metric)]
    for name in mark:
        if name not in cube.algorithms:
            raise UnknownChoiceError("algorithm", name, cube.algorithms)
    found = score_histogram(cube, str(column), tuple(mark), bins)
    figure = histograms_data([found], scores.styles(mark)).page_spec()
    return HistogramAnswer.of(found, unit=column.unit(cube.depth_unit), figure=figure)


def stability_answer(
    scores: ScoreReader, query: SelectionQuery, options: dict[str, Any], family: str
) -> StabilityAnswer:
    """Weights drawn around those stated, and the thresholds of one family of metrics."""
    refuse_order(query)
    cube = scores.ordered(query)
    families = {metric.id for metric in metrics().values() if metric.parameters}
    if family not in families:
        raise UnknownChoiceError("family of metrics", family, families)
    try:
        moved = weight_stability(cube, missing=query.missing, **options)
        answer = StabilityAnswer.of(moved, family=family, thresholds=[], notes=[])
    except StereogaugeError as reason:
        answer = StabilityAnswer(
            algorithms=[], first=[], rank_low=[], rank_high=[], changed=None, terms=[], family=family, thresholds=[],
            notes=[str(reason)],
        )  # fmt: skip
    members = sum(metric_of(metric).metric.id == family for metric in cube.metrics)
    if members < 2:
        answer.notes.append(f"Only {members} threshold(s) of {family} are selected; two are needed to compare.")
        return answer
    along = threshold_stability(cube, family, missing=query.missing)
    answer.thresholds = [
        ThresholdOrder.of(ranking, threshold=threshold, ranks=ranking.rank)
        for threshold, ranking in zip(along.thresholds, along.rankings, strict=True)
    ]
    return answer
