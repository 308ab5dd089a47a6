"""Bumpiness, offset and misorientation of planes with known errors; drawn planes; directions of gradients."""

from __future__ import annotations

import math
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import stereogauge as sg
from stereogauge import Scene
from stereogauge.errors import FileError, SizeError
from stereogauge.metrics.surfaces import circular_earth_movers_distance
from stereogauge.scores.score import Score

HEIGHT, WIDTH = 120, 160
EVERYWHERE = np.ones((HEIGHT, WIDTH), bool)
Y, X = np.mgrid[:HEIGHT, :WIDTH].astype(np.float64)
SLOPE_X, SLOPE_Y = 0.3, -0.2
PLANE = (50 + SLOPE_X * X + SLOPE_Y * Y).astype(np.float32)
NORMAL_LENGTH = math.sqrt(1 + SLOPE_X**2 + SLOPE_Y**2)
ALL = ["p-bump", "p-bump-rel", "p-off", "p-mis", "p-bump-bad@1", "p-off-bad@1", "p-mis-bad@5"]
PIXELS = (HEIGHT - 40) * (WIDTH - 40)


def wall(**more: object) -> Scene:
    return Scene("wall", gt=PLANE, masks={"nonocc": EVERYWHERE}, resolution=1.0, **more)


def scores(estimate: np.ndarray, metrics: list[str] | None = None, scene: Scene | None = None) -> dict[str, Score]:
    return {score.metric: score for score in sg.evaluate(estimate, scene or wall(), metrics or ALL, ["nonocc"])}


def test_an_exact_plane_scores_zero_on_everything() -> None:
    found = scores(PLANE)
    for name, score in found.items():
        assert score.value == pytest.approx(0.0, abs=2e-3), name
        assert score.count == PIXELS
    assert found["p-bump-rel"].value == 0.0


@pytest.mark.parametrize("offset", [-7.0, 0.5, 3.0])
def test_an_offset_moves_only_the_offset_by_its_component_along_the_normal(offset: float) -> None:
    found = scores(PLANE + np.float32(offset))
    assert found["p-off"].value == pytest.approx(abs(offset) / NORMAL_LENGTH, rel=1e-4)
    assert found["p-bump"].value == pytest.approx(0.0, abs=1e-4)
    assert found["p-mis"].value == pytest.approx(0.0, abs=2e-3)
    assert found["p-off-bad@1"].value == (100.0 if abs(offset) / NORMAL_LENGTH > 1 else 0.0)


@pytest.mark.parametrize("slope", [0.1, 1.0, -0.6])
def test_a_tilt_moves_the_misorientation_by_its_angle(slope: float) -> None:
    tilted = PLANE + np.float32(slope) * (X - WIDTH / 2).astype(np.float32)
    dot = (SLOPE_X + slope) * SLOPE_X + SLOPE_Y**2 + 1
    angle = math.degrees(math.acos(dot / NORMAL_LENGTH / math.sqrt(1 + (SLOPE_X + slope) ** 2 + SLOPE_Y**2)))
    found = scores(tilted)
    assert found["p-mis"].value == pytest.approx(angle, abs=2e-3)
    assert found["p-bump"].value == pytest.approx(0.0, abs=1e-4)
    assert found["p-mis-bad@5"].value == (100.0 if angle > 5 else 0.0)


def test_noise_raises_bumpiness_as_a_laplacian_of_it_must() -> None:
    """E|Δ| of white noise σ is σ·√20·√(2/π); over a distance of 4 px, at full size, it is divided by 4."""
    noisy = PLANE + np.random.default_rng(0).normal(0, 0.5, PLANE.shape).astype(np.float32)
    expected = 0.5 * math.sqrt(20) * math.sqrt(2 / math.pi)
    assert scores(noisy)["p-bump"].value == pytest.approx(expected, rel=0.03)
    assert scores(noisy)["p-bump-rel"].value == pytest.approx(expected / 4, rel=0.03)


