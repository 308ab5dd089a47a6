"""Two folders are enough: the templates that fit the names of ground truth and of results are found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.datasets import open_dataset
from stereogauge.datasets.layout import folder_layout, results_template
from stereogauge.datasets.results.find import find_results

SCENES = {"teddy": "teddy", "cones": "cones", "000000_10": "000000_10"}
TRUTH = np.tile(np.linspace(5, 30, 60, dtype=np.float32), (40, 1))


@pytest.mark.parametrize(
    ("names", "template"),
    [
        (["teddy/SGM.pfm", "teddy/BM.pfm", "cones/SGM.pfm"], "{scene}/{algorithm}.pfm"),
        (["SGM/teddy/disp.pfm", "BM/cones/disp.pfm"], "{algorithm}/{scene}/disp.pfm"),
        (["teddy_SGM.png", "cones_BM.png"], "{scene}_{algorithm}.png"),
        (["SGM_teddy.npy", "BM_cones.npy"], "{algorithm}_{scene}.npy"),
        (["SGM/teddy/SGM.pfm", "BM/cones/BM.pfm"], "{algorithm}/{scene}/{algorithm}.pfm"),
        (["run1/teddy_disp.npy", "run2/teddy_disp.npy"], "{algorithm}/{scene}_disp.npy"),
        (["out/disp_teddy.png", "out/disp_cones.png", "out/log.txt"], "out/disp_{scene}.png"),
        (["a/000000_10-out.png", "b/000000_10-out.png"], "{algorithm}/{scene}-out.png"),
        (["teddy/disp.pfm.gz", "cones/disp.pfm.gz"], "{scene}/disp.pfm.gz"),
        (["other.pfm", "notes.txt"], ""),
    ],
)
def test_the_template_of_results_is_found(names: list[str], template: str) -> None:
    assert results_template(names, SCENES) == template


def test_numbers_of_scenes_may_follow_a_word() -> None:
    names = ["A/frame07.pfm", "A/frame12.pfm", "A/frame112.pfm"]
    assert results_template(names, {number: number for number in ("07", "12", "112")}) == "A/frame{scene}.pfm"


@pytest.mark.parametrize(
    ("names", "paths"),
    [
        (["teddy.pfm", "cones.pfm"], {"ground_truth": "{scene}.pfm"}),
        (
            ["teddy/disp0GT.pfm", "teddy/disp1GT.pfm", "teddy/im0.png", "teddy/im1.png", "teddy/mask0nocc.png"],
            {"ground_truth": "{scene}/disp0GT.pfm", "left": "{scene}/im0.png", "right": "{scene}/im1.png"},
        ),
        (
            ["disp_occ_0/000000_10.png", "image_2/000000_10.png", "image_3/000000_10.png"],
            {
                "ground_truth": "disp_occ_0/{scene}.png",
                "left": "image_2/{scene}.png",
                "right": "image_3/{scene}.png",
            },
        ),
        (
            ["gt/rose.png", "images/rose_L.png", "images/rose_R.png", "calib/rose.txt"],
            {
                "ground_truth": "gt/{scene}.png",
                "left": "images/{scene}_L.png",
                "right": "images/{scene}_R.png",
                "calibration": "calib/{scene}.txt",
            },
        ),
        (["teddy_gt.png", "cones_gt.png", "teddy_left.png"], {"ground_truth": "{scene}_gt.png"}),
    ],
)
def test_the_layout_of_ground_truth_is_found(names: list[str], paths: dict[str, str]) -> None:
    layout = folder_layout(Path("garden"), names)
    assert layout == {"name": "garden", "paths": paths}


def test_a_folder_without_maps_has_no_layout() -> None:
    assert folder_layout(Path("x"), ["notes.txt", "a/readme.md"]) is None


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("gt").mkdir()
    for scene in ("teddy", "cones"):
        sg.write_disparity(f"gt/{scene}.pfm", TRUTH)
        for algorithm, error in {"SGM": 0.25, "BM": 2.0}.items():
            Path("results", algorithm, scene).mkdir(parents=True)
            sg.write_disparity(f"results/{algorithm}/{scene}/disp.pfm", TRUTH + np.float32(error))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def test_compare_takes_two_folders(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "compare", "gt", "results", "-m", "mae", "-r", "all", "-f", "json")
    assert code == 0
    scores = {(score["algorithm"], score["scene"]): score["value"] for score in json.loads(out)["scores"]}
    assert scores == {
        ("BM", "teddy"): pytest.approx(2.0),
        ("BM", "cones"): pytest.approx(2.0),
        ("SGM", "teddy"): pytest.approx(0.25),
        ("SGM", "cones"): pytest.approx(0.25),
    }
    assert "gt: ground truth found at {scene}.pfm, 2 scene(s)" in err
    assert "results: maps found at {algorithm}/{scene}/disp.pfm" in err
    code, out, _ = run(capsys, "compare", "gt", "mine=results/SGM", "-m", "mae", "-r", "all")
    assert "mine" in out
    code, _, err = run(capsys, "compare", "gt", "results", "--left", "x.png")
    assert code == 2
    assert "--left describes one scene" in err


def test_evaluate_and_validate_take_two_folders(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("-m", "mae", "-r", "all", "--store", "s.sqlite", "--jobs", "1")
    code, _, err = run(capsys, "evaluate", "gt", "results", *words)
    assert code == 0
    assert "4 cells computed" in err
    assert "maps found at {algorithm}/{scene}/disp.pfm (--template): BM, SGM" in err
    code, _, err = run(capsys, "validate", "results", "--dataset", "gt")
    assert code == 0


def test_init_writes_the_manifest_that_was_found(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "datasets", "init", "gt")
    assert code == 0
    assert out == 'name = "gt"\n\n[paths]\nground_truth = "{scene}.pfm"\n'
    assert Path("gt/stereogauge.toml").read_text() == out
    assert open_dataset("gt").ids == ("cones", "teddy")
    assert find_results("results", open_dataset("gt")).template == "{algorithm}/{scene}/disp.pfm"
    assert run(capsys, "datasets", "init", "gt")[0] == 2
    assert run(capsys, "datasets", "init", "gt", "--force")[0] == 0
    assert run(capsys, "datasets", "init", "nowhere")[0] == 2


def test_eight_bit_ground_truth_is_read_as_the_estimates_unless_said(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("gt8").mkdir()
    sg.write_disparity("gt8/teddy.png", np.round(TRUTH), encoding="middlebury", scale=8)
    Path("r8/A").mkdir(parents=True)
    sg.write_disparity("r8/A/teddy.png", np.round(TRUTH), encoding="middlebury", scale=8)
    for words in (("gt8", "r8", "--scale", "8"), ("gt8", "results", "--gt-scale", "8")):
        code, out, err = run(capsys, "compare", *words, "-m", "mae", "-r", "all", "-f", "json")
        assert code == 0, err
        assert json.loads(out)["scores"][0]["value"] < 3
