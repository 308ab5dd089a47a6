"""The analyses of `stereogauge analyze`: each one gives tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from stereogauge.analysis.correlation import determination
from stereogauge.analysis.double_counting import double_counting as counted_errors
from stereogauge.analysis.histograms import score_histogram
from stereogauge.analysis.orders import agreement, by_measure
from stereogauge.analysis.stability import threshold_stability, weight_stability
from stereogauge.analysis.subsets import subset_experiment
from stereogauge.errors import StereogaugeError, unknown_name
from stereogauge.figures import analysis as analysis_figures
from stereogauge.figures import ranking as ranking_figures
from stereogauge.figures.palette import algorithm_styles
from stereogauge.ranking.bootstrap import bootstrap
from stereogauge.ranking.cube import ScoreCube
from stereogauge.ranking.profiles import Profile, load_profile
from stereogauge.ranking.selection import Selection
from stereogauge.ranking.significance import friedman, wilcoxon_pairs
from stereogauge.report import tables
from stereogauge.report.build import MOST_PANELS, one_column_each
from stereogauge.report.content import FigureEntry
from stereogauge.report.table import Table, number, table, text


@dataclass(frozen=True)
class AnalysisOptions:
    """Choices of an analysis: the measure of tests and counts, the rule for gaps, level, marked algorithms, profile."""

    measure: str
    missing: str = "drop-algorithm"
    alpha: float = 0.05
    mark: tuple[str, ...] = ()
    profile: str | None = None


class Analysis(NamedTuple):
    """What an analysis found."""

    tables: list[Table]
    figures: list[FigureEntry]


def correlation(cube: ScoreCube, options: AnalysisOptions) -> Analysis:
    """r² between all pairs of columns."""
    found = determination(cube)
    names = [column.label for column in found.columns]
    rows = [[text(name), *(number(value, 2) for value in found.r_squared[row])] for row, name in enumerate(names)]
    shown = table("determination", "r² of linear fits between columns", ["column", *names], rows)
    figure = FigureEntry("determination", analysis_figures.determination_data(found), "")
    return Analysis([shown], [figure])


def scatter(cube: ScoreCube, options: AnalysisOptions) -> Analysis:
    """Columns against each other with one line a scene."""
    columns = one_column_each(cube)
    panels = min(MOST_PANELS, len(columns) // 2)
    if not panels:
        raise StereogaugeError(f"A scatter plot needs two measures; the selection has {', '.join(cube.measures)}.")
    data = analysis_figures.scatter_matrix_data(cube, columns[:panels], columns[panels : 2 * panels])
    rows = [
        [text(panel.x_label), text(panel.y_label), number(panel.r_squared), *(number(r) for r in panel.opacity)]
        for panel in data.panels
    ]
    header = ["x", "y", "r² over all points", *(f"r² on {scene}" for scene in data.scenes)]
    return Analysis([table("scatter", "Linear fits", header, rows)], [FigureEntry("scatter", data, "")])


def orders(cube: ScoreCube, options: AnalysisOptions) -> Analysis:
    """Places by measure and the agreement of the orders."""
    found = by_measure(cube, missing=options.missing)
    groups = by_measure(cube, "a-star", missing=options.missing)
    agreed = agreement(found)
    pairs = [
        [text(first), text(second), number(agreed.kendall[row, column]), number(agreed.spearman[row, column])]
        for row, first in enumerate(agreed.names)
        for column, second in enumerate(agreed.names)
        if row < column
    ]
    header = ["first", "second", "Kendall τ-b", "Spearman ρ"]
    correlations = table("agreement", "Agreement of the orders that two measures give", header, pairs)
    data = analysis_figures.agreement_data(agreed, Selection.of(cube))
    return Analysis([tables.orders_table(agreed, groups), correlations], [FigureEntry("agreement", data, "")])


def histograms(cube: ScoreCube, options: AnalysisOptions) -> Analysis:
    """Score histograms and ranges of every column."""
    found = [score_histogram(cube, str(column), options.mark) for column in cube.columns]
    rows = [
        [
            text(one.column.label),
            number(one.empirical[0]),
            number(one.empirical[1]),
            text("–") if one.heuristic is None else number(one.heuristic[1]),
            number(one.theoretical[1]),
        ]
        for one in found
    ]
    header = ["column", "smallest", "largest", "heuristic maximum", "theoretical maximum"]
    data = analysis_figures.histograms_data(found, algorithm_styles(cube.algorithms))
    return Analysis([table("ranges", "Ranges of the scores", header, rows)], [FigureEntry("histograms", data, "")])


def subsets(cube: ScoreCube, options: AnalysisOptions) -> Analysis:
    """RMS on each metric's own pixels."""
    return Analysis([tables.subset_table(subset_experiment(cube))], [])


def double_counting(cube: ScoreCube, options: AnalysisOptions) -> Analysis:
    """Nested criteria against the partition."""
    found = counted_errors(cube, options.measure)
    figure = FigureEntry("double-counting", analysis_figures.counted_errors_data(*found), "")
    return Analysis([tables.double_counting_table(*found)], [figure])


def significance(cube: ScoreCube, options: AnalysisOptions) -> Analysis:
    """Friedman with Nemenyi, Wilcoxon with Holm, bootstrap over scenes."""
    styles = algorithm_styles(cube.algorithms)
    test = friedman(cube, [options.measure], missing=options.missing, alpha=options.alpha)
    rows = [[text(name), *(number(p, 2) for p in test.nemenyi[row])] for row, name in enumerate(test.algorithms)]
    note = (
        f"Friedman: χ² = {test.statistic:.2f}, p = {test.p_value:.2g} over {test.blocks} columns; critical distance "
        f"{test.critical_distance:.3f} at α = {test.alpha:g}."
    )
    nemenyi = table(
        "nemenyi", f"p-values of Nemenyi's test, {options.measure}", ["algorithm", *test.algorithms], rows, [note]
    )
    pairs = tables.pairs_table(wilcoxon_pairs(cube, options.measure, missing=options.missing), options.measure)
    sure = bootstrap(cube, "middlebury", [options.measure], missing=options.missing)
    figures = [
        FigureEntry("critical-difference", ranking_figures.critical_difference_data(test, styles), ""),
        FigureEntry("intervals", ranking_figures.intervals_data(sure, styles), ""),
    ]
    return Analysis([nemenyi, pairs, tables.beats_table(sure)], figures)


def stability(cube: ScoreCube, options: AnalysisOptions) -> Analysis:
    """Other weights, and other thresholds where the selection has several."""
    shares = dict.fromkeys(cube.measures, 1 / len(cube.measures))
    equal = Profile("equal", "equal weights", "", shares)
    profile = equal if options.profile is None else load_profile(options.profile)
    found = [tables.weight_stability_table(weight_stability(cube, profile.weights, missing=options.missing), profile)]
    family = options.measure.partition("@")[0]
    if sum(name.partition("@")[0] == family for name in cube.measures) > 1:
        found.append(tables.threshold_stability_table(threshold_stability(cube, family, missing=options.missing)))
    return Analysis(found, [])


ANALYSES: dict[str, Callable[[ScoreCube, AnalysisOptions], Analysis]] = {
    "correlation": correlation,
    "scatter": scatter,
    "orders": orders,
    "histograms": histograms,
    "subsets": subsets,
    "double-counting": double_counting,
    "significance": significance,
    "stability": stability,
}


def analysis(name: str) -> Callable[[ScoreCube, AnalysisOptions], Analysis]:
    """The analysis called `name`."""
    if name not in ANALYSES:
        raise unknown_name("analysis", name, ANALYSES)
    return ANALYSES[name]