def test_the_same_bumps_count_the_same_at_every_size() -> None:
    """Bumps of 1 px at a quarter of the full size, which are 4 px high and four times as wide at full size."""
    found = []
    for factor in (1, 2, 4):
        y, x = np.mgrid[: 120 * factor, : 160 * factor] / factor
        truth = (factor * (30 + 0.1 * x + 0.05 * y)).astype(np.float32)
        bumpy = truth + (factor * np.sin(x / 3) * np.cos(y / 4)).astype(np.float32)
        scene = Scene("x", gt=truth, masks={"nonocc": np.ones(truth.shape, bool)}, resolution=factor / 4)
        found.append(scores(bumpy, ["p-bump-rel"], scene)["p-bump-rel"].value)
    assert found == pytest.approx([found[0]] * 3, rel=0.02)
    assert found[0] > 0.05


def test_one_spike_by_hand() -> None:
    """A spike of 1 px: Laplacian 4 on it and 1 on each of its four neighbours; for relative bumps, divided by 4."""
    spike = PLANE.copy()
    spike[60, 80] += 1
    found = scores(spike)
    assert found["p-bump-rel"].sum == pytest.approx(2.0, abs=1e-3)
    assert found["p-bump-bad@1"].sum == 1.0
    assert found["p-off"].sum == pytest.approx(1 / NORMAL_LENGTH, abs=0.05)


def test_missing_estimates_are_left_out_and_counted() -> None:
    holes = PLANE + np.float32(2)
    holes[60, 80] = np.nan
    found = scores(holes)
    assert found["p-off"].value == pytest.approx(2 / NORMAL_LENGTH, rel=1e-4)
    assert [found[name].missing for name in ("p-off", "p-mis", "p-bump")] == [1, 25, 5]


def test_a_normal_needs_every_pixel_of_its_window() -> None:
    """One from fewer pixels is noisier, and a map with holes would not compare with one without."""
    speckled = PLANE.copy()
    speckled[::2, ::2] = np.nan
    found = scores(speckled)["p-mis"]
    assert np.isnan(found.value)
    assert (found.count, found.missing) == (0, PIXELS)


def test_the_ground_truths_own_score_stands_beside_every_score() -> None:
    for name, unit in (("p-bump", "px"), ("p-off", "px"), ("p-mis", "°")):
        assert scores(PLANE)[name].note.startswith("ground truth itself: ")
        assert scores(PLANE)[name].note.endswith(unit)


def test_percentages_too_stand_beside_the_ground_truths_own() -> None:
    names = ["p-bump-bad@0.1", "p-off-bad@0.05", "p-mis-bad@1"]
    rough = PLANE + np.random.default_rng(0).normal(0, 0.05, PLANE.shape).astype(np.float32)
    scene = Scene("rough wall", gt=rough, masks={"nonocc": EVERYWHERE}, resolution=1.0)
    own, flat = scores(rough, names, scene), scores(PLANE, names, scene)
    for name in names:
        assert own[name].value > 1
        assert flat[name].value == 0
        assert flat[name].note == own[name].note == f"ground truth itself: {own[name].value:.3g} %"


def test_an_estimate_without_any_value_has_no_score() -> None:
    for score in scores(np.full(PLANE.shape, np.nan)).values():
        assert np.isnan(score.value)
        assert (score.count, score.note) == (0, "no estimate on planar surfaces")


def test_a_scene_without_a_plane_has_no_score_but_a_reason() -> None:
    rough = np.random.default_rng(0).uniform(10, 60, PLANE.shape).astype(np.float32)
    scene = Scene("rough", gt=rough, masks={"nonocc": EVERYWHERE}, resolution=1.0)
    for score in scores(rough, scene=scene).values():
        assert np.isnan(score.value)
        assert score.note == "no planar surface found: no plane fits 1 % of the pixels within 0.5 px (s = 1)"


def sparse_truth() -> np.ndarray:
    return np.where((X % 9 == 0) & (Y % 7 == 0), PLANE, np.nan).astype(np.float32)


def drawn_region() -> np.ndarray:
    drawn = np.zeros(PLANE.shape, np.uint8)
    drawn[30:90, 30:130] = 3
    return drawn


def test_sparse_ground_truth_without_drawn_planes_is_not_applicable() -> None:
    scene = Scene("sparse", gt=sparse_truth(), masks={"nonocc": EVERYWHERE}, resolution=1.0)
    for score in scores(PLANE, scene=scene).values():
        assert np.isnan(score.value)
        assert score.note.startswith("not applicable: ground truth covers 1.")


