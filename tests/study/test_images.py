"""Damage of input images: named, graded, and measured on the maps of real matchers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import stereogauge as sg
from stereogauge.cli import application
from stereogauge.errors import NotApplicable
from stereogauge.study.figures import response_curves_data
from stereogauge.study.images import IMAGE_DAMAGES, image_damage_called, right_view, run_image_study

NAMED = ("noise", "exposure", "gain", "blur", "fog", "jpeg", "rain", "rectification")


@pytest.fixture(scope="module")
def scene() -> sg.Scene:
    return sg.load_dataset("synthetic:planes", size=(96, 128), seed=3)[0]


def test_every_challenge_is_there() -> None:
    assert set(NAMED) <= set(IMAGE_DAMAGES)
    assert all(kind.description and kind.reference in kind.strengths for kind in IMAGE_DAMAGES.values())


@pytest.mark.parametrize("name", NAMED)
def test_more_strength_changes_the_pair_more_and_none_not_at_all(scene: sg.Scene, name: str) -> None:
    kind = image_damage_called(name)
    clean = np.stack(kind.apply(scene, 0.0)).astype(float)
    assert np.array_equal(clean[0], scene.left)
    changes = [np.abs(np.stack(kind.apply(scene, step)).astype(float) - clean).mean() for step in kind.strengths]
    assert 0 < changes[0] < changes[-1]
    assert all(
        np.array_equal(a, b)
        for a, b in zip(kind.apply(scene, kind.reference, 7), kind.apply(scene, kind.reference, 7), strict=True)
    )
    with pytest.raises(sg.StereogaugeError, match="takes a strength from 0 to"):
        kind.apply(scene, kind.limit + 1)


def test_fog_hides_what_is_far_more_than_what_is_near() -> None:
    truth = np.full((40, 60), 5.0, np.float32)
    truth[:, 30:] = 20.0
    image = np.full((40, 60), 40, np.uint8)
    pair = sg.Scene("fog", gt=truth, left=image, right=image)
    foggy, _ = image_damage_called("fog").apply(pair, 1.0)
    assert foggy[0, 10] > foggy[0, 50] > 40


def test_a_rectification_error_moves_the_right_view_only(scene: sg.Scene) -> None:
    left, right = image_damage_called("rectification").apply(scene, 1.0)
    assert np.array_equal(left, scene.left)
    assert np.abs(right[2:].astype(int) - scene.right[1:-1].astype(int)).max() <= 1


def test_the_nearest_pixel_stays_in_the_right_view() -> None:
    assert right_view(np.array([[1, 1, 1, 3, 1]], np.float32)).tolist()[0][0] == 3


def test_scores_fall_with_strength_and_are_drawn_as_curves(scene: sg.Scene, tmp_path: Path) -> None:
    study = run_image_study(scene, "sgm", ["bad@2", "density"], damage_ids=["noise"], regions=["all"])
    curve = study.curve("bad@2:all", "noise")
    assert curve[0][0] == 0.0
    assert curve[-1][1] > curve[0][1] + 5
    assert [round(r.response, 9) for r in study.responses if r.metric == "bad@2"][-1] == pytest.approx(
        curve[-1][1] - curve[0][1]
    )
    chart = response_curves_data(study)
    chart.save(tmp_path / "curves.svg")  # density never moves: its panel has no legend
    assert "sensor noise" in (tmp_path / "curves.svg").read_text()


def test_the_range_is_that_of_the_dataset_where_the_scene_states_none(tmp_path: Path) -> None:
    code = "import numpy as np\ndef match(left, right, ndisp):\n    return np.full(left.shape, ndisp, np.float32)\n"
    (tmp_path / "range.py").write_text(code)
    image = np.full((8, 80), 90, np.uint8)
    pair = sg.Scene("s", gt=np.full((8, 80), 64.0, np.float32), left=image, right=image, dataset="eth3d")
    strengths = {"gain": [0.1]}
    matcher = f"py:{tmp_path / 'range.py'}:match"
    study = run_image_study(pair, matcher, ["mae"], damage_ids=["gain"], regions=["all"], strengths=strengths)
    assert study.curve("mae:all", "gain") == [(0.0, 0.0), (0.1, 0.0)]


def test_a_scene_without_images_says_so() -> None:
    with pytest.raises(NotApplicable, match="lacks left"):
        run_image_study(sg.Scene("s", gt=np.ones((4, 4))), "sgm")


def test_the_command_prints_every_matcher(tmp_path: Path) -> None:
    arguments = ["study", "synthetic:planes", "--size", "96x72", "--images", "--matcher", "sgm", "--matcher"]
    arguments += ["opencv-bm", "--damages", "gain,jpeg", "--strengths", "gain=0.3", "--format", "json"]
    done = CliRunner().invoke(application("study", {}), arguments)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["images"]
    assert set(found) == {"sgm", "opencv-bm"}
    steps = {(r["damage"], r["strength"]) for r in found["sgm"]["responses"]}
    assert ("gain", 0.3) in steps
    assert ("jpeg", 95) in steps
