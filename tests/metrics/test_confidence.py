"""Scores of confidence maps that results bring along: the areas of their sparsification curves, in the same table."""

from __future__ import annotations

import math
from pathlib import Path

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.confidence_measures.calibration import calibrate_sigma
from stereogauge.confidence_measures.files import ConfidenceSource
from stereogauge.confidence_measures.sparsification import sparsify_by

METRICS = ["bad@1", "sparsification-auc@1", "ause@1", "aurg@1", "confidence-roc@1"]


@pytest.fixture
def scene() -> sg.Scene:
    return sg.Scene("wall", gt=np.full((12, 20), 5, np.float32), masks={"left-half": np.arange(20)[None] < [[10]] * 12})


@pytest.fixture
def result(scene: sg.Scene) -> sg.ResultSet:
    """A fifth of the pixels is wrong, and the confidence sees most of them."""
    rng = np.random.default_rng(1)
    estimate = scene.gt.copy()
    estimate[rng.random(estimate.shape) < 0.2] = 9
    estimate[0, :4] = np.nan
    doubt = np.abs(np.nan_to_num(estimate, nan=9) - 5) + rng.integers(0, 6, estimate.shape)
    return sg.ResultSet("mine", {"wall": estimate}, confidence={"wall": doubt}, confidence_better="lower")


def test_scores_are_those_of_the_curve(scene: sg.Scene, result: sg.ResultSet) -> None:
    table = sg.evaluate(result, scene, metrics=METRICS, regions=["all", "left-half"])
    estimate, doubt = result.maps["wall"], result.confidence["wall"]
    for region, mask in (("all", None), ("left-half", scene.mask("left-half"))):
        curve = sg.sparsify(doubt, estimate, scene.gt, 1.0, mask)  # type: ignore[arg-type]
        given = sg.sparsify(doubt, estimate, scene.gt, 1.0, mask, missing="excluded")  # type: ignore[arg-type]
        assert table.value("bad@1", region) == pytest.approx(100 * curve.bad_pixels / curve.pixels)
        assert table.value("sparsification-auc@1", region) == pytest.approx(curve.auc)
        assert table.value("ause@1", region) == pytest.approx(given.ause)
        assert table.value("aurg@1", region) == pytest.approx(given.aurg)
        assert table.value("confidence-roc@1", region) == pytest.approx(given.roc_auc)
    assert {score.missing for score in table if score.region == "all"} == {4}


def test_only_the_area_itself_counts_missing_estimates_as_bad(scene: sg.Scene, result: sg.ResultSet) -> None:
    """A confidence foretells the errors of estimates: a map that gives none is not foretold perfectly."""
    nothing = sg.ResultSet(
        "mine", {"wall": np.full(scene.shape, np.nan)}, confidence=result.confidence, confidence_better="lower"
    )
    table = sg.evaluate(nothing, scene, metrics=METRICS, regions=["all"])
    assert table.value("sparsification-auc@1", "all") == pytest.approx(1.0)
    for metric in METRICS[2:]:
        found = table.score(metric, "all")
        assert math.isnan(found.value)
        assert (found.count, found.missing, found.note) == (0, 240, "no estimate in region 'all'")


def test_the_direction_is_declared_and_turns_the_order(scene: sg.Scene, result: sg.ResultSet) -> None:
    doubt = np.asarray(result.confidence["wall"])
    turned = sg.ResultSet("mine", result.maps, confidence={"wall": -doubt}, confidence_better="higher")
    undeclared = sg.ResultSet("mine", result.maps, confidence={"wall": doubt})
    first, second, third = (
        next(iter(sg.evaluate(one, scene, metrics=["ause@1"], regions=["all"]))) for one in (result, turned, undeclared)
    )
    assert first.value == second.value
    assert math.isnan(third.value)
    assert "whether higher or lower is better" in third.note


def test_without_the_policy_to_count_them_missing_estimates_leave_the_curve(
    scene: sg.Scene, result: sg.ResultSet
) -> None:
    protocol = sg.load_protocol("default").replace(invalid="exclude")
    (score,) = sg.evaluate(result, scene, metrics=["ause@1"], regions=["all"], protocol=protocol)
    assert score.count == 12 * 20 - 4


def test_only_good_pixels_have_no_roc_and_a_map_without_confidence_no_score(scene: sg.Scene) -> None:
    perfect = sg.ResultSet("p", {"wall": scene.gt}, confidence={"wall": scene.gt}, confidence_better="lower")
    table = sg.evaluate(perfect, scene, metrics=["ause@1", "confidence-roc@1"], regions=["all"])
    assert table.value("ause@1", "all") == 0
    assert math.isnan(table.value("confidence-roc@1", "all"))
    (alone,) = sg.evaluate(scene.gt, scene, metrics=["ause@1"], regions=["all"])
    assert math.isnan(alone.value)
    assert "no confidence" in alone.note


def test_a_lower_is_better_png_keeps_its_zeros(scene: sg.Scene, tmp_path: Path) -> None:
    """In a disparity map 0 would mean unknown; in a confidence map it is the surest pixel of all."""
    estimate = scene.gt.copy()
    estimate[:, :10] = 9
    stored = np.zeros(scene.shape, np.uint8)
    stored[:, :10] = 200
    cv2.imwrite(str(tmp_path / "c.png"), stored)
    maps = {"wall": tmp_path / "c.png"}
    result = sg.ResultSet("mine", {"wall": estimate}, confidence=maps, confidence_better="lower")
    assert sg.evaluate(result, scene, metrics=["ause@1"], regions=["all"]).value("ause@1", "all") == pytest.approx(0)


