"""`stereogauge store delete`: algorithms, scenes and columns."""

from __future__ import annotations

from pathlib import Path

import pytest

import stereogauge as sg
from stereogauge.cli import main


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(map(str, words)))
    return int(stopped.value.code or 0)


def test_scenes_and_columns_are_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = sg.load_dataset("synthetic:planes", size=(48, 64), scenes=2)
    for name in ("good", "poor"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        for scene in data:
            sg.write_disparity(tmp_path / "runs" / name / f"{scene.id}.pfm", scene.gt + (name == "poor"))
    (tmp_path / "truth").mkdir()
    for scene in data:
        sg.write_disparity(tmp_path / "truth" / f"{scene.id}.pfm", scene.gt)
    store = tmp_path / "s.sqlite"
    words = ["-m", "mae,bad@1", "-r", "all", "--jobs", "1", "--store", store]
    assert run("evaluate", tmp_path / "truth", tmp_path / "runs", *words) == 0
    assert run("store", "delete", store, "--scenes", "planes-1", "--columns", "bad@1") == 0
    with sg.open_store(store, read_only=True) as opened:
        cube = opened.cube()
        assert opened.check() == []
    assert cube.scenes == ("planes-0",)
    assert [str(column) for column in cube.columns] == ["mae:all"]
    assert cube.algorithms == ("good", "poor")
    assert run("store", "delete", store, "--scenes", "planes-7") == 2
    assert run("store", "delete", store, "--columns", "rms") == 2
    assert run("store", "delete", store) == 2
    assert run("evaluate", tmp_path / "truth", tmp_path / "runs", *words) == 0  # what was removed is computed again
    with sg.open_store(store, read_only=True) as opened:
        assert opened.counts()["scores"] == 8
