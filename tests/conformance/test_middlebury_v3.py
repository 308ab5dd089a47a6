"""Middlebury evaluation v3's rules on real semi-dense results, against the program's arithmetic written out here."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.io import DisparityFile

SCENES = ("Adirondack", "ArtL", "Motorcycle", "MotorcycleE", "Piano", "PianoL", "Pipes", "Teddy")


def evaldisp(
    truth: np.ndarray, estimate: np.ndarray, mask: np.ndarray, ndisp: int, threshold: float
) -> dict[str, float]:
    """Clipped to [0, ndisp]; percentages of the known pixels of the mask; mean error over valid ones."""
    known = np.isfinite(truth) & (mask == 255)
    valid = known & np.isfinite(estimate)
    error = np.abs(np.clip(estimate[valid], 0.0, ndisp) - truth[valid])
    bad, invalid = np.count_nonzero(error > threshold), np.count_nonzero(known & ~valid)
    percent = 100.0 / np.count_nonzero(known)
    return {
        "bad": bad * percent,
        "invalid": invalid * percent,
        "totbad": (bad + invalid) * percent,
        "mean": error.mean(),
    }


@pytest.mark.parametrize("name", SCENES)
def test_bad_invalid_and_mean_error_of_semi_dense_results(data_root: Path, name: str) -> None:
    scene = sg.load_dataset("middlebury-v3", data_root / "middlebury-2014")[name]
    ndisp = scene.calibration.ndisp
    assert ndisp is not None
    path = data_root / f"middlebury-2014/results/semidense-8bit/{name}.png"
    rounded = 16 * -(-ndisp // 16)
    estimate = DisparityFile(path, encoding="middlebury", scale=255 / rounded)
    table = sg.evaluate(estimate, scene, ["bad@2", "wrong@2", "invalid", "mae"], ["nonocc"], protocol="middlebury-v3")
    # Values beyond ndisp exist (the matcher's range is rounded up), so clipping shows.
    mask = cv2.imread(str(data_root / f"middlebury-2014/trainingQ/{name}/mask0nocc.png"), cv2.IMREAD_UNCHANGED)
    raw = cv2.imread(str(path), cv2.IMREAD_UNCHANGED).astype(np.float64)
    decoded = np.where(raw > 0, (raw / (255 / rounded)).astype(np.float32).astype(np.float64), np.nan)
    expected = evaldisp(scene.gt.astype(np.float64), decoded, mask, ndisp, 2.0)
    assert table.value("bad@2") == pytest.approx(expected["totbad"], abs=1e-9)
    assert table.value("wrong@2") == pytest.approx(expected["bad"], abs=1e-9)
    assert table.value("invalid") == pytest.approx(expected["invalid"], abs=1e-9)
    assert table.value("mae") == pytest.approx(expected["mean"], rel=1e-6)


def test_scenes_are_weighted_as_on_the_official_page() -> None:
    truth = np.full((4, 4), 8.0, np.float32)
    scenes = [
        sg.Scene(name, gt=truth, masks={"nonocc": np.ones((4, 4), bool)}, calibration=sg.Calibration(ndisp=16))
        for name in ("Piano", "PianoL")
    ]
    maps = {"Piano": truth + 3, "PianoL": truth + 9}
    table = sg.evaluate({"a": maps}, scenes, ["mae"], ["all"], protocol="middlebury-v3")
    # PianoL's 9 px are clipped to ndisp − 8 = 8 px and weigh half: (3 + 0.5 · 8) / 1.5.
    assert table.aggregate("mae", "all") == pytest.approx((3 + 0.5 * 8) / 1.5)
