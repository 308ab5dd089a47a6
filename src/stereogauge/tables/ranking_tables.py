"""Tables of rankings, tests and analyses, and the one that papers on generalization print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from stereogauge.datasets.declaration import dataset_threshold
from stereogauge.metrics.run_time import CONDITIONS
from stereogauge.protocol import Aggregations
from stereogauge.ranking.model import Ranking
from stereogauge.ranking.profile import property_of
from stereogauge.ranking.ranks import column_ranks
from stereogauge.scores.aggregation import aggregated
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import in_words
from stereogauge.tables.score_table import emphasised, run_times, scenes_text
from stereogauge.tables.table import (
    MARK,
    Cell,
    Heading,
    Table,
    as_cell,
    number,
    of_columns,
    rank_cell,
    share,
    table,
)
from stereogauge.text import counted, shortened

if TYPE_CHECKING:
    from stereogauge.ranking.bootstrap import Bootstrap
    from stereogauge.ranking.profile import Profile
    from stereogauge.ranking.relations import DoubleCounting, SubsetExperiment
    from stereogauge.ranking.significance import Friedman, PairTest
    from stereogauge.ranking.stability import OrderAgreement, ThresholdStability, WeightStability

MOST_NAMES = 12
REGIONS = {"occluded": "occ", "nonocc": "noc", "all": "all"}
RUN_FACTS = ("seconds", "weights")


class LeaderboardColumn(NamedTuple):
    """A column of the leaderboard, declared once for command line, report, site, CSV and LaTeX.

    `cell` gives the cell of the algorithm at a place of a ranking; `applies` says which rankings have the column.
    """

    id: str
    heading: Callable[[Ranking], Heading]
    cell: Callable[[Ranking, int], Cell]
    applies: Callable[[Ranking], bool] = lambda _: True


def _value(ranking: Ranking, place: int) -> Cell:
    whole = np.all(ranking.value == np.round(ranking.value))
    return as_cell((int if whole else float)(ranking.value[place]))


def _group(ranking: Ranking, place: int) -> Cell:
    assert ranking.group is not None
    return Cell(int(ranking.group[place]), f"A*{ranking.group[place]}")


LEADERBOARD = (
    LeaderboardColumn("rank", lambda _: Heading("rank"), lambda ranking, place: rank_cell(int(ranking.rank[place]))),
    LeaderboardColumn("value", lambda ranking: Heading(ranking.value_name), _value),
    LeaderboardColumn("group", lambda _: Heading("group"), _group, lambda ranking: ranking.group is not None),
)
"""To add a column, declare it here. The page draws the first three itself, with intervals and colours."""
DRAWN = ("rank", "value", "group")


def leaderboard_columns(ranking: Ranking) -> dict[str, tuple[Heading, list[Cell]]]:
    """The columns that a ranking has, by id, with cells in the order of ranks."""
    places = range(len(ranking))
    return {
        column.id: (column.heading(ranking), [column.cell(ranking, place) for place in places])
        for column in LEADERBOARD
        if column.applies(ranking)
    }


def further_columns(ranking: Ranking) -> dict[str, list[Cell]]:
    """The columns of the leaderboard beyond rank, value and group, by their headings; cells in the order of ranks."""
    columns = leaderboard_columns(ranking).items()
    return {heading.line: cells for name, (heading, cells) in columns if name not in DRAWN}


def leaderboard(ranking: Ranking, scores: Table) -> Table:
    """The scores of each ranked algorithm in order of rank, behind its place and before what else the model found."""
    own = leaderboard_columns(ranking)
    rows = {row[0].value: row for row in scores.rows}
    measured = list(zip(scores.header, *(rows[name] for name in ranking.algorithms), strict=True))[1:]
    columns = [
        own["rank"],
        (Heading("algorithm"), ranking.algorithms),
        *(own[name] for name in ("group", "value") if name in own),
        *(column for name, column in own.items() if name not in DRAWN),
        *((heading, cells) for heading, *cells in measured),
        *((Heading(name), map(_any, values)) for name, values in ranking.extra.items()),
    ]
    return of_columns(scores.name, scores.title, columns, scores.notes)


def ranking_table(
    ranking: Ranking,
    sure: Bootstrap | None = None,
    test: Friedman | None = None,
    title: str = "",
    extra: Sequence[str] | None = None,
) -> Table:
    """Places under one model with bootstrap intervals and those further facts that `extra` names (all by default).

    † marks algorithms that Nemenyi's test does not distinguish from the first.
    """
    names = ranking.algorithms
    alike = set() if test is None else {test.algorithms[k] for k in np.flatnonzero(test.nemenyi[0] >= test.alpha)}
    alike -= set() if test is None else {test.algorithms[0]}
    columns: list[tuple[str | Heading, Iterable[Any]]] = [
        ("algorithm", [Cell(name, mark=MARK if name in alike else "") for name in names]),
        *leaderboard_columns(ranking).values(),
    ]
    if sure is not None:
        own = [sure.algorithms.index(name) for name in names]
        columns += [
            (f"rank, {100 * sure.level:g} %", [f"{sure.rank_low[one]} – {sure.rank_high[one]}" for one in own]),
            ("first in", [share(sure.first[one]) for one in own]),
        ]
    columns += [(name, map(_any, own)) for name, own in ranking.extra.items() if extra is None or name in extra]
    # The notes of weights are below the table of weights.
    notes = [*(() if "break_even" in ranking.arrays else ranking.notes), *in_words(ranking.selection.dropped)]
    if test is not None:
        notes.insert(
            0, f"{MARK} not distinguished from the first by Nemenyi's test (α = {test.alpha:g}, {test.blocks} scenes)."
        )
    return of_columns(f"rank-{ranking.model}", title or f"Order by the model {ranking.model}", columns, notes)


def weights_table(ranking: Ranking, profile: Profile | None = None) -> Table:
    """What each weight of a weighted ranking means: its share of the differences, and where the second would lead."""
    terms = ranking.names["terms"]
    rival = ranking.algorithms[1] if len(ranking) > 1 else None
    ties = np.full(len(terms), np.nan) if rival is None else ranking.arrays["break_even"][1]
    parts = (map(property_of, terms), ranking.arrays["weights"], ranking.arrays["effective_weights"], ties)
    name, whose = ("weights", "") if profile is None else (f"weights-{profile.id}", f" of {profile.name}")
    return table_of_weights(
        name, f"What the weights{whose} mean", zip(terms, *parts, strict=True), rival, ranking.notes
    )


def table_of_weights(
    name: str,
    title: str,
    terms: Iterable[tuple[str, str, float, float, float]],
    rival: str | None,
    notes: Iterable[str],
) -> Table:
    """Words, property, weight, share of the differences and break-even (NaN: none) of each term.

    The break-even is the weight of the term, the others scaled to sum to 1, at which the first ties with its rival.
    """
    header = ["metric", "property", "weight", "share of the differences"]
    header += [f"weight at which {rival} ties"] if rival else []
    rows = [[term, kind, *(share(value, 1) for value in values)][: len(header)] for term, kind, *values in terms]
    return table(name, title, header, rows, notes)


def _any(value: object) -> Cell:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Cell(str(value), shortened(str(value).split(", "), MOST_NAMES))
    return as_cell(value)


def orders_table(found: OrderAgreement, groups: Mapping[str, Ranking] | None = None) -> Table:
    """Places under several orders side by side; * marks members of the order's A*₁ where groups are given."""
    members = {order: found.winners for order, found in (groups or {}).items()}
    columns = [
        (
            order,
            [
                replace(rank_cell(int(rank)), mark="*" if name in members.get(order, ()) else "")
                for name, rank in zip(found.algorithms, ranks, strict=True)
            ],
        )
        for order, ranks in zip(found.names, found.ranks.T, strict=True)
    ]
    notes = ["* member of A*₁ by that metric alone."] if groups else []
    return of_columns(
        "orders", "Places by metric (Middlebury model)", [("algorithm", found.algorithms), *columns], notes
    )


