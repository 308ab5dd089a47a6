"""Two maps, or all of them, pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest
from tests.durations import least_time

import stereogauge as sg
from stereogauge import explain
from stereogauge.decision.pixels import (
    BOTH_WRONG,
    ONLY_FIRST,
    ONLY_SECOND,
    contrast,
    error_curve,
    pixel_agreement,
    ranked_crops,
)
from stereogauge.evaluation.stored_maps import BEST, MEDIAN, Origins, map_origins, meta_maps, meta_scores
from stereogauge.figures import decision as figures

TRUTH = np.full((60, 100), 10, np.float32)


def damaged(rows: slice, columns: slice, by: float = 4.0) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    made = TRUTH.copy()
    made[rows, columns] += by
    return made


MAPS = {
    "A": {"flat": damaged(slice(0, 10), slice(0, 30))},
    "B": {"flat": damaged(slice(0, 10), slice(10, 100))},
    "C": {"flat": damaged(slice(0, 60), slice(0, 100), float("nan"))},
}
SCENE = sg.Scene("flat", gt=TRUTH, left=np.zeros((60, 100), np.uint8))


@pytest.fixture
def origins() -> Origins:
    return map_origins({"flat": SCENE}, MAPS)


def test_the_four_colours_by_hand() -> None:
    found = contrast(SCENE, {"A": MAPS["A"]["flat"], "B": MAPS["B"]["flat"]}, "bad@1:all")
    counts = {label: int((found.verdict.values == label).sum()) for label in (ONLY_FIRST, ONLY_SECOND, BOTH_WRONG)}
    assert counts == {ONLY_FIRST: 700, ONLY_SECOND: 100, BOTH_WRONG: 200}
    assert found.shares == pytest.approx((5000 / 6000, 700 / 6000, 100 / 6000, 200 / 6000))
    assert found.gain.values[5, 50] == pytest.approx(-2.0)  # clipped at the 2 px of so small an image
    assert found.gain.values[5, 5] == pytest.approx(2.0)
    assert found.text.endswith("only A at 11.7 %, only B at 1.7 %, both wrong at 3.3 %")


def test_missing_estimates_are_wrong_and_pixels_that_do_not_count_are_marked() -> None:
    half = np.zeros((60, 100), bool)
    half[:, 50:] = True
    scene = sg.Scene("half", gt=TRUTH, masks={"right half": half})
    found = contrast(scene, {"A": TRUTH, "C": MAPS["C"]["flat"]}, "bad@1:right half")
    assert found.shares == (0, 1, 0, 0)
    assert (found.verdict.values[:, :50] == 255).all()
    assert np.isnan(found.gain.values[:, :50]).all()


def test_crops_stand_in_the_order_of_what_they_add() -> None:
    wrong = np.zeros((90, 300), bool)
    wrong[10:20, 40:60] = wrong[60:80, 200:240] = True
    crops = ranked_crops(np.zeros_like(wrong), wrong, np.ones_like(wrong), 4)
    assert [round(crop.gain * 270) for crop in crops] == [800, 200]
    assert crops[0].left <= 200 <= crops[0].left + crops[0].side
    assert ranked_crops(wrong, wrong, np.ones_like(wrong), 4) == ()


RAMP = np.tile(np.linspace(10, 40, 100, dtype=np.float32), (60, 1))


def test_no_crop_is_shown_for_a_small_shift_but_the_difference_is() -> None:
    shifted = contrast(sg.Scene("ramp", gt=RAMP), {"A": RAMP + 0.1, "B": RAMP + 0.7}, "bad@0.5:all")
    assert shifted.shares == (0, 1, 0, 0)
    assert shifted.crops == ()
    assert shifted.shift == pytest.approx(0.6, abs=1e-5)
    assert shifted.gain.values == pytest.approx(np.full(RAMP.shape, -0.6), abs=1e-5)
    assert shifted.text.endswith("B differs by a shift of +0.60 px, which no crop shows")
    line = figures.profile_line_data(shifted)
    assert line is not None
    by_name = {name: [row["disparity"] for row in line.rows if row["of"] == name] for name in line.column("of")}
    assert list(by_name) == ["ground truth", "A", "B"]
    assert np.subtract(by_name["B"], by_name["A"]) == pytest.approx(0.6, abs=1e-5)
    assert line.encoded("png")[:4] == b"\x89PNG"
    far = contrast(sg.Scene("ramp", gt=RAMP), {"A": RAMP, "B": RAMP + 8}, "bad@0.5:all")
    assert far.crops
    assert far.shift == 0
    assert figures.profile_line_data(far) is None


def test_damage_of_a_shifted_map_is_shown_in_a_crop() -> None:
    other = RAMP + np.float32(0.6)
    other[10:30, 60:90] += 6
    found = contrast(sg.Scene("ramp", gt=RAMP), {"A": RAMP, "B": other}, "bad@0.5:all")
    assert found.crops
    assert all(crop.left + crop.side > 60 and crop.top < 30 for crop in found.crops)
    other[10:30, 60:90] = np.nan
    assert contrast(sg.Scene("ramp", gt=RAMP), {"A": RAMP, "B": other}, "bad@0.5:all").crops


def test_a_metric_that_judges_no_single_pixel_is_refused() -> None:
    for column in ("rms:all", "p-off", "seconds"):
        with pytest.raises(sg.StereogaugeError, match="does not call single pixels right or wrong"):
            contrast(SCENE, {"A": TRUTH, "B": TRUTH}, column)


def test_agreement_by_hand(origins: Origins) -> None:
    found = pixel_agreement(origins, ["A", "B"], ["flat"], "bad@1:all")
    assert found.none_right == pytest.approx(200 / 6000)
    assert found.all_right == pytest.approx(5000 / 6000)
    pair = found.pairs[0]
    assert (pair.covers, pair.better_alone) == pytest.approx((5800 / 6000, 5700 / 6000))
    assert np.unique(found.pictures["flat"].values).tolist() == [0, 50, 100]
    assert found.curves[0, 0] == pytest.approx(300 / 6000)
    assert found.curves[0, -1] == 0
    assert "A and B complement each other best: one of them is right at 96.7 %, 1.7 points more" in found.text


def test_curves_count_missing_estimates_at_every_threshold() -> None:
    errors = np.array([0.1, 2.0, np.nan, 8.0], np.float32)
    assert error_curve(errors, np.array([0.05, 1.0, 4.0, 16.0])).tolist() == [1.0, 0.75, 0.5, 0.25]


def test_meta_algorithms_are_rows(origins: Origins) -> None:
    table = sg.evaluate({name: maps["flat"] for name, maps in MAPS.items()}, SCENE, ["bad@1", "rms"], ["all"])
    cube, reasons = meta_scores(table.cube, origins)
    assert reasons == []
    assert cube.algorithms[-2:] == (BEST, MEDIAN)
    best = cube.values[cube.algorithms.index(BEST), 0, cube.column("bad@1:all")]
    assert best == pytest.approx(100 * 200 / 6000)
    assert best <= np.nanmin(cube.values[:3, 0, cube.column("bad@1:all")])


def test_the_best_of_all_has_the_smallest_error_everywhere() -> None:
    random = np.random.default_rng(0)
    maps = [TRUTH + random.normal(size=TRUTH.shape).astype(np.float32) for _ in range(4)]
    maps[0][random.random(TRUTH.shape) < 0.3] = np.nan
    found = meta_maps(maps, TRUTH)
    assert np.abs(found[BEST] - TRUTH) == pytest.approx(np.nanmin(np.abs(np.stack(maps) - TRUTH), axis=0))
    assert found[MEDIAN] == pytest.approx(np.nanmedian(np.stack(maps), axis=0))


def test_maps_that_are_not_at_hand_are_named(origins: Origins) -> None:
    with pytest.raises(sg.StereogaugeError, match="The map of D on flat is not available"):
        pixel_agreement(origins, ["A", "D"], ["flat"], "bad@1:all")


def test_every_figure_can_be_drawn(origins: Origins) -> None:
    maps = {name: MAPS[name]["flat"] for name in ("A", "B")}
    scores = sg.evaluate(maps, SCENE, ["bad@1", "rms"], ["all"])
    why = explain(scores, "A", "B", weights={"bad@1": 1, "rms": 1}, maps=origins)
    seen = contrast(SCENE, maps, "bad@1:all")
    bars = figures.difference_bars_data(why)
    for by in dict.fromkeys(bars.column("by")):
        assert sum(row["amount"] for row in bars.rows if row["by"] == by) == pytest.approx(why.difference)
    curves = figures.error_curves_data(pixel_agreement(origins, ["A", "B"], ["flat"], "bad@1:all"))
    rows = [figures.contrast_rows_data([seen]), figures.crop_rows_data([seen])]
    captions = {name: {"flat": "5.0 %"} for name in maps}
    rows.append(figures.glance_rows_data({"flat": SCENE}, {n: {"flat": m} for n, m in maps.items()}, captions))
    for data in (bars, curves, *rows):
        assert data.encoded("png")[:4] == b"\x89PNG"
    assert {entry.text for entry in rows[0].legend} == {"both right", "only A right", "only B right", "both wrong"}
    captions = [panel.below for panel in rows[1].rows[0]]
    assert captions == ["left image", "ground truth", "A", "B", "error, A", "error, B"]


def test_a_quarter_size_scene_is_explained_in_a_few_times_the_time_of_its_evaluation(data_root: object) -> None:
    scene = sg.load_dataset("middlebury-v3", f"{data_root}/middlebury-2014")["Teddy"]
    maps = {"A": {"Teddy": scene.gt + 0.3}, "B": {"Teddy": scene.gt + 1.5}}
    names = ["bad@1", "rms", "d-fat", "p-off", "f-por"]
    scores = sg.evaluate(maps, [scene], names, ["all", "nonocc"], "middlebury-v3")
    origins = map_origins({"Teddy": scene}, maps, scores.protocol)
    weights = dict.fromkeys(names, 1.0)

    def explained() -> None:
        explain(scores, "A", "B", weights=weights, maps=origins)
        contrast(scene, {name: own["Teddy"] for name, own in maps.items()}, "bad@1:nonocc", scores.protocol)

    found = explain(scores, "A", "B", weights=weights, maps=origins)
    evaluated = least_time(lambda: sg.evaluate(maps, [scene], names, ["all", "nonocc"], "middlebury-v3"))
    assert least_time(explained) < 4 * evaluated
    assert sum(piece.amount for piece in found.regions) == pytest.approx(found.difference)
    assert found.regions[-1].amount == 0
