"""From scores to the content of a report. A part that the scores do not allow is left out with the reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from stereogauge.errors import StereogaugeError, UnknownNameError
from stereogauge.evaluation.error_density import ErrorDensity
from stereogauge.evaluation.stored_maps import Origins
from stereogauge.figures import analysis as analysis_figures
from stereogauge.figures import ranking as ranking_figures
from stereogauge.figures.chart import Chart
from stereogauge.figures.confidence import error_density_data
from stereogauge.figures.palette import Styles, algorithm_styles
from stereogauge.protocol import Protocol
from stereogauge.ranking.bootstrap import bootstrap
from stereogauge.ranking.model import Ranking
from stereogauge.ranking.profile import Profile, load_profile, property_of
from stereogauge.ranking.relations import (
    counts_errors,
    determination,
    double_counting,
    score_histogram,
    subset_experiment,
)
from stereogauge.ranking.run import rank
from stereogauge.ranking.significance import different_from_best, friedman, mark_note, wilcoxon_pairs
from stereogauge.ranking.stability import agreement, by_metric, threshold_stability, weight_stability
from stereogauge.report.answer import first_page
from stereogauge.report.content import Content, FigureEntry, GalleryEntry, Provenance, ReportOptions, Section
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.selection import Selection
from stereogauge.tables import ranking_tables as tables
from stereogauge.tables.score_table import coverage_table, density_table, score_tables
from stereogauge.tables.table import Table

MOST_IN_RADAR, MOST_IN_PAIRS, MOST_IN_DIAGRAM, MOST_IN_FIGURE, MOST_SCENES = 6, 10, 30, 40, 12
MOST_AXES, MOST_PANELS = 9, 3
SHORT_FACTS = ("alike with", "first places", "worst column rank", "dominates", "dominated by")
NOT_MEASURED = ("metric of these scores", "region of these scores")
Found = TypeVar("Found")


def reason_text(problem: StereogaugeError) -> str:
    """Why a part is not shown; a metric that was not evaluated is not misspelt by the reader."""
    if not isinstance(problem, UnknownNameError) or problem.kind not in NOT_MEASURED:
        return str(problem)
    return f"{problem.name} was not measured; evaluate with --metrics {problem.name}."


class _Attempts:
    """Collects what could be made, and the reasons for what could not."""

    def __init__(self) -> None:
        self.entries: list[Table | FigureEntry | GalleryEntry] = []
        self.notes: list[str] = []

    def get(self, make: Callable[[], Found]) -> Found | None:
        try:
            return make()
        except StereogaugeError as reason:
            note = reason_text(reason)
            if note not in self.notes:
                self.notes.append(note)
            return None

    def table(self, make: Callable[[], Table]) -> None:
        made = self.get(make)
        if made is not None:
            self.entries.append(made)

    def figure(self, name: str, make: Callable[[], Chart], reading: str) -> None:
        made = self.get(make)
        if made is not None:
            self.entries.append(FigureEntry(name, made, reading))

    def section(self, identifier: str, title: str, prose: str) -> Section:
        return Section(identifier, title, prose, tuple(self.entries), tuple(self.notes))


def build(
    cube: ScoreCube,
    options: ReportOptions | None = None,
    provenance: Provenance | None = None,
    galleries: Sequence[GalleryEntry] = (),
    protocol: Protocol | None = None,
    density: Sequence[ErrorDensity] = (),
    origins: Origins | None = None,
    progress: Callable[[str], None] | None = None,
) -> Content:
    """The report of a cube, the answer first; galleries (`stereogauge.report.maps`) and error over density are made
    from the maps.

    `origins` says where the maps are that the answer is shown on; without them it is shown without pixels.
    """
    chosen = options or ReportOptions()
    origin = provenance or Provenance()
    styles = algorithm_styles(cube.algorithms)
    if chosen.only_sure:
        answer, sections = None, _only_sure(cube, protocol)
    else:
        first = first_page(cube, chosen, styles, protocol, origin.store, origins, progress)
        answer, sections = first.answer, [first.section, *_ordered(cube, chosen, protocol)]
    if density:
        sections.append(_density(density, styles))
    if galleries:
        prose = "Every algorithm's map and the pixels behind its score, from best to worst."
        sections.append(Section("galleries", "Galleries", prose, tuple(galleries)))
    return Content(chosen.title, Selection.of(cube), cube, tuple(sections), origin, answer)


def _ordered(cube: ScoreCube, chosen: ReportOptions, protocol: Protocol | None) -> list[Section]:
    """Scores, orders and how certain they are."""
    metric = chosen.metric or cube.metrics[0]
    styles = algorithm_styles(cube.algorithms)
    main = rank(cube, chosen.model, missing=chosen.missing)
    return [
        _scores(cube, main, chosen, protocol),
        _orders(cube, metric, main, chosen, styles),
        _profiles(cube, main, chosen, styles),
        _certainty(cube, metric, main, chosen, styles),
        _relations(cube, metric, main, styles),
    ]


def _only_sure(cube: ScoreCube, protocol: Protocol | None) -> list[Section]:
    """Scores of maps of any density with their coverage, without an order."""
    attempts = _Attempts()
    read = protocol or Protocol()
    whole = cube.limited(least_coverage=0.0)
    attempts.entries += score_tables(whole, read.aggregation, read.scene_weights, any_density=True)
    attempts.table(lambda: coverage_table(whole))
    prose = (
        "Values are needed only where an algorithm is sure, so every score is shown with the share of its pixels that "
        "it covers. Scores that leave missing estimates out make no order here: leaving more pixels out would win it. "
        "Algorithms are ordered at equal density only."
    )
    return [attempts.section("scores", "Scores and what they cover", prose)]


def _density(found: Sequence[ErrorDensity], styles: Styles) -> Section:
    attempts = _Attempts()
    reading = "Who is lower at the same density is better there; the large marks alone make no order."
    attempts.figure("error-density", lambda: error_density_data(found, styles), reading)
    attempts.entries += [density_table(one) for one in found]
    prose = (
        "The error of each algorithm when only its surest pixels are kept, by its own confidence map; an algorithm "
        "without one is a point at its own density. Algorithms are compared at equal density."
    )
    return attempts.section("density", "Only where it is sure", prose)


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


def _scores(cube: ScoreCube, main: Ranking, options: ReportOptions, protocol: Protocol | None) -> Section:
    attempts = _Attempts()
    order = [*main.algorithms, *(name for name in cube.algorithms if name not in main.algorithms)]
    read = protocol or Protocol()
    marks = partial(different_from_best, alpha=options.alpha)
    found = attempts.get(lambda: score_tables(cube, read.aggregation, read.scene_weights, order=order, marks=marks))
    note = f"Best bold, second underlined. {mark_note(len(cube.scenes), options.alpha)}"
    attempts.entries += [replace(one, notes=(*one.notes, note)) for one in found or ()]
    prose = f"Algorithms in the order of the model {main.model}. A dash is a gap: nothing could be measured there."
    return attempts.section("scores", "Scores", prose)


def _orders(cube: ScoreCube, metric: str, main: Ranking, options: ReportOptions, styles: Styles) -> Section:
    attempts = _Attempts()
    title = f"Order by the model {main.model}, all selected columns"
    attempts.table(lambda: tables.ranking_table(main, title=title, extra=SHORT_FACTS))
    if main.model == "extended":
        attempts.figure(
            "alike",
            lambda: ranking_figures.alike_data(main.head(MOST_IN_FIGURE), styles),
            "A bar joins algorithms that perform alike.",
        )
    groups = attempts.get(lambda: rank(cube, "a-star", missing=options.missing))
    if groups is not None:
        attempts.table(lambda: tables.ranking_table(groups, title="A* groups over all selected columns"))
        attempts.figure(
            "a-star",
            lambda: ranking_figures.layers_data(groups.head(MOST_IN_FIGURE), styles),
            "No algorithm dominates a member of the first row. A line leads down to algorithms that are no better in "
            "any column.",
        )
    orders = attempts.get(lambda: by_metric(cube, missing=options.missing))
    if orders is not None and len(orders) > 1:
        alone = attempts.get(lambda: by_metric(cube, "a-star", missing=options.missing))
        attempts.table(lambda: tables.orders_table(agreement(orders), alone))
        attempts.figure(
            "agreement",
            lambda: analysis_figures.agreement_data(agreement(orders), Selection.of(cube)),
            "1: two metrics give the same order; 0: unrelated orders; −1: reversed.",
        )
        if len(orders) <= 4:
            marks = {name: one.winners for name, one in (alone or {}).items()}
            heads = {name: order.head(MOST_IN_FIGURE) for name, order in orders.items()}
            attempts.figure(
                "slopes",
                lambda: analysis_figures.slopes_data(heads, marks, "member of A*₁", styles),
                "Crossing lines are disagreements between metrics.",
            )
    attempts.figure(
        "rank-map",
        lambda: ranking_figures.rank_map_data(
            cube.select(metrics=[metric]), missing=options.missing, most=MOST_IN_FIGURE
        ),
        "The rank in every column of one metric: who is good where.",
    )
    return attempts.section("orders", "Orders", "The same scores under several models, each with its own assumptions.")


def _profiles(cube: ScoreCube, main: Ranking, options: ReportOptions, styles: Styles) -> Section:
    attempts = _Attempts()
    for name in options.profiles:
        _profile(attempts, cube, load_profile(name), options)
    every = one_column_each(cube)
    axes = every[:MOST_AXES]
    more = "" if len(every) == len(axes) else f" Not drawn because there is no room: {', '.join(every[MOST_AXES:])}."
    few = cube.select(algorithms=main.algorithms[:MOST_IN_RADAR])
    for by in ("rank", "score"):
        make = partial(ranking_figures.radar_data, few, axes, by=by, missing=options.missing, styles=styles)
        attempts.figure(f"radar-{by}", make, f"The centre is best.{more}")
    return attempts.section("profiles", "Applications", "Weights of an application turn many metrics into one choice.")


def weights_in_force(profile: Profile, weighted: Ranking) -> str:
    """The profile's own description; where some of its metrics have no scores, the weights that take its place."""
    terms = weighted.names["terms"]
    absent = [term for term, weight in profile.weights.items() if weight > 0 and term not in terms]
    if not absent:
        return profile.description
    shares: dict[str, float] = {}
    for term, weight in zip(terms, weighted.arrays["weights"], strict=True):
        shares[property_of(term)] = shares.get(property_of(term), 0.0) + float(weight)
    weighed = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
    return f"Not as {profile.name} is meant, since {', '.join(absent)} have no scores: here weigh {weighed}."


