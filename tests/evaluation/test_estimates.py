"""What `sg.evaluate` takes: whatever a notebook has at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge import StereogaugeError
from stereogauge.matching.result import MatcherOutput

TRUTH = np.full((20, 30), 5, np.float32)


def test_a_pair_of_map_and_truth_needs_no_scene(tmp_path: Path) -> None:
    sg.write_disparity(tmp_path / "gt.pfm", TRUTH)
    for truth in (TRUTH, tmp_path / "gt.pfm", str(tmp_path / "gt.pfm")):
        assert sg.evaluate((TRUTH + 2, truth), metrics="mae", regions="all").value("mae") == 2


def test_a_match_result_brings_its_name_right_map_and_run_time() -> None:
    left = np.random.default_rng(0).integers(0, 255, (40, 60), np.uint8)
    result = sg.match(left, np.roll(left, -5, 1), "sgm", ndisp=16)
    scene = sg.Scene("shift", gt=np.full(left.shape, 5, np.float32))
    for given in (result, [result], {"sgm": result}, {"sgm": {"shift": result}}):
        table = sg.evaluate(given, scene, ["bad@1", "seconds", "lr-consistency@1"], ["all"])
        assert table.algorithms == ("sgm",)
        assert table.value("seconds") == result.seconds
        assert np.isfinite(table.value("lr-consistency@1"))
    assert sg.evaluate((result, scene.gt), metrics="seconds").value("seconds") == result.seconds


def test_the_confidence_of_a_matcher_is_evaluated_too() -> None:
    image = np.zeros(TRUTH.shape, np.uint8)
    error = np.tile(np.arange(TRUTH.shape[1], dtype=np.float32) / 10, (TRUTH.shape[0], 1))

    def sure_where_right(left: np.ndarray, right: np.ndarray, ndisp: int) -> MatcherOutput:
        return MatcherOutput(disparity=TRUTH + error, confidence=error, confidence_better="lower")

    result = sg.match(image, image, sure_where_right, ndisp=16)
    table = sg.evaluate((result, TRUTH), metrics=["ause@1"], regions=["all"])
    assert table.value("ause@1") == pytest.approx(0, abs=1e-6)


def test_paths_in_a_list_are_algorithms_named_after_their_files(tmp_path: Path) -> None:
    paths = []
    for name, error in (("near", 1), ("far", 3)):
        paths.append(tmp_path / name / "teddy.pfm")
        paths[-1].parent.mkdir()
        sg.write_disparity(paths[-1], TRUTH + error)
    table = sg.evaluate(paths, sg.Scene("teddy", gt=TRUTH), "mae", "all")
    assert {name: table.value("mae", algorithm=name) for name in table.algorithms} == {
        "near/teddy": 1,
        "far/teddy": 3,
    }


@pytest.mark.parametrize("scenes", [None, 3, [TRUTH], TRUTH, "gt.pfm"])
def test_what_cannot_be_evaluated_is_one_sentence(scenes: object) -> None:
    with pytest.raises(StereogaugeError, match=r"Estimates (alone have no truth|are compared with)"):
        sg.evaluate(TRUTH, scenes)  # type: ignore[arg-type]