@pytest.mark.parametrize("how", ["labels", "mask", "file"])
def test_drawn_planes_metric_on_sparse_ground_truth(how: str, tmp_path: Path) -> None:
    masks: dict[str, object] = {"nonocc": EVERYWHERE}
    metadata: dict[str, object] = {"planes": drawn_region()}
    if how == "mask":
        masks["planes"], metadata = drawn_region() > 0, {}
    if how == "file":
        metadata = {"planes": str(tmp_path / "planes.png")}
        cv2.imwrite(str(tmp_path / "planes.png"), drawn_region())
    scene = Scene("sparse", gt=sparse_truth(), masks=masks, metadata=metadata)
    found = scores(PLANE + np.float32(2), ["p-bump", "p-off", "p-mis"], scene)
    assert found["p-off"].value == pytest.approx(2 / NORMAL_LENGTH, rel=1e-3)
    assert found["p-mis"].value == pytest.approx(0.0, abs=5e-3)
    assert found["p-bump"].value == pytest.approx(0.0, abs=1e-4)
    assert found["p-off"].count == 60 * 100


def test_drawn_planes_without_ground_truth_take_the_estimates_own_plane() -> None:
    scene = Scene("field", left=np.zeros((HEIGHT, WIDTH, 3), np.uint8), metadata={"planes": drawn_region()})
    rough = PLANE + np.random.default_rng(0).normal(0, 0.2, PLANE.shape).astype(np.float32)
    found = scores(rough, ["p-bump", "p-off", "p-mis"], scene)
    assert found["p-bump"].value == pytest.approx(0.2 * math.sqrt(20) * math.sqrt(2 / math.pi), rel=0.05)
    assert found["p-off"].value == pytest.approx(0.2 * math.sqrt(2 / math.pi) / NORMAL_LENGTH, rel=0.1)
    assert "fitted to the estimate itself" in found["p-off"].note
    assert "fitted to the estimate itself" in scores(rough, ["p-off-bad@1"], scene)["p-off-bad@1"].note
    assert found["p-bump"].note == ""


def test_bumpiness_is_that_of_drawn_planes_and_of_nothing_else() -> None:
    field = Scene("field", left=np.zeros((HEIGHT, WIDTH, 3), np.uint8), metadata={"planes": drawn_region()})
    rough = PLANE + np.random.default_rng(0).normal(0, 0.2, PLANE.shape).astype(np.float32)
    found = scores(rough, ["p-bump", "bumpiness"], field)
    assert found["bumpiness"].value == found["p-bump"].value > 0.5
    undrawn = scores(rough, ["bumpiness"])["bumpiness"]
    assert np.isnan(undrawn.value)
    assert "no planar region is drawn" in undrawn.note


def test_drawn_planes_of_another_size_or_in_colour_are_refused(tmp_path: Path) -> None:
    small = Scene("small", gt=PLANE, metadata={"planes": np.ones((5, 5), np.uint8)})
    with pytest.raises(SizeError, match="drawn planes of scene 'small' is 5×5"):
        scores(PLANE, ["p-off"], small)
    colours = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    colours[..., 0] = 200
    cv2.imwrite(str(tmp_path / "coloured.png"), colours)
    coloured = Scene("coloured", gt=PLANE, metadata={"planes": str(tmp_path / "coloured.png")})
    with pytest.raises(FileError, match="this one is coloured"):
        scores(PLANE, ["p-off"], coloured)


def test_pictures_hold_the_scores_own_values() -> None:
    noisy = PLANE + np.random.default_rng(0).normal(0, 0.5, PLANE.shape).astype(np.float32)
    found = scores(noisy)
    assert np.nanmean(sg.picture(noisy, wall(), "p-bump").values) == pytest.approx(found["p-bump"].value, rel=1e-5)
    assert np.nanmean(sg.picture(noisy, wall(), "p-mis").values) == pytest.approx(found["p-mis"].value, rel=1e-5)
    offset = sg.picture(noisy, wall(), "p-off")
    assert offset.kind == "diverging"
    assert np.nanmean(np.abs(offset.values)) == pytest.approx(found["p-off"].value, rel=1e-5)


