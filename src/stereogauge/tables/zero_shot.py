"""The table that papers print on generalization: outliers of algorithms on several datasets, and their mean rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from stereogauge.datasets.declaration import dataset_threshold
from stereogauge.metrics.run_time import CONDITIONS, conditions_in_words
from stereogauge.protocol import Aggregations
from stereogauge.ranking.ranks import column_ranks
from stereogauge.scores.aggregation import aggregated
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.tables.score_table import emphases, scenes_text
from stereogauge.tables.table import Cell, Emphasis, Heading, Table, number, table, words

REGIONS = {"occluded": "occ", "nonocc": "noc", "all": "all"}
RUN_FACTS = ("seconds", "weights")


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
            values = _values(cube, how[dataset], metric, region, names)
            if np.isnan(values).all():
                continue
            unit = "px" if metric == "mae" else "%"
            header.append(Heading(dataset, f"{short}" if metric == "mae" else f"> {bad[4:]} px {short}", unit))
            columns.append(_cells(values))
            if metric == bad and region == by:
                known = ~np.isnan(values)
                ranks[known, place] = column_ranks(values[known][:, np.newaxis], "average")[:, 0]
    header.append(Heading("mean rank", by))
    columns.append(_cells(ranks.mean(axis=1)))
    header += [Heading("parameters", unit="million"), Heading("time", unit="s"), Heading("device")]
    columns += [_fact(cubes, names, "weights", "parameters"), _fact(cubes, names, "seconds", "seconds")]
    columns.append([words(device) if (device := _device(cubes, name)) else Cell() for name in names])
    order = np.argsort(np.nan_to_num(ranks.mean(axis=1), nan=np.inf), kind="stable")
    rows = [[words(names[row]), *(column[row] for column in columns)] for row in order]
    return table("zero-shot", "Generalization", header, rows, _notes(cubes, how, by))


def _values(cube: ScoreCube, how: Aggregations, metric: str, region: str, names: Sequence[str]) -> Values:
    """One value per algorithm, NaN where the dataset, the column or the algorithm is not there."""
    found = np.full(len(names), np.nan)
    places = [place for place, column in enumerate(cube.columns) if (column.metric, column.region) == (metric, region)]
    if places:
        own = aggregated(cube.take(columns=places), how)[:, 0]
        for name, value in zip(cube.algorithms, own, strict=True):
            found[names.index(name)] = value
    return found


def _cells(values: Values) -> list[Cell]:
    marks: list[Emphasis] = emphases(values) if len(values) > 1 else [""] * len(values)
    return [replace(number(value), emphasis=mark) for value, mark in zip(values, marks, strict=True)]


def _fact(cubes: Mapping[str, ScoreCube], names: Sequence[str], metric: str, tag: str) -> list[Cell]:
    """A fact of runs as measured, averaged over datasets, or as the results' tags state it."""
    measured = [_values(cube, "mean", metric, "scene", names) for cube in cubes.values()]
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


def _notes(cubes: Mapping[str, ScoreCube], how: Mapping[str, Aggregations], by: str) -> list[str]:
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
