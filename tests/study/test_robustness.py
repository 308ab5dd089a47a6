"""Robustness to lighting, hand-worked and on real maps."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.errors import SizeError
from stereogauge.io import DisparityFile
from stereogauge.study.robustness import robustness, robustness_over_time, robustness_table

NAN = np.nan


def test_a_hand_worked_pair() -> None:
    """Of six pixels: one unchanged, one off by 1 (allowed), one by 3, one lost, one gained, one empty in both."""
    first = np.array([[5, 5, 5, 5, NAN, NAN]], np.float32)
    second = np.array([[5, 6, 8, NAN, 5, NAN]], np.float32)
    found = robustness(first, second)
    assert found.changed == pytest.approx(100 / 3)
    assert found.mean == pytest.approx(4 / 3)
    assert found.median == 1.0
    assert (found.lost, found.gained) == (pytest.approx(100 / 6), pytest.approx(100 / 6))
    assert found.count == 3


def test_a_map_is_perfectly_robust_against_itself() -> None:
    disparity = np.random.default_rng(0).uniform(0, 60, (10, 12)).astype(np.float32)
    found = robustness(disparity, disparity)
    assert (found.changed, found.mean, found.lost, found.gained) == (0.0, 0.0, 0.0, 0.0)


def test_only_the_mask_counts() -> None:
    first, second = np.zeros((2, 2), np.float32), np.array([[0, 9], [0, 9]], np.float32)
    left = np.array([[True, False], [True, False]])
    assert robustness(first, second, mask=left).changed == 0.0
    assert robustness(first, second, mask=~left).changed == 100.0


def test_nothing_in_common_gives_nan_never_zero() -> None:
    empty = np.full((2, 2), NAN, np.float32)
    found = robustness(np.ones((2, 2), np.float32), empty)
    assert math.isnan(found.changed)
    assert math.isnan(found.mean)
    assert (found.lost, found.count) == (100.0, 0)


def test_a_sequence_is_compared_step_by_step() -> None:
    maps = [np.full((2, 2), value, np.float32) for value in (1, 1, 4)]
    assert [step.changed for step in robustness_over_time(maps)] == [0.0, 100.0]


def test_maps_of_two_sizes_are_refused() -> None:
    with pytest.raises(SizeError, match="2×2, 3×2"):
        robustness(np.ones((2, 2), np.float32), np.ones((2, 3), np.float32))


def test_a_missing_scene_is_a_row_without_numbers() -> None:
    table = robustness_table([sg.ResultSet("a", {"Piano": np.ones((2, 2), np.float32)})])
    assert len(table) == 2
    assert table["changed"].isna().all()


def test_a_real_matcher_changes_more_under_another_lamp_than_under_another_exposure(data_root: Path) -> None:
    folder = data_root / "middlebury-2014" / "results" / "semidense-8bit"
    ndisp = {"Motorcycle": 80, "MotorcycleE": 80, "Piano": 80, "PianoL": 80}
    maps = {s: DisparityFile(folder / f"{s}.png", "middlebury", 255 / n) for s, n in ndisp.items()}
    table = robustness_table([sg.ResultSet("semidense", maps)], threshold=1.0).set_index("condition")
    assert table.loc["lighting", "changed"] > table.loc["exposure", "changed"] > 0
    assert table.loc["lighting", "lost"] > 5
