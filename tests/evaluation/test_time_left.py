"""Bars and times left: what has ended tells how fast the machine is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.evaluation.progress import TimeLeft, usual_seconds
from stereogauge.scores.column import columns_of
from stereogauge.stages import DISCONTINUITIES, FINE_STRUCTURES, GEOMETRY, OCCLUSIONS, PLANES, READING


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def expecting(usual: dict[str, float], clock: Clock) -> TimeLeft:
    ahead = TimeLeft(clock)
    ahead.expect(usual)
    return ahead


def test_a_slow_machine_is_noticed_when_a_stage_has_ended() -> None:
    clock = Clock()
    ahead = expecting({"first": 10.0, "second": 30.0}, clock)
    assert (ahead.share, ahead.seconds, ahead.stage) == (0.0, 40.0, "")
    with ahead("first"):
        clock.now = 5.0
        assert (ahead.share, ahead.seconds, ahead.stage) == (5 / 40, 35.0, "first")
        clock.now = 24.0
        assert ahead.seconds == 30.0  # a stage that takes longer than usual leaves those after it
    # 24 s instead of 10: with a tenth of the whole taken for granted, (24 + 4) / (10 + 4) = 2 times the usual.
    assert ahead.seconds == 60.0
    with ahead("second"):
        clock.now = 54.0
        assert (ahead.share, ahead.seconds) == (54 / 84, 30.0)
    assert (ahead.share, ahead.seconds) == (1.0, 0.0)


def test_stages_inside_a_stage_end_with_it_though_they_were_not_needed() -> None:
    clock = Clock()
    ahead = expecting({"inner": 50.0, "outer": 10.0, "last": 40.0}, clock)
    with ahead("outer"):
        assert ahead.seconds == 100.0
        clock.now = 1.0
    assert ahead.seconds == pytest.approx(40 * (1 + 10) / (60 + 10))


def test_what_is_over_before_anything_is_expected_counts() -> None:
    clock = Clock()
    ahead = TimeLeft(clock)
    with ahead("reading"):
        clock.now = 2.0
        assert (ahead.share, ahead.seconds, ahead.stage) == (0.0, None, "reading")
    ahead.expect({"reading": 1.0, "measuring": 9.0})
    assert ahead.seconds == pytest.approx(9 * (2 + 1) / (1 + 1))


def test_a_stage_that_was_not_foreseen_leaves_the_rest_as_it_is() -> None:
    clock = Clock()
    ahead = expecting({"usual": 10.0}, clock)
    with ahead("surprise"):
        clock.now = 3.0
        assert (ahead.stage, ahead.seconds) == ("surprise", 10.0)


def test_an_evaluation_goes_through_the_stages_that_were_foreseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stereogauge.masks.geometry.sets.cache_folder", lambda name: tmp_path / name)
    begun: list[str] = []

    @contextlib.contextmanager
    def stage(name: str) -> Iterator[None]:
        begun.append(name)
        yield

    truth = np.full((60, 80), 8.0, np.float32)
    truth[20:40, 30:50] = 40.0
    scene = sg.Scene("box", gt=truth, resolution=1.0)
    for metrics, expected in (
        (["bad@1"], {OCCLUSIONS, "scores of a", "scores of b"}),
        (["d-fat"], {OCCLUSIONS, DISCONTINUITIES, FINE_STRUCTURES, PLANES, GEOMETRY, "scores of a", "scores of b"}),
    ):
        begun.clear()
        table = sg.evaluate({"a": truth, "b": truth + 1}, scene, metrics, ["nonocc"], stage=stage)
        assert set(begun) == {READING, *expected}
        usual = usual_seconds(columns_of(metrics, ["nonocc"]), ["a", "b"], truth.size)
        assert set(usual) == set(begun)
        assert table.to_pandas().equals(
            sg.evaluate({"a": truth, "b": truth + 1}, scene, metrics, ["nonocc"]).to_pandas()
        )