def test_pictures_of_relative_bumps_have_the_range_of_bumps_whatever_the_map() -> None:
    limits = set()
    for size in (0.02, 20.0):
        noisy = PLANE + np.random.default_rng(0).normal(0, size, PLANE.shape).astype(np.float32)
        relative = sg.picture(noisy, wall(), "p-bump-rel")
        assert np.nanmean(relative.values) == pytest.approx(scores(noisy)["p-bump-rel"].value, rel=1e-5)
        limits |= {relative.limits, sg.picture(noisy, wall(), "p-bump").limits}
    assert len(limits) == 1


def test_directions_of_a_turned_plane_are_turned() -> None:
    """Gradient (0.3, −0.2) against its mirror image (0.3, 0.2): twice atan(2/3), to the width of a bin."""
    mirrored = (50 + SLOPE_X * X - SLOPE_Y * Y).astype(np.float32)
    found = scores(mirrored, ["direction-histogram:planar"])["direction-histogram"]
    assert found.value == pytest.approx(2 * math.degrees(math.atan2(2, 3)), abs=5)
    assert scores(PLANE, ["direction-histogram:planar"])["direction-histogram"].value == 0.0


def test_a_constant_map_has_no_directions() -> None:
    found = scores(np.full(PLANE.shape, 50.0), ["direction-histogram:planar"])["direction-histogram"]
    assert np.isnan(found.value)
    assert found.count == 0


histograms = arrays(np.int64, 12, elements=st.integers(0, 9)).filter(lambda h: bool(h.any()))


@settings(max_examples=60, deadline=None)
@given(histograms, histograms, st.integers(0, 11))
def test_the_circular_distance_is_a_symmetric_distance_that_turns_with_the_circle(
    first: np.ndarray, second: np.ndarray, turn: int
) -> None:
    distance = circular_earth_movers_distance(first, second)
    assert circular_earth_movers_distance(second, first) == pytest.approx(distance, abs=1e-9)
    assert circular_earth_movers_distance(np.roll(first, turn), np.roll(second, turn)) == pytest.approx(
        distance, abs=1e-9
    )
    assert circular_earth_movers_distance(first, 3 * first) == pytest.approx(0.0, abs=1e-9)
    assert 0 <= distance <= 180


@pytest.mark.parametrize("turn", range(12))
def test_the_circular_distance_of_two_peaks_is_the_shorter_way_round(turn: int) -> None:
    peak = np.eye(12, dtype=np.int64)[0]
    expected = 30 * min(turn, 12 - turn)
    assert circular_earth_movers_distance(peak, np.roll(peak, turn)) == pytest.approx(expected)


def test_bounded_bumpiness_is_not_decided_by_an_outlier() -> None:
    """One pixel off by 100 px: its Laplacian is 400 px, those of its neighbours 100 px; five pixels reach the bound."""
    truth = np.full((120, 160), 30.0, np.float32)
    estimate = truth.copy()
    estimate[60, 80] += 100
    estimate[:, 40] += np.float32(0.1)
    scene = Scene("wall", gt=truth, masks={"nonocc": np.ones(truth.shape, bool)}, resolution=0.25)
    table = sg.evaluate(estimate, scene, ["p-bump", "p-bump-clip@1"], ["nonocc"])
    (score,) = [one for one in table if one.metric == "p-bump-clip@1"]
    line = 0.1 * (2 + 1 + 1)
    assert table.value("p-bump-clip@1") * score.count == pytest.approx(5 + line * 110, rel=1e-3)
    assert table.value("p-bump") > 4 * table.value("p-bump-clip@1")


@pytest.mark.parametrize("step", [0.0, 0.25])
def test_what_a_quantised_ground_truth_cannot_measure_is_said(step: float) -> None:
    y, x = np.mgrid[:120, :160]
    exact = 30 + 0.043 * x + 0.021 * y
    truth = (np.round(exact / step) * step if step else exact).astype(np.float32)
    scene = Scene("wall", gt=truth, masks={"nonocc": np.ones(truth.shape, bool)}, resolution=0.25)
    notes = {
        score.metric: score.note for score in sg.evaluate(exact, scene, ["p-bump", "p-bump-rel", "p-mis"], ["nonocc"])
    }
    for metric in ("p-bump", "p-mis"):
        assert ("quantised in steps of 0.25 px: differences below that are not measurable" in notes[metric]) == (
            step > 0
        )
    assert notes["p-bump-rel"].startswith("the steps of the ground truth (0.25 px) alone make") == (step > 0)
