"""PSNR and its peak; SSIM is compared with scikit-image elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stereogauge as sg

TRUTH = np.tile(np.linspace(1, 30, 24, dtype=np.float32), (20, 1))


def test_psnr_uses_the_disparity_range() -> None:
    scene = sg.Scene("s", gt=TRUTH, calibration=sg.Calibration(ndisp=64))
    assert sg.evaluate(TRUTH + 2, scene, ["psnr"], ["all"]).value("psnr") == pytest.approx(10 * math.log10(64**2 / 4))


def test_the_protocol_may_give_the_peak() -> None:
    protocol = sg.load_protocol().replace(peak=255)
    value = sg.evaluate(TRUTH + 2, sg.Scene("s", gt=TRUTH), ["psnr"], ["all"], protocol=protocol).value("psnr")
    assert value == pytest.approx(10 * math.log10(255**2 / 4))


@pytest.mark.parametrize("metric", ["psnr", "ssim", "r-ssim"])
def test_without_a_range_it_says_what_is_missing(metric: str) -> None:
    score = sg.evaluate(TRUTH + 1, sg.Scene("s", gt=TRUTH), [metric], ["all"]).score(metric)
    assert math.isnan(score.value)
    assert "set the protocol's peak" in score.note


def test_a_map_with_nothing_in_common_has_no_similarity() -> None:
    scene = sg.Scene("s", gt=TRUTH, calibration=sg.Calibration(ndisp=64))
    score = sg.evaluate(np.full_like(TRUTH, np.nan), scene, ["ssim", "r-ssim", "psnr"], ["all"])
    assert all(math.isnan(s.value) and s.count == 0 and s.note for s in score)


def test_pictures_of_similarity_show_where_structure_differs() -> None:
    scene = sg.Scene("s", gt=TRUTH, calibration=sg.Calibration(ndisp=64))
    estimate = TRUTH.copy()
    estimate[8:12, 10:14] += 20
    picture = sg.picture(estimate, scene, "r-ssim")
    assert picture.values[10, 12] > 0.2
    assert abs(picture.values[4, 4]) < 1e-6
