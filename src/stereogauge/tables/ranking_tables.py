"""Tables of rankings, tests and analyses, and the one that papers on generalization print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec.structs import replace

from stereogauge.datasets.declaration import dataset_threshold
from stereogauge.metrics.run_time import CONDITIONS, conditions_in_words
from stereogauge.protocol import Aggregations
from stereogauge.ranking.model import Ranking
from stereogauge.ranking.profile import property_of
from stereogauge.ranking.ranks import column_ranks
from stereogauge.scores.aggregation import aggregated
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.selection import in_words
from stereogauge.tables.score_table import emphases, scenes_text
from stereogauge.tables.table import MARK, Cell, Emphasis, Heading, Table, count, number, rank_cell, share, table, words
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
    value = float(ranking.value[place])
    return count(int(value)) if np.all(ranking.value == np.round(ranking.value)) else number(value)


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


def leaderboard_columns(ranking: Ranking) -> tuple[LeaderboardColumn, ...]:
    """The columns that a ranking has."""
    return tuple(column for column in LEADERBOARD if column.applies(ranking))


def further_columns(ranking: Ranking) -> dict[str, list[Cell]]:
    """The columns of the leaderboard beyond rank, value and group, by their headings; cells in the order of ranks."""
    places = range(len(ranking))
    columns = (column for column in leaderboard_columns(ranking) if column.id not in DRAWN)
    return {column.heading(ranking).line: [column.cell(ranking, place) for place in places] for column in columns}


def leaderboard(ranking: Ranking, scores: Table) -> Table:
    """The scores of each ranked algorithm in order of rank, behind its place and before what else the model found."""
    own = {column.id: column for column in leaderboard_columns(ranking)}
    order = [own[name] for name in ("group", "value") if name in own]
    order += [column for name, column in own.items() if name not in DRAWN]
    rows = {row[0].value: row for row in scores.rows}
    found = [
        (
            *(own["rank"].cell(ranking, place), words(name)),
            *(one.cell(ranking, place) for one in order),
            *rows[name][1:],
            *(_any(values[place]) for values in ranking.extra.values()),
        )
        for place, name in enumerate(ranking.algorithms)
    ]
    heads = (Heading("rank"), Heading("algorithm"), *(one.heading(ranking) for one in order))
    heads_of_facts = (Heading(name) for name in ranking.extra)
    return replace(scores, header=(*heads, *scores.header[1:], *heads_of_facts), rows=tuple(found))


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
    columns = leaderboard_columns(ranking)
    header: list[str | Heading] = ["algorithm", *(column.heading(ranking) for column in columns)]
    if sure is not None:
        header += [f"rank, {100 * sure.level:g} %", "first in"]
    shown = list(ranking.extra) if extra is None else [name for name in extra if name in ranking.extra]
    header += shown
    together = set() if test is None else {test.algorithms[k] for k in np.flatnonzero(test.nemenyi[0] >= test.alpha)}
    rows = []
    for place, name in enumerate(ranking.algorithms):
        row = [
            Cell(name, mark=MARK if name in together and name != (test.algorithms[0] if test else "") else ""),
            *(column.cell(ranking, place) for column in columns),
        ]
        if sure is not None:
            own = sure.algorithms.index(name)
            row.append(words(f"{sure.rank_low[own]} – {sure.rank_high[own]}"))
            row.append(share(sure.first[own]))
        row += [_any(ranking.extra[name][place]) for name in shown]
        rows.append(row)
    # The notes of weights are below the table of weights.
    notes = [*(() if "break_even" in ranking.arrays else ranking.notes), *in_words(ranking.selection.dropped)]
    if test is not None:
        notes.insert(
            0, f"{MARK} not distinguished from the first by Nemenyi's test (α = {test.alpha:g}, {test.blocks} scenes)."
        )
    return table(f"rank-{ranking.model}", title or f"Order by the model {ranking.model}", header, rows, notes)


def weights_table(ranking: Ranking, profile: Profile | None = None) -> Table:
    """What each weight of a weighted ranking means: its share of the differences, and where the second would lead.

    The break-even is the weight of the term, the others scaled to sum to 1, at which the first two tie.
    """
    second = ranking.arrays["break_even"][1] if len(ranking) > 1 else np.full(len(ranking.names["terms"]), np.nan)
    parts = (ranking.arrays["weights"], ranking.arrays["effective_weights"], second)
    rows = [
        [words(term), words(property_of(term)), *(share(v, 1) if not np.isnan(v) else Cell() for v in values)]
        for term, *values in zip(ranking.names["terms"], *parts, strict=True)
    ]
    rival = ranking.algorithms[1] if len(ranking) > 1 else "no other"
    header = ["metric", "property", "weight", "share of the differences", f"weight at which {rival} ties"]
    name, title = (
        ("weights", "What the weights mean")
        if profile is None
        else (f"weights-{profile.id}", f"What the weights of {profile.name} mean")
    )
    return table(name, title, header, rows, ranking.notes)


def _any(value: object) -> Cell:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Cell(str(value), shortened(str(value).split(", "), MOST_NAMES))
    return Cell(value) if isinstance(value, int) else number(value)


def orders_table(found: OrderAgreement, groups: Mapping[str, Ranking] | None = None) -> Table:
    """Places under several orders side by side; * marks members of the order's A*₁ where groups are given."""
    members = {name: set((groups or {})[name].winners) if groups and name in groups else set() for name in found.names}
    rows = [
        [
            words(name),
            *(
                replace(rank_cell(int(rank)), mark="*" if name in members[order] else "")
                for order, rank in zip(found.names, found.ranks[row], strict=True)
            ),
        ]
        for row, name in enumerate(found.algorithms)
    ]
    notes = ["* member of A*₁ by that metric alone."] if groups else []
    return table("orders", "Places by metric (Middlebury model)", ["algorithm", *found.names], rows, notes)


