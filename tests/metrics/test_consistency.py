"""Left–right consistency of two maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge import ResultSet, Scene, load_protocol
from stereogauge.datasets.synthetic import load_synthetic
from stereogauge.errors import SizeError
from stereogauge.io import DisparityFile
from stereogauge.metrics.self_consistency import left_right_difference
from stereogauge.scores.score import Score

NAN = np.nan


def score(left: np.ndarray, right: np.ndarray | None, metric: str = "lr-consistency@1", **protocol: str) -> Score:
    scene = Scene("hand", left=np.zeros((*left.shape, 3), np.uint8))
    right_maps = {} if right is None else {"hand": right}
    result = ResultSet("a", {"hand": left}, right_maps=right_maps)
    return sg.evaluate(result, scene, [metric], ["all"], load_protocol(None).replace(**protocol)).score(metric)


def test_a_hand_worked_row() -> None:
    """x = 0 leaves the image; 1 → 0 agrees (1, 1); 2 → 1 differs by 2; 3 → 1 differs by 1 (allowed); 4 has no
    estimate.
    """
    left = np.array([[1, 1, 1, 2, NAN]], np.float32)
    right = np.array([[1, 3, 0, 0, 0]], np.float32)
    difference = left_right_difference(left, right)
    assert np.array_equal(difference, np.array([[NAN, 0, 2, 1, NAN]], np.float32), equal_nan=True)
    counted = score(left, right)
    assert (counted.value, counted.count, counted.missing) == (60.0, 5, 1)
    excluded = score(left, right, invalid="exclude")
    assert (excluded.value, excluded.count, excluded.missing) == (pytest.approx(100 / 3), 3, 1)


def test_the_two_true_maps_agree_on_visible_pixels_and_only_occlusions_disagree() -> None:
    scene = load_synthetic("mixed", size=(160, 224))["mixed-0"]
    result = ResultSet("truth", {scene.id: scene.gt}, right_maps={scene.id: scene.gt_right})
    table = sg.evaluate(result, scene, ["lr-consistency@1"], ["all", "nonocc"])
    assert table.value("lr-consistency@1", "nonocc") == 0.0
    occluded = 100 * (1 - scene.mask("nonocc").mean())
    assert table.value("lr-consistency@1", "all") == pytest.approx(occluded)


def test_without_a_right_map_there_is_a_reason_and_no_number() -> None:
    found = score(np.ones((3, 4), np.float32), None)
    assert np.isnan(found.value)
    assert "right view" in found.note


def test_maps_of_two_sizes_are_refused() -> None:
    with pytest.raises(SizeError, match="5×2, the right one 4×2"):
        left_right_difference(np.ones((2, 5), np.float32), np.ones((2, 4), np.float32))


@pytest.mark.parametrize("frame", ["000002_10", "000006_10"])
def test_the_stages_of_a_real_pipeline_become_more_consistent_as_they_become_better(
    data_root: Path, frame: str
) -> None:
    """Matching network, aggregation, semi-global matching, aggregation again: no stage may fall behind the one
    before.
    """
    root = data_root / "kitti2015"
    scene = Scene(frame, gt=DisparityFile(root / "training" / "disp_occ_0" / f"{frame}.png", "kitti"))
    scores = []
    for stage in ("1-wta", "2-costagg", "3-sgm", "4-costagg2"):
        folder = root / "results" / "LuoNet-8bit" / stage
        left, right = (DisparityFile(folder / side / f"{frame}.png", "middlebury", 1.0) for side in ("left", "right"))
        result = ResultSet(stage, {frame: left}, right_maps={frame: right})
        table = sg.evaluate(result, scene, ["lr-consistency@1", "bad@3"], ["all"])
        scores.append((table.value("lr-consistency@1"), table.value("bad@3")))
    consistency, bad = zip(*scores, strict=True)
    assert list(consistency) == sorted(consistency, reverse=True)
    assert list(bad) == sorted(bad, reverse=True)
