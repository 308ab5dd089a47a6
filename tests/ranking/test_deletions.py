"""Nobody climbs by leaving out: what removing estimates does to ranks, for every metric that leaves them out.

Once so many pixels are gone that a score covers less than `least_coverage`, no rule for gaps and no model gives the
algorithm a better place than it had with its whole map.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.metrics.test_deletions import DELETIONS, FREE, Case, damaged, doubt_of, real, synthetic

import stereogauge as sg
from stereogauge import StereogaugeError, rank
from stereogauge.metrics.declaration import Statistic
from stereogauge.ranking import Ranking
from stereogauge.scores.aggregation import usable_scores
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.facts import SceneFacts

KINDS = ("left out",)
RULES = ("common", "drop-algorithm", "drop-column", "worst")
MANY = ("50 % at random", "95 % at random", "the worst 50 %", "the left half", "everything but one object")
"""Deletions that leave less than 90 % of most sets."""

Measured = dict[tuple[str, str], tuple[float, Statistic]]


def with_map(case: Case, estimate: NDArray[np.float32]) -> Case:
    return Case(case.scene, estimate, case.right, doubt_of(estimate, case.scene.gt), case.following)


@functools.cache
def rivals(case: Case) -> tuple[Case, Case]:
    """The same scene with a map that is better almost everywhere, and one that is worse."""
    truth = np.nan_to_num(case.scene.gt, nan=float(np.nanmedian(case.scene.gt)))
    error = case.estimate - truth
    low, high = truth.min(), truth.max()
    noise = np.random.default_rng(8).normal(0, 1.0, truth.shape)
    better = np.clip(truth + 0.6 * error, low, high)
    worse = np.clip(damaged(truth.astype(np.float32), 9) + noise, low, high)
    return with_map(case, better.astype(np.float32)), with_map(case, worse.astype(np.float32))


def measured(case: Case, protocol: str, gone: NDArray[np.bool_] | bool = False) -> Measured:
    found = case.measured(protocol, gone, KINDS)
    return {(metric.id, region): (metric.metric.value_of(one), one) for (metric, region), one in found.items()}


@functools.cache
def whole(case: Case, protocol: str) -> tuple[Measured, Measured, Measured]:
    """The case itself and its rivals."""
    return measured(case, protocol), *(measured(rival, protocol) for rival in rivals(case))  # type: ignore[return-value]


def cube_of(maps: Iterable[Measured], case: Case) -> ScoreCube:
    rows = list(maps)
    columns = [key for key in rows[0] if all(key in row for row in rows)]

    def each(part: str) -> NDArray[np.float64]:
        return np.array([[[float(getattr(row[key][1], part)) for key in columns]] for row in rows])

    return ScoreCube(
        ("it", "better", "worse"),
        ("scene",),
        tuple(Column(*key) for key in columns),
        values=np.array([[[row[key][0] for key in columns]] for row in rows]),
        sums=each("kept_sum"),
        counts=each("count"),
        missing=each("missing"),
        facts=(SceneFacts.of_scene(case.scene),),
        void=np.zeros((1, len(columns)), bool),
    )


def place(order: Ranking) -> float:
    """The place of the algorithm in question; behind all others where it is not ranked."""
    if "it" not in order.algorithms:
        return len(order.algorithms) + 1.0
    return float(order.rank[order.algorithms.index("it")])


def place_of(cube: ScoreCube, model: str, rule: str, metrics: list[str] | None = None) -> float:
    try:
        return place(rank(cube, model, metrics, missing=rule))
    except StereogaugeError:
        return np.inf  # nothing is left to order: nobody leads


def check(case: Case, protocol: str, names: Iterable[str]) -> int:
    """Ranks before and after each deletion; returns how many sparse columns were looked at."""
    before_maps = whole(case, protocol)
    before = cube_of(before_maps, case)
    compared = 0
    for name in names:
        after = cube_of((measured(case, protocol, DELETIONS[name](case)), *before_maps[1:]), case)
        sparse = usable_scores(after).sparse[0, 0] | np.isnan(after.values[0, 0])
        sparse &= ~(usable_scores(before).sparse | np.isnan(before.values))[:, 0].any(axis=0)
        columns = [str(column) for column, gap in zip(after.columns, sparse, strict=True) if gap]
        compared += len(columns)
        for rule in RULES:
            for column in columns:
                was, now = (place_of(cube, "middlebury", rule, [column]) for cube in (before, after))
                assert now >= was, f"{column} without {name}, {rule}: place {was} → {now}"
            for model in ("extended", "a-star"):
                if columns:
                    was, now = (place_of(cube, model, rule, columns) for cube in (before, after))
                    assert now >= was, f"{model} without {name}, {rule}: place {was} → {now}"
    return compared


@pytest.mark.parametrize("protocol", ["hci", *(pytest.param(n, marks=pytest.mark.slow) for n in FREE if n != "hci")])
def test_no_deletion_below_the_limit_improves_a_rank(protocol: str) -> None:
    assert check(synthetic(more=False), protocol, MANY) > 100


@pytest.mark.slow
@pytest.mark.parametrize("protocol", FREE)
@pytest.mark.parametrize("name", ["teddy", "motorcycle", "further views"])
def test_nor_on_real_maps_or_with_further_views(name: str, protocol: str, data_root: Path) -> None:
    made = {"teddy": real, "motorcycle": quarter}
    case = made[name](data_root) if name in made else synthetic(more=True)
    assert check(case, protocol, DELETIONS) > 50


@functools.cache
def quarter(root: Path) -> Case:
    """Semi-global matching on a quarter-size scene of Middlebury 2014, filled and clipped to the scene's range."""
    scene = sg.load_dataset("middlebury-v3", root / "middlebury-2014")["Motorcycle"]
    found = sg.match(scene.left, scene.right, matcher="sgm", ndisp=scene.calibration.ndisp or 70).disparity
    low, high = np.nanmin(scene.gt), np.nanmax(scene.gt)
    estimate = np.clip(np.nan_to_num(found, nan=float(low)), low, high).astype(np.float32)
    return Case(scene, estimate, None, doubt_of(estimate, scene.gt))