def beats_table(sure: Bootstrap) -> Table:
    """Probability that the row's algorithm beats the column's, over draws of scenes."""
    rows = [
        [name, *("" if row == place else Cell(float(p), f"{p:.2f}") for place, p in enumerate(sure.beats[row]))]
        for row, name in enumerate(sure.algorithms)
    ]
    scenes = counted(sure.selection.independent_scenes, "independent scene")
    note = f"Bootstrap over {scenes}, {sure.draws} draws, seed {sure.seed}; ties count half."
    return table("beats", "Probability that the row beats the column", ["algorithm", *sure.algorithms], rows, [note])


def pairs_table(pairs: Sequence[PairTest], metric: str, alpha: float = 0.05) -> Table:
    """Wilcoxon's test of pairs with Holm's correction."""
    rows = [
        [
            *(pair.first, pair.second, pair.better or "even", pair.median, share(pair.superiority)),
            number(pair.p_value, 2),
            number(pair.p_holm, 2, "best" if pair.p_holm < alpha else ""),
        ]
        for pair in pairs
    ]
    header = ["first", "second", "better more often", "median difference", "first better on", "p", "p (Holm)"]
    title = f"Wilcoxon's signed-rank test over the scenes, {metric}"
    return table("pairs", title, header, rows, [f"p below {alpha:g} bold."])


