"""A folder with the files that the snippets speak of: a small part of the real Motorcycle pair in several layouts."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

import stereogauge as sg

ROWS = slice(120, 360)
CROPS = {"Motorcycle": slice(180, 500), "MotorcycleE": slice(380, 700), "Adirondack": slice(300, 620)}
"""Scenes of the kit: parts of one image under the names of the real ones."""
CALIBRATION = """cam0=[994.978 0 140; 0 994.978 120; 0 0 1]
cam1=[994.978 0 171.086; 0 994.978 120; 0 0 1]
doffs=31.086
baseline=193.001
width=320
height=240
ndisp=70
"""


def write_scene(folder: Path, scene: sg.Scene, columns: slice) -> dict[str, np.ndarray]:
    """One scene as in Middlebury's evaluation kit; returns the maps of two matchers on it."""
    folder.mkdir(parents=True)
    left, right = scene.left[ROWS, columns], scene.right[ROWS, columns]
    truth = np.ascontiguousarray(scene.gt[ROWS, columns])
    cv2.imwrite(str(folder / "im0.png"), cv2.cvtColor(left, cv2.COLOR_RGB2BGR))
    cv2.imwrite(str(folder / "im1.png"), cv2.cvtColor(right, cv2.COLOR_RGB2BGR))
    sg.write_disparity(folder / "disp0GT.pfm", truth)
    visible = sg.regions(sg.Scene("part", gt=truth), ["nonocc"])["nonocc"]
    mask = np.where(visible, 255, np.where(np.isfinite(truth), 128, 0)).astype(np.uint8)
    cv2.imwrite(str(folder / "mask0nocc.png"), mask)
    (folder / "calib.txt").write_text(CALIBRATION)
    return {
        name: sg.match(left, right, matcher, ndisp=70).disparity
        for name, matcher in {"SGM": "sgm", "SGBM": "opencv-sgbm", "BM": "opencv-bm"}.items()
    }


def eight_bit(path: Path, disparity: np.ndarray, scale: float) -> None:
    """An 8-bit PNG with 0 = unknown."""
    cv2.imwrite(str(path), np.nan_to_num(np.round(disparity * scale), nan=0.0).astype(np.uint8))


@pytest.fixture(scope="session")
def example_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once; tests take copies."""
    root = tmp_path_factory.mktemp("documentation")
    scene = sg.load_dataset("motorcycle")["motorcycle"]
    for name, columns in CROPS.items():
        maps = write_scene(root / "MiddEval3" / "trainingQ" / name, scene, columns)
        for algorithm, disparity in maps.items():
            (root / "results" / algorithm).mkdir(parents=True, exist_ok=True)
            sg.write_disparity(root / "results" / algorithm / f"{name}.pfm", disparity)
    kit = root / "MiddEval3" / "trainingQ" / "Motorcycle"
    for name in ("disp0GT.pfm", "im0.png", "im1.png", "calib.txt", "mask0nocc.png"):
        shutil.copy(kit / name, root / name)
    shutil.copy(root / "results" / "SGM" / "Motorcycle.pfm", root / "mine.pfm")
    shutil.copy(root / "results" / "BM" / "Motorcycle.pfm", root / "other.pfm")
    eight_bit(root / "groundtruth.png", sg.read_disparity(root / "disp0GT.pfm"), 3)
    eight_bit(root / "mine.png", sg.read_disparity(root / "mine.pfm"), 3)
    _garden(root)
    _folders(root)
    _mistakes(root)
    _points(root)
    return root


def _points(root: Path) -> None:
    """A scene as LayeredFlow ships it: points of object and number, placed in four images, on layers."""
    scene = root / "layeredflow" / "val" / "0"
    scene.mkdir(parents=True)
    for name, image in {"0_0": "im0", "0_1": "im1"}.items():
        shutil.copy(root / f"{image}.png", scene / f"{name}.png")
    left = [(0, 0, (40.5, 30.25)), (0, 1, (50.0, 60.0))]
    right = [(0, 0, (np.float64(33.5), 30.25)), (0, 1, (20.0, 60.0))]
    annotations = {(0, 0): (True, "Diffuse", 0), (0, 1): (True, "Transparent", 1)}
    content = {"stereo_points": [left, right, left, right], "annotations": annotations}
    (scene / "gt.pickle").write_bytes(pickle.dumps(content))


def _mistakes(root: Path) -> None:
    """Maps with something wrong, for the page on troubleshooting."""
    right = sg.read_disparity(root / "mine.pfm")
    sg.write_disparity(root / "half-size.pfm", np.ascontiguousarray(right[::2, ::2]) / 2)
    sg.write_disparity(root / "negative.pfm", -right)
    sg.write_disparity(root / "scaled.pfm", right * 256)
    np.save(root / "rose-depth.npy", 1000 * 1000 * 0.12 / np.maximum(right, 1))
    (root / "cut-off.pfm").write_bytes((root / "mine.pfm").read_bytes()[:3000])


def _folders(root: Path) -> None:
    """Ground truth and results of somebody who described neither."""
    for kit in ("Motorcycle", "MotorcycleE"):
        (root / "truth").mkdir(exist_ok=True)
        shutil.copy(root / "MiddEval3" / "trainingQ" / kit / "disp0GT.pfm", root / "truth" / f"{kit}.pfm")
        for algorithm in ("SGM", "BM"):
            target = root / "runs" / algorithm / kit
            target.mkdir(parents=True)
            shutil.copy(root / "results" / algorithm / f"{kit}.pfm", target / "disp.pfm")


def _garden(root: Path) -> None:
    """Somebody's own dataset and results: other names, other encodings."""
    for place, kit in {"rose": "Motorcycle", "tulip": "MotorcycleE"}.items():
        source = root / "MiddEval3" / "trainingQ" / kit
        for folder in ("gt", "images", "calib"):
            (root / "garden" / folder).mkdir(parents=True, exist_ok=True)
        eight_bit(root / "garden" / "gt" / f"{place}.png", sg.read_disparity(source / "disp0GT.pfm"), 3)
        shutil.copy(source / "im0.png", root / "garden" / "images" / f"{place}_L.png")
        shutil.copy(source / "im1.png", root / "garden" / "images" / f"{place}_R.png")
        shutil.copy(source / "calib.txt", root / "garden" / "calib" / f"{place}.txt")
        for algorithm in ("SGM", "BM"):
            target = root / "garden-results" / algorithm / place
            target.mkdir(parents=True, exist_ok=True)
            eight_bit(target / "depth.png", sg.read_disparity(root / "results" / algorithm / f"{kit}.pfm"), 3)


@pytest.fixture
def workspace(example_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh copy of the files, as the current folder."""
    folder = tmp_path / "work"
    shutil.copytree(example_files, folder)
    monkeypatch.chdir(folder)
    return folder
