"""Data as people have it: calibrations of other programs, folders in folders, files of operating systems."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main

F, CX, CY, B, OFFS = 700.0, 310.0, 240.0, 0.12, 4.0
P1 = np.array([[F, 0, CX, 0], [0, F, CY, 0], [0, 0, 1, 0]])
P2 = np.array([[F, 0, CX + OFFS, -F * B], [0, F, CY, 0], [0, 0, 1, 0]])
Q = np.array([[1, 0, 0, -CX], [0, 1, 0, -CY], [0, 0, 0, F], [0, 0, 1 / B, OFFS / B]])
TRUTH = np.tile(np.linspace(5, 40, 120, dtype=np.float32), (60, 1))


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(map(str, words)))
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def opencv(path: Path, **matrices: np.ndarray) -> Path:
    storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    for name, matrix in matrices.items():
        storage.write(name, matrix)
    storage.release()
    return path


def ros(projection: np.ndarray, name: str) -> str:
    data = ", ".join(f"{value:g}" for value in projection.ravel())
    return (
        f"image_width: 120\nimage_height: 60\ncamera_name: {name}\ndistortion_model: plumb_bob\n"
        f"projection_matrix:\n  rows: 3\n  cols: 4\n  data: [{data}]\n"
    )


KALIBR = f"""
cam0:
  camera_model: pinhole
  intrinsics: [{F}, {F}, {CX}, {CY}]
  resolution: [120, 60]
cam1:
  T_cn_cnm1:
  - [1.0, 0.0, 0.0, -{B}]
  - [0.0, 1.0, 0.0, 0.0]
  - [0.0, 0.0, 1.0, 0.0]
  - [0.0, 0.0, 0.0, 1.0]
  camera_model: pinhole
  intrinsics: [{F}, {F}, {CX + OFFS}, {CY}]
  resolution: [120, 60]