def double_counting_table(nested: DoubleCounting, parted: DoubleCounting) -> Table:
    """Errors by region under both sets of regions, and the share that is counted more than once."""
    columns = [
        ("algorithm", nested.algorithms),
        *zip(nested.regions, nested.errors.T, strict=True),
        ("counted", nested.counted),
        *zip(parted.regions, parted.errors.T, strict=True),
        ("distinct", nested.distinct),
        ("counted twice or more [%]", nested.repeated_share),
    ]
    chain = " ⊂ ".join(nested.regions)
    note = f"Pixels over all scenes. {chain} count errors repeatedly; {', '.join(parted.regions)} count each once."
    return of_columns("double-counting", "Errors counted more than once", columns, [note])


def subset_table(found: SubsetExperiment) -> Table:
    """Each metric against RMS everywhere and on its own pixels."""
    header = ["metric", "pixels", "r² with RMS", "r² with RMS there", "τ-b with RMS", "τ-b with RMS there"]
    rows = [[row.metric, row.subset, *(number(value, 2) for value in row[2:])] for row in found.rows]
    note = (
        f"RMS everywhere is {found.reference}. What RMS on the metric's own pixels leaves open is due to the function."
    )
    return table("subsets", "The pixels or the function?", header, rows, [note])


def weight_stability_table(found: WeightStability, profile: Profile) -> Table:
    """How often each algorithm wins when the weights move."""
    columns = [
        ("algorithm", found.algorithms),
        ("first in", [share(first, 1) for first in found.first]),
        ("rank, 95 %", [f"{low} – {high}" for low, high in zip(found.rank_low, found.rank_high, strict=True)]),
    ]
    note = (
        f"{found.draws} draws of weights around the stated ones (Dirichlet, concentration {found.concentration:g}); "
        f"another winner in {100 * found.changed:.1f} %."
    )
    title = f"Does the winner survive other weights than those of {profile.name}?"
    return of_columns(f"weight-stability-{profile.id}", title, columns, [note])


def threshold_stability_table(found: ThresholdStability) -> Table:
    """Places along the thresholds of a family of metrics."""
    names = found.rankings[0].algorithms
    columns: list[tuple[str, Iterable[Any]]] = [("algorithm", names)]
    for threshold, ranking in zip(found.thresholds, found.rankings, strict=True):
        places = dict(zip(ranking.algorithms, ranking.rank.tolist(), strict=True))
        cells = [rank_cell(places[name]) if name in places else None for name in names]
        columns.append((f"{found.family}@{threshold:g}", cells))
    note = f"The winner changes between {100 * found.changed:.0f} % of neighbouring thresholds."
    return of_columns("threshold-stability", "Does the winner survive another threshold?", columns, [note])


def zero_shot_metrics(dataset: str) -> tuple[str, ...]:
    """The columns of a dataset: mean error, outliers by region, and what is known of runs."""
    bad = f"bad@{dataset_threshold(dataset):g}"
    return ("mae:all", *(f"{bad}:{region}" for region in REGIONS), *RUN_FACTS)


