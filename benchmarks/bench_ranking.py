"""Ranking 300 algorithms × 200 scenes × 12 columns (720 000 scores) under every model: within 0.3 s after loading.

Peers: pandas' ranks for the models of ranks; for A* groups the tidy NumPy that compares one algorithm with all others
at a time, on random scores and on algorithms in one total order (the worst case for dominance), and pymoo on the 240
columns that it can take.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

from benchmarks.report import Report
from benchmarks.timing import interleave
from stereogauge.ranking import Column, ScoreCube, rank
from stereogauge.ranking.bootstrap import bootstrap

ALGORITHMS, SCENES = 300, 200
REGIONS = ("nonocc", "all", "disc", "boundary", "interior", "occluded")
LIMIT = 0.3  # seconds
PYMOO_COLUMNS = 240  # it takes at most 255


def score_cube(values: np.ndarray, metrics: tuple[str, ...] = ("bad@1", "rms")) -> ScoreCube:
    return ScoreCube(
        algorithms=tuple(f"algorithm {place}" for place in range(ALGORITHMS)),
        scenes=tuple(f"scene {place}" for place in range(SCENES)),
        columns=tuple(Column(metric, region) for metric in metrics for region in REGIONS),
        values=values,
    )


def pandas_ranks(values: np.ndarray) -> pd.Series:
    return pd.DataFrame(values.reshape(ALGORITHMS, -1)).rank(method="min").mean(axis=1).rank(method="min")


def numpy_groups(costs: np.ndarray) -> list[np.ndarray]:
    """What people write: each algorithm against all others, front after front."""
    left, fronts = np.arange(len(costs)), []
    while len(left):
        part = costs[left]
        dominated = [bool(((part <= own).all(axis=1) & (part < own).any(axis=1)).any()) for own in part]
        fronts.append(left[~np.array(dominated)])
        left = left[np.array(dominated)]
    return fronts


def run(report: Report) -> None:
    random = np.random.default_rng(0)
    scattered = random.random((ALGORITHMS, SCENES, 12)) * 50
    ordered = np.arange(ALGORITHMS)[:, None, None] + random.random((1, SCENES, 12))
    cube, chain = score_cube(scattered), score_cube(ordered)
    narrow = cube.take(scenes=range(PYMOO_COLUMNS // 12))
    single = score_cube(scattered, ("bad@1", "bad@2"))
    flat = {"scattered": scattered.reshape(ALGORITHMS, -1), "ordered": ordered.reshape(ALGORITHMS, -1)}
    sorting = NonDominatedSorting()
    times = interleave(
        {
            "middlebury": lambda: rank(single, "middlebury", metrics=["bad@1"]),
            "extended": lambda: rank(cube, "extended"),
            "weighted": lambda: rank(cube, "weighted"),
            "a-star": lambda: rank(cube, "a-star"),
            "bootstrap": lambda: bootstrap(single, "middlebury", ["bad@1"], draws=1000),
            "pandas": lambda: pandas_ranks(scattered),
            "pandas half": lambda: pandas_ranks(scattered[:, :, :6]),
            "numpy": lambda: numpy_groups(flat["scattered"]),
            "few columns": lambda: rank(narrow, "a-star"),
            "pymoo": lambda: sorting.do(flat["scattered"][:, :PYMOO_COLUMNS]),
        },
        rounds=5,
    )
    size = f"{ALGORITHMS} × {SCENES} × 12"
    for model, peer, name in (
        ("extended", "pandas", "pandas rank"),
        ("weighted", "pandas", "pandas rank"),
        ("a-star", "numpy", "NumPy"),
    ):
        note = f"limit {LIMIT} s {'kept' if times[model] <= LIMIT else 'MISSED'}"
        report.row(f"{model}, {size}", times[model], times[peer], name, 2.0, note)
    report.row(
        f"middlebury, {ALGORITHMS} × {SCENES} × 6", times["middlebury"], times["pandas half"], "pandas rank", 2.0
    )
    report.row(f"a-star, {ALGORITHMS} × 20 × 12", times["few columns"], times["pymoo"], "pymoo (compiled)", 3.0)
    worst = interleave(
        {"ours": lambda: rank(chain, "a-star"), "numpy": lambda: numpy_groups(flat["ordered"])}, rounds=1
    )
    note = f"total order; limit {LIMIT} s {'kept' if worst['ours'] <= LIMIT else 'MISSED'}"
    report.row(f"a-star, {size}", worst["ours"], worst["numpy"], "NumPy", 0.1, note)
    report.row(
        "bootstrap of the middlebury model, 1000 draws",
        times["bootstrap"],
        1000 * times["pandas half"],
        "1000 pandas rankings, extrapolated from one",
        0.05,
    )
