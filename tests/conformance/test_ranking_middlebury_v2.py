"""The papers' central finding on real maps: which metric is chosen decides the order.

Nine course-work algorithms and the published PatchMatch maps on Tsukuba, Venus, Teddy and Cones.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge import rank
from stereogauge.ranking import ScoreCube
from stereogauge.ranking.relations import double_counting
from stereogauge.ranking.stability import agreement, by_metric

SCALES = {"tsukuba": 16, "venus": 8, "teddy": 4, "cones": 4}
ALGORITHMS = ("PatchMatch-alg117", *(f"S0{number}" for number in range(1, 10)))
REGIONS = ("nonocc", "all", "disc")


@pytest.fixture(scope="module")
def cube(data_root: Path) -> ScoreCube:
    root = data_root / "middlebury-v2"
    maps = {
        name: {
            scene: sg.read_disparity(root / "results" / name / f"{scene}.png", encoding="middlebury", scale=scale)
            for scene, scale in SCALES.items()
        }
        for name in ALGORITHMS
    }
    dataset = sg.load_dataset("middlebury-v2", root)
    regions = ["nonocc", "all", "disc", "boundary", "interior", "occluded"]
    table = sg.evaluate(maps, dataset, metrics=["bad@1", "sze"], regions=regions, protocol="middlebury-v2")
    return ScoreCube.of(table)


def test_bmp_and_sze_give_different_orders_under_the_middlebury_model(cube: ScoreCube) -> None:
    orders = by_metric(cube.select(regions=REGIONS))
    assert orders["bad@1"].algorithms != orders["sze"].algorithms
    places = agreement(orders)
    assert 0 < places.kendall[0, 1] < 0.8
    moved = dict(zip(places.algorithms, np.diff(places.ranks, axis=1)[:, 0], strict=True))
    assert moved["S02"] == 3
    assert moved["S06"] == -2


def test_bmp_and_sze_give_different_a_star_sets(cube: ScoreCube) -> None:
    by_bmp, by_sze = (rank(cube, "a-star", metrics=[name], regions=REGIONS).groups()[0] for name in ("bad@1", "sze"))
    assert set(by_bmp) == {"PatchMatch-alg117", "S01", "S02"}
    assert set(by_sze) == {"PatchMatch-alg117", "S01", "S02", "S03"}


def test_nested_regions_count_a_third_of_the_errors_or_more_twice_and_the_partition_none(cube: ScoreCube) -> None:
    nested, partition = double_counting(cube, "bad@1")
    assert nested.repeated_share.min() == pytest.approx(34.9, abs=0.1)
    assert nested.repeated_share.max() == pytest.approx(85.5, abs=0.1)
    assert not partition.repeated.any()
    assert partition.counted.tolist() == nested.distinct.tolist()


def test_one_expert_more_does_not_undo_a_clear_win(cube: ScoreCube) -> None:
    assert rank(cube, "extended", regions=REGIONS).algorithms[:2] == ("S01", "PatchMatch-alg117")