def zero_shot_table(cubes: Mapping[str, ScoreCube], how: Aggregations, *, by: str = "all", epe: bool = False) -> Table:
    """One row per algorithm, the best mean rank first: outliers by pixels and dataset, mean rank, size and time.

    `cubes` are the scores by dataset and `how` the way in which they are aggregated over scenes. Ranks are by the
    outliers on the region `by`, and are averaged over the datasets; an algorithm that lacks a dataset has none. `epe`
    adds mean errors.
    """
    names = list(dict.fromkeys(name for cube in cubes.values() for name in cube.algorithms))
    columns: list[tuple[Heading, list[Cell]]] = []
    ranks = np.full((len(names), len(cubes)), np.nan)
    for place, (dataset, cube) in enumerate(cubes.items()):
        threshold = f"{dataset_threshold(dataset):g}"
        shown = [("mae", "all", "EPE", "px")] if epe else []
        shown += [(f"bad@{threshold}", region, f"> {threshold} px {name}", "%") for region, name in REGIONS.items()]
        for metric, region, detail, unit in shown:
            values = _over_scenes(cube, how, metric, region, names)
            known = ~np.isnan(values)
            if not known.any():
                continue
            columns.append((Heading(dataset, detail, unit), emphasised(values)))
            if metric != "mae" and region == by:
                ranks[known, place] = column_ranks(values[known][:, np.newaxis], "average")[:, 0]
    means = ranks.mean(axis=1)
    columns += [
        (Heading("mean rank", by), emphasised(means)),
        (Heading("parameters", unit="million"), _fact(cubes, names, "weights", "parameters")),
        (Heading("time", unit="s"), _fact(cubes, names, "seconds", "seconds")),
        (Heading("device"), [Cell(_device(cubes, name)) for name in names]),
    ]
    order = np.argsort(np.nan_to_num(means, nan=np.inf), kind="stable")
    rows = [[names[row], *(cells[row] for _, cells in columns)] for row in order]
    scenes = ", ".join(f"{name} ({scenes_text(cube)})" for name, cube in cubes.items())
    notes = [f"Datasets: {scenes}. Ranks by outliers on the region {by}, averaged over the datasets."]
    if how != "mean":
        notes.append("Aggregated over scenes as the protocol says.")
    header: list[str | Heading] = ["algorithm", *(heading for heading, _ in columns)]
    return table("zero-shot", "Generalization", header, rows, [*notes, *run_times(cubes.values())])


def _over_scenes(cube: ScoreCube, how: Aggregations, metric: str, region: str, names: Sequence[str]) -> Values:
    """One value per algorithm, NaN where the dataset, the column or the algorithm is not there."""
    places = [place for place, column in enumerate(cube.columns) if (column.metric, column.region) == (metric, region)]
    own = dict(zip(cube.algorithms, aggregated(cube.take(columns=places), how)[:, 0], strict=True)) if places else {}
    return np.array([own.get(name, np.nan) for name in names])


def _fact(cubes: Mapping[str, ScoreCube], names: Sequence[str], metric: str, tag: str) -> list[Cell]:
    """A fact of runs as measured, averaged over datasets, or as the results' tags state it."""
    measured = np.array([_over_scenes(cube, "mean", metric, "scene", names) for cube in cubes.values()])
    known = [values[~np.isnan(values)] for values in measured.T]
    stated = [_tag(cubes, name, tag) for name in names]
    return [number(own.mean()) if own.size else Cell(text) for own, text in zip(known, stated, strict=True)]


def _tag(cubes: Mapping[str, ScoreCube], name: str, tag: str) -> str | None:
    """What the tags of an algorithm state, if anything."""
    stated = (cube.tags.algorithms.get(name, {}).get(tag) for cube in cubes.values())
    return next((values[0] for values in stated if values), None)


def _device(cubes: Mapping[str, ScoreCube], name: str) -> str | None:
    """What the runs of an algorithm were measured on, or what its tags state, on the first dataset that says so."""
    for dataset, cube in cubes.items():
        for (algorithm, _), conditions in cube.runs.items():
            if algorithm == name and (found := CONDITIONS.fullmatch(conditions)):
                return str(found[5])
        if stated := _tag({dataset: cube}, name, "device"):
            return stated
    return None
