"""View prediction: rendered views against real ones."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.metrics import mean_squared_error, peak_signal_noise_ratio, structural_similarity

import stereogauge as sg
from stereogauge import Scene
from stereogauge.datasets.synthetic import load_synthetic
from stereogauge.errors import SizeError
from stereogauge.kernels.views import splat_forward, warp_backward

NAN = np.nan
METRICS = ["view-mse", "view-psnr", "view-mssim"]


def grey(rows: list[list[float]]) -> np.ndarray:
    return np.array(rows, np.float32)[..., None]


def splatted(
    source: np.ndarray, disparity: np.ndarray, position: float, member: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    return splat_forward(source, disparity, position, np.ones(disparity.shape, bool) if member is None else member)


def test_backward_warping_of_a_row_by_hand() -> None:
    source = grey([[10, 20, 40, 80]])
    disparity = np.array([[0, 0.5, 2, NAN]], np.float32)
    rendered, hole = warp_backward(source, disparity)
    assert hole.tolist() == [[False, False, False, True]]
    assert rendered[0, :3, 0].tolist() == [10.0, 15.0, 10.0]


def test_a_source_outside_the_image_is_a_hole() -> None:
    _, hole = warp_backward(grey([[1, 2, 3, 4]]), np.array([[1, 1, 1, -1]], np.float32))
    assert hole.tolist() == [[True, False, False, True]]


def test_forward_splatting_lets_the_nearest_surface_win() -> None:
    """Background d = 0 stays, the foreground pixel at x = 3 (d = 2) lands on x = 1 and leaves a hole."""
    source = grey([[10, 20, 30, 99, 50]])
    disparity = np.array([[0, 0, 0, 2, 0]], np.float32)
    rendered, hole, _, _ = splatted(source, disparity, 1.0)
    assert rendered[0, [0, 1, 2, 4], 0].tolist() == [10.0, 99.0, 30.0, 50.0]
    assert hole.tolist() == [[False, False, False, True, False]]


def test_forward_splatting_blends_sub_pixel_positions() -> None:
    """Everything moves by half a pixel: column x gets half of x and half of x + 1."""
    rendered, hole, _, _ = splatted(grey([[10, 20, 40, 80]]), np.full((1, 4), 0.5, np.float32), 1.0)
    assert rendered[0, :, 0].tolist() == [15.0, 30.0, 60.0, 80.0]
    assert not hole.any()


def test_a_view_at_position_zero_is_the_source_itself() -> None:
    source = np.random.default_rng(1).uniform(0, 255, (6, 9, 3)).astype(np.float32)
    rendered, hole, _, _ = splatted(source, np.full((6, 9), 7.3, np.float32), 0.0)
    assert np.array_equal(rendered, source)
    assert not hole.any()


def test_pixels_of_a_region_are_followed_into_the_other_view() -> None:
    member = np.array([[False, True, True, False]])
    _, _, inside, _ = splatted(grey([[1, 2, 3, 4]]), np.ones((1, 4), np.float32), 1.0, member)
    assert inside.tolist() == [[True, True, False, False]]


@pytest.mark.parametrize("position", [0.5, 0.75, 1.0])
def test_a_missing_estimate_leaves_a_hole_and_no_worse_neighbour(position: float) -> None:
    """Whatever is still rendered has the colour that the whole map gives it."""
    random = np.random.default_rng(3)
    source = random.uniform(0, 255, (12, 40, 1)).astype(np.float32)
    disparity = np.full((12, 40), 6.3, np.float32)
    disparity[:, 15:25] = 12.6
    whole, _, _, nothing = splatted(source, disparity, position)
    assert not nothing.any()
    gone = random.random(disparity.shape) < 0.1
    rendered, hole, _, lost = splatted(source, np.where(gone, np.float32(np.nan), disparity), position)
    assert (hole >= lost).all()
    assert 0.05 < lost.mean() < 0.35
    kept = ~hole & (np.abs(rendered - whole)[..., 0] > 1e-3)
    assert not kept[:, :5].any()
    assert kept.mean() < 0.01  # only where a deleted edge lets the background through


def test_the_scores_are_those_of_scikit_image_when_there_is_no_hole() -> None:
    rng = np.random.default_rng(5)
    left, right = (rng.integers(0, 256, (40, 50)).astype(np.uint8) for _ in range(2))
    table = sg.evaluate(np.zeros((40, 50), np.float32), Scene("s", left=left, right=right), METRICS, ["all"])
    assert table.value("view-mse") == pytest.approx(mean_squared_error(left, right), rel=1e-6)
    assert table.value("view-psnr") == pytest.approx(peak_signal_noise_ratio(left, right, data_range=255), rel=1e-6)
    assert table.value("view-mssim") == pytest.approx(structural_similarity(left, right, data_range=255), rel=1e-5)


def test_similarity_in_gaussian_windows_is_that_of_scikit_image() -> None:
    rng = np.random.default_rng(6)
    left, right = (rng.integers(0, 256, (40, 50)).astype(np.uint8) for _ in range(2))
    table = sg.evaluate(np.zeros((40, 50), np.float32), Scene("s", left=left, right=right), ["view-mssim-gaussian"])
    expected = structural_similarity(
        left, right, data_range=255, gaussian_weights=True, sigma=1.5, use_sample_covariance=False
    )
    found = table.score("view-mssim-gaussian", "all")
    assert found.value == pytest.approx(expected, rel=1e-5)
    assert (found.count, found.missing) == ((40 - 10) * (50 - 10), 0)  # a window of 11×11 px keeps 5 px from the edge


def test_a_gaussian_window_with_a_hole_is_left_out() -> None:
    image = np.random.default_rng(2).integers(0, 256, (30, 30)).astype(np.uint8)
    estimate = np.zeros((30, 30), np.float32)
    estimate[:7] = NAN
    found = sg.evaluate(estimate, Scene("s", left=image, right=image), ["view-mssim-gaussian"]).score(
        "view-mssim-gaussian", "all"
    )
    assert found.value == pytest.approx(1.0)
    assert (found.count, found.missing) == (13 * 20, 7 * 20)  # rows 12 to 24 have whole windows, rows 5 to 11 have not


def test_mse_and_psnr_say_the_same_at_peak_255() -> None:
    scene = load_synthetic("planes", size=(96, 128))["planes-0"]
    table = sg.evaluate(scene.gt + 1, scene, METRICS, ["nonocc"])
    assert table.value("view-psnr") == pytest.approx(10 * math.log10(255**2 / table.value("view-mse")))


def test_a_perfect_prediction_is_infinite_decibels() -> None:
    image = np.random.default_rng(0).integers(0, 256, (20, 20, 3)).astype(np.uint8)
    table = sg.evaluate(np.zeros((20, 20), np.float32), Scene("s", left=image, right=image), METRICS, ["all"])
    assert table.value("view-mse") == 0.0
    assert table.value("view-psnr") == math.inf
    assert table.value("view-mssim") == pytest.approx(1.0)


def test_holes_are_counted_and_never_scored() -> None:
    rng = np.random.default_rng(2)
    image = rng.integers(0, 256, (30, 30)).astype(np.uint8)
    estimate = np.zeros((30, 30), np.float32)
    estimate[:5] = NAN
    for metric in METRICS:
        found = sg.evaluate(estimate, Scene("s", left=image, right=image), [metric], ["all"]).score(metric)
        # A window of 7×7 px keeps 3 px from the image's edge, and rows 5 to 7 touch the gap.
        assert found.missing == (5 * 24 if metric == "view-mssim" else 5 * 30)
        assert found.count == (19 * 24 if metric == "view-mssim" else 25 * 30)
        assert found.value == (
            0.0 if metric == "view-mse" else pytest.approx(1.0) if metric == "view-mssim" else math.inf
        )


def test_a_map_without_estimates_gives_a_reason() -> None:
    image = np.zeros((12, 12), np.uint8)
    estimate = np.full((12, 12), NAN, np.float32)
    for metric in METRICS:
        found = sg.evaluate(estimate, Scene("s", left=image, right=image), [metric], ["all"]).score(metric)
        assert math.isnan(found.value)
        assert "could be rendered" in found.note


def test_sixteen_bit_images_score_on_the_scale_of_eight_bit_ones() -> None:
    rng = np.random.default_rng(7)
    left, right = (rng.integers(0, 256, (20, 24)).astype(np.uint8) for _ in range(2))
    wide = [image.astype(np.uint16) * 257 for image in (left, right)]
    estimate = np.ones((20, 24), np.float32)
    narrow_score = sg.evaluate(estimate, Scene("s", left=left, right=right), ["view-mse"], ["all"]).value("view-mse")
    wide_score = sg.evaluate(estimate, Scene("s", left=wide[0], right=wide[1]), ["view-mse"], ["all"]).value("view-mse")
    assert wide_score == pytest.approx(narrow_score, rel=1e-5)


@pytest.mark.parametrize("positions", [(), (0.5,), (-1.0, 0.5, 2.0)])
def test_the_truth_predicts_every_view_of_a_synthetic_scene(positions: tuple[float, ...]) -> None:
    scene = load_synthetic("boxes", size=(192, 256), views=positions)["boxes-0"]
    table = sg.evaluate({"truth": scene.gt, "wrong": scene.gt + 1}, scene, METRICS, ["nonocc"])
    truth, wrong = (table.value("view-psnr", algorithm=a) for a in ("truth", "wrong"))
    assert truth > 30
    assert truth > wrong + 4
    expected = f"{len(positions)} further view" if positions else "backward"
    assert expected in table.score("view-psnr", algorithm="truth").note


def test_every_further_view_is_used() -> None:
    single = load_synthetic("boxes", size=(96, 128), views=(0.5,))["boxes-0"]
    double = load_synthetic("boxes", size=(96, 128), views=(0.5, 2.0))["boxes-0"]
    counts = [sg.evaluate(s.gt, s, ["view-mse"], ["all"]).score("view-mse") for s in (single, double)]
    pixels = 96 * 128
    assert counts[0].count + counts[0].missing == pytest.approx(pixels, abs=1)
    assert counts[1].count + counts[1].missing == pytest.approx(2 * pixels, abs=2)


def test_pictures_show_the_rendered_view_and_the_difference() -> None:
    scene = load_synthetic("boxes", size=(96, 128))["boxes-0"]
    rendered = sg.picture(scene.gt, scene, "view-psnr")
    assert rendered.kind == "rgb"
    assert rendered.values.dtype == np.uint8
    visible = scene.mask("nonocc")
    assert np.abs(rendered.values.astype(float) - scene.left)[visible].mean() < 1.5
    difference = sg.picture(scene.gt, scene, "view-mse")
    squared = np.nanmean(difference.values[visible].astype(np.float64) ** 2)
    assert squared == pytest.approx(sg.evaluate(scene.gt, scene, ["view-mse"], ["nonocc"]).value("view-mse"), rel=1e-6)
    assert sg.picture(scene.gt, scene, "view-mssim").limits == (0.0, 1.0)


def test_images_of_another_size_are_refused() -> None:
    scene = Scene("s", gt=np.ones((4, 5)), left=np.zeros((4, 5), np.uint8), right=np.zeros((4, 6), np.uint8))
    with pytest.raises(SizeError, match="6×4, the estimate 5×4"):
        sg.evaluate(np.ones((4, 5), np.float32), scene, ["view-mse"], ["all"])


def test_without_a_right_image_there_is_no_score(tmp_path: Path) -> None:
    scene = Scene("s", gt=np.ones((4, 5)), left=np.zeros((4, 5), np.uint8))
    found = sg.evaluate(np.ones((4, 5), np.float32), scene, ["view-mse"], ["all"]).score("view-mse")
    assert math.isnan(found.value)
    assert "right" in found.note


def test_whole_numbers_of_any_type_and_floats_are_levels_to_255() -> None:
    left, right = (np.random.default_rng(seed).integers(0, 255, (20, 30)) for seed in (0, 1))
    values = [
        sg.evaluate(np.full((20, 30), 4.0), Scene("s", left=left.astype(kind), right=right.astype(kind)), ["view-mse"])
        for kind in (np.uint8, np.int64, np.int16, np.float64)
    ]
    assert [table.value("view-mse", "all") for table in values] == pytest.approx(
        [values[0].value("view-mse", "all")] * 4
    )
    assert values[0].value("view-mse", "all") > 1000


def test_a_further_view_needs_no_right_image() -> None:
    left = np.random.default_rng(0).integers(0, 255, (20, 30)).astype(np.uint8)
    scene = Scene("s", left=left, views={0.5: np.roll(left, -2, axis=1)})
    found = sg.evaluate(np.full((20, 30), 4.0), scene, ["view-mse"], ["all"]).score("view-mse")
    assert found.value == 0
    assert (found.count, found.missing) == (20 * 28, 20 * 2)


def plain_splat(source: np.ndarray, disparity: np.ndarray, position: float) -> np.ndarray:
    """One row, column by column: what lands there, the nearest surface, the weighted mean of what belongs to it."""
    width = source.size
    rendered = np.full(width, NAN)
    landing = np.arange(width) - position * disparity
    for column in range(width):
        share = np.maximum(1.0 - np.abs(landing - column), 0.0)
        share[~np.isfinite(share)] = 0.0
        if not (share > 0).any():
            continue
        share[disparity < disparity[share > 0].max() - 1.0] = 0.0
        if share.sum() >= 0.25:
            rendered[column] = (share * source).sum() / share.sum()
    return rendered


def plain_lost(disparity: np.ndarray, position: float) -> np.ndarray:
    """Columns strictly between where a neighbour of a gap lands and one column more than the gap is long from there."""
    width = disparity.size
    landing = np.arange(width) - position * disparity
    known = np.flatnonzero(np.isfinite(disparity))
    lost = np.zeros(width, bool)
    for column in range(width):
        near = disparity[(np.abs(landing - column) < 1) & np.isfinite(landing)]
        for place in known:
            after = (known[known > place].min() if (known > place).any() else width) - place - 1
            before = place - (known[known < place].max() if (known < place).any() else -1) - 1
            hit = after and landing[place] < column < landing[place] + after + 1
            hit = hit or (before and landing[place] - before - 1 < column < landing[place])
            lost[column] |= bool(hit) and not (near > disparity[place] + 1.0).any()
    return lost


@given(st.integers(0, 100_000), st.sampled_from([-1.0, 0.5, 1.0, 2.0]))
@settings(max_examples=60, deadline=None)
def test_the_splatting_kernel_agrees_with_a_plain_loop(seed: int, position: float) -> None:
    rng = np.random.default_rng(seed)
    disparity = rng.choice([0.0, 1.25, 3.5, 6.0], 24).astype(np.float32) + rng.uniform(0, 0.9, 24).astype(np.float32)
    disparity[rng.random(24) < 0.1] = NAN
    source = rng.uniform(0, 255, 24).astype(np.float32)
    rendered, hole, _, lost = splatted(source[None, :, None], disparity[None], position)
    expected = plain_splat(source.astype(np.float64), disparity.astype(np.float64), position)
    assert np.array_equal(lost[0], plain_lost(disparity.astype(np.float64), position))
    assert np.array_equal(hole[0], np.isnan(expected) | lost[0])
    assert rendered[0, ~hole[0], 0] == pytest.approx(expected[~hole[0]], rel=1e-5)


@given(st.integers(0, 100_000))
@settings(max_examples=30, deadline=None)
def test_the_warping_kernel_agrees_with_numpy_interpolation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    source = rng.uniform(0, 255, (1, 20, 1)).astype(np.float32)
    disparity = rng.uniform(-6, 12, (1, 20)).astype(np.float32)
    rendered, hole = warp_backward(source, disparity)
    columns = np.arange(20) - disparity[0].astype(np.float64)
    assert np.array_equal(hole[0], (columns < 0) | (columns > 19))
    expected = np.interp(columns, np.arange(20), source[0, :, 0])
    assert rendered[0, ~hole[0], 0] == pytest.approx(expected[~hole[0]], rel=1e-4, abs=1e-3)