"""


def written(folder: Path, form: str) -> Path:
    path = folder / {"xml": "cameras.xml", "ros": "left.yaml", "json": "rig.json"}.get(form, "cameras.yaml")
    if form in ("opencv", "xml"):
        return opencv(path, P1=P1, P2=P2)
    if form == "opencv 4":  # as older versions begin the file
        text = opencv(path, P1=P1, P2=P2).read_text()
        path.write_text(text.replace("%YAML 1.0", "%YAML:1.0"))
        return path
    if form == "Q":
        return opencv(path, Q=Q)
    if form == "ros":
        (folder / "right.yaml").write_text(ros(P2, "right"))
        path.write_text(ros(P1, "left"))
    elif form == "ros messages":
        printed = [f"width: 120\nheight: 60\nP: {matrix.ravel().tolist()}\n" for matrix in (P1, P2)]
        path.write_text("---\n".join(printed))
    elif form == "kalibr":
        path.write_text(KALIBR)
    elif form == "json":
        path.write_text(
            json.dumps({"focal": F, "baseline": B, "doffs": OFFS, "cx": CX, "cy": CY, "width": 120, "height": 60})
        )
    else:
        path.write_text(
            json.dumps(
                {"left": {"fx": F, "cx": CX, "cy": CY}, "right": {"fx": F, "cx": CX + OFFS, "cy": CY}, "baseline": B}
            )
        )
    return path


FORMS = ["opencv", "opencv 4", "xml", "Q", "ros", "ros messages", "kalibr", "json", "json by side"]


@pytest.mark.parametrize("form", FORMS)
def test_calibrations_are_read_by_their_content(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, form)
    for name in ("gt.pfm", "mine.pfm"):
        sg.write_disparity(tmp_path / name, TRUTH + (name == "mine.pfm"))
    words = ["compare", tmp_path / "gt.pfm", tmp_path / "mine.pfm", "-m", "z-mae", "-r", "all", "-f", "json"]
    code, out, err = run(capsys, *words, "--calib", path)
    assert code == 0, err
    same = run(capsys, *words, "--focal", F, "--baseline", B, "--doffs", OFFS)[1]
    values = [json.loads(text)["scores"][0]["value"] for text in (out, same)]
    assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_a_calibration_that_is_none_shows_an_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("gt.pfm", "mine.pfm"):
        sg.write_disparity(tmp_path / name, TRUTH)
    words = ["compare", tmp_path / "gt.pfm", tmp_path / "mine.pfm", "-m", "z-mae", "-r", "all", "--calib"]
    (tmp_path / "notes.txt").write_text("nothing: here\n")
    code, _, err = run(capsys, *words, tmp_path / "notes.txt")
    assert code == 2
    example = err[err.index("{") : err.index("}") + 1]
    (tmp_path / "own.json").write_text(example.replace("741", "120").replace("500", "60"))
    assert run(capsys, *words, tmp_path / "own.json")[0] == 0
    (tmp_path / "left.yaml").write_text(ros(P1, "left"))
    assert "put the other one beside it" in run(capsys, *words, tmp_path / "left.yaml")[2]
    (tmp_path / "wide.json").write_text(json.dumps({"focal": F, "baseline": B, "width": 640, "height": 480}))
    refusal = f"{tmp_path / 'wide.json'}: The calibration is for images of 640 × 480 pixels"
    assert refusal in run(capsys, *words, tmp_path / "wide.json")[2]


def test_cameras_before_rectification_are_refused_with_what_to_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("gt.pfm", "mine.pfm"):
        sg.write_disparity(tmp_path / name, TRUTH)
    words = ["compare", tmp_path / "gt.pfm", tmp_path / "mine.pfm", "-m", "z-mae", "-r", "all", "--calib"]
    found = {"M1": P1[:, :3], "D1": np.zeros(5), "M2": P2[:, :3], "D2": np.zeros(5), "R": np.eye(3)}
    for name in ("stereo.yml", "stereo.xml", "stereo.json"):
        path = opencv(tmp_path / name, **found, T=np.array([[-B], [0.0], [0.0]]))
        code, _, err = run(capsys, *words, path)
        assert code == 2
        assert "write P1 and P2, or Q, of cv2.stereoRectify into the file" in " ".join(err.split())
        assert run(capsys, *words, opencv(path, **found, T=np.array([[-B], [0.0], [0.0]]), P1=P1, P2=P2))[0] == 0


@pytest.mark.parametrize("name", ["{}.pfm", "pred_{}.pfm", "{}/out.pfm", "site/{}.pfm"])
def test_a_folder_of_one_algorithm_names_it_in_every_layout(name: str, tmp_path: Path) -> None:
    scenes = [f"site-{scene}" if "site" in name else scene for scene in ("teddy", "cones")]
    data = sg.Dataset("own", [sg.Scene(scene, gt=TRUTH) for scene in scenes])
    for scene in scenes:
        path = tmp_path / "runs" / "mine" / name.format(scene.removeprefix("site-"))
        path.parent.mkdir(parents=True, exist_ok=True)
        sg.write_disparity(path, TRUTH)
    for folder in (tmp_path / "runs", tmp_path / "runs" / "mine"):
        assert [(found.name, len(found.maps)) for found in sg.load_results(folder, data)] == [("mine", 2)]
    (tmp_path / "runs" / "results.toml").write_text('name = "Mine, tuned"\n')
    assert [found.name for found in sg.load_results(tmp_path / "runs", data)] == ["Mine, tuned"]


@pytest.fixture
def sites(tmp_path: Path) -> Path:
    for site in ("site_A", "site_B"):
        for scene in ("0001", "0002"):
            for folder, values in (("truth/{}/gt/{}.pfm", TRUTH), ("runs/sgm/{}/{}.pfm", TRUTH + 1)):
                path = tmp_path / folder.format(site, scene)
                path.parent.mkdir(parents=True, exist_ok=True)
                sg.write_disparity(path, values)
            images = tmp_path / "truth" / site / "left"
            for side in ("left", "right"):
                images = tmp_path / "truth" / site / side
                images.mkdir(exist_ok=True)
                cv2.imwrite(str(images / f"{scene}.png"), np.zeros((60, 120), np.uint8))
        focal = F if site == "site_A" else 2 * F
        (tmp_path / "truth" / site / "calib.json").write_text(json.dumps({"focal": focal, "baseline": B}))
    return tmp_path


def test_folders_of_sites_are_found(sites: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = sg.load_dataset("folder", sites / "truth")
    assert data.ids == ("site_A-0001", "site_A-0002", "site_B-0001", "site_B-0002")
    assert data["site_B-0001"].calibration.focal == 2 * F
    assert data["site_A-0002"].has("left")
    for results, name in (("runs", "sgm"), ("runs/sgm", "sgm")):
        words = ["compare", sites / "truth", sites / results, "-m", "mae", "-r", "all", "-f", "csv"]
        code, out, err = run(capsys, *words)
        assert code == 0, err
        assert out.count(f",{name},") == 4
        assert "belong to no scene" not in err
    (sites / "truth" / "stereogauge.toml").write_text('[paths]\nground_truth = "{site}/gt/{scene}.pfm"\n')
    assert (
        run(capsys, "compare", sites / "truth", sites / "runs", "-m", "mae", "-r", "all", "-f", "csv")[1].count("sgm")
        == 4
    )


@pytest.mark.parametrize("name", ["sgm/{}/{}/out.pfm", "sgm/{}/pred_{}.pfm"])
def test_scene_folders_and_affixes_within_sites_are_found(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The truth lies as `SITE/SCENE/gt.pfm` beside the images, which no known dataset claims."""
    for site in ("north", "south-east"):
        for scene in ("a1", "b2"):
            folder = tmp_path / "truth" / site / scene
            folder.mkdir(parents=True)
            sg.write_disparity(folder / "gt.pfm", TRUTH)
            for side in ("left", "right"):
                cv2.imwrite(str(folder / f"{side}.png"), np.zeros((60, 120), np.uint8))
            path = tmp_path / "runs" / name.format(site, scene)
            path.parent.mkdir(parents=True, exist_ok=True)
            sg.write_disparity(path, TRUTH + 1)
    words = ["compare", tmp_path / "truth", tmp_path / "runs", "-m", "mae", "-r", "all"]
    code, out, err = run(capsys, *words)
    assert code == 0, err
    assert "ground truth found at {site}/{scene}/gt.pfm" in err
    assert "Mean of 4 scenes" in out
    assert run(capsys, *words, "-f", "csv")[1].count(",sgm,mae,all,0.99") == 4