def folder_of(tmp_path: Path, better: str) -> Path:
    """KITTI's layout with one frame, and a result whose confidence maps lie beside its maps."""
    truth = np.full((20, 30), 5, np.float32)
    for part in ("disp_occ_0", "disp_noc_0"):
        (tmp_path / "kitti" / "training" / part).mkdir(parents=True, exist_ok=True)
        sg.write_disparity(tmp_path / "kitti" / "training" / part / "000000_10.png", truth, encoding="kitti")
    estimate, confidence = truth.copy(), np.full((20, 30), 250, np.uint8)
    estimate[:5], confidence[:5] = 20, 3
    own = tmp_path / "results" / "mine"
    (own / "confidence" / "net").mkdir(parents=True, exist_ok=True)
    sg.write_disparity(own / "000000_10.pfm", estimate)
    cv2.imwrite(str(own / "confidence" / "net" / "000000_10.png"), confidence)
    (own / "results.toml").write_text(f'[confidence]\nbetter = "{better}"\n', encoding="utf-8")
    return tmp_path


def evaluate(folder: Path) -> int:
    places = (f"kitti-2015:{folder / 'kitti'}", str(folder / "results"), "--store", str(folder / "s.sqlite"))
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", *places, "--jobs", "1", "--metrics", "bad@3,confidence-roc@3", "--regions", "all"])
    return int(ended.value.code or 0)


def test_evaluate_stores_them_and_computes_again_when_the_direction_changes(tmp_path: Path) -> None:
    for better, expected in (("higher", 1.0), ("lower", 0.0)):
        assert evaluate(folder_of(tmp_path, better)) == 0
        with sg.open_store(tmp_path / "s.sqlite") as store:
            assert store.scores().value("confidence-roc@3", "all") == expected
            assert store.scores().value("bad@3", "all") == 25


def test_a_direction_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(tmp_path, "bigger")
    assert evaluate(folder) == 2
    assert "confidence.better must be 'higher' or 'lower'" in capsys.readouterr().err
    (folder / "results" / "mine" / "results.toml").write_text("[confidence]\nbeter = 1\n", encoding="utf-8")
    assert evaluate(folder) == 2
    assert "Did you mean 'confidence.better'?" in capsys.readouterr().err


def test_the_picture_is_the_confidence_map(scene: sg.Scene, result: sg.ResultSet) -> None:
    own = ConfidenceSource.of(result, "wall")
    drawn = sg.picture(result.maps["wall"], scene, "ause@1", confidence=own)
    assert np.array_equal(drawn.values, np.asarray(result.confidence["wall"], np.float32))


def test_areas_by_other_errors_are_those_of_the_curves(scene: sg.Scene, result: sg.ResultSet) -> None:
    camera = sg.Calibration(focal=100, baseline=1)
    metric_scene = sg.Scene("wall", gt=scene.gt, calibration=camera)
    names = {"mae": "mae", "rms": "rms", "d1": "d1", "z@1": "bad-z@1", "z@1,6": "bad-z@1,6"}
    wanted = [f"{area}-{name}" for name in names for area in ("ause", "aurg")]
    table = sg.evaluate(result, metric_scene, metrics=wanted, regions=["all"])
    estimate, doubt = np.asarray(result.maps["wall"]), np.asarray(result.confidence["wall"])
    for name, kind in names.items():
        curve = sparsify_by(kind, doubt, estimate, scene.gt, calibration=camera, missing="excluded")
        assert table.value(f"ause-{name}", "all") == pytest.approx(curve.ause)
        assert table.value(f"aurg-{name}", "all") == pytest.approx(curve.aurg)
        assert table.score(f"ause-{name}", "all").missing == 4


def test_calibration_needs_the_kind_of_the_map_and_scores_it(scene: sg.Scene) -> None:
    rng = np.random.default_rng(0)
    sigma = rng.uniform(0.5, 2, scene.shape)
    estimate = scene.gt + rng.normal(0, sigma)
    names = ["ece-gaussian", "nll-gaussian", "coverage-gaussian@90", "ece-laplace", "nll-laplace", "ause@1", "ece@3"]
    result = sg.ResultSet("mine", {"wall": estimate}, confidence={"wall": sigma}, confidence_kind="sigma")
    table = sg.evaluate(result, scene, metrics=names, regions=["all"])
    normal = calibrate_sigma(sigma, np.float32(estimate), scene.gt)
    assert table.value("ece-gaussian", "all") == pytest.approx(normal.ece)
    assert table.value("nll-gaussian", "all") == pytest.approx(normal.nll)
    assert abs(table.value("coverage-gaussian@90", "all")) < 0.1
    assert table.value("nll-gaussian", "all") < table.value("nll-laplace", "all")
    assert table.value("ause@1", "all") > 0  # a standard deviation says by itself that lower is better
    assert 'kind = "probability"' in table.score("ece@3", "all").note


def test_every_one_of_several_confidence_maps_is_scored(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "higher")
    own = folder / "results" / "mine"
    (own / "confidence" / "doubt").mkdir()
    doubt = np.zeros((20, 30), np.float32)
    doubt[:5] = 7
    sg.write_disparity(own / "confidence" / "doubt" / "000000_10.pfm", doubt)
    (own / "results.toml").write_text('[confidence]\nbetter = {net = "higher", doubt = "lower"}\n', encoding="utf-8")
    assert evaluate(folder) == 0
    with sg.open_store(folder / "s.sqlite") as store:
        found = {(score.algorithm, score.metric): score.value for score in store.scores()}
    assert found == {
        ("mine", "bad@3"): 25,
        ("mine", "confidence-roc@3"): 1,
        ("mine/doubt", "confidence-roc@3"): 1,
        ("mine/net", "confidence-roc@3"): 1,
    }
