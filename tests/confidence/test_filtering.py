"""Filtering by confidence: which pixels stay, what fills the gaps, and what it gains."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge import StereogaugeError
from stereogauge.cli import main
from stereogauge.confidence_measures.filtering import gains, surest
from stereogauge.errors import NotApplicable, SizeError

DISPARITY = np.array([[4.0, 5.0, 9.0, 6.0], [4.0, np.nan, 5.0, 5.0]], np.float32)
DOUBT = np.array([[0.1, 0.2, 0.9, 0.3], [0.4, 0.0, 0.5, np.nan]])


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def test_a_density_keeps_that_share_of_all_pixels_unknown_ones_leave_first() -> None:
    for density, kept in ((0, 0), (0.5, 4), (0.75, 6), (1, 6)):
        found = sg.filter(DISPARITY, DOUBT, density=density)
        assert np.count_nonzero(np.isfinite(found)) == kept
    half = sg.filter(DISPARITY, DOUBT, density=0.5)
    np.testing.assert_array_equal(half, [[4, 5, np.nan, 6], [4, np.nan, np.nan, np.nan]])
    np.testing.assert_array_equal(half, sg.filter(DISPARITY, -DOUBT, density=0.5, higher_is_better=True))


def test_a_threshold_keeps_what_is_as_sure_as_it() -> None:
    np.testing.assert_array_equal(
        sg.filter(DISPARITY, DOUBT, threshold=0.3), [[4, 5, np.nan, 6], [np.nan, np.nan, np.nan, np.nan]]
    )
    assert np.isfinite(sg.filter(DISPARITY, -DOUBT, threshold=-0.3, higher_is_better=True)).sum() == 3


def test_equal_confidences_are_thinned_evenly_and_alike_in_every_call() -> None:
    keep = surest(np.zeros((100, 100)), 0.3)
    assert keep.sum() == 3000
    assert np.array_equal(keep, surest(np.zeros((100, 100)), 0.3))
    assert abs(keep[:50].sum() - keep[50:].sum()) < 200


def test_the_density_agrees_with_the_sparsification_curve() -> None:
    rng = np.random.default_rng(0)
    truth = np.full((60, 80), 10.0)
    estimate = truth + rng.exponential(2, truth.shape)
    doubt = np.abs(estimate - truth) + rng.normal(0, 2, truth.shape)
    curve = sg.sparsify(doubt, estimate, truth, threshold=3.0)
    rows = gains(estimate, doubt, truth, (0.9, 0.5))
    assert [row["bad"] for row in rows] == [curve.bad_pixels, curve.at(0.9), curve.at(0.5)]
    assert [row["density"] for row in rows] == pytest.approx([100, 90, 50])
    assert rows[1]["fewer_bad"] == curve.bad_pixels - curve.at(0.9)
    assert rows[1]["bad_or_missing"] == pytest.approx(100 * (curve.at(0.9) + 480) / 4800)


def test_rules_fill_what_was_removed() -> None:
    line = np.array([[2.0, 2.0, 8.0, 8.0, 9.0]] * 3, np.float32)
    doubt = np.zeros((3, 5))
    doubt[:, 2] = 1
    found = {fill: sg.filter(line, doubt, threshold=0.5, fill=fill)[1, 2] for fill in ("none", "row", "median")}  # type: ignore[arg-type]
    assert np.isnan(found["none"])
    assert found["row"] == 2
    assert 2 < found["median"] < 8
    assert sg.filter(line, doubt, threshold=0.5, fill="background")[1, 2] == 2
    classes = np.zeros((3, 5), np.uint8)
    classes[1, 2] = 1
    mixed = sg.filter(line, doubt, threshold=0.5, fill="classes", classes=classes)
    assert mixed[1, 2] == 2
    assert mixed[0, 2] > 2


def test_mistakes_are_one_sentence() -> None:
    with pytest.raises(StereogaugeError, match="either a density"):
        sg.filter(DISPARITY, DOUBT)
    with pytest.raises(StereogaugeError, match="between 0 and 1"):
        sg.filter(DISPARITY, DOUBT, density=90)
    with pytest.raises(SizeError, match="one size"):
        sg.filter(DISPARITY, np.zeros((3, 3)), density=0.9)
    with pytest.raises(StereogaugeError, match="fill rule"):
        sg.filter(DISPARITY, DOUBT, density=0.9, fill="nearest")  # type: ignore[arg-type]
    with pytest.raises(NotApplicable, match="lr_check"):
        sg.filter(DISPARITY, DOUBT, density=0.9, fill="classes")


def test_classes_of_the_left_right_check_are_part_of_the_result() -> None:
    rng = np.random.default_rng(1)
    left = rng.integers(0, 255, (40, 80)).astype(np.uint8)
    right = np.roll(left, -6, axis=1)
    right[10:20, 30:50] = rng.integers(0, 255, (10, 20))
    result = sg.match(left, right, ndisp=16, lr_check=1)
    assert result.classes is not None
    assert set(np.unique(result.classes)) <= {0, 1, 2}
    assert np.array_equal(np.isnan(result.disparity), result.classes != 0)
    assert sg.match(left, right, ndisp=16).classes is None


def test_match_writes_what_filter_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    left = cv2.GaussianBlur(rng.integers(0, 255, (60, 120), dtype=np.uint8), (0, 0), 0.8)
    right = np.roll(left, -6, axis=1)
    right[10:30, 40:80] = rng.integers(0, 255, (20, 40))
    cv2.imwrite(str(tmp_path / "l.png"), left)
    cv2.imwrite(str(tmp_path / "r.png"), right)
    sg.write_disparity(tmp_path / "gt.pfm", np.full((60, 120), 6, np.float32))
    words = ("--out", tmp_path / "d.pfm", "--confidence", tmp_path / "c", "--classes", tmp_path / "classes.png")
    measures = ("--by", "product,entropy@8")
    assert run("match", tmp_path / "l.png", tmp_path / "r.png", "--ndisp", 16, *words, *measures) == 0
    assert {path.name for path in (tmp_path / "c").iterdir()} == {"product.pfm", "entropy@8.pfm", "results.toml"}
    assert set(np.unique(cv2.imread(str(tmp_path / "classes.png"), cv2.IMREAD_UNCHANGED))) <= {0, 1, 2}
    capsys.readouterr()
    call = ("filter", tmp_path / "d.pfm", tmp_path / "c" / "product.pfm", "--density", 0.8, "--gt", tmp_path / "gt.pfm")
    more = ("--fill", "classes", "--classes", tmp_path / "classes.png", "--bad", 1, "--out", tmp_path / "f.pfm")
    assert run(*call, *more, "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["step"] for row in rows] == ["as given", "surest 80 %", "surest 80 %, then classes"]
    assert rows[1]["bad"] < rows[0]["bad"] / 2
    assert rows[2]["density"] == 100
    assert np.isfinite(sg.read_disparity(tmp_path / "f.pfm")).all()


def test_what_the_filter_command_misses_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sg.write_disparity(tmp_path / "d.pfm", np.ones((3, 4)))
    files = (tmp_path / "d.pfm", tmp_path / "d.pfm")
    assert run("filter", *files, "--density", 0.5, "--out", tmp_path / "o.pfm") == 2
    assert "lower or higher" in capsys.readouterr().err
    assert run("filter", files[0], f"{files[1]}:lower", "--out", tmp_path / "o.pfm") == 2
    assert "needs a cut" in capsys.readouterr().err
    assert run("filter", files[0], f"{files[1]}:lower", "--density", 0.5) == 2
    assert "--out FILE" in capsys.readouterr().err
    assert run("filter", files[0], f"{files[1]}:higher", "--threshold", 0.5, "--gt", files[0], "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)[1]["step"] == "confidence ≥ 0.5"