def beats_table(sure: Bootstrap) -> Table:
    """Probability that the row's algorithm beats the column's, over draws of scenes."""
    rows = [
        [
            words(name),
            *(Cell(float(p), f"{p:.2f}") if row != place else words("") for place, p in enumerate(sure.beats[row])),
        ]
        for row, name in enumerate(sure.algorithms)
    ]
    scenes = counted(sure.selection.independent_scenes, "independent scene")
    note = f"Bootstrap over {scenes}, {sure.draws} draws, seed {sure.seed}; ties count half."
    return table("beats", "Probability that the row beats the column", ["algorithm", *sure.algorithms], rows, [note])


def pairs_table(pairs: Sequence[PairTest], metric: str, alpha: float = 0.05) -> Table:
    """Wilcoxon's test of pairs with Holm's correction."""
    rows = [
        [
            words(pair.first),
            words(pair.second),
            words(pair.better or "even"),
            number(pair.median),
            share(pair.superiority),
            number(pair.p_value, 2),
            replace(number(pair.p_holm, 2), emphasis="best" if pair.p_holm < alpha else ""),
        ]
        for pair in pairs
    ]
    header = ["first", "second", "better more often", "median difference", "first better on", "p", "p (Holm)"]
    title = f"Wilcoxon's signed-rank test over the scenes, {metric}"
    return table("pairs", title, header, rows, [f"p below {alpha:g} bold."])


def double_counting_table(nested: DoubleCounting, parted: DoubleCounting) -> Table:
    """Errors by region under both sets of regions, and the share that is counted more than once."""
    header = ["algorithm", *nested.regions, "counted", *parted.regions, "distinct", "counted twice or more [%]"]
    rows = [
        [
            words(name),
            *(count(errors) for errors in nested.errors[row]),
            count(nested.counted[row]),
            *(count(errors) for errors in parted.errors[row]),
            count(nested.distinct[row]),
            number(float(nested.repeated_share[row])),
        ]
        for row, name in enumerate(nested.algorithms)
    ]
    chain = " ⊂ ".join(nested.regions)
    note = f"Pixels over all scenes. {chain} count errors repeatedly; {', '.join(parted.regions)} count each once."
    return table("double-counting", "Errors counted more than once", header, rows, [note])


def subset_table(found: SubsetExperiment) -> Table:
    """Each metric against RMS everywhere and on its own pixels."""
    header = ["metric", "pixels", "r² with RMS", "r² with RMS there", "τ-b with RMS", "τ-b with RMS there"]
    rows = [[words(row.metric), words(row.subset), *(number(value, 2) for value in row[2:])] for row in found.rows]
    note = (
        f"RMS everywhere is {found.reference}. What RMS on the metric's own pixels leaves open is due to the function."
    )
    return table("subsets", "The pixels or the function?", header, rows, [note])


def weight_stability_table(found: WeightStability, profile: Profile) -> Table:
    """How often each algorithm wins when the weights move."""
    rows = [
        [words(name), share(found.first[row], 1), words(f"{found.rank_low[row]} – {found.rank_high[row]}")]
        for row, name in enumerate(found.algorithms)
    ]
    note = (
        f"{found.draws} draws of weights around the stated ones (Dirichlet, concentration {found.concentration:g}); "
        f"another winner in {100 * found.changed:.1f} %."
    )
    title = f"Does the winner survive other weights than those of {profile.name}?"
    return table(f"weight-stability-{profile.id}", title, ["algorithm", "first in", "rank, 95 %"], rows, [note])


def threshold_stability_table(found: ThresholdStability) -> Table:
    """Places along the thresholds of a family of metrics."""
    names = found.rankings[0].algorithms
    places = [dict(zip(ranking.algorithms, ranking.rank.tolist(), strict=True)) for ranking in found.rankings]
    rows = [[words(name), *(rank_cell(p[name]) if name in p else Cell() for p in places)] for name in names]
    header = ["algorithm", *(f"{found.family}@{threshold:g}" for threshold in found.thresholds)]
    note = f"The winner changes between {100 * found.changed:.0f} % of neighbouring thresholds."
    return table("threshold-stability", "Does the winner survive another threshold?", header, rows, [note])


