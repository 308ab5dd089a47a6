"""Fattening, thinning and fuzziness on edges worked by hand."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge import Protocol, Scene
from stereogauge.scores.score import Score

HEIGHT, WIDTH, EDGE = 80, 160, 80
EVERYWHERE = np.ones((HEIGHT, WIDTH), bool)
BOTH_SIDES = ["d-fat", "d-thin", "d-fuz", "d-fuz-rel"]
ROWS = HEIGHT - 40  # rows inside the margin of 20 px


def step(edge: int = EDGE) -> np.ndarray:
    """Background at 20 px left of the edge, foreground at 60 px from it on."""
    return np.where(np.arange(WIDTH) < edge, 20.0, 60.0)[None].repeat(HEIGHT, axis=0).astype(np.float32)


def scores(estimate: np.ndarray, metrics: list[str] | None = None, **protocol: object) -> dict[str, Score]:
    scene = Scene("step", gt=step(), masks={"nonocc": EVERYWHERE}, resolution=1.0)
    table = sg.evaluate(estimate, scene, metrics or BOTH_SIDES, ["nonocc"], Protocol().replace(**protocol))
    return {score.metric: score for score in table}


def test_the_ground_truth_scores_exactly_zero() -> None:
    for score in scores(step()).values():
        assert score.value == 0.0
        assert score.count > 0


@pytest.mark.parametrize("moved", [1, 2, 5, 12, 21, 30])
def test_an_edge_moved_into_the_background_fattens_its_band_pixel_by_pixel(moved: int) -> None:
    """Of the discontinuity's own background pixel and the band's 20 the edge passes `moved`."""
    found = scores(step(EDGE - moved))
    assert found["d-fat"].value == pytest.approx(min(moved, 21) / 21)
    assert found["d-thin"].value == 0.0


@pytest.mark.parametrize("moved", [1, 2, 5, 12, 21, 30])
def test_an_edge_moved_into_the_foreground_thins_its_band_pixel_by_pixel(moved: int) -> None:
    found = scores(step(EDGE + moved))
    assert found["d-thin"].value == pytest.approx(min(moved, 21) / 21)
    assert found["d-fat"].value == 0.0


def test_halfway_is_not_fat() -> None:
    """40 px is as far from the background's 20 as from the foreground's 60."""
    halfway, beyond = step(), step()
    halfway[:, 70:79], beyond[:, 70:79] = 40.0, 40.01
    assert scores(halfway)["d-fat"].value == 0.0
    assert scores(beyond)["d-fat"].value == pytest.approx(9 / 21)


def test_fuzziness_of_a_missing_edge_by_hand() -> None:
    """A constant estimate has no gradient: on both M_d columns G = 20, 21 px from the outside of M_e.

    42 columns are in M_e.
    """
    found = scores(np.full((HEIGHT, WIDTH), 20.0))
    assert found["d-fuz"].value == pytest.approx(2 * 20 * 21 / 42)
    assert found["d-fuz-rel"].value == pytest.approx(2 * 20 * 21 / 42 / 20)


def test_fuzziness_of_a_moved_edge_by_hand() -> None:
    """Both M_d columns lose G = 20 at 21 px; the two columns of the moved edge gain it, 9 and 10 px from M_d."""
    found = scores(step(EDGE - 10))
    assert found["d-fuz"].value == pytest.approx((2 * 20 * 21 + 20 * (9 + 10)) / 42)


def test_a_missing_estimate_is_neither_fat_nor_thin_but_reported() -> None:
    estimate = step(EDGE - 11)
    estimate[:, 60:65] = np.nan
    found = scores(estimate)["d-fat"]
    assert found.value == pytest.approx(11 / 16)
    assert (found.count, found.missing) == (16 * ROWS, 5 * ROWS)
    assert scores(estimate, invalid="exclude")["d-fat"].value == found.value


def test_fuzziness_leaves_out_pixels_whose_gradient_needs_a_missing_estimate() -> None:
    estimate = step()
    estimate[:, 65] = np.nan
    found = scores(estimate)["d-fuz"]
    assert found.value == 0.0
    assert found.missing == 3 * ROWS


@pytest.mark.parametrize("estimate", [np.full((HEIGHT, WIDTH), np.nan), np.full((HEIGHT, WIDTH), np.inf)])
def test_an_estimate_without_any_value_has_no_score(estimate: np.ndarray) -> None:
    for score in scores(estimate).values():
        assert np.isnan(score.value)
        assert score.count == 0
        assert score.note == "no estimate beside depth discontinuities"


def test_a_scene_without_an_edge_has_no_score_but_a_reason() -> None:
    flat = np.full((HEIGHT, WIDTH), 20.0, np.float32)
    table = sg.evaluate(
        flat, Scene("flat", gt=flat, masks={"nonocc": EVERYWHERE}, resolution=1.0), BOTH_SIDES, ["nonocc"]
    )
    for score in table:
        assert np.isnan(score.value)
        assert score.count == 0
        assert score.note == ("no depth discontinuity found: no disparity gradient exceeds 8 px per px (s = 1)")


def test_sparse_ground_truth_is_said_to_be_not_applicable() -> None:
    truth = np.full((HEIGHT, WIDTH), np.nan, np.float32)
    truth[::2, ::2] = step()[::2, ::2]
    scene = Scene("sparse", gt=truth, masks={"nonocc": EVERYWHERE}, resolution=1.0)
    for score in sg.evaluate(step(), scene, [*BOTH_SIDES, "rms:disc-edge"], ["nonocc"]):
        assert np.isnan(score.value)
        assert score.note.startswith("not applicable: ground truth covers 25 % of the image")


def test_rms_on_either_band() -> None:
    estimate = step(EDGE - 11)
    scene = Scene("step", gt=step(), masks={"nonocc": EVERYWHERE}, resolution=1.0)
    table = sg.evaluate(estimate, scene, ["rms:disc-background", "rms:disc-foreground"], ["nonocc"])
    assert table.value("rms", "disc-background") == pytest.approx(np.sqrt(11 / 21 * 40**2))
    assert table.value("rms", "disc-foreground") == 0.0


def test_the_picture_of_fattening_counts_what_the_score_counts() -> None:
    scene = Scene(
        "step", gt=step(), left=np.zeros((HEIGHT, WIDTH, 3), np.uint8), masks={"nonocc": EVERYWHERE}, resolution=1.0
    )
    estimate = step(EDGE - 11)
    estimate[:, 60:65] = np.nan
    drawn = sg.picture(estimate, scene, "d-fat")
    names = {text: value for value, (text, _) in drawn.legend.items()}
    wrong = np.count_nonzero(drawn.values == names["background taken for foreground"])
    assert wrong == 11 * ROWS
    assert drawn.missing is not None
    assert np.count_nonzero(drawn.missing) == 5 * ROWS
    assert drawn.backdrop is not None


def test_the_picture_of_fuzziness_holds_the_scores_own_values() -> None:
    scene = Scene("step", gt=step(), masks={"nonocc": EVERYWHERE}, resolution=1.0)
    estimate = step(EDGE - 10)
    for metric in ("d-fuz", "d-fuz-rel"):
        drawn = sg.picture(estimate, scene, metric)
        assert np.nanmean(drawn.values) == pytest.approx(scores(estimate)[metric].value, rel=1e-6)


@pytest.mark.parametrize("metric", ["d-fuz", "d-fuz-rel"])
def test_only_relative_fuzziness_is_the_same_at_every_size(metric: str) -> None:
    """The same world at quarter, half and full size, smoothed by a filter that grows with it."""
    found = []
    for size in (0.25, 0.5, 1.0):
        shape = (int(320 * size), int(600 * size))
        x = np.arange(shape[1])[None].repeat(shape[0], axis=0) / size
        truth = (np.select([x < 200, x < 400], [20.0, 100.0], 60.0) * size).astype(np.float32)
        estimate = cv2.GaussianBlur(truth, (0, 0), 8 * size)
        scene = Scene("steps", gt=truth, masks={"nonocc": np.ones(shape, bool)}, resolution=size)
        found.append(sg.evaluate(estimate, scene, [metric], ["nonocc"]).value(metric))
    ratio = max(found) / min(found)
    assert (ratio < 1.7) == (metric == "d-fuz-rel"), found


@pytest.mark.parametrize("grown", [1, -1])
@pytest.mark.parametrize("share", [0.2, 0.4, 0.8])
def test_equal_fattening_and_thinning_give_equal_shares_at_every_size(grown: int, share: float) -> None:
    """An edge that moves by a share of the band, at quarter, half and full size; the first pixel counts."""
    found = []
    for size in (0.25, 0.5, 1.0):
        shape = (int(320 * size), int(600 * size))
        columns = np.arange(shape[1])[None].repeat(shape[0], axis=0)
        edge, moved = int(300 * size), round(share * 20 * size)
        truth, estimate = (
            (np.where(columns < place, 20.0, 100.0) * size).astype(np.float32) for place in (edge, edge - grown * moved)
        )
        scene = Scene("step", gt=truth, masks={"nonocc": np.ones(shape, bool)}, resolution=size)
        metric = "d-fat" if grown > 0 else "d-thin"
        found.append(sg.evaluate(estimate, scene, [metric], ["nonocc"]).value(metric))
    assert max(found) < 1.2 * min(found), found
    assert found == pytest.approx([share] * 3, rel=0.2)


@pytest.mark.parametrize("width", [8, 12, 16])
def test_lost_wires_count_as_thinned_at_every_size(width: int) -> None:
    """Half of the wires before a wall are lost; at a quarter of the size they lie on the discontinuity as a whole."""
    found = []
    for size in (0.25, 0.5, 1.0):
        columns = np.arange(int(1200 * size))[None].repeat(int(320 * size), axis=0)
        inside = (columns >= 300 * size) & (columns % (150 * size) < width * size)
        truth = (np.where(inside, 100.0, 20.0) * size).astype(np.float32)
        estimate = np.where(columns < 750 * size, truth, np.float32(20 * size))
        scene = Scene("wires", gt=truth, masks={"nonocc": np.ones(truth.shape, bool)}, resolution=size)
        found.append(sg.evaluate(estimate, scene, ["d-thin"], ["nonocc"]).value("d-thin"))
    assert found == pytest.approx([0.5] * 3, abs=0.01)


def test_an_unstated_size_follows_from_the_width() -> None:
    """A jump of 10 px is none in an image of 3000 px (gradient 5 < 8), and one in an image of 300 px (5 > 0.8)."""
    for width, jumps in ((3000, False), (300, True)):
        truth = np.where(np.arange(width) < width // 2, 20.0, 30.0)[None].repeat(120, axis=0).astype(np.float32)
        scene = Scene("step", gt=truth, masks={"nonocc": np.ones(truth.shape, bool)})
        (score,) = sg.evaluate(truth, scene, ["d-fat"], ["nonocc"])
        assert (score.count > 0) == jumps
        assert jumps or score.note.endswith("exceeds 8 px per px (s = 1)")
