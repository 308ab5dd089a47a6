"""From scores to the content of a report. A part that the scores do not allow is left out with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

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
from stereogauge.ranking.models.weighted import stand_in_note
from stereogauge.ranking.profile import Profile, load_profile, property_of
from stereogauge.ranking.relations import counts_errors
from stereogauge.ranking.run import rank
from stereogauge.ranking.significance import different_from_best, friedman, mark_note, wilcoxon_pairs
from stereogauge.ranking.stability import by_metric, threshold_stability, weight_stability
from stereogauge.ranking.weighted_score import with_stand_ins
from stereogauge.report.analyses import (
    correlation,
    critical_difference,
    double_counting,
    histograms,
    metric_orders,
    one_column_each,
    rank_intervals,
    scatter,
    subsets,
)
from stereogauge.report.answer import first_page
from stereogauge.report.content import (
    AnalysisOptions,
    Attempts,
    Content,
    FigureEntry,
    Provenance,
    ReportOptions,
    Section,
)
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.selection import Selection
from stereogauge.tables import ranking_tables as tables
from stereogauge.tables.score_table import coverage_table, density_table, score_table, score_tables

MOST_IN_RADAR, MOST_IN_PAIRS, MOST_IN_DIAGRAM, MOST_IN_FIGURE, MOST_SCENES = 6, 10, 30, 40, 12
MOST_AXES, MOST_IN_SLOPES = 9, 4
SHORT_FACTS = ("alike with", "first places", "worst column rank", "dominates", "dominated by")


def build(
    cube: ScoreCube,
    options: ReportOptions | None = None,
    provenance: Provenance | None = None,
    galleries: Sequence[FigureEntry] = (),
    protocol: Protocol | None = None,
    density: Sequence[ErrorDensity] = (),
    origins: Origins | None = None,
) -> Content:
    """The report of a cube, the answer first; galleries (`stereogauge.report.maps`) and error over density are made
    from the maps.

    `origins` says where the maps are that the answer is shown on; without them it is shown without pixels.
    """
    chosen = options or ReportOptions()
    chosen = replace(chosen, metric=chosen.metric or cube.metrics[0], styles=algorithm_styles(cube.algorithms))
    origin = provenance or Provenance()
    if chosen.only_sure:
        answer, sections = None, _only_sure(cube, protocol)
    else:
        answer, first = first_page(cube, chosen, protocol, origin.store, origins)
        sections = [first, *_ordered(cube, chosen, protocol)]
    if density:
        sections.append(_density(density, chosen.styles))
    if galleries:
        prose = "Every algorithm's map and the pixels behind its score, from best to worst."
        sections.append(Section("galleries", "Galleries", prose, tuple(galleries)))
    return Content(chosen.title, Selection.of(cube), cube, tuple(sections), origin, answer)


def _ordered(cube: ScoreCube, chosen: ReportOptions, protocol: Protocol | None) -> list[Section]:
    """Scores, orders and how certain they are."""
    main = rank(cube, chosen.model, missing=chosen.missing)
    chosen = replace(chosen, mark=main.algorithms[:1])
    return [
        _scores(cube, main, chosen, protocol),
        _orders(cube, main, chosen),
        _profiles(cube, main, chosen),
        _certainty(cube, main, chosen),
        _relations(cube, main, chosen),
    ]


def _only_sure(cube: ScoreCube, protocol: Protocol | None) -> list[Section]:
    """Scores of maps of any density with their coverage, without an order."""
    attempts = Attempts()
    read = protocol or Protocol()
    whole = cube.limited(least_coverage=0.0)
    made = partial(score_table, how=read.aggregation, scene_weights=read.scene_weights, any_density=True)
    attempts.entries += score_tables(whole, made)
    attempts.add(lambda: coverage_table(whole))
    prose = (
        "Values are needed only where an algorithm is sure, so every score is shown with the share of its pixels that "
        "it covers. Scores that leave missing estimates out make no order here: leaving more pixels out would win it. "
        "Algorithms are ordered at equal density only."
    )
    return [attempts.section("scores", "Scores and what they cover", prose)]


def _density(found: Sequence[ErrorDensity], styles: Styles | None) -> Section:
    attempts = Attempts()
    reading = "Who is lower at the same density is better there; the large marks alone make no order."
    attempts.figure("error-density", lambda: error_density_data(found, styles), reading)
    attempts.entries += [density_table(one) for one in found]
    prose = (
        "The error of each algorithm when only its most confident pixels are kept, by its own confidence map; an "
        "algorithm without one is a point at its own density. Algorithms are compared at equal density."
    )
    return attempts.section("density", "Only where it is sure", prose)


def _scores(cube: ScoreCube, main: Ranking, options: ReportOptions, protocol: Protocol | None) -> Section:
    attempts = Attempts()
    order = [*main.algorithms, *(name for name in cube.algorithms if name not in main.algorithms)]
    read = protocol or Protocol()
    marks = partial(different_from_best, alpha=options.alpha)
    made = partial(score_table, how=read.aggregation, scene_weights=read.scene_weights, order=order, marks=marks)
    found = attempts.get(lambda: score_tables(cube, made))
    note = f"Best bold, second underlined. {mark_note(len(cube.scenes), options.alpha)}"
    attempts.entries += [replace(one, notes=(*one.notes, note)) for one in found or ()]
    prose = f"Algorithms in the order of the model {main.model}. A dash is a gap: nothing could be measured there."
    return attempts.section("scores", "Scores", prose)


def _orders(cube: ScoreCube, main: Ranking, options: AnalysisOptions) -> Section:
    attempts = Attempts()
    styles = options.styles
    title = f"Order by the model {main.model}, all selected columns"
    attempts.add(lambda: tables.ranking_table(main, title=title, extra=SHORT_FACTS))
    if main.model == "extended":
        attempts.figure(
            "alike",
            lambda: ranking_figures.alike_data(main.head(MOST_IN_FIGURE), styles),
            "A bar joins algorithms that perform alike.",
        )
    groups = attempts.get(lambda: rank(cube, "a-star", missing=options.missing))
    if groups is not None:
        attempts.add(lambda: tables.ranking_table(groups, title="A* groups over all selected columns"))
        attempts.figure(
            "a-star",
            lambda: ranking_figures.layers_data(groups.head(MOST_IN_FIGURE), styles),
            "No algorithm dominates a member of the first row. A line leads down to algorithms that are no better in "
            "any column.",
        )
    if len(cube.metrics) > 1:
        attempts.analysis(lambda: metric_orders(cube, options), tables=1)
    if 1 < len(cube.metrics) <= MOST_IN_SLOPES:
        attempts.figure("slopes", lambda: _slopes(cube, options), "Crossing lines are disagreements between metrics.")
    attempts.figure(
        "rank-map",
        lambda: ranking_figures.rank_map_data(
            cube.select(metrics=[options.metric]), missing=options.missing, most=MOST_IN_FIGURE
        ),
        "The rank in every column of one metric: who is good where.",
    )
    return attempts.section("orders", "Orders", "The same scores under several models, each with its own assumptions.")


def _slopes(cube: ScoreCube, options: AnalysisOptions) -> Chart:
    """The heads of the orders by metric; members of the first A* group are filled."""
    heads = {name: order.head(MOST_IN_FIGURE) for name, order in by_metric(cube, missing=options.missing).items()}
    groups = by_metric(cube, "a-star", missing=options.missing)
    marks = {name: one.winners for name, one in groups.items()}
    return analysis_figures.slopes_data(heads, marks, "member of A*₁", options.styles)


def _profiles(cube: ScoreCube, main: Ranking, options: ReportOptions) -> Section:
    attempts = Attempts()
    for name in options.profiles:
        _profile(attempts, cube, load_profile(name), options)
    every = one_column_each(cube)
    axes = every[:MOST_AXES]
    more = "" if len(every) == len(axes) else f" Not drawn because there is no room: {', '.join(every[MOST_AXES:])}."
    few = cube.select(algorithms=main.algorithms[:MOST_IN_RADAR])
    for by in ("rank", "score"):
        make = partial(ranking_figures.radar_data, few, axes, by=by, missing=options.missing, styles=options.styles)
        attempts.figure(f"radar-{by}", make, f"The centre is best.{more}")
    return attempts.section("profiles", "Applications", "Weights of an application turn many metrics into one choice.")


def weights_in_force(profile: Profile, weighted: Ranking) -> str:
    """The profile's own description; where some of its metrics have no scores, the weights that take its place."""
    terms = weighted.names["terms"]
    absent = [term for term, weight in profile.weights.items() if weight > 0 and term not in terms]
    if not absent:
        return " ".join([profile.description, *(stand_in_note(*one) for one in profile.standing_in.items())])
    shares: dict[str, float] = {}
    for term, weight in zip(terms, weighted.arrays["weights"], strict=True):
        shares[property_of(term)] = shares.get(property_of(term), 0.0) + float(weight)
    weighed = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
    return f"Not as {profile.name} is meant, since {', '.join(absent)} have no scores: here weigh {weighed}."


