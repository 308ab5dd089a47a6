"""Damaged files that once ended the process that read them: each is one sentence now."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.io.malformed import exr_file, hdf5_file

from stereogauge import read_disparity, write_disparity
from stereogauge.cli import main
from stereogauge.errors import FileError
from stereogauge.io import isolated

CRASHES = sorted((Path(__file__).parent / "crashes").iterdir())


@pytest.mark.parametrize("path", CRASHES, ids=lambda path: path.name)
def test_a_file_that_crashes_its_library_is_an_error_of_one_sentence(path: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="truncated or damaged") as refused:
        read_disparity(path)
    assert "\n" not in str(refused.value)
    good = tmp_path / "good.dsp5"
    good.write_bytes(hdf5_file())
    assert np.isfinite(read_disparity(good)).any()


@pytest.mark.parametrize("command", ["compare", "validate", "evaluate"])
def test_commands_outlive_a_file_that_crashes_its_library(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = tmp_path / "data" / "alpha" / "disp.pfm"
    truth.parent.mkdir(parents=True)
    write_disparity(truth, np.linspace(1, 9, 40 * 56, dtype=np.float32).reshape(40, 56))
    (tmp_path / "data" / "stereogauge.toml").write_text('name = "one"\n[paths]\nground_truth = "{scene}/disp.pfm"\n')
    results = tmp_path / "results"
    results.mkdir()
    (results / "alpha.dsp5").write_bytes(CRASHES[0].read_bytes())
    words = {
        "compare": ["compare", str(results / "alpha.dsp5"), str(truth)],
        "validate": ["validate", str(results), "--dataset", f"folder:{tmp_path / 'data'}"],
        "evaluate": ["evaluate", f"folder:{tmp_path / 'data'}", str(results), "--store", str(tmp_path / "s.sqlite")],
    }[command]
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code in (1, 2)
    said = " ".join("".join(capsys.readouterr()).split())
    assert "damaged" in said
    assert "Traceback" not in said


def test_many_files_share_one_process_which_a_damaged_one_costs(tmp_path: Path) -> None:
    paths = []
    for place in range(4):
        paths += [tmp_path / f"{place}.dsp5", tmp_path / f"{place}.exr"]
        paths[-2].write_bytes(hdf5_file())
        paths[-1].write_bytes(exr_file())
    read_disparity(paths[0])
    first = isolated._DECODER._process
    assert first is not None
    for path in paths:
        read_disparity(path)
    assert isolated._DECODER._process is first
    with pytest.raises(FileError):
        read_disparity(CRASHES[0])
    assert first.poll() is not None
    read_disparity(paths[0])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot stop a process for a while")
def test_a_library_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "good.dsp5"
    path.write_bytes(hdf5_file())
    read_disparity(path)
    process = isolated._DECODER._process
    assert process is not None
    monkeypatch.setattr(isolated, "TIME_LIMIT", 0.3)
    os.kill(process.pid, signal.SIGSTOP)
    start = time.monotonic()
    with pytest.raises(FileError, match="could not decode"):
        read_disparity(path)
    assert time.monotonic() - start < 5
    monkeypatch.undo()
    read_disparity(path)
