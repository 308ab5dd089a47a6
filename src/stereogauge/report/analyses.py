"""Analyses of scores: each one gives tables and figures, for `stereogauge analyze` and for the report."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from stereogauge.errors import StereogaugeError, one_of
from stereogauge.figures import analysis as analysis_figures
from stereogauge.figures import ranking as ranking_figures
from stereogauge.figures.palette import Styles, algorithm_styles
from stereogauge.ranking import relations
from stereogauge.ranking.bootstrap import Bootstrap, bootstrap
from stereogauge.ranking.profile import Profile, load_profile
from stereogauge.ranking.significance import Friedman, friedman, wilcoxon_pairs
from stereogauge.ranking.stability import (
    OrderAgreement,
    agreement,
    by_metric,
    by_model,
    by_region,
    threshold_stability,
    weight_stability,
)
from stereogauge.report.content import AnalysisOptions, Entry, FigureEntry
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.selection import Selection
from stereogauge.tables import ranking_tables as tables
from stereogauge.tables.table import Cell, Table, number, table

MOST_PANELS = 3


def correlation(cube: ScoreCube, options: AnalysisOptions) -> list[Entry]:
    """r² between all pairs of columns."""
    found = relations.determination(cube)
    names = [column.label for column in found.columns]
    rows = [[name, *(number(value, 2) for value in found.r_squared[row])] for row, name in enumerate(names)]
    shown = table("determination", "r² of linear fits between columns", ["column", *names], rows)
    reading = "A low r² means that a metric sees something that the other does not."
    figure = FigureEntry("determination", analysis_figures.determination_data(found), reading)
    return [shown, figure]


def scatter(cube: ScoreCube, options: AnalysisOptions) -> list[Entry]:
    """Columns against each other with one line per scene."""
    columns = one_column_each(cube)
    panels = min(MOST_PANELS, len(columns) // 2)
    if not panels:
        raise StereogaugeError(f"A scatter plot needs two metrics; the selection has {', '.join(cube.metrics)}.")
    horizontal, vertical = columns[:panels], columns[panels : 2 * panels]
    data = analysis_figures.scatter_matrix_data(cube, horizontal, vertical, options.styles)
    rows = [
        [
            *(analysis_figures.label(column, one.selection) for column in (one.x, one.y)),
            number(one.r_squared),
            *(number(np.nan_to_num(fit.r_squared)) for fit in one.fits),
        ]
        for y in vertical
        for one in [relations.scatter(cube, x, y) for x in horizontal]
    ]
    header = ["x", "y", "r² over all points", *(f"r² on {scene}" for scene in cube.scenes)]
    reading = "A line is the linear fit of a scene; the more opaque it is, the better the fit."
    return [table("scatter", "Linear fits", header, rows), FigureEntry("scatter", data, reading)]


def orders(cube: ScoreCube, options: AnalysisOptions) -> list[Entry]:
    """Places by metric, and the agreement of the orders by metric, by region of one metric and by model."""
    found = metric_orders(cube, options) if len(cube.metrics) > 1 else []
    regions = by_region(cube, options.metric, missing=options.missing)
    if len(regions) > 1:
        what = f"two regions of {options.metric}"
        found.append(_agreement_table("agreement-regions", what, agreement(regions)))
    models = by_model(cube, missing=options.missing)
    return [*found, _agreement_table("agreement-models", "two models", agreement(models))]


def metric_orders(cube: ScoreCube, options: AnalysisOptions) -> list[Entry]:
    """Places by metric, and how far the orders agree."""
    agreed = agreement(by_metric(cube, missing=options.missing))
    groups = by_metric(cube, "a-star", missing=options.missing)
    reading = "1: two metrics give the same order; 0: unrelated orders; −1: reversed."
    figure = FigureEntry("agreement", analysis_figures.agreement_data(agreed, Selection.of(cube)), reading)
    return [tables.orders_table(agreed, groups), _agreement_table("agreement", "two metrics", agreed), figure]


def _agreement_table(name: str, what: str, agreed: OrderAgreement) -> Table:
    rows = [
        [first, second, number(agreed.kendall[row, column]), number(agreed.spearman[row, column])]
        for row, first in enumerate(agreed.names)
        for column, second in enumerate(agreed.names)
        if row < column
    ]
    header = ["first", "second", "Kendall τ-b", "Spearman ρ"]
    return table(name, f"Agreement of the orders that {what} give", header, rows)


def histograms(cube: ScoreCube, options: AnalysisOptions) -> list[Entry]:
    """Score histograms and ranges of every column."""
    found = [relations.score_histogram(cube, str(column), options.mark) for column in cube.columns]
    rows = [
        [
            one.column.label,
            number(one.empirical[0]),
            number(one.empirical[1]),
            Cell() if one.heuristic is None else number(one.heuristic[1]),
            number(one.theoretical[1]),
        ]
        for one in found
    ]
    header = ["column", "smallest", "largest", "heuristic maximum", "theoretical maximum"]
    data = analysis_figures.histograms_data(found, options.styles or algorithm_styles(cube.algorithms))
    reading = f"Where {', '.join(options.mark)} is among all scores." if options.mark else ""
    return [table("ranges", "Ranges of the scores", header, rows), FigureEntry("histograms", data, reading)]


def subsets(cube: ScoreCube, options: AnalysisOptions) -> list[Entry]:
    """RMS on each metric's own pixels."""
    return [tables.subset_table(relations.subset_experiment(cube))]


