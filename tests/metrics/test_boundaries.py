"""F1 of depth boundaries, against a plain reading of Depth Pro's definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg


def plain(estimate: np.ndarray, truth: np.ndarray) -> float:
    """Ratio by ratio, direction by direction."""
    total, weights = 0.0, 0.0
    for ratio in np.linspace(1.05, 1.25, 10):
        recalls, precisions = [], []
        for first, second in (
            (np.s_[:, 1:], np.s_[:, :-1]),
            (np.s_[:, :-1], np.s_[:, 1:]),
            (np.s_[1:], np.s_[:-1]),
            (np.s_[:-1], np.s_[1:]),
        ):
            found = estimate[first] / estimate[second] > ratio
            true = truth[first] / truth[second] > ratio
            recalls.append((found & true).sum() / max(true.sum(), 1))
            precisions.append((found & true).sum() / max(found.sum(), 1))
        recall, precision = np.mean(recalls), np.mean(precisions)
        total += ratio * (2 * recall * precision / (recall + precision) if recall + precision else 0.0)
        weights += ratio
    return total / weights


def test_a_perfect_map_finds_every_boundary() -> None:
    truth = np.full((20, 30), 10.0)
    truth[5:15, 10:20] = 20.0
    scene = sg.Scene("box", gt=truth)
    assert sg.evaluate(truth, scene, ["boundary-f1"], ["all"]).value("boundary-f1") == pytest.approx(1.0)
    shifted = np.roll(truth, 1, axis=1)
    assert 0.2 < sg.evaluate(shifted, scene, ["boundary-f1"], ["all"]).value("boundary-f1") < 0.6
    flat = sg.evaluate(np.full_like(truth, 10.0), scene, ["boundary-f1"], ["all"])
    assert flat.value("boundary-f1") == 0.0


def test_where_nothing_is_a_boundary_there_is_no_score() -> None:
    scene = sg.Scene("wall", gt=np.full((8, 8), 9.0))
    table = sg.evaluate(np.full((8, 8), 9.0), scene, ["boundary-f1"], ["all"])
    assert np.isnan(table.value("boundary-f1"))
    assert "no depth boundary" in table.score("boundary-f1").note


def test_real_maps_score_as_the_definition_says(data_root: Path) -> None:
    data = sg.load_dataset("middlebury-v2", data_root / "middlebury-v2")
    path = data_root / "middlebury-v2/results/S01/teddy.png"
    estimate = sg.read_disparity(path, encoding="middlebury", scale=4)
    ours = sg.evaluate(estimate, data["teddy"], ["boundary-f1"], ["all"], protocol="default").value("boundary-f1")
    inside = np.isfinite(data["teddy"].gt) & data["teddy"].mask("all")
    truth = np.where(inside, data["teddy"].gt, np.nan).astype(float)
    with np.errstate(all="ignore"):
        assert ours == pytest.approx(plain(np.where(inside & (estimate > 0), estimate, np.nan).astype(float), truth))
