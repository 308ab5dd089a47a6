"""Ranking 300 algorithms × 200 scenes × 12 columns (720 000 scores) under every model: within 0.3 s after loading.

Peers: pandas' ranks for the models of ranks; for A* groups the tidy NumPy that compares one algorithm with all others
at a time, on random scores and on algorithms in one total order (the worst case for dominance), and pymoo, where it is
installed, on the 240 columns that it can take. The answer has no peer, but a limit.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.report import Report
from benchmarks.timing import Times, interleave
from stereogauge.decision.answer import answer
from stereogauge.ranking import Column, ScoreCube, rank
from stereogauge.ranking.bootstrap import bootstrap

ALGORITHMS, SCENES = 300, 200
REGIONS = ("nonocc", "all", "disc", "boundary", "interior", "occluded")
LIMIT = 0.3  # seconds, of any model
ANSWER_LIMIT = 1.0
ANSWERED = (100, 200, 60)
PYMOO_COLUMNS = 240  # it takes at most 255


def score_cube(values: NDArray[Any], metrics: tuple[str, ...] = ("bad@1", "rms")) -> ScoreCube:
    return ScoreCube(
        algorithms=tuple(f"algorithm {place}" for place in range(ALGORITHMS)),
        scenes=tuple(f"scene {place}" for place in range(SCENES)),
        columns=tuple(Column(metric, region) for metric in metrics for region in REGIONS),
        values=values,
    )


def pandas_ranks(values: NDArray[Any]) -> pd.Series:
    return pd.DataFrame(values.reshape(ALGORITHMS, -1)).rank(method="min").mean(axis=1).rank(method="min")


def numpy_groups(costs: NDArray[Any]) -> list[NDArray[Any]]:
    """What people write: each algorithm against all others, front after front."""
    left, fronts = np.arange(len(costs)), []
    while len(left):
        part = costs[left]
        dominated = [bool(((part <= own).all(axis=1) & (part < own).any(axis=1)).any()) for own in part]
        fronts.append(left[~np.array(dominated)])
        left = left[np.array(dominated)]
    return fronts


def kept(times: Times) -> str:
    """Whether the limit in seconds was kept too."""
    return f"limit {LIMIT:g} s {'kept' if times.median <= LIMIT else 'missed'}"


def run(report: Report) -> None:
    random = np.random.default_rng(0)
    scattered = random.random((ALGORITHMS, SCENES, 12)) * 50
    models(report, scattered)
    total_order(report, np.arange(ALGORITHMS)[:, None, None] + random.random((1, SCENES, 12)))
    against_pymoo(report, scattered)
    answers(report, random)


def models(report: Report, scattered: NDArray[Any]) -> None:
    """Every model on scores without order, and the bootstrap."""
    cube, single = score_cube(scattered), score_cube(scattered, ("bad@1", "bad@2"))
    flat = scattered.reshape(ALGORITHMS, -1)
    times = interleave(
        {
            "middlebury": lambda: rank(single, "middlebury", metrics=["bad@1"]),
            "extended": lambda: rank(cube, "extended"),
            "weighted": lambda: rank(cube, "weighted"),
            "a-star": lambda: rank(cube, "a-star"),
            "bootstrap": lambda: bootstrap(single, "middlebury", ["bad@1"], draws=1000),
            "pandas": lambda: pandas_ranks(scattered),
            "pandas half": lambda: pandas_ranks(scattered[:, :, :6]),
            "numpy": lambda: numpy_groups(flat),
        },
        rounds=6,
    )
    size = f"{ALGORITHMS} × {SCENES} × 12"
    for model, peer, name in (
        ("extended", "pandas", "pandas rank"),
        ("weighted", "pandas", "pandas rank"),
        ("a-star", "numpy", "NumPy"),
    ):
        report.row(f"{model}, {size}", times[model], times[peer], name, 2.0, kept(times[model]))
    work = f"middlebury, {ALGORITHMS} × {SCENES} × 6"
    report.row(work, times["middlebury"], times["pandas half"], "pandas rank", 2.0, kept(times["middlebury"]))
    thousand = Times(tuple(1000 * value for value in times["pandas half"].values))
    work, note = "bootstrap of the middlebury model, 1000 draws", "the peer is extrapolated from one ranking"
    report.row(work, times["bootstrap"], thousand, "1000 pandas rankings", 0.05, note)


def total_order(report: Report, ordered: NDArray[Any]) -> None:
    """The worst case for dominance: as many groups as algorithms. The peer takes a tenth of the scenes."""
    few = ordered[:, : SCENES // 10]
    chain, flat = score_cube(ordered), few.reshape(ALGORITHMS, -1)
    short = chain.take(scenes=range(SCENES // 10))
    times = interleave(
        {
            "whole": lambda: rank(chain, "a-star"),
            "ours": lambda: rank(short, "a-star"),
            "numpy": lambda: numpy_groups(flat),
        },
        rounds=4,
    )
    report.limit(f"a-star, {ALGORITHMS} × {SCENES} × 12, one total order", times["whole"], LIMIT)
    work = f"a-star, {ALGORITHMS} × {SCENES // 10} × 12, one total order"
    report.row(work, times["ours"], times["numpy"], "NumPy", 0.1)


def against_pymoo(report: Report, scattered: NDArray[Any]) -> None:
    work = f"a-star, {ALGORITHMS} × {PYMOO_COLUMNS // 12} × 12"
    if importlib.util.find_spec("pymoo") is None:
        report.miss(work, "pymoo is not installed; pip install 'stereogauge[dev]' brings it")
        return
    from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

    narrow = score_cube(scattered).take(scenes=range(PYMOO_COLUMNS // 12))
    flat, sorting = scattered.reshape(ALGORITHMS, -1)[:, :PYMOO_COLUMNS], NonDominatedSorting()
    times = interleave({"ours": lambda: rank(narrow, "a-star"), "pymoo": lambda: sorting.do(flat)}, rounds=10)
    note = "ours also selects, checks coverage and explains"
    report.row(work, times["ours"], times["pymoo"], "pymoo (compiled)", 3.0, note)


def answers(report: Report, random: np.random.Generator) -> None:
    """`answer` on scores in which algorithms differ, with all its draws."""
    algorithms, scenes, width = ANSWERED
    metrics = ("bad@1", "bad@2", "bad@4", "rms", "mae", "d-fat", "d-thin", "p-off", "p-mis", "f-por")
    columns = tuple(Column(metric, region) for metric in metrics for region in REGIONS)
    assert len(columns) == width
    cube = ScoreCube(
        algorithms=tuple(f"algorithm {place}" for place in range(algorithms)),
        scenes=tuple(f"scene {place}" for place in range(scenes)),
        columns=columns,
        values=random.random((algorithms, 1, 1)) + random.random((algorithms, scenes, width)),
    )
    weights = dict.fromkeys(metrics, 1.0)
    times = interleave({"ours": lambda: answer(cube, weights=weights)}, rounds=6)
    report.limit(f"answer, {algorithms} × {scenes} × {width}", times["ours"], ANSWER_LIMIT)
