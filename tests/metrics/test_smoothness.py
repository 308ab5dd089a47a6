"""Smoothness indices, and what they cannot see."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stereogauge as sg
from stereogauge import Scene
from stereogauge.io import DisparityFile
from stereogauge.metrics.self_consistency import acceleration, gradient_length

STEP = np.array([[1, 1, 5, 5]] * 3, np.float32)


def score(estimate: np.ndarray, metric: str) -> tuple[float, int, int]:
    scene = Scene("hand", left=np.zeros((*estimate.shape, 3), np.uint8))
    found = sg.evaluate(estimate, scene, [metric], ["all"]).score(metric)
    return found.value, found.count, found.missing


def test_a_step_of_four_is_steep_on_both_sides() -> None:
    """Central differences: (5 − 1)/2 = 2 at both inner pixels of the middle row."""
    assert score(STEP, "smooth-gradient@1.9") == (100.0, 2, 0)
    assert score(STEP, "smooth-gradient@2") == (0.0, 2, 0)


def test_the_laplacian_of_a_step_is_its_height() -> None:
    assert acceleration(STEP)[1, 1:3].tolist() == [4.0, 4.0]
    assert score(STEP, "smooth-acceleration@4") == (0.0, 2, 0)
    assert score(STEP, "smooth-acceleration@3.9") == (100.0, 2, 0)


def test_a_slanted_plane_has_its_own_slope_and_no_bend() -> None:
    y, x = np.mgrid[:6, :7].astype(np.float32)
    plane = 0.3 * x - 0.4 * y + 9
    assert gradient_length(plane)[1:-1, 1:-1] == pytest.approx(0.5, abs=1e-5)
    assert acceleration(plane)[1:-1, 1:-1] == pytest.approx(0.0, abs=1e-5)


def test_a_missing_estimate_is_counted_and_takes_its_neighbours_out() -> None:
    estimate = np.ones((5, 5), np.float32)
    estimate[2, 2] = np.nan
    assert score(estimate, "smooth-gradient@1") == (0.0, 4, 5)
    assert score(estimate, "smooth-acceleration@1") == (0.0, 4, 5)


def test_a_map_without_estimates_has_no_smoothness() -> None:
    value, count, missing = score(np.full((4, 4), np.nan, np.float32), "smooth-gradient@1")
    assert np.isnan(value)
    assert (count, missing) == (0, 4)  # the rim of the image has no four neighbours


@given(st.floats(-50, 50), st.floats(0.1, 10))
def test_adding_a_constant_changes_nothing(offset: float, threshold: float) -> None:
    estimate = np.random.default_rng(3).integers(0, 30, (8, 9)).astype(np.float32)
    shifted = estimate + np.float32(round(offset))
    metric = f"smooth-gradient@{threshold:g}"
    assert score(estimate, metric) == score(shifted, metric)


def test_the_picture_is_the_slope_itself() -> None:
    shown = sg.picture(STEP, Scene("hand", left=np.zeros((3, 4, 3), np.uint8)), "smooth-gradient@1")
    assert np.array_equal(shown.values, gradient_length(STEP), equal_nan=True)


@pytest.mark.parametrize(("name", "scale"), [("tsukuba", 16), ("venus", 8), ("teddy", 4), ("cones", 4)])
def test_a_map_that_is_wrong_everywhere_is_as_smooth_as_the_truth(data_root: Path, name: str, scale: int) -> None:
    """Ground truth − 1, the first figure of Cabezas et al. 2011: no bad pixel at δ = 1, no less smooth, and wrong at
    every pixel.
    """
    source = DisparityFile(data_root / "middlebury-v2" / name / "groundtruth.png", "middlebury", scale)
    scene = Scene(name, gt=source)
    table = sg.evaluate(
        {"truth": scene.gt, "shifted": scene.gt - 1},
        scene,
        ["smooth-gradient@1", "smooth-acceleration@1", "bad@1", "mse"],
        ["all"],
    )
    for metric in ("smooth-gradient@1", "smooth-acceleration@1"):
        truth, shifted = (table.value(metric, algorithm=a) for a in ("truth", "shifted"))
        assert shifted == truth
        assert 0 < truth < 20
    assert table.value("bad@1", algorithm="shifted") == 0.0
    assert table.value("mse", algorithm="shifted") == pytest.approx(1.0)
