"""KITTI 2012 and 2015: agreement with a computation written out here, and with what the official evaluator printed.

`results/xiyu/errors_*` hold the official KITTI 2012 program's output for exactly the files beside them, read as v /
256.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.io import DisparityFile

FRAMES_2012 = [f"{n:06}_10" for n in range(6)]


def plain_read(path: Path) -> np.ndarray:
    """v / 256 in float64, 0 = unknown as NaN; nothing of ours is used."""
    values = cv2.imread(str(path), cv2.IMREAD_UNCHANGED).astype(np.float64)
    return np.where(values > 0, values / 256, np.nan)


def plain_fill(disparity: np.ndarray) -> np.ndarray:
    """The development kit's background interpolation, pixel by pixel in plain Python."""
    filled = disparity.copy()
    height, width = filled.shape
    for y in range(height):
        valid = np.flatnonzero(np.isfinite(disparity[y]))
        if valid.size == 0:
            continue
        for gap in np.flatnonzero(np.diff(valid) > 1):
            a, b = valid[gap], valid[gap + 1]
            filled[y, a + 1 : b] = min(disparity[y, a], disparity[y, b])
        filled[y, : valid[0]] = disparity[y, valid[0]]
        filled[y, valid[-1] + 1 :] = disparity[y, valid[-1]]
    for x in range(width):
        rows = np.flatnonzero(np.isfinite(filled[:, x]))
        if rows.size:
            filled[: rows[0], x] = filled[rows[0], x]
            filled[rows[-1] + 1 :, x] = filled[rows[-1], x]
    return filled


def plain_outliers(truth: np.ndarray, estimate: np.ndarray, threshold: float) -> tuple[int, int]:
    """Outliers and pixels; an unknown estimate is compared as −1, as the kit does."""
    known = np.isfinite(truth)
    error = np.abs(np.nan_to_num(estimate, nan=-1.0) - truth)[known]
    return int((error > threshold).sum()), int(known.sum())


@pytest.fixture(scope="module")
def kitti_2012(data_root: Path) -> sg.Dataset:
    return sg.load_dataset("kitti-2012", data_root / "kitti2012", truth="noc")


@pytest.fixture(scope="module")
def xiyu(data_root: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted((data_root / "kitti2012/results/xiyu/data").glob("*.png"))}


@pytest.mark.parametrize("frame", FRAMES_2012)
def test_official_kitti_2012_evaluator_output(kitti_2012: sg.Dataset, xiyu: dict[str, Path], frame: str) -> None:
    """Thresholds 1…5: filled and estimated-only outlier fractions, density, and mean errors, as printed."""
    folder = xiyu[frame].parents[1]
    printed = [float(v) for v in (folder / "errors_noc_out" / f"{frame}.txt").read_text().split()]
    averages = [float(v) for v in (folder / "errors_noc_avg" / f"{frame}.txt").read_text().split()]
    metrics = [m for t in range(1, 6) for m in (f"bad@{t}", f"bad-valid@{t}")]
    table = sg.evaluate(
        xiyu[frame], kitti_2012[frame], [*metrics, "density", "mae", "mae-valid"], ["all"], protocol="kitti-2012"
    )
    ours = [table.value(m) / 100 for m in [*metrics, "density"]]
    assert ours == pytest.approx(printed, abs=1e-6)
    # The program sums errors in single precision, so that its fifth digit is noise.
    assert [table.value("mae"), table.value("mae-valid")] == pytest.approx(averages, rel=3e-4)


def test_official_evaluator_output_with_occluded_pixels(data_root: Path, xiyu: dict[str, Path]) -> None:
    scene = sg.load_dataset("kitti-2012", data_root / "kitti2012", truth="occ")["000000_10"]
    text = (xiyu["000000_10"].parents[1] / "errors_occ_out" / "000000_10.txt").read_text()
    printed = [float(v) for v in text.split()]
    metrics = [m for t in range(1, 6) for m in (f"bad@{t}", f"bad-valid@{t}")]
    table = sg.evaluate(xiyu["000000_10"], scene, [*metrics, "density"], ["all"], protocol="kitti-2012")
    assert [table.value(m) / 100 for m in [*metrics, "density"]] == pytest.approx(printed, abs=1e-6)


def estimates_2012(root: Path) -> list[tuple[str, str, DisparityFile, np.ndarray]]:
    """Every estimate of the data with its frame: algorithm, frame, file, and the map decoded here."""
    results = root / "kitti2012/results"
    found: list[tuple[str, str, DisparityFile, np.ndarray]] = []

    def add(name: str, path: Path, scale: float | None) -> None:
        raw = cv2.imread(str(path), cv2.IMREAD_UNCHANGED).astype(np.float64)
        decoded = np.where(raw > 0, raw / (scale or 256), np.nan)
        file = DisparityFile(path, encoding="middlebury", scale=scale) if scale else DisparityFile(path)
        found.append((name, path.stem, file, decoded))

    for path in sorted((results / "xiyu/data").glob("*.png")):
        add("xiyu/256", path, None)
        add("xiyu", path, 1.0)
    add("SPS-Stereo", results / "SPS-Stereo/000000_10.png", None)
    add("MC-CNN", results / "MC-CNN-8bit/000000_10.png", 255 / 70)
    for path in sorted((results / "AD-Census").glob("*.png")):
        add("AD-Census", path, 1.0)
    return found