def zero_shot_metrics(dataset: str) -> tuple[str, ...]:
    """The columns of a dataset: mean error, outliers by region, and what is known of runs."""
    bad = f"bad@{dataset_threshold(dataset):g}"
    return ("mae:all", *(f"{bad}:{region}" for region in REGIONS), *RUN_FACTS)


def zero_shot_table(
    cubes: Mapping[str, ScoreCube], how: Mapping[str, Aggregations], *, by: str = "all", epe: bool = False
) -> Table:
    """One row per algorithm, the best mean rank first: outliers by pixels and dataset, mean rank, size and time.

    `cubes` are the scores by dataset and `how` the way in which each is aggregated over its scenes. Ranks are by the
    outliers on the region `by`, and are averaged over the datasets; an algorithm that lacks a dataset has none. `epe`
    adds mean errors.
    """
    names = list(dict.fromkeys(name for cube in cubes.values() for name in cube.algorithms))
    header: list[Heading] = [Heading("algorithm")]
    columns: list[list[Cell]] = []
    ranks = np.full((len(names), len(cubes)), np.nan)
    for place, (dataset, cube) in enumerate(cubes.items()):
        bad = f"bad@{dataset_threshold(dataset):g}"
        shown = [(bad, region, short) for region, short in REGIONS.items()]
        shown = [("mae", "all", "EPE"), *shown] if epe else shown
        for metric, region, short in shown:
            values = _over_scenes(cube, how[dataset], metric, region, names)
            if np.isnan(values).all():
                continue
            unit = "px" if metric == "mae" else "%"
            header.append(Heading(dataset, f"{short}" if metric == "mae" else f"> {bad[4:]} px {short}", unit))
            columns.append(_emphasised(values))
            if metric == bad and region == by:
                known = ~np.isnan(values)
                ranks[known, place] = column_ranks(values[known][:, np.newaxis], "average")[:, 0]
    header.append(Heading("mean rank", by))
    columns.append(_emphasised(ranks.mean(axis=1)))
    header += [Heading("parameters", unit="million"), Heading("time", unit="s"), Heading("device")]
    columns += [_fact(cubes, names, "weights", "parameters"), _fact(cubes, names, "seconds", "seconds")]
    columns.append([words(device) if (device := _device(cubes, name)) else Cell() for name in names])
    order = np.argsort(np.nan_to_num(ranks.mean(axis=1), nan=np.inf), kind="stable")
    rows = [[words(names[row]), *(column[row] for column in columns)] for row in order]
    return table("zero-shot", "Generalization", header, rows, _zero_shot_notes(cubes, how, by))


def _over_scenes(cube: ScoreCube, how: Aggregations, metric: str, region: str, names: Sequence[str]) -> Values:
    """One value per algorithm, NaN where the dataset, the column or the algorithm is not there."""
    found = np.full(len(names), np.nan)
    places = [place for place, column in enumerate(cube.columns) if (column.metric, column.region) == (metric, region)]
    if places:
        own = aggregated(cube.take(columns=places), how)[:, 0]
        for name, value in zip(cube.algorithms, own, strict=True):
            found[names.index(name)] = value
    return found


def _emphasised(values: Values) -> list[Cell]:
    marks: list[Emphasis] = emphases(values) if len(values) > 1 else [""] * len(values)
    return [replace(number(value), emphasis=mark) for value, mark in zip(values, marks, strict=True)]


def _fact(cubes: Mapping[str, ScoreCube], names: Sequence[str], metric: str, tag: str) -> list[Cell]:
    """A fact of runs as measured, averaged over datasets, or as the results' tags state it."""
    measured = [_over_scenes(cube, "mean", metric, "scene", names) for cube in cubes.values()]
    cells = []
    for place, name in enumerate(names):
        known = [values[place] for values in measured if not np.isnan(values[place])]
        tags = (cube.tags.algorithms.get(name, {}).get(tag) for cube in cubes.values())
        stated = next(filter(None, tags), None)
        cells.append(number(float(np.mean(known))) if known else words(stated[0]) if stated else Cell())
    return cells


def _device(cubes: Mapping[str, ScoreCube], name: str) -> str:
    """What the runs of an algorithm were measured on, or what its tags state."""
    for cube in cubes.values():
        for (algorithm, _), conditions in cube.runs.items():
            if algorithm == name and (found := CONDITIONS.fullmatch(conditions)):
                return str(found[5])
        stated = cube.tags.algorithms.get(name, {}).get("device")
        if stated:
            return stated[0]
    return ""


def _zero_shot_notes(cubes: Mapping[str, ScoreCube], how: Mapping[str, Aggregations], by: str) -> list[str]:
    scenes = ", ".join(f"{name} ({scenes_text(cube)})" for name, cube in cubes.items())
    notes = [f"Datasets: {scenes}. Ranks by outliers on the region {by}, averaged over the datasets."]
    if any(way != "mean" for way in how.values()):
        notes.append("Aggregated over scenes as the protocol says.")
    runs: dict[str, list[str]] = {}
    for cube in cubes.values():
        for (name, _), conditions in cube.runs.items():
            runs.setdefault(name, []).append(conditions)
    said = conditions_in_words(runs)
    return [*notes, said] if said else notes