def test_affixes_around_names_are_ignored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for scene in ("0001", "0002"):
        for path, values in ((f"truth/rig_{scene}_left.pfm", TRUTH), (f"mine/out-{scene}-v2.pfm", TRUTH + 1)):
            (tmp_path / path).parent.mkdir(exist_ok=True)
            sg.write_disparity(tmp_path / path, values)
    code, out, err = run(
        capsys, "compare", tmp_path / "truth", tmp_path / "mine", "-m", "mae", "-r", "all", "-f", "csv"
    )
    assert code == 0, err
    assert out.count(",mine,") == 2


def test_what_is_not_used_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in ("data/gt/a.pfm", "data/gt/b.pfm", "data/old/deep/c.pfm", "mine/a.pfm", "mine/b.pfm"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        sg.write_disparity(tmp_path / path, TRUTH)
    err = run(capsys, "compare", tmp_path / "data", tmp_path / "mine", "-m", "mae", "-r", "all")[2]
    assert "1 other file(s) of that kind are not used: old/deep/c.pfm" in err


def test_files_of_operating_systems_are_ignored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("truth", "mine"):
        (tmp_path / folder).mkdir()
        sg.write_disparity(tmp_path / folder / "a.pfm", TRUTH)
        for junk in ("._a.pfm", ".DS_Store", "Thumbs.db", "desktop.ini"):
            (tmp_path / folder / junk).write_bytes(b"\0\5\x16\7")
    code, _, err = run(capsys, "compare", tmp_path / "truth", tmp_path / "mine", "-m", "mae", "-r", "all")
    assert code == 0
    assert "Thumbs" not in err
    assert "not used" not in err
    assert run(capsys, "validate", tmp_path / "mine")[0] == 0


def test_masks_of_16_bits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mask = np.zeros((60, 120), np.uint16)
    mask[:, 60:] = 65535
    cv2.imwrite(str(tmp_path / "half.png"), mask)
    for name in ("gt.pfm", "mine.pfm"):
        sg.write_disparity(tmp_path / name, TRUTH)
    words = ["compare", tmp_path / "gt.pfm", tmp_path / "mine.pfm", "--mask", tmp_path / "half.png", "-m", "mae"]
    code, out, _ = run(capsys, *words, "-r", "half", "-f", "json")
    assert code == 0
    assert json.loads(out)["scores"][0]["count"] == 60 * 60
