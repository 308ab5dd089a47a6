"""Depth measures on hand-worked maps: f·B = 200 px·m, doffs = 10 px."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import stereogauge as sg

CALIBRATION = sg.Calibration(focal=1000, baseline=0.2, doffs=10)
# disparities 40, 90, 10 are depths 4, 2, 10; estimates 30, 90, 15 are 5, 2, 8
TRUTH, ESTIMATE = [[40, 90, 10]], [[30, 90, 15]]


def scored(wanted: list[str], truth: Any = TRUTH, estimate: Any = ESTIMATE, **options: Any) -> sg.ScoreTable:
    scene = sg.Scene("hand", gt=np.array(truth, np.float32), calibration=options.pop("calibration", CALIBRATION))
    return sg.evaluate(np.array(estimate, np.float32), scene, wanted, ["all"], **options)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("z-mae", (1 + 0 + 2) / 3),
        ("z-rms", math.sqrt((1 + 4) / 3)),
        ("z-abs-rel", (1 / 4 + 2 / 10) / 3),
        ("z-sq-rel", (1 / 4 + 4 / 10) / 3),
        ("z-log-rms", math.sqrt((math.log(5 / 4) ** 2 + math.log(0.8) ** 2) / 3)),
        ("z-delta@1.3", 1.0),
        ("z-delta@1.2", 1 / 3),
        ("sze-mean", 1.0),
    ],
)
def test_hand_worked_depths(metric: str, value: float) -> None:
    assert scored([metric]).value(metric) == pytest.approx(value, rel=1e-5)


def test_bad_depth_tolerates_half_a_pixel_however_far() -> None:
    # At d = 10 half a pixel is 200/19.5 − 10 = 0.256 m of depth.
    result = scored(["bad-z@0.1"], [[10, 10, 10, 10]], [[9.5, 9.4, 10.5, np.nan]])
    assert result.value("bad-z@0.1") == 50  # 0.6 px off, and the missing one
    assert scored(["bad-z@1.5"]).value("bad-z@1.5") == pytest.approx(100 / 3)


def test_bad_depth_is_as_bad_too_near_as_too_far() -> None:
    # Z = 200/(d + 10): 10 px is 10 m, 14 px 8.3 m, 13 px 8.7 m; 2.5 px is 16 m, 60 px 2.9 m.
    near = scored(["bad-z@1,3"], [[10, 10, 2.5, 10]], [[14, 13, 60, 10]])
    assert near.value("bad-z@1,3") == 50  # off by 4 px and by 57.5 px; 3 px are within the limit


def test_a_point_behind_the_cameras_is_bad_and_has_no_depth_error() -> None:
    result = scored(["bad-z@1", "z-mae"], [[10, 10]], [[-20, 10]])
    assert result.value("bad-z@1") == 50
    assert result.score("z-mae").count == 1


def test_an_estimate_within_the_limit_is_good_even_at_infinity() -> None:
    # Z = 200/(d + 10): −8 px is 100 m, −10 px at infinity, −10.5 px behind the cameras.
    truth, estimate = [[-8, -8, 10]], [[-10, -10.5, 10]]
    assert scored(["bad-z@1,3"], truth, estimate).value("bad-z@1,3") == 0
    assert scored(["bad-z@1,1"], truth, estimate).value("bad-z@1,1") == pytest.approx(200 / 3)


def test_missing_estimates_in_bad_depth_follow_the_policy() -> None:
    exclude = sg.load_protocol().replace(invalid="exclude")
    assert scored(["bad-z@1"], [[10, 10]], [[np.nan, 10]], protocol=exclude).value("bad-z@1") == 0
    assert scored(["bad-z@1"], [[10, 10]], [[np.nan, 10]]).value("bad-z@1") == 50


def test_depth_without_calibration_is_a_gap_with_a_reason() -> None:
    score = scored(["z-mae"], calibration=sg.Calibration()).score("z-mae")
    assert math.isnan(score.value)
    assert "needs a calibration" in score.note


def test_calibration_scales_with_the_image() -> None:
    half = sg.Calibration(focal=1000, baseline=0.2, doffs=10, ndisp=65).scaled(0.5)
    assert (half.focal, half.baseline, half.doffs, half.ndisp) == (500, 0.2, 5, 33)
    disparity = np.array([[40.0]])
    assert half.depth(disparity / 2) == pytest.approx(CALIBRATION.depth(disparity))


def test_pictures_of_depth() -> None:
    scene = sg.Scene("hand", gt=np.array(TRUTH, np.float32), calibration=CALIBRATION)
    estimate = np.array(ESTIMATE, np.float32)
    assert sg.picture(estimate, scene, "z-mae").values[0].tolist() == pytest.approx([1, 0, -2])
    assert sg.picture(estimate, scene, "bad-z@1.5").values[0].tolist() == [0, 0, 1]
