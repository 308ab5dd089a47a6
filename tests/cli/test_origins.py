"""Results under the name of a stored algorithm, and files that changed without looking so."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.datasets.results.find import find_results
from stereogauge.errors import DatasetError, StoreError

MANIFEST = 'name = "two"\n[paths]\nground_truth = "{scene}/disp.pfm"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    truth = np.tile(np.linspace(4, 8, 30, dtype=np.float32), (20, 1))
    (tmp_path / "data" / "one").mkdir(parents=True)
    sg.write_disparity(tmp_path / "data" / "one" / "disp.pfm", truth)
    (tmp_path / "data" / "stereogauge.toml").write_text(MANIFEST)
    for place, error in (("first", 1.0), ("second", 2.0)):
        (tmp_path / place / "Mine").mkdir(parents=True)
        sg.write_disparity(tmp_path / place / "Mine" / "one.pfm", truth + np.float32(error))
    return tmp_path


def evaluate(folder: Path, results: str, *more: str) -> int:
    store = str(folder / "scores.sqlite")
    words = ["evaluate", f"folder:{folder / 'data'}", str(folder / results), "--store", store, "--jobs", "1"]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--metrics", "mae", "--regions", "all", *more])
    return int(ended.value.code or 0)


def mae(folder: Path) -> float:
    with sg.open_store(folder / "scores.sqlite", read_only=True) as store:
        return round(float(store.cube().values[0, 0, 0]), 3)


def test_results_of_another_folder_replace_nothing_unasked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate(folder, "first") == 0
    assert evaluate(folder, "second") == 2
    assert "--replace" in capsys.readouterr().err
    assert mae(folder) == 1.0
    assert evaluate(folder, "second", "--replace") == 0
    assert mae(folder) == 2.0
    shutil.move(folder / "second", folder / "moved")
    assert evaluate(folder, "moved") == 0  # the same content elsewhere is the same


def test_a_file_that_changed_at_equal_size_and_time_is_read_again(folder: Path) -> None:
    path = folder / "first" / "Mine" / "one.pfm"
    os.utime(path, ns=(10**18, 10**18))
    assert evaluate(folder, "first") == 0
    data = (folder / "second" / "Mine" / "one.pfm").read_bytes()
    path.write_bytes(data)
    os.utime(path, ns=(10**18, 10**18))
    assert evaluate(folder, "first") == 0
    assert mae(folder) == 2.0
    assert evaluate(folder, "first", "--rehash") == 0


def test_deep_nesting_is_one_sentence(tmp_path: Path) -> None:
    deep = "a = " + "[" * 20_000 + "]" * 20_000
    (tmp_path / "results.toml").write_text(deep)
    (tmp_path / "protocol.toml").write_text(deep)
    with pytest.raises(DatasetError):
        find_results(tmp_path, sg.Dataset("none", [sg.Scene("one")]))
    with pytest.raises(sg.StereogaugeError):
        sg.load_protocol(str(tmp_path / "protocol.toml"))


def test_a_text_with_a_nul_is_refused_by_every_store(tmp_path: Path) -> None:
    with sg.open_store(tmp_path / "scores.sqlite") as store:
        scene = sg.Scene("one", gt=np.ones((3, 3)))
        described = sg.ResultSet("mine", {"one": np.ones((3, 3))}, description="a\0b")
        with pytest.raises(StoreError, match="NUL"):
            store.register(sg.Dataset("d", [scene]), {}, [described], sg.load_protocol("default"))