def double_counting(cube: ScoreCube, options: AnalysisOptions) -> list[Entry]:
    """Nested regions against the partition."""
    found = relations.double_counting(cube, options.metric)
    reading = "What a bar has beyond the line is counted more than once."
    figure = FigureEntry("double-counting", analysis_figures.counted_errors_data(*found), reading)
    return [tables.double_counting_table(*found), figure]


def significance(cube: ScoreCube, options: AnalysisOptions) -> list[Entry]:
    """Friedman with Nemenyi, Wilcoxon with Holm, bootstrap over scenes: those of them that the scores allow.

    Two algorithms have no Friedman test, one scene has no bootstrap, gaps that take the worst rank have no Wilcoxon
    test; a note says so.
    """
    found: list[Entry] = []
    reasons: list[str] = []
    for attempt in (friedman_test, _wilcoxon, _bootstrap):
        try:
            found += attempt(cube, options)
        except StereogaugeError as reason:
            reasons.append(str(reason))
    if not found:
        raise StereogaugeError(reasons[0])
    *others, last = (one for one in found if isinstance(one, Table))
    figures = [one for one in found if isinstance(one, FigureEntry)]
    return [*others, replace(last, notes=(*last.notes, *reasons)), *figures]


def friedman_test(cube: ScoreCube, options: AnalysisOptions) -> list[Entry]:
    """Friedman's test by one metric with Nemenyi's p-values, and the diagram where it can tell anything."""
    test = friedman(cube, [options.metric], missing=options.missing, alpha=options.alpha)
    rows = [[name, *(number(p, 2) for p in test.nemenyi[row])] for row, name in enumerate(test.algorithms)]
    title = f"p-values of Nemenyi's test, {options.metric}"
    shown = table("nemenyi", title, ["algorithm", *test.algorithms], rows, [test.sentence])
    return [shown, critical_difference(test, options.styles)] if test.can_tell else [shown]


def critical_difference(test: Friedman, styles: Styles | None) -> FigureEntry:
    """The diagram of Friedman's test; an error where so few scenes cannot distinguish anything."""
    reading = "A bar joins algorithms whose average ranks the test does not distinguish."
    return FigureEntry("critical-difference", ranking_figures.critical_difference_data(test, styles), reading)


def rank_intervals(found: Bootstrap, styles: Styles | None, most: int | None = None) -> FigureEntry:
    """The intervals of a bootstrap over scenes."""
    return FigureEntry(
        "intervals", ranking_figures.intervals_data(found, styles, most), "How far scenes decide the order."
    )


def _wilcoxon(cube: ScoreCube, options: AnalysisOptions) -> list[Entry]:
    pairs = wilcoxon_pairs(cube, options.metric, missing=options.missing)
    return [tables.pairs_table(pairs, options.metric, options.alpha)]


def _bootstrap(cube: ScoreCube, options: AnalysisOptions) -> list[Entry]:
    found = bootstrap(
        cube, "middlebury", [options.metric], missing=options.missing, draws=options.draws, seed=options.seed
    )
    return [tables.beats_table(found), rank_intervals(found, options.styles)]


def stability(cube: ScoreCube, options: AnalysisOptions) -> list[Entry]:
    """Other weights, and other thresholds where the selection has several."""
    shares = dict.fromkeys(cube.metrics, 1 / len(cube.metrics))
    equal = Profile("equal", "equal weights", "", shares)
    profile = equal if options.profile is None else load_profile(options.profile)
    stable = weight_stability(cube, profile=profile, missing=options.missing)
    found: list[Entry] = [tables.weight_stability_table(stable, profile)]
    family = options.metric.partition("@")[0]
    if sum(name.partition("@")[0] == family for name in cube.metrics) > 1:
        found.append(tables.threshold_stability_table(threshold_stability(cube, family, missing=options.missing)))
    return found


def one_column_each(cube: ScoreCube) -> list[str]:
    """One column of each metric (on `all` where it has it): the first of each family, then the other thresholds."""
    families: dict[str, int] = {}
    found = []
    for name in cube.metrics:
        matching = [column for column in cube.columns if column.metric == name]
        family = matching[0].declared.metric.id
        families[family] = families.get(family, 0) + 1
        everywhere = next((column for column in matching if column.region == "all"), matching[0])
        found.append((families[family], str(everywhere)))
    return [column for _, column in sorted(found, key=lambda entry: entry[0])]


ANALYSES: dict[str, Callable[[ScoreCube, AnalysisOptions], list[Entry]]] = {
    "correlation": correlation,
    "scatter": scatter,
    "orders": orders,
    "histograms": histograms,
    "subsets": subsets,
    "double-counting": double_counting,
    "significance": significance,
    "stability": stability,
}


def analysis(name: str) -> Callable[[ScoreCube, AnalysisOptions], list[Entry]]:
    """The analysis called `name`."""
    return ANALYSES[one_of("analysis", name, ANALYSES)]
