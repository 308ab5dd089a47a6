"""Errors over time on films: stored metrics like any other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge import open_store, write_disparity
from stereogauge.evaluation.run import make_plan, run_plan


@pytest.fixture
def film(tmp_path: Path) -> sg.Dataset:
    """Three frames that come nearer by 1 px each, described by a manifest."""
    folder = tmp_path / "film"
    for number in range(3):
        truth = np.full((6, 8), 10.0 + number, np.float32)
        truth[0, 0] = np.nan
        (folder / "gt").mkdir(parents=True, exist_ok=True)
        write_disparity(folder / "gt" / f"{number:03}.pfm", truth)
    (folder / "stereogauge.toml").write_text(
        'name = "film"\n[paths]\nground_truth = "gt/{scene}.pfm"\n[scenes]\nfilm = true\n'
    )
    return sg.load_dataset("folder", folder)


def maps(offset: float = 0.0) -> dict[str, np.ndarray]:
    """Estimates that are off by the same 0.5 px, but by `offset` more in the second frame's left half."""
    found = {f"{number:03}": np.full((6, 8), 10.5 + number, np.float32) for number in range(3)}
    found["001"][:, :4] += offset
    return found


def test_the_same_error_in_all_frames_does_not_flicker(film: sg.Dataset) -> None:
    scores = sg.evaluate({"A": maps()}, film, ["tepe", "tepe-bad@1", "mae"], ["all"])
    assert scores.value("tepe", scene="000") == 0.0
    assert scores.aggregate("mae", "all") == 0.5
    assert np.isnan(scores.value("tepe", scene="002")), "the last frame has no next one"
    assert "needs a next frame" in scores.score("tepe", scene="002").note


def test_an_error_of_one_frame_flickers_before_and_after_it(film: sg.Dataset) -> None:
    scores = sg.evaluate({"A": maps(2.0)}, film, ["tepe", "tepe-bad@1", "tepe-bad@3"], ["all"])
    left = 4 * 6 - 1  # the corner has no ground truth
    assert scores.value("tepe", scene="000") == pytest.approx(2.0 * left / 47)
    assert scores.value("tepe-bad@1", scene="001") == pytest.approx(100 * left / 47)
    assert scores.aggregate("tepe-bad@3", "all") == 0.0
    assert scores.aggregate("tepe", "all") == pytest.approx(2.0 * left / 47), "the mean of the frames that have one"


def test_a_frame_without_a_map_leaves_its_neighbour_without_a_score(film: sg.Dataset) -> None:
    incomplete = {name: one for name, one in maps().items() if name != "001"}
    scores = sg.evaluate({"A": incomplete}, film, ["tepe"], ["all"])
    assert "algorithm's map of it" in scores.score("tepe", scene="000").note


def test_a_store_computes_it_again_when_the_next_map_changes(film: sg.Dataset, tmp_path: Path) -> None:
    protocol = sg.load_protocol().replace(metrics=["tepe", "mae"], regions=["all"])
    with open_store(f"sqlite:///{tmp_path / 'scores.db'}") as store:
        run_plan(make_plan(store, film, [sg.ResultSet("A", maps())], protocol), store)
        assert store.cube().select(metrics=["tepe"], scenes=["000"]).values.item() == 0.0
        run_plan(make_plan(store, film, [sg.ResultSet("A", maps(2.0))], protocol), store)
        assert store.cube().select(metrics=["tepe"], scenes=["000"]).values.item() > 0.9


def test_frames_follow_each_other_only_without_a_gap(tmp_path: Path) -> None:
    import cv2

    for number in (1, 2, 5):
        for kind in ("disparities", "final_left", "final_right"):
            path = tmp_path / "training" / kind / "alley" / f"frame_{number:04}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(path), np.full((4, 6, 3), 9, np.uint8))
    data = sg.load_dataset("sintel", tmp_path)
    assert [scene.next_id for scene in data] == ["alley-frame_0002", "", ""]