def _profile(attempts: _Attempts, cube: ScoreCube, profile: Profile, options: ReportOptions) -> None:
    weighted = attempts.get(lambda: rank(cube, "weighted", missing=options.missing, weights=profile.weights))
    if weighted is None:
        return
    attempts.figure(
        f"bars-{profile.id}",
        lambda: ranking_figures.stacked_bars_data(weighted.head(MOST_IN_FIGURE), profile.name),
        f"{weights_in_force(profile, weighted)} The shortest bar wins; segments show what it is made of.",
    )
    attempts.table(lambda: tables.weights_table(weighted, profile))
    attempts.table(
        lambda: tables.weight_stability_table(
            weight_stability(cube, profile.weights, missing=options.missing, seed=options.seed), profile
        )
    )


def _certainty(cube: ScoreCube, metric: str, main: Ranking, options: ReportOptions, styles: Styles) -> Section:
    attempts = _Attempts()
    best = main.algorithms[:MOST_IN_DIAGRAM]
    test = attempts.get(lambda: friedman(cube, [metric], algorithms=best, missing=options.missing, alpha=options.alpha))
    if test is not None:
        attempts.figure(
            "critical-difference",
            lambda: ranking_figures.critical_difference_data(test, styles),
            "A bar joins algorithms whose average ranks the test does not distinguish.",
        )
    bootstrapped = attempts.get(
        lambda: bootstrap(cube, "middlebury", [metric], missing=options.missing, draws=options.draws, seed=options.seed)
    )
    if bootstrapped is not None:
        single = rank(cube, "middlebury", [metric], missing=options.missing)
        attempts.table(
            lambda: tables.ranking_table(single, bootstrapped, test, f"Order by {metric} (Middlebury model)")
        )
        attempts.figure(
            "intervals",
            lambda: ranking_figures.intervals_data(bootstrapped, styles, MOST_IN_FIGURE),
            "How far scenes decide the order.",
        )
    few = cube.select(algorithms=main.algorithms[:MOST_IN_PAIRS])
    attempts.table(
        lambda: tables.beats_table(
            bootstrap(few, "middlebury", [metric], missing=options.missing, draws=options.draws, seed=options.seed)
        )
    )
    pairs = [(main.algorithms[0], name) for name in main.algorithms[1:MOST_IN_PAIRS]]
    attempts.table(lambda: tables.pairs_table(wilcoxon_pairs(cube, metric, pairs, missing=options.missing), metric))
    family = metric.partition("@")[0]
    attempts.table(lambda: tables.threshold_stability_table(threshold_stability(cube, family, missing=options.missing)))
    prose = (
        "Would other scenes or thresholds have given another order? The tests take the columns of one metric as their "
        "blocks; columns of one scene depend on each other, so with few scenes p-values are too small."
    )
    return attempts.section("certainty", "How certain is this?", prose)