def _profile(attempts: Attempts, cube: ScoreCube, profile: Profile, options: ReportOptions) -> None:
    profile = with_stand_ins(profile, cube)
    weighted = attempts.get(lambda: rank(cube, "weighted", missing=options.missing, profile=profile))
    if weighted is None:
        return
    attempts.figure(
        f"bars-{profile.id}",
        lambda: ranking_figures.stacked_bars_data(weighted.head(MOST_IN_FIGURE), profile.name),
        f"{weights_in_force(profile, weighted)} The shortest bar wins; segments show what it is made of.",
    )
    attempts.add(lambda: tables.weights_table(weighted, profile))
    attempts.add(
        lambda: tables.weight_stability_table(
            weight_stability(cube, profile=profile, missing=options.missing, seed=options.seed), profile
        )
    )


def _certainty(cube: ScoreCube, main: Ranking, options: AnalysisOptions) -> Section:
    attempts = Attempts()
    metric, missing = options.metric, options.missing

    best = cube.select(algorithms=main.algorithms[:MOST_IN_DIAGRAM])
    test = attempts.get(lambda: friedman(best, [metric], missing=missing, alpha=options.alpha))
    if test is not None:
        attempts.add(lambda: critical_difference(test, options.styles))
    drawn = partial(
        bootstrap, model="middlebury", metrics=[metric], missing=missing, draws=options.draws, seed=options.seed
    )
    bootstrapped = attempts.get(lambda: drawn(cube))
    if bootstrapped is not None:
        single = rank(cube, "middlebury", [metric], missing=missing)
        attempts.add(lambda: tables.ranking_table(single, bootstrapped, test, f"Order by {metric} (Middlebury model)"))
        attempts.add(lambda: rank_intervals(bootstrapped, options.styles, MOST_IN_FIGURE))
    few = cube.select(algorithms=main.algorithms[:MOST_IN_PAIRS])
    attempts.add(lambda: tables.beats_table(drawn(few)))
    pairs = [(main.algorithms[0], name) for name in main.algorithms[1:MOST_IN_PAIRS]]
    attempts.add(lambda: tables.pairs_table(wilcoxon_pairs(cube, metric, pairs, missing=missing), metric))
    family = metric.partition("@")[0]
    attempts.add(lambda: tables.threshold_stability_table(threshold_stability(cube, family, missing=missing)))
    prose = (
        "Would other scenes or thresholds have given another order? The blocks of the tests are independent scenes; "
        "the columns of a scene are averaged first."
    )
    return attempts.section("certainty", "How certain is this?", prose)


def _relations(cube: ScoreCube, main: Ranking, options: AnalysisOptions) -> Section:
    attempts = Attempts()
    columns = one_column_each(cube)
    few = cube.select(algorithms=main.algorithms[:MOST_IN_FIGURE])
    attempts.analysis(lambda: correlation(cube.select(metrics=columns), options))
    if len(columns) > 1:
        attempts.analysis(lambda: scatter(few.select(scenes=few.scenes[:MOST_SCENES]), options))
    attempts.analysis(lambda: histograms(cube.select(metrics=columns[:MOST_AXES]), options))
    attempts.analysis(lambda: subsets(cube, options), tables=1)
    counted = options if counts_errors(options.metric) else replace(options, metric="bad@1")
    attempts.analysis(lambda: double_counting(few, counted), tables=1)
    return attempts.section("relations", "Relations between metrics", "What one metric says beyond another.")
