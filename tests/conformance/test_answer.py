"""Answers and explanations on real maps: Middlebury v2 and 2014."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.evaluation.stored_maps import Origins, map_origins

SCALES = {"tsukuba": 16, "venus": 8, "teddy": 4, "cones": 4}
ALGORITHMS = ("PatchMatch-alg117", "S01", "S02", "S08")
WEIGHTS = {"bad@1": 1.0, "rms": 1.0}


@pytest.fixture(scope="module")
def v2(data_root: Path) -> tuple[sg.ScoreTable, Origins]:
    root = data_root / "middlebury-v2"
    maps = {
        name: {
            scene: sg.read_disparity(root / "results" / name / f"{scene}.png", encoding="middlebury", scale=scale)
            for scene, scale in SCALES.items()
        }
        for name in ALGORITHMS
    }
    dataset = sg.load_dataset("middlebury-v2", root)
    table = sg.evaluate(maps, dataset, ["bad@1", "rms"], ["nonocc", "all"], "middlebury-v2")
    return table, map_origins({scene.id: scene for scene in dataset}, maps, table.protocol)


def test_four_scenes_do_not_tell_the_two_best_apart(v2: tuple[sg.ScoreTable, Origins]) -> None:
    found = sg.answer(v2[0], weights={"bad@1": 1})
    assert found.winner is None
    assert {"PatchMatch-alg117", "S01"} <= {found.leader, *found.rivals}
    assert found.claims[0].kind == "few-scenes"


def test_deleting_nearly_everything_does_not_make_a_winner(data_root: Path, v2: tuple[sg.ScoreTable, Origins]) -> None:
    """S08 with 95 % of its pixels gone had the best sigma-Z-Error once, and by that the whole table."""
    _, origins = v2
    random = np.random.default_rng(0)
    names = ("PatchMatch-alg117", "S01", "S08")
    maps = {name: {scene: origins.source(name, scene) for scene in SCALES} for name in names}
    maps["S08"] = {s: np.where(random.random(m.shape) < 0.95, np.float32(np.nan), m) for s, m in maps["S08"].items()}
    scenes = [origins.scene(scene) for scene in SCALES]
    table = sg.evaluate(maps, scenes, ["sze", "rms", "mae"], ["all"], "cabezas")
    for weights in ({"sze": 1}, {"rms": 1}, {"sze": 1, "rms": 1, "mae": 1}):
        found = sg.answer(table, weights=weights)
        assert found.leader != "S08"
        assert "S08" not in (found.winner, *found.rivals)


def test_the_difference_of_two_real_maps_divides_without_rest(v2: tuple[sg.ScoreTable, Origins]) -> None:
    table, origins = v2
    found = sg.explain(table, "PatchMatch-alg117", "S08", weights=WEIGHTS, maps=origins)
    assert found.better == "PatchMatch-alg117"
    for pieces in (found.scenes, found.regions, found.terms):
        assert sum(piece.amount for piece in pieces) == pytest.approx(found.difference, abs=1e-12)
    assert found.regions[-1].amount == 0
    assert found.undivided == ()
    by_region = {piece.name: piece.amount for piece in found.regions}
    assert by_region["background beside edges"] < 0


@pytest.fixture(scope="module")
def quarter(data_root: Path) -> sg.ScoreTable:
    """A semi-dense result of Middlebury 2014 and OpenCV's block matcher on six scenes at quarter size."""
    root = data_root / "middlebury-2014"
    dataset = sg.load_dataset("middlebury-v3", root)
    scales = {"Adirondack": 3.1875, "ArtL": 3.984375, "Motorcycle": 3.1875, "Piano": 3.1875, "Pipes": 3.1875}
    scales["Teddy"] = 3.984375
    scenes = [dataset[name] for name in scales]
    folder = root / "results" / "semidense-8bit"
    maps = {
        "semi-dense": {
            name: sg.read_disparity(folder / f"{name}.png", encoding="middlebury", scale=scale)
            for name, scale in scales.items()
        },
        "block matcher": {
            scene.id: sg.match(scene.left, scene.right, matcher="opencv-bm", ndisp=scene.calibration.ndisp).disparity
            for scene in scenes
        },
    }
    return sg.evaluate(maps, scenes, ["bad@4", "rms"], ["nonocc"], "middlebury-v3")


def test_a_semi_dense_map_is_not_best_by_what_it_leaves_out(quarter: sg.ScoreTable) -> None:
    rms = {name: quarter.aggregate("rms", "nonocc", algorithm=name, how="mean") for name in quarter.algorithms}
    assert rms["semi-dense"] < rms["block matcher"]
    found = sg.answer(quarter, weights={"rms": 1})
    assert found.winner is None
    assert found.leader == "block matcher"
    assert any("semi-dense" in line and "covers" in line for line in found.unknown)


def test_six_scenes_that_agree_carry_a_winner(quarter: sg.ScoreTable) -> None:
    found = sg.answer(quarter, weights={"bad@4": 1}, completeness=0.5)
    assert found.winner == "block matcher"
    assert found.places[1].p_value == pytest.approx(1 / 2**6)