def _relations(cube: ScoreCube, metric: str, main: Ranking, styles: Styles) -> Section:
    attempts = _Attempts()
    columns = one_column_each(cube)
    attempts.figure(
        "determination",
        lambda: analysis_figures.determination_data(determination(cube.select(metrics=columns))),
        "A low r² means that a metric sees something that the other does not.",
    )
    some = cube.select(algorithms=main.algorithms[:MOST_IN_FIGURE], scenes=cube.scenes[:MOST_SCENES])
    if len(columns) > 1:
        panels = min(MOST_PANELS, len(columns) // 2)
        across, up = columns[:panels], columns[panels : 2 * panels]
        attempts.figure(
            "scatter",
            lambda: analysis_figures.scatter_matrix_data(some, across, up, styles),
            "Colours are scenes, shapes are algorithms; the more opaque a line, the better the scene's linear fit.",
        )
    marked = main.algorithms[:1]
    attempts.figure(
        "histograms",
        lambda: analysis_figures.histograms_data(
            [score_histogram(cube, name, marked) for name in columns[:MOST_AXES]], styles
        ),
        f"Where {marked[0]} is among all scores.",
    )
    attempts.table(lambda: tables.subset_table(subset_experiment(cube)))
    few = cube.select(algorithms=main.algorithms[:MOST_IN_FIGURE])
    counted = attempts.get(lambda: double_counting(few, metric if counts_errors(metric) else "bad@1"))
    if counted is not None:
        attempts.table(lambda: tables.double_counting_table(*counted))
        attempts.figure(
            "double-counting",
            lambda: analysis_figures.counted_errors_data(*counted),
            "What a bar has beyond the line is counted more than once.",
        )
    return attempts.section("relations", "Relations between metrics", "What one metric says beyond another.")