def test_kitti_2012_rules_agree_with_a_plain_computation(data_root: Path, kitti_2012: sg.Dataset) -> None:
    """Every frame and estimate of the data: bad pixels after filling and among the estimated, mean errors, density."""
    compared = 0
    for name, frame, file, decoded in estimates_2012(data_root):
        truth = plain_read(data_root / "kitti2012/training/disp_noc" / f"{frame}.png")
        metrics = ["bad@2", "bad@3", "bad@5", "mae", "bad-valid@3", "mae-valid", "density"]
        table = sg.evaluate({name: file}, kitti_2012[frame], metrics, ["all"], protocol="kitti-2012")
        filled = plain_fill(decoded)
        for threshold in (2, 3, 5):
            bad, count = plain_outliers(truth, filled, threshold + 1e-6)
            assert table.value(f"bad@{threshold}") == pytest.approx(100 * bad / count, abs=1e-9), (name, frame)
        known = np.isfinite(truth)
        both = known & np.isfinite(decoded)
        error = np.abs(decoded - truth)
        expected = {
            "mae": np.abs(filled - truth)[known & np.isfinite(filled)].mean(),
            "bad-valid@3": 100 * (error[both] > 3 + 1e-6).mean(),
            "mae-valid": error[both].mean(),
            "density": 100 * both.sum() / known.sum(),
        }
        for metric, value in expected.items():
            assert table.value(metric) == pytest.approx(value, rel=1e-6), (name, frame, metric)
        compared += 1
    assert compared == 27


def d1(truth: np.ndarray, estimate: np.ndarray) -> tuple[int, int]:
    """Outliers by > 3 px and > 5 %, in exact integer arithmetic on 1/256 px; unknown counts as an outlier."""
    known = np.isfinite(truth)
    t = np.rint(truth[known] * 256).astype(np.int64)
    e = np.nan_to_num(estimate, nan=-1.0)[known] * 256
    assert np.array_equal(e, np.rint(e))
    error = np.abs(e.astype(np.int64) - t)
    outlier = (error > 3 * 256) & (20 * error > t)
    return int((outlier | np.isnan(estimate[known])).sum()), int(known.sum())


def kitti_2015_estimates(root: Path) -> dict[str, dict[str, Any]]:
    results = root / "kitti2015/results"
    found: dict[str, dict[str, Any]] = {"devkit": {"000006_10": results / "devkit-demo/000006_10.png"}}
    for path in sorted((results / "BM-8bit").glob("*.png")):
        found.setdefault("BM", {})[path.stem] = DisparityFile(path, encoding="middlebury", scale=1)
    for stage in sorted((results / "LuoNet-8bit").iterdir()):
        for path in sorted((stage / "left").glob("*.png")):
            found.setdefault(stage.name, {})[path.stem] = DisparityFile(path, encoding="middlebury", scale=1)
    return found


@pytest.mark.parametrize("truth_kind", ["occ", "noc"])
def test_kitti_2015_d1_pooled_and_per_image(data_root: Path, truth_kind: str) -> None:
    data = sg.load_dataset("kitti-2015", data_root / "kitti2015", truth=truth_kind)
    for name, maps in kitti_2015_estimates(data_root).items():
        frames = [scene for scene in data if scene.id in maps]
        table = sg.evaluate({name: maps}, frames, ["d1", "d1-valid"], ["all"], protocol="kitti-2015")
        totals, per_image = np.zeros(2, np.int64), []
        for scene in frames:
            source = maps[scene.id]
            raw = cv2.imread(str(getattr(source, "path", source)), cv2.IMREAD_UNCHANGED).astype(np.float64)
            raw = raw[..., 0] if raw.ndim == 3 else raw
            scale = 1 if isinstance(source, DisparityFile) else 256
            estimate = plain_fill(np.where(raw > 0, raw / scale, np.nan))
            truth = plain_read(data_root / f"kitti2015/training/disp_{truth_kind}_0" / f"{scene.id}.png")
            counts = d1(truth, estimate)
            totals += counts
            per_image.append(100 * counts[0] / counts[1])
            assert table.value("d1", scene=scene.id) == pytest.approx(per_image[-1], abs=1e-9)
        assert table.aggregate("d1", "all") == pytest.approx(100 * totals[0] / totals[1], abs=1e-9)
        assert table.aggregate("d1", "all", how="mean") == pytest.approx(np.mean(per_image), abs=1e-9)


def test_filling_follows_the_kit_where_rows_are_empty() -> None:
    """Rows above the first and below the last filled one are extrapolated; an empty row in between counts as bad."""
    estimate = np.full((5, 4), np.nan, np.float32)
    estimate[1, 1], estimate[3, 0], estimate[3, 3] = 7, 4, 9
    truth = np.array([[7] * 4, [7] * 4, [5] * 4, [4] * 4, [4] * 4], np.float32)
    scene = sg.Scene("hand", gt=truth, masks={"nonocc": np.ones((5, 4), bool)})
    table = sg.evaluate(estimate, scene, ["bad@1", "mae", "density"], ["all"], protocol="kitti-2012")
    # Row 3 becomes 4 4 4 9 and so does row 4; row 2 stays unknown: 4 unknown + 2 wrong of 20.
    assert table.value("bad@1") == 100 * 6 / 20
    assert table.value("mae") == pytest.approx(10 / 16)
    assert table.value("density") == 100 * 3 / 20
