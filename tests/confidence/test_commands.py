"""`stereogauge match` and `stereogauge confidence` from the outside."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge import load_dataset
from stereogauge.cli import main
from stereogauge.cli.confidence_runs import of_matcher
from stereogauge.confidence_measures.learned import Trees
from stereogauge.confidence_measures.run import ConfidenceChoices

SHIFT = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pairs with ground truth, laid out as Middlebury's evaluation kit."""
    root = tmp_path_factory.mktemp("pairs") / "trainingQ"
    for seed, name in enumerate(("One", "Two")):
        rng = np.random.default_rng(seed)
        texture = cv2.GaussianBlur(rng.integers(0, 255, (50, 120 + SHIFT), dtype=np.uint8), (0, 0), 0.8)
        left, right = texture[:, :120].copy(), texture[:, SHIFT:].copy()
        right[10:25, 60:90] = rng.integers(0, 255, (15, 30))
        scene = root / name
        scene.mkdir(parents=True)
        cv2.imwrite(str(scene / "im0.png"), left)
        cv2.imwrite(str(scene / "im1.png"), right)
        sg.write_disparity(scene / "disp0GT.pfm", np.full((50, 120), SHIFT + seed / 1000, np.float32))
        cv2.imwrite(str(scene / "mask0nocc.png"), np.full((50, 120), 255, np.uint8))
        calibration = "cam0=[100 0 60; 0 100 25; 0 0 1]\ncam1=[100 0 60; 0 100 25; 0 0 1]\n"
        (scene / "calib.txt").write_text(calibration + "doffs=0\nbaseline=100\nwidth=120\nheight=50\nndisp=16\n")
    return root


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def test_match_writes_maps_and_prints_facts(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = (folder / "One" / "im0.png", folder / "One" / "im1.png")
    outputs = (
        "--out",
        tmp_path / "left.pfm",
        "--right-out",
        tmp_path / "right.pfm",
        "--picture",
        tmp_path / "left.png",
    )
    assert run("match", *pair, "--ndisp", 16, "--set", "p1=10", *outputs, "--format", "json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["density"] == 1
    assert facts["parameters"]["p1"] == "10"
    assert np.median(sg.read_disparity(tmp_path / "left.pfm")) == pytest.approx(SHIFT, abs=0.2)
    assert (tmp_path / "right.pfm").exists()
    assert cv2.imread(str(tmp_path / "left.png")).shape == (50, 120, 3)


@pytest.mark.parametrize("form", ["table", "csv", "latex"])
def test_match_prints_in_every_format(folder: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("match", folder / "One" / "im0.png", folder / "One" / "im1.png", "--ndisp", 16, "--format", form) == 0
    assert "density" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "needs two images"),
        (("--matcher", "sgn"), "Did you mean 'sgm'"),
        (("--set", "p1"), "write name=value"),
        (("--matcher", "opencv-sgbm", "--right-out", "r.pfm"), "gave no right map"),
    ],
)
def test_mistakes_of_match_end_with_one_sentence(
    folder: Path, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = (folder / "One" / "im0.png", folder / "One" / "im1.png") if words else ()
    assert run("match", *pair, "--ndisp", 16, *words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("stereogauge: ") == 1


def test_lists_of_matchers_and_measures(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("match", "--list", "--format", "json") == 0
    assert {"sgm", "opencv-sgbm", "opencv-bm", "every matcher"} == {
        r["matcher"] for r in json.loads(capsys.readouterr().out)
    }
    assert run("confidence", "--list", "--format", "json") == 0
    assert {"curvature", "product", "learned"} <= {row["measure"] for row in json.loads(capsys.readouterr().out)}


def test_confidence_on_a_dataset_prints_rows_writes_figures_and_stores(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "scores.db"
    words = ("--threshold", 1, "--out", tmp_path / "figures", "--store", store, "--format", "json")
    assert run("confidence", f"middlebury-v3:{folder.parent}", *words) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["scene"] for row in rows} == {"One", "Two", "(pooled)"}
    assert len(rows) == 3 * 6
    by_key = {(row["scene"], row["measure"]): row for row in rows}
    for row in rows:
        assert row["auc"] >= row["oracle_auc"] - 1e-12
        assert row["ause"] == pytest.approx(row["auc"] - row["oracle_auc"])
    assert by_key["(pooled)", "product"]["bad"] == sum(by_key[s, "product"]["bad"] for s in ("One", "Two"))
    written = {path.name for path in (tmp_path / "figures").rglob("*.png")}
    assert {"sparsification-counts.png", "sparsification-rates.png", "sparsification-normalised.png"} <= written
    assert (tmp_path / "figures" / "Two" / "entropy.png").exists()
    with sg.open_store(store) as opened:
        table = opened.scores(protocol="haeusler-klette")
    assert "sgm/product" in table.algorithms
    found = {(s.scene, s.algorithm, s.metric): s.value for s in table}
    expected = by_key["One", "entropy"]["auc"]
    assert found["One", "sgm/entropy", "sparsification-auc@1"] == pytest.approx(expected)


def test_a_learned_combination_from_the_command_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model.npz"
    dataset = f"middlebury-v3:{folder.parent}"
    words = ("--threshold", 1, "--domain", "all", "--measures", "entropy", "--format", "csv")
    assert run("confidence", dataset, *words, "--learn", "--save-model", model) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["measure"] for row in rows} == {"entropy", "learned"}
    assert "entropy" in Trees.load(model).features
    assert run("confidence", dataset, "--scenes", "One", *words, "--model", model) == 0
    applied = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["measure"] for row in applied] == ["entropy", "learned"]


def test_match_takes_a_learned_combination_and_writes_nothing_that_it_cannot_finish(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out, maps = tmp_path / "model.npz", tmp_path / "left.pfm", tmp_path / "maps"
    words = ("--threshold", 1, "--domain", "all", "--measures", "entropy", "--format", "csv", "--save-model", model)
    assert run("confidence", f"middlebury-v3:{folder.parent}", *words) == 0
    pair = (folder / "One" / "im0.png", folder / "One" / "im1.png", "--ndisp", 16, "--out", out, "--confidence", maps)
    assert run("match", *pair, "--by", "learned") == 2
    assert "--model FILE" in capsys.readouterr().err
    assert run("match", *pair, "--by", "distinctiveness,no-such-measure") == 2
    assert not out.exists()
    assert run("match", *pair, "--by", "learned", "--model", model) == 0
    assert out.exists()
    assert sg.read_disparity(maps / "learned.pfm").shape == (50, 120)


@pytest.mark.parametrize("words", [("--by", "entropy"), ("--sigma", 3), ("--temperature", 2)])
def test_match_says_that_confidence_options_need_a_folder(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[object, ...]
) -> None:
    pair = ("match", folder / "One" / "im0.png", folder / "One" / "im1.png", "--ndisp", 16)
    assert run(*pair) == 0
    assert "--confidence" not in capsys.readouterr().err
    assert run(*pair, *words) == 0
    assert "only --confidence FOLDER writes" in capsys.readouterr().err


def test_a_model_is_named_with_its_data_and_its_calibration_is_reported(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder, tmp_path / "trainingQ")
    dataset, model = f"middlebury-v3:{tmp_path}", tmp_path / "model.npz"
    words = ("--threshold", 1, "--domain", "all", "--measures", "entropy", "--format", "csv")
    assert run("confidence", dataset, *words, "--learn", "--save-model", model) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert all(
        0 <= float(row["ece"]) < 0.5 for row in rows if row["measure"] == "learned" and row["scene"] != "(pooled)"
    )
    assert run("confidence", dataset, *words, "--model", model) == 0
    said = capsys.readouterr().err
    assert "trained on 2 scenes of middlebury-v3:Q, bad above 1 px" in said
    assert "probabilities are of errors" not in said
    assert "was not trained on" not in said
    assert "was trained on One: its scores there are no test" in said
    assert run("confidence", dataset, *words, "--model", model, "--learn") == 2
    assert "both are `learned`" in capsys.readouterr().err
    one = folder / "One"
    pair = ("--left", one / "im0.png", "--right", one / "im1.png", "--gt", one / "disp0GT.pfm", "--ndisp", 16)
    assert run("confidence", *pair, *words, "--threshold", 2, "--model", model) == 0
    said = capsys.readouterr().err
    assert "was not trained on this pair" in said
    assert "its probabilities are of errors above 1 px, not above 2 px" in said


def test_a_search_range_from_the_truth_is_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder / "One", tmp_path / "trainingQ" / "One")
    calibration = tmp_path / "trainingQ" / "One" / "calib.txt"
    calibration.write_text(calibration.read_text().replace("ndisp=16\n", ""))
    words = (f"middlebury-v3:{tmp_path}", "--threshold", 1, "--domain", "all", "--measures", "entropy", "-f", "csv")
    assert run("confidence", *words) == 0
    assert "largest true disparity" in capsys.readouterr().err
    assert run("confidence", *words, "--ndisp", 16) == 0
    assert "largest true disparity" not in capsys.readouterr().err


def test_pairs_of_one_place_are_never_divided_between_training_and_test(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder, tmp_path / "trainingQ")
    shutil.copytree(folder / "One", tmp_path / "trainingQ" / "OneL")
    darker = cv2.imread(str(folder / "One" / "im0.png"), cv2.IMREAD_GRAYSCALE) // 2
    cv2.imwrite(str(tmp_path / "trainingQ" / "OneL" / "im0.png"), darker)
    words = ("--threshold", 1, "--domain", "all", "--measures", "entropy", "--format", "csv", "--learn")
    assert run("confidence", f"middlebury-v3:{tmp_path}", *words) == 0
    folds = capsys.readouterr().err.partition("of its fold: ")[2].split(" …")[0].split(" | ")
    assert sorted(map(sorted, (fold.split(", ") for fold in folds))) == [["One", "OneL"], ["Two"]]


def test_maps_from_files_with_their_direction(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = np.full((50, 120), SHIFT, np.float32)
    estimate = truth.copy()
    estimate[:, :30] += 9
    sg.write_disparity(tmp_path / "One.pfm", estimate)
    confidence = np.full((50, 120), 65000, np.uint16)
    confidence[:, :30] = 100
    cv2.imwrite(str(tmp_path / "One-confidence.png"), confidence)
    dataset = ("confidence", f"middlebury-v3:{folder.parent}", "--scenes", "One", "--format", "json")
    common = (*dataset, "--disparity", tmp_path / "{scene}.pfm")
    for direction, perfect in (("higher", True), ("lower", False)):
        file = f"given={tmp_path}/{{scene}}-confidence.png:{direction}"
        assert run(*common, "--map", file) == 0
        (row,) = json.loads(capsys.readouterr().out)
        assert (row["measure"], row["bad"]) == ("given", 50 * 30)
        assert (row["ause"] == pytest.approx(0, abs=1e-9)) is perfect
        assert row["roc_auc"] == pytest.approx(1.0 if perfect else 0.0)
    assert run(*common, "--map", f"given={tmp_path}/One-confidence.png") == 2
    assert "NAME=FILE:higher" in capsys.readouterr().err
    assert run(*common) == 2
    assert "need both" in capsys.readouterr().err


def test_a_single_pair_and_what_it_needs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = folder / "One"
    files = ("--left", scene / "im0.png", "--right", scene / "im1.png", "--gt", scene / "disp0GT.pfm")
    assert run("confidence", *files, "--ndisp", 16, "--threshold", 1, "--measures", "product,oracle") == 0
    shown = capsys.readouterr()
    assert "product" in shown.out
    assert "One" in shown.out
    assert run("confidence", "--left", scene / "im0.png") == 2
    assert "needs ground truth" in capsys.readouterr().err


def test_a_matcher_without_costs_or_right_map_is_told_what_is_possible(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("confidence", f"middlebury-v3:{folder.parent}", "--scenes", "One", "--threshold", 1)
    assert run(*words, "--matcher", "opencv-bm") == 2
    assert "without them there are: " in capsys.readouterr().err
    assert run(*words, "--matcher", "opencv-bm", "--measures", "texture") == 2
    advice = capsys.readouterr().err
    assert "opencv-bm:right_view=second-run" in advice
    assert run(*words, "--matcher", "opencv-bm:right_view=second-run", "--measures", "texture") == 0
    assert run(*words, "--matcher", "opencv-bm", "--measures", "texture", "--domain", "all") == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--measures", "entropi"), "Did you mean 'entropy'"),
        (("--matcher", "sgm:p3=1"), "Unknown parameter of sgm 'p3'"),
        (("--threshold", "-1"), "--threshold"),
        (("--scenes", "Oen"), "Did you mean 'One'"),
    ],
)
def test_mistakes_are_told_before_anything_is_matched(
    folder: Path, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("confidence", f"middlebury-v3:{folder.parent}", *words) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "to judge" not in told


def test_a_scene_that_cannot_be_judged_is_left_out_aloud(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder, tmp_path / "trainingQ")
    (tmp_path / "trainingQ" / "One" / "disp0GT.pfm").unlink()
    words = ("confidence", f"middlebury-v3:{tmp_path}", "--threshold", 1, "--measures", "entropy", "--format", "json")
    assert run(*words) == 1
    told = capsys.readouterr()
    assert [row["scene"] for row in json.loads(told.out)] == ["Two"]
    assert "left out: " in told.err
    assert "One" in told.err


def test_scores_of_other_parameters_stand_beside_each_other(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("confidence", f"middlebury-v3:{folder.parent}", "--scenes", "One", "--measures", "entropy")
    for more in ((), ("--matcher", "sgm:p2=60"), ("--literal",)):
        assert run(*words, "--store", tmp_path / "s.db", *more) == 0
    with sg.open_store(tmp_path / "s.db") as opened:
        names = set(opened.scores(protocol="haeusler-klette").algorithms)
    assert names == {"sgm/entropy", "sgm:p2=60/entropy", "sgm as printed/entropy"}


def test_a_grey_confidence_map_in_three_channels_and_one_of_another_size(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sg.write_disparity(tmp_path / "One.pfm", np.full((50, 120), SHIFT + 9, np.float32))
    cv2.imwrite(str(tmp_path / "grey.png"), np.full((50, 120, 3), 7, np.uint8))
    cv2.imwrite(str(tmp_path / "small.png"), np.full((5, 12), 7, np.uint8))
    dataset = ("confidence", f"middlebury-v3:{folder.parent}", "--scenes", "One", "--format", "json")
    common = (*dataset, "--disparity", tmp_path / "{scene}.pfm", "--map")
    assert run(*common, f"given={tmp_path}/grey.png:higher") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["bad"] == row["pixels"]
    assert row["bad_at_good_share"] is None
    assert run(*common, f"given={tmp_path}/small.png:higher") == 2
    assert "12×5, its ground truth 120×50" in capsys.readouterr().err


def test_ctrl_c_prints_what_is_finished_and_says_how_to_go_on(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from stereogauge.cli import confidence_runs as runs

    judged = runs.run_scene

    def stopping(scene: sg.Scene, *choices: object, **more: object) -> object:
        if scene.id == "Two":
            raise KeyboardInterrupt
        return judged(scene, *choices, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(runs, "run_scene", stopping)
    words = ("confidence", f"middlebury-v3:{folder.parent}", "--measures", "entropy", "--format", "json")
    assert run(*words) == 130
    told = capsys.readouterr()
    assert [row["scene"] for row in json.loads(told.out)] == ["One"]
    assert "--scenes Two" in told.err


def test_a_score_that_does_not_exist_is_a_gap_with_its_reason(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("confidence", f"middlebury-v3:{folder.parent}", "--scenes", "One", "--measures", "entropy")
    assert run(*words, "--threshold", 1000, "--store", tmp_path / "s.db") == 0
    with sg.open_store(tmp_path / "s.db") as opened:
        found = {score.metric: score for score in opened.scores(protocol="haeusler-klette")}
    roc = found["confidence-roc@1000"]
    assert np.isnan(roc.value)
    assert (roc.count, roc.sum) == (0, 0)
    assert "only good" in roc.note
    assert found["sparsification-auc@1000"].value == 0


def test_the_curves_are_exported_with_their_frame(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("confidence", f"middlebury-v3:{folder.parent}", "--scenes", "One", "--threshold", 1, "--format", "json")
    assert run(*words, "--out", tmp_path / "out") == 0
    (product,) = (row for row in json.loads(capsys.readouterr().out) if row["measure"] == "product")
    with open(tmp_path / "out" / "curves.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    curves = {name: [row for row in rows if row["measure"] == name] for name in {row["measure"] for row in rows}}
    assert {"(oracle)", "(random)", "(bound)", "curvature", "product"} <= set(curves)
    assert {len(curve) for curve in curves.values()} == {101}
    ends = {name: (curve[0], curve[-1]) for name, curve in curves.items()}
    for start, end in ends.values():
        assert float(start["bad"]) == 0
        assert float(end["bad"]) == product["bad"]
    assert float(ends["(random)"][1]["rate"]) == pytest.approx(product["bad"] / product["pixels"])
    for row in curves["(bound)"]:
        assert float(row["kept_density"]) <= float(row["density"]) + 1e-9


def test_the_bound_is_over_the_single_measures_that_were_requested(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("confidence", f"middlebury-v3:{folder.parent}", "--scenes", "One", "--threshold", 1, "--domain", "all")
    assert run(*words, "--measures", "entropy,curvature,product,oracle") == 0
    assert "each of the 2 single measures" in capsys.readouterr().err
    assert run(*words, "--measures", "entropy,product") == 0
    assert "(s)" not in capsys.readouterr().err


def stored(path: Path) -> dict[tuple[str, str, str], float]:
    with sg.open_store(path) as opened:
        tables = [opened.scores(protocol=entry.scoring_hash) for entry in opened.protocols()]
        return {(s.algorithm, s.metric, s.region): s.value for table in tables for s in table if s.scene == "One"}


def test_what_a_stored_score_depends_on_is_in_its_key(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three pixel sets, two search ranges, two matchers and two temperatures do not overwrite each other."""
    words = ("confidence", f"middlebury-v3:{folder.parent}", "--scenes", "One", "--store", tmp_path / "s.db")
    calls = (
        (),
        ("--domain", "nonocc"),
        ("--domain", "all"),
        ("--ndisp", 20),
        ("--matcher", "sgm:p1=10"),
        ("--matcher", "sgm:p1=20"),
        ("--temperature", 8),
        ("--literal",),
    )
    for more in calls:
        assert run(*words, "--measures", "entropy", "--threshold", 1, *more) == 0
    found = stored(tmp_path / "s.db")
    keys = {(name, region) for name, metric, region in found if metric == "ause@1"}
    assert keys == {
        ("sgm/entropy", "haeusler-klette"),
        ("sgm/entropy", "nonocc"),
        ("sgm/entropy", "all"),
        ("sgm:ndisp=20/entropy", "haeusler-klette"),
        ("sgm:p1=10/entropy", "haeusler-klette"),
        ("sgm/entropy@8", "haeusler-klette"),
        ("sgm as printed/entropy", "haeusler-klette"),
    }


def test_the_origin_of_maps_from_files_is_in_their_key(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place, shift in (("a", 0), ("b", 9)):
        estimate = np.full((50, 120), SHIFT, np.float32)
        estimate[:, :30] += shift
        (tmp_path / place).mkdir()
        sg.write_disparity(tmp_path / place / "est.pfm", estimate)
        sg.write_disparity(tmp_path / place / "conf.pfm", np.linspace(0, 1, 6000).reshape(50, 120))
        words = ("--disparity", tmp_path / place / "est.pfm", "--map", f"net={tmp_path / place / 'conf.pfm'}:lower")
        dataset = ("confidence", f"middlebury-v3:{folder.parent}", "--scenes", "One", "--store", tmp_path / "s.db")
        assert run(*dataset, *words) == 0
    found = {name: value for (name, metric, _), value in stored(tmp_path / "s.db").items() if "auc" in metric}
    assert len(found) == 2
    assert all(name.startswith("est/net ") for name in found)
    assert sorted(value > 0 for value in found.values()) == [False, True]


def test_ground_truth_and_estimate_may_have_different_encodings(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = np.full((50, 120), 5, np.float32)
    sg.write_disparity(tmp_path / "gt.png", truth, encoding="middlebury", scale=16)
    sg.write_disparity(tmp_path / "est.png", truth, encoding="middlebury", scale=4)
    sg.write_disparity(tmp_path / "conf.pfm", truth)
    words = ("--gt", tmp_path / "gt.png", "--disparity", tmp_path / "est.png", "--map", f"m={tmp_path}/conf.pfm:lower")
    assert run("confidence", *words, "--scale", 4, "--gt-scale", 16, "--domain", "all", "--format", "json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["bad"], row["pixels"]) == (0, 6000)


def test_out_writes_maps_that_evaluate_reads_with_their_direction(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--scenes", "One", "--measures", "entropy,product", "--domain", "nonocc", "--threshold", 1)
    dataset = f"middlebury-v3:{folder.parent}"
    assert (
        run("confidence", dataset, *words, "--errors", "mae,rms,d1", "--out", tmp_path / "o", "--format", "json") == 0
    )
    rows = {row["measure"]: row for row in json.loads(capsys.readouterr().out)}
    assert {"mae_ause", "rms_aurg", "d1_ause"} <= set(rows["product"])
    assert (tmp_path / "o" / "sparsification-mae.png").exists()
    results = tmp_path / "o" / "results"
    own = sg.read_disparity(results / "sgm" / "confidence" / "product" / "One.pfm")
    assert own.min() < 0 < own.std()  # logarithms: the numbers themselves, not a picture of them
    call = ("--jobs", 1, "--metrics", "ause@1,ause-mae", "--regions", "nonocc", "--store", tmp_path / "s.db")
    assert run("evaluate", dataset, results, "--scenes", "One", *call) == 0
    found = stored(tmp_path / "s.db")
    for measure in ("entropy", "product"):
        assert found[f"sgm/{measure}", "ause@1", "nonocc"] == pytest.approx(rows[measure]["ause"])
        assert found[f"sgm/{measure}", "ause-mae", "nonocc"] == pytest.approx(rows[measure]["mae_ause"])


def test_a_map_of_deviations_is_judged_by_its_calibration(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    sigma = rng.uniform(0.5, 3, (50, 120)).astype(np.float32)
    sg.write_disparity(tmp_path / "est.pfm", SHIFT + rng.normal(0, sigma))
    sg.write_disparity(tmp_path / "sigma.pfm", sigma)
    cv2.imwrite(str(tmp_path / "p.png"), np.full((50, 120), 60000, np.uint16))
    maps = ("--map", f"s={tmp_path}/sigma.pfm:sigma", "--map", f"p={tmp_path}/p.png:probability/65535")
    words = ("confidence", f"middlebury-v3:{folder.parent}", "--scenes", "One", "--disparity", tmp_path / "est.pfm")
    assert run(*words, *maps, "--format", "json", "--out", tmp_path / "o") == 0
    rows = {row["measure"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["s"]["ece_gaussian"] < 0.02 < rows["s"]["ece_laplace"]
    assert rows["s"]["coverage_95_gaussian"] == pytest.approx(0.95, abs=0.02)
    assert rows["p"]["ece"] == pytest.approx(abs(60000 / 65535 - rows["p"]["good_share"]), abs=1e-6)
    assert {"reliability.png", "reliability.csv"} <= {path.name for path in (tmp_path / "o").iterdir()}


def test_captions_name_what_the_curves_depend_on(folder: Path) -> None:
    data = load_dataset("middlebury-v3", folder.parent)
    judged = of_matcher(ConfidenceChoices("sgm:p1=10", 16, ("entropy",), 1.0, temperature=8), None, with_features=False)
    facts = judged.facts([judged.run(scene) for scene in data])
    for part in ("p1 = 10", "p2 = 100", "window = 7x7", "ndisp = 16", "ς = 100", "T = 8", "pixels: haeusler-klette"):
        assert part in facts
