"""Porosity, fragmentation, loss, thinning and fattening of poles with known damage."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stereogauge as sg
from stereogauge import Scene
from stereogauge.scores.score import Score

HEIGHT, WIDTH = 140, 200
EVERYWHERE = np.ones((HEIGHT, WIDTH), bool)
FIRST, SECOND = slice(60, 64), slice(120, 124)
INSIDE = slice(20, HEIGHT - 20)  # rows inside the margin
ROWS = HEIGHT - 40
ALL = ["f-por", "f-frag", "f-missing", "f-thin", "f-fat"]


def poles() -> np.ndarray:
    """Two poles 4 px wide at 60 px in front of a wall at 20 px."""
    truth = np.full((HEIGHT, WIDTH), 20.0, np.float32)
    truth[:, FIRST] = truth[:, SECOND] = 60.0
    return truth


def scores(estimate: np.ndarray, metrics: list[str] | None = None, truth: np.ndarray | None = None) -> dict[str, Score]:
    scene = Scene("poles", gt=poles() if truth is None else truth, masks={"nonocc": EVERYWHERE}, resolution=1.0)
    return {score.metric: score for score in sg.evaluate(estimate, scene, metrics or ALL, ["nonocc"])}


def test_the_ground_truth_scores_exactly_zero() -> None:
    found = scores(poles())
    assert [score.value for score in found.values()] == [0.0] * len(ALL)
    assert found["f-por"].count == 2 * 4 * ROWS
    assert found["f-frag"].count == 2


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_one_structure_cut_in_k_parts_counts_one_minus_one_over_k(parts: int) -> None:
    estimate = poles()
    for cut in range(1, parts):
        estimate[20 + cut * ROWS // parts, FIRST] = 20.0
    assert scores(estimate)["f-frag"].value == pytest.approx((1 - 1 / parts) / 2)


def test_diagonal_contact_holds_a_structure_together() -> None:
    estimate = poles()
    estimate[60, 60:62] = 20.0
    estimate[61, 62:64] = 20.0
    assert scores(estimate)["f-frag"].value == 0.0


def test_half_missing_in_one_block_is_more_porous_than_every_other_row() -> None:
    block, comb = poles(), poles()
    block[INSIDE, FIRST][: ROWS // 2] = 20.0
    comb[INSIDE, FIRST][::2] = 20.0
    assert scores(block)["f-por"].value > 2 * scores(comb)["f-por"].value
    assert scores(block)["f-frag"].value < scores(comb)["f-frag"].value


def test_porosity_of_a_hole_by_hand() -> None:
    """A gap of three rows: distances 1, 2, 1 in each of four columns."""
    estimate = poles()
    estimate[60:63, FIRST] = 20.0
    assert scores(estimate)["f-por"].sum == pytest.approx(4 * (2 * math.log(2) + math.log(3)))


def test_porosity_of_a_full_size_image_is_the_same_however_many_threads_opencv_has() -> None:
    """The only pixel that is found lies up to 2900 px away from the others."""
    truth = np.full((140, 3000), 20.0, np.float32)
    for left in range(60, 2960, 100):
        truth[:, left : left + 4] = 60.0
    estimate = np.full_like(truth, 20.0)
    estimate[70, 60] = 60.0
    scene = Scene("poles", gt=truth, masks={"nonocc": np.ones(truth.shape, bool)}, resolution=1.0)
    before, sums = cv2.getNumThreads(), []
    try:
        for threads in (1, 2):
            cv2.setNumThreads(threads)
            sums.append(next(iter(sg.evaluate(estimate, scene, ["f-por"], ["nonocc"]))).sum)
    finally:
        cv2.setNumThreads(before)
    rows, columns = np.nonzero(truth[30:-30, 30:-30] == 60.0)
    by_hand = [math.log1p(math.hypot(row - 40, column - 30)) for row, column in zip(rows, columns, strict=True)]
    assert sums[0] == sums[1] == pytest.approx(math.fsum(by_hand), rel=1e-14)


def test_a_lost_structure_is_the_worst_and_not_the_best() -> None:
    estimate = poles()
    estimate[:, FIRST] = 20.0
    found = scores(estimate)
    assert found["f-missing"].value == 0.5
    assert found["f-frag"].value == 0.5
    assert found["f-por"].value > 1.5


@pytest.mark.parametrize("nothing", [20.0, np.nan])
def test_nothing_found_takes_the_image_diagonal_and_is_all_lost(nothing: float) -> None:
    found = scores(np.full((HEIGHT, WIDTH), nothing))
    assert found["f-por"].value == pytest.approx(math.log1p(math.hypot(HEIGHT, WIDTH)))
    assert "image diagonal" in found["f-por"].note
    assert (found["f-frag"].value, found["f-frag"].count) == (1.0, 2)
    assert "every structure is lost" in found["f-frag"].note
    assert found["f-missing"].value == 1.0
    assert found["f-missing"].missing == (2 if np.isnan(nothing) else 0)
    assert found["f-thin"].value == 1.0
    assert (found["f-fat"].value, found["f-fat"].count) == (1.0, 40 * ROWS)


def test_what_lies_beside_a_lost_structure_counts_as_fattened() -> None:
    """The first pole is lost without a trace, the second is 3 px fatter on either side."""
    estimate = poles()
    estimate[:, FIRST] = 20.0
    estimate[:, SECOND.start - 3 : SECOND.stop + 3] = 60.0
    found = scores(estimate)["f-fat"]
    assert found.value == pytest.approx((10 + 3) / 20)
    assert (found.count, found.missing) == (40 * ROWS, 0)


@pytest.mark.parametrize("nothing", [20.0, np.nan])
def test_removing_a_fragment_does_not_repair_a_structure(nothing: float) -> None:
    """A pole in two parts; the lower part, 49 rows below the wrong row 70, is removed: it could hold two parts."""
    estimate = poles()
    estimate[70, FIRST] = 20.0
    assert scores(estimate)["f-frag"].sum == pytest.approx(1 - 1 / 2)
    estimate[71:, FIRST] = nothing
    found = scores(estimate)
    assert found["f-frag"].sum == pytest.approx(1 - 1 / (1 + 2))
    assert found["f-frag"].missing == 0
    assert scores(estimate)["f-missing"].value == 0.0


@pytest.mark.parametrize(("rows", "found"), [(19, False), (20, True)])
def test_a_structure_is_found_from_a_fifth_of_its_pixels_on(rows: int, found: bool) -> None:
    estimate = poles()
    estimate[20 + rows :, FIRST] = 20.0
    assert scores(estimate)["f-missing"].value == (0.0 if found else 0.5)
    scene = Scene("poles", gt=poles(), masks={"nonocc": EVERYWHERE}, resolution=1.0)
    stricter = sg.load_protocol().replace(**{"geometry.fine_found_share": 0.5})
    assert sg.evaluate(estimate, scene, ["f-missing"], ["nonocc"], stricter).value("f-missing") == 0.5


def test_specks_are_no_fragments() -> None:
    """Cut off by one row each: 10 rows at the lower end of one pole, 30 at that of the other."""
    estimate = poles()
    estimate[HEIGHT - 31, FIRST] = estimate[HEIGHT - 51, SECOND] = 20.0
    assert scores(estimate)["f-frag"].value == pytest.approx((0 + 1 / 2) / 2)


def test_thinning_has_a_sign() -> None:
    behind, before = poles(), poles()
    behind[INSIDE, FIRST][:30] -= 5.0
    before[INSIDE, FIRST][:30] += 5.0
    assert scores(behind)["f-thin"].value == pytest.approx(30 / (2 * ROWS))
    assert scores(before)["f-thin"].value == 0.0


def erased(estimate: np.ndarray, gone: np.ndarray, wall: float = 20.0) -> dict[str, float]:
    return {name: score.value for name, score in scores(np.where(gone, wall, estimate)).items()}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([20.0, np.nan]))
def test_erasing_more_of_a_structure_never_improves_a_score(seed: int, nothing: float) -> None:
    """A bad map of two poles, some of which is erased, and then more of it."""
    random = np.random.default_rng(seed)
    truth = poles()
    poled = truth == 60.0
    coarse = random.random((HEIGHT // 4, WIDTH // 2)).repeat(4, axis=0).repeat(2, axis=1)
    estimate = np.where(coarse < random.uniform(0, 0.6), truth + random.choice([-40.0, 40.0, 6.0]), truth)
    estimate[:, FIRST.start - random.integers(0, 8) : FIRST.stop] = 60.0
    order = random.random((HEIGHT // 10, 1)).repeat(10, axis=0) + 0.1 * random.random(truth.shape)
    shares = np.sort(random.uniform(0, 1.1, 2))
    before, after = (erased(estimate, poled & (order < share), nothing) for share in shares)
    for name in ALL:
        assert after[name] >= before[name] - 1e-12, name


def test_a_gap_that_found_pixels_surround_hides_no_fragment() -> None:
    estimate = poles()
    estimate[70:72, 61:63] = np.nan
    assert scores(estimate)["f-frag"].value == 0.0


def test_the_policy_exclude_leaves_missing_estimates_out() -> None:
    """The first pole has no estimate, the second is in two parts with a gap of one row."""
    estimate = poles()
    estimate[:, FIRST] = np.nan
    estimate[70, SECOND] = np.nan
    scene = Scene("poles", gt=poles(), masks={"nonocc": EVERYWHERE}, resolution=1.0)
    protocol = sg.load_protocol().replace(invalid="exclude")
    found = {score.metric: score for score in sg.evaluate(estimate, scene, ALL, ["nonocc"], protocol)}
    assert (found["f-frag"].value, found["f-frag"].count, found["f-frag"].missing) == (0.5, 1, 1)
    assert (found["f-missing"].value, found["f-missing"].count, found["f-missing"].missing) == (0.0, 1, 1)
    assert (found["f-por"].value, found["f-por"].count) == (0.0, 4 * (ROWS - 1))
    assert found["f-por"].missing == 4 * (ROWS + 1)
    assert (found["f-fat"].value, found["f-fat"].count) == (0.0, 20 * (ROWS - 1))


@pytest.mark.parametrize(("error", "found"), [(4.0, True), (4.01, False), (-4.0, True), (-4.01, False)])
def test_the_tolerance_is_four_pixels_at_full_size_inclusive(error: float, found: bool) -> None:
    estimate = poles()
    estimate[:, FIRST] += np.float32(error)
    assert scores(estimate)["f-missing"].value == (0.0 if found else 0.5)


@pytest.mark.parametrize("grown", [0, 1, 3, 10, 15])
def test_growing_poles_fatten_their_surroundings_pixel_by_pixel(grown: int) -> None:
    estimate = poles()
    for pole in (FIRST, SECOND):
        estimate[:, pole.start - grown : pole.stop + grown] = 60.0
    assert scores(estimate)["f-fat"].value == pytest.approx(min(grown, 10) / 10)


def test_a_missing_estimate_is_not_found_and_beside_a_structure_fat() -> None:
    estimate = poles()
    estimate[60:63, 58:64] = np.nan
    found = scores(estimate)
    assert found["f-por"].sum == pytest.approx(4 * (2 * math.log(2) + math.log(3)))
    assert found["f-por"].missing == 12
    assert (found["f-fat"].sum, found["f-fat"].missing) == (3 * 20, 6)


def test_deleting_the_background_beside_a_structure_does_not_repair_its_fattening() -> None:
    """The fattened pixels beside the first pole are deleted, then all that lies beside it."""
    fat = poles()
    fat[:, FIRST.start - 3 : FIRST.start] = 60.0
    expected = 3 * ROWS
    for first in (FIRST.start - 3, FIRST.start - 10):
        estimate = fat.copy()
        estimate[:, first : FIRST.start] = np.nan
        found = scores(estimate)["f-fat"]
        assert (found.sum, found.missing) == ((FIRST.start - first) * ROWS, (FIRST.start - first) * ROWS)
        assert found.sum >= expected
        expected = found.sum


def test_an_estimate_without_any_value_finds_nothing() -> None:
    found = scores(np.full((HEIGHT, WIDTH), np.nan))
    assert found["f-missing"].value == 1.0
    assert found["f-por"].missing == 2 * 4 * ROWS
    assert found["f-frag"].value == found["f-thin"].value == found["f-fat"].value == 1.0


def test_a_scene_without_fine_structure_has_no_score_but_a_reason() -> None:
    flat = np.full((HEIGHT, WIDTH), 20.0, np.float32)
    found = scores(flat, truth=flat)
    for score in found.values():
        assert np.isnan(score.value)
        assert score.count == 0
    assert found["f-por"].note == (
        "no fine structure found: no rise and fall of more than 4 px within 48 px of a row (s = 1)"
    )


def test_the_picture_of_fragments_names_whole_divided_and_lost_structures() -> None:
    estimate = poles()
    estimate[70, FIRST] = 20.0
    estimate[:, SECOND] = 20.0
    scene = Scene("poles", gt=poles(), masks={"nonocc": EVERYWHERE}, resolution=1.0)
    drawn = sg.picture(estimate, scene, "f-frag")
    counts = {text: np.count_nonzero(drawn.values == value) for value, (text, _) in drawn.legend.items()}
    assert counts == {
        "structure in one part": 0,
        "in two parts": 4 * (ROWS - 1),
        "in three or four": 0,
        "in five or more": 0,
        "not found": 4,
        "structure lost": 4 * ROWS,
    }


def test_the_picture_of_porosity_holds_the_scores_own_values() -> None:
    estimate = poles()
    estimate[60:63, FIRST] = 20.0
    scene = Scene("poles", gt=poles(), masks={"nonocc": EVERYWHERE}, resolution=1.0)
    assert np.nansum(sg.picture(estimate, scene, "f-por").values) == pytest.approx(
        scores(estimate)["f-por"].sum, rel=1e-5
    )


def test_the_picture_of_fattening_counts_what_the_score_counts() -> None:
    estimate = poles()
    estimate[:, 57:60] = 60.0
    scene = Scene("poles", gt=poles(), masks={"nonocc": EVERYWHERE}, resolution=1.0)
    drawn = sg.picture(estimate, scene, "f-fat")
    names = {text: value for value, (text, _) in drawn.legend.items()}
    assert (
        np.count_nonzero(drawn.values == names["background taken for structure, or beside a lost row"])
        == scores(estimate)["f-fat"].sum
    )
