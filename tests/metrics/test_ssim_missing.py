"""SSIM and R-SSIM: scikit-image where nothing is missing, shared pixels only where something is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.metrics import structural_similarity

import stereogauge as sg
from stereogauge import Calibration, Scene
from stereogauge.metrics.image_quality import range_ssim

PEAK = 64


def pair(seed: int, shape: tuple[int, int] = (24, 31)) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.uniform(5, 60, shape).astype(np.float32)
    return truth, truth + rng.normal(0, 4, shape).astype(np.float32)


def scene(truth: np.ndarray) -> Scene:
    return Scene("hand", gt=truth, calibration=Calibration(ndisp=PEAK))


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_without_gaps_both_are_the_mean_of_scikit_image(seed: int) -> None:
    truth, estimate = pair(seed)
    expected = structural_similarity(truth, estimate, data_range=PEAK)
    table = sg.evaluate(estimate, scene(truth), ["ssim", "r-ssim"], ["all"])
    assert table.value("ssim") == pytest.approx(expected, abs=1e-5)
    assert table.value("r-ssim") == pytest.approx(expected, abs=1e-5)


def test_without_gaps_every_pixel_is_that_of_scikit_image() -> None:
    truth, estimate = pair(1)
    expected = structural_similarity(truth, estimate, data_range=PEAK, full=True)[1]
    inner = (slice(3, -3), slice(3, -3))
    assert range_ssim(estimate, truth, PEAK)[inner] == pytest.approx(expected[inner], abs=1e-5)


@pytest.mark.parametrize("side", ["estimate", "truth"])
def test_a_gap_on_either_side_is_left_out_of_the_windows_that_it_touches(side: str) -> None:
    truth, estimate = pair(2)
    gap = (slice(10, 12), slice(14, 17))
    (estimate if side == "estimate" else truth)[gap] = np.nan
    whole = range_ssim(estimate, truth, PEAK, complete=True)
    partial = range_ssim(estimate, truth, PEAK)
    touched = np.zeros(truth.shape, bool)
    touched[7:15, 11:20] = True
    assert np.isnan(whole[touched]).all()
    assert np.isnan(partial[gap]).all()
    gapless = range_ssim(*pair(2)[::-1], PEAK)
    far = ~touched & np.isfinite(gapless)
    assert np.array_equal(partial[far], whole[far])
    assert partial[far] == pytest.approx(gapless[far], abs=1e-9)


def test_r_ssim_of_a_window_is_the_ssim_of_its_shared_pixels() -> None:
    """By the definition with unbiased moments, on the 40 pixels that remain of one window."""
    truth, estimate = pair(3)
    estimate[10, 10:19] = np.nan
    window = (slice(8, 15), slice(9, 16))
    shared = np.isfinite(estimate[window])
    a, b = estimate[window][shared].astype(float), truth[window][shared].astype(float)
    covariance = np.cov(a, b)
    c1, c2 = (0.01 * PEAK) ** 2, (0.03 * PEAK) ** 2
    expected = ((2 * a.mean() * b.mean() + c1) * (2 * covariance[0, 1] + c2)) / (
        (a.mean() ** 2 + b.mean() ** 2 + c1) * (covariance[0, 0] + covariance[1, 1] + c2)
    )
    assert range_ssim(estimate, truth, PEAK)[11, 12] == pytest.approx(expected, rel=1e-9)


def test_values_under_a_gap_do_not_matter() -> None:
    truth, estimate = pair(4)
    truth[5:9, 5:9] = np.nan
    other = estimate.copy()
    other[5:9, 5:9] = 1e6
    values = [range_ssim(e, truth, PEAK) for e in (estimate, other)]
    assert np.array_equal(*values, equal_nan=True)


def test_a_perfect_sparse_map_has_similarity_one_and_says_what_is_missing() -> None:
    truth, _ = pair(5)
    estimate = truth.copy()
    estimate[np.random.default_rng(0).random(truth.shape) < 0.3] = np.nan
    found = sg.evaluate(estimate, scene(truth), ["r-ssim"], ["all"]).score("r-ssim")
    assert found.value == pytest.approx(1.0)
    inner = estimate[3:-3, 3:-3]  # a window keeps 3 px from the image's edge
    assert (found.count, found.missing) == (np.isfinite(inner).sum(), np.isnan(inner).sum())


def test_a_window_that_lacks_an_estimate_counts_as_missing() -> None:
    truth, estimate = pair(6)
    estimate[10, 10] = np.nan
    found = sg.evaluate(estimate, scene(truth), ["ssim"], ["all"]).score("ssim")
    height, width = truth.shape
    assert (found.count, found.missing) == ((height - 6) * (width - 6) - 49, 49)


def test_ssim_has_no_value_where_no_window_is_complete_and_r_ssim_has() -> None:
    truth, estimate = pair(6)
    estimate[::4, ::4] = np.nan
    table = sg.evaluate(estimate, scene(truth), ["ssim", "r-ssim"], ["all"])
    assert np.isnan(table.value("ssim"))
    assert 0 < table.value("r-ssim") < 1
