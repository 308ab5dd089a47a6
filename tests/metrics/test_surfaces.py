"""Bumpiness and normals on surfaces that need not be planes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from skimage import filters

import stereogauge as sg
from stereogauge import Calibration, Scene, load_protocol
from stereogauge.datasets.synthetic import load_synthetic
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.surfaces import hessian_norm, metric_normals

HEIGHT, WIDTH = 120, 160
Y, X = np.mgrid[:HEIGHT, :WIDTH].astype(np.float64)
FOCAL, BASELINE, DOFFS = 200.0, 0.2, 3.0
CALIBRATION = Calibration(focal=FOCAL, baseline=BASELINE, doffs=DOFFS)
TRUTH = (30 + 0.05 * X - 0.02 * Y).astype(np.float32)
BOTH = ["surface-bump", "normal-error"]


def value(estimate: np.ndarray, metric: str, truth: np.ndarray = TRUTH) -> float:
    scene = Scene("wall", gt=truth, masks={"nonocc": np.ones(truth.shape, bool)}, calibration=CALIBRATION)
    return sg.evaluate(estimate, scene, [metric], ["nonocc"]).value(metric)


def plane_seen(normal: tuple[float, float, float], distance: float) -> np.ndarray:
    """The disparity of the plane n·P = distance, seen by the camera of `CALIBRATION`."""
    ray = np.stack([(X - (WIDTH - 1) / 2) / FOCAL, (Y - (HEIGHT - 1) / 2) / FOCAL, np.ones_like(X)], axis=-1)
    depth = distance / (ray @ np.array(normal))
    return (FOCAL * BASELINE / depth - DOFFS).astype(np.float32)


def test_the_ground_truth_scores_exactly_zero() -> None:
    for metric in ("surface-bump@0.05", "normal-error"):
        assert value(TRUTH, metric) == 0.0


@pytest.mark.parametrize("tilt", [0.0, 20.0, 50.0])
def test_normals_are_those_of_the_plane_in_space(tilt: float) -> None:
    normal = (math.sin(math.radians(tilt)), 0.0, math.cos(math.radians(tilt)))
    found = metric_normals(plane_seen(normal, 2.0), FOCAL, DOFFS)[5:-5, 5:-5]
    assert found.reshape(-1, 3) == pytest.approx(np.broadcast_to(normal, (found.size // 3, 3)), abs=1e-3)


def test_the_error_of_normals_is_the_angle_in_space_and_not_in_disparity_space() -> None:
    turned = (math.sin(math.radians(30)), 0.0, math.cos(math.radians(30)))
    truth, estimate = plane_seen((0.0, 0.0, 1.0), 2.0), plane_seen(turned, 2.0)
    assert value(estimate, "normal-error", truth) == pytest.approx(30.0, abs=0.05)
    far = plane_seen((0.0, 0.0, 1.0), 8.0), plane_seen(turned, 8.0)
    assert value(far[1], "normal-error", far[0]) == pytest.approx(30.0, abs=0.05)


def test_a_shift_makes_no_bump_and_a_bend_does() -> None:
    assert value(TRUTH + np.float32(2), "surface-bump@0.05") == pytest.approx(0.0, abs=1e-4)
    bent = TRUTH + (0.0005 * X**2).astype(np.float32)  # second derivative 0.001 px per px², 0.004 by the filters
    assert value(bent, "surface-bump@0.05") == pytest.approx(0.4, rel=0.02)
    strongly = TRUTH + (0.05 * X**2).astype(np.float32)
    assert value(strongly, "surface-bump@0.05") == pytest.approx(5.0, rel=0.02)


def test_the_hessian_is_that_of_the_light_field_benchmark() -> None:
    error = np.random.default_rng(0).normal(size=(40, 50))
    by_x, by_y = filters.scharr_v(error), filters.scharr_h(error)
    parts = [filters.scharr_v(by_x), filters.scharr_h(by_x), filters.scharr_h(by_y), filters.scharr_v(by_y)]
    expected = np.sqrt(np.sum(np.square(parts), axis=0))
    assert hessian_norm(error)[3:-3, 3:-3] == pytest.approx(expected[3:-3, 3:-3])


@pytest.mark.parametrize("metric", BOTH)
def test_windows_with_a_missing_estimate_are_left_out_and_counted(metric: str) -> None:
    estimate = TRUTH.copy()
    estimate[60, 80] = np.nan
    scene = Scene("wall", gt=TRUTH, masks={"nonocc": np.ones(TRUTH.shape, bool)}, calibration=CALIBRATION)
    (score,) = sg.evaluate(estimate, scene, [metric], ["nonocc"])
    assert (score.value, score.missing) == (0.0, 25)
    (nothing,) = sg.evaluate(np.full(TRUTH.shape, np.nan), scene, [metric], ["nonocc"])
    assert np.isnan(nothing.value)
    assert "no pixel of region 'nonocc' has an estimate" in nothing.note


def test_normals_need_a_calibration_and_say_so() -> None:
    scene = Scene("wall", gt=TRUTH, masks={"nonocc": np.ones(TRUTH.shape, bool)})
    (score,) = sg.evaluate(TRUTH, scene, ["normal-error"], ["nonocc"])
    assert np.isnan(score.value)
    assert "needs a calibration" in score.note


def test_curved_surfaces_are_the_domes_and_columns_and_no_plane() -> None:
    scene = next(iter(load_synthetic("curved")))
    regions = SceneRegions(scene, load_protocol("hci"))
    curved, base = regions.mask("curved"), regions.geometry_base
    assert not (curved & regions.mask("planar")).any()
    true = (scene.planes == 0) & base
    assert np.count_nonzero(curved & true) >= 0.8 * np.count_nonzero(true)
    assert np.count_nonzero(curved & true) >= 0.95 * np.count_nonzero(curved)


def test_noise_on_a_dome_is_bumpy_and_misaligned() -> None:
    scene = next(iter(load_synthetic("curved")))
    noisy = scene.gt + np.random.default_rng(0).normal(0, 0.2, scene.shape).astype(np.float32)
    metrics = ["surface-bump@0.05:curved", "normal-error:curved"]
    exact, rough = (sg.evaluate(map_, scene, metrics, ["nonocc"], "hci") for map_ in (scene.gt, noisy))
    for metric in ("surface-bump@0.05", "normal-error"):
        assert exact.value(metric, "curved") == 0.0
        assert rough.value(metric, "curved") > 1.0


def test_pictures_hold_the_scores_own_values() -> None:
    rough = TRUTH + np.random.default_rng(0).normal(0, 0.01, TRUTH.shape).astype(np.float32)
    scene = Scene("wall", gt=TRUTH, masks={"nonocc": np.ones(TRUTH.shape, bool)}, calibration=CALIBRATION)
    inside = np.s_[2:-2, 2:-2]
    bumps = sg.picture(rough, scene, "surface-bump@0.05").values[inside]
    assert np.nanmean(bumps) == pytest.approx(value(rough, "surface-bump@0.05"), rel=1e-4)
    angles = sg.picture(rough, scene, "normal-error").values[inside]
    assert np.nanmedian(angles) == pytest.approx(value(rough, "normal-error"), rel=1e-4)
