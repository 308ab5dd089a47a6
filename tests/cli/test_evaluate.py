"""`stereogauge evaluate` and `stereogauge store` as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset in KITTI's layout with two frames, and two algorithms."""
    truth = np.full((20, 30), 5, np.float32)
    for frame in ("000000_10", "000001_10"):
        for part in ("disp_occ_0", "disp_noc_0"):
            path = tmp_path / "kitti" / "training" / part / f"{frame}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            sg.write_disparity(path, truth, encoding="kitti")
        for name, error in (("good", 0.5), ("bad", 8.0)):
            path = tmp_path / "results" / name / f"{frame}.pfm"
            path.parent.mkdir(parents=True, exist_ok=True)
            sg.write_disparity(path, truth + error)
    return tmp_path


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def evaluate(folder: Path, *words: object) -> int:
    store = ("--store", folder / "s.sqlite", "--jobs", 1)
    return run("evaluate", f"kitti-2015:{folder / 'kitti'}", folder / "results", *store, *words)


def test_results_go_into_the_store(folder, capsys):
    assert evaluate(folder, "--metrics", "bad@3,mae", "--regions", "all") == 0
    told = capsys.readouterr()
    assert [line.split()[0] for line in told.out.splitlines() if line.split()[0] in ("good", "bad")] == ["bad", "good"]
    assert "Mean of 2 scenes." in told.out
    assert "4 cells computed" in told.err
    with sg.open_store(folder / "s.sqlite", read_only=True) as store:
        assert store.scores().value("bad@3", "all", algorithm="bad", scene="000000_10") == 100.0
        assert store.scores().value("mae", "all", algorithm="good", scene="000001_10") == 0.5
    assert evaluate(folder, "--metrics", "bad@3,mae", "--regions", "all") == 0
    assert "nothing to compute: 4 cells are stored" in capsys.readouterr().err


def test_a_dry_run_prints_the_plan_and_computes_nothing(folder, capsys):
    assert evaluate(folder, "--metrics", "mae", "--regions", "all", "--dry-run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "4 cells (4 scores) to compute, 0 stored, 0 without a map"
    assert lines[1] == "000000_10: bad, good: mae:all"
    with sg.open_store(folder / "s.sqlite", read_only=True) as store:
        assert store.counts()["cells"] == 0


def test_a_failed_cell_is_told_and_ends_with_code_1(folder, capsys):
    sg.write_disparity(folder / "results" / "bad" / "000000_10.pfm", np.ones((3, 3), np.float32))
    assert evaluate(folder, "--metrics", "mae", "--regions", "all") == 1
    told = capsys.readouterr().err
    assert "3 cells computed" in told
    assert "failed: bad on 000000_10: Scene '000000_10': The map has 3 × 3 pixels" in told


def test_the_scenes_that_a_protocol_names(folder):
    assert evaluate(folder, "-m", "mae", "-r", "all", "--set", 'scenes=["000001_10"]') == 0
    with sg.open_store(folder / "s.sqlite", read_only=True) as store:
        assert store.cube().scenes == ("000001_10",)


def test_only_some_scenes_and_choices_of_the_protocol(folder):
    assert evaluate(folder, "--scenes", "000001_10", "-m", "mae", "-r", "all", "--set", "invalid=exclude") == 0
    with sg.open_store(folder / "s.sqlite", read_only=True) as store:
        assert store.cube().scenes == ("000001_10",)
        assert store.protocol(store.protocols()[0].hash).invalid == "exclude"


def test_results_without_maps_of_this_dataset_are_an_error(folder, capsys):
    (folder / "empty").mkdir()
    assert run("evaluate", f"kitti-2015:{folder / 'kitti'}", folder / "empty", "--store", folder / "s.sqlite") == 2
    assert "holds no maps for the scenes" in capsys.readouterr().err
    assert run("evaluate", f"kitti-2015:{folder / 'kitti'}", "--store", folder / "s.sqlite") == 2
    assert "Nothing to evaluate" in capsys.readouterr().err


def test_encodings_come_from_options_and_from_a_manifest_that_lies_elsewhere(folder):
    for name, scale in (("eight", 8), ("four", 4)):
        for frame in ("000000_10", "000001_10"):
            path = folder / "packed" / name / f"{frame}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            sg.write_disparity(path, np.full((20, 30), 5, np.float32), encoding="middlebury", scale=scale)
    manifest = folder / "elsewhere.toml"
    manifest.write_text(
        'encoding = "middlebury"\n[algorithms.eight]\nscale = 8\n[algorithms.four]\nscale = 4\n', encoding="utf-8"
    )
    start = ("evaluate", f"kitti-2015:{folder / 'kitti'}", folder / "packed", "-m", "mae", "-r", "all", "--jobs", 1)
    assert run(*start, "--store", folder / "m.sqlite", "--manifest", manifest) == 0
    assert run(*start, "--store", folder / "o.sqlite", "--encoding", "middlebury", "--scale", 8) == 0
    with sg.open_store(folder / "m.sqlite", read_only=True) as store:
        assert store.cube().values.max() == 0
    with sg.open_store(folder / "o.sqlite", read_only=True) as store:
        assert store.scores().value("mae", "all", algorithm="four", scene="000000_10") == 2.5


def test_watching_evaluates_what_arrives(folder):
    words = [sys.executable, "-m", "stereogauge.cli", "evaluate", f"kitti-2015:{folder / 'kitti'}", folder / "results"]
    words += ["--store", folder / "s.sqlite", "--jobs", "1", "-m", "mae", "-r", "all", "--watch"]
    process = subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True)
    try:
        wait_for(folder, 2)
        late = folder / "results" / "late" / "000000_10.pfm"
        late.parent.mkdir()
        sg.write_disparity(late, np.full((20, 30), 6, np.float32))
        wait_for(folder, 3)
    finally:
        process.send_signal(2)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "1 cell computed" in errors


def wait_for(folder: Path, algorithms: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if (folder / "s.sqlite").exists():
            try:
                with sg.open_store(folder / "s.sqlite", read_only=True) as store:
                    if store.counts()["cells"] and len(store.cube().algorithms) >= algorithms:
                        return
            except sg.StereogaugeError:
                time.sleep(0.05)
        time.sleep(0.05)
    raise AssertionError(f"{algorithms} algorithms never arrived")


def test_a_store_is_looked_into_exported_imported_merged_and_cleaned(folder, capsys):
    evaluate(folder, "--metrics", "mae", "--regions", "all")
    first, second = folder / "s.sqlite", folder / "t.sqlite"
    capsys.readouterr()
    assert run("store", "info", first, "--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["counts"]["cells"] == 4
    assert [entry["name"] for entry in document["algorithms"]] == ["bad", "good"]
    assert run("store", "info", first) == 0
    assert "4 scores in 4 cells, 2 algorithms" in capsys.readouterr().out
    for suffix in ("csv", "parquet"):
        assert run("store", "export", first, folder / f"out.{suffix}") == 0
        assert run("store", "import", second, folder / f"out.{suffix}") == 0
    assert run("store", "delete", second, "bad") == 0
    assert run("store", "merge", second, first) == 0
    assert "2 cells of" in capsys.readouterr().err
    with sg.open_store(first, read_only=True) as one, sg.open_store(second, read_only=True) as two:
        np.testing.assert_array_equal(
            one.cube(algorithms=["bad", "good"]).values, two.cube(algorithms=["bad", "good"]).values
        )
    assert run("store", "export", first, folder / "out.txt") == 2
    assert run("store", "info", folder / "absent.sqlite") == 2
    assert "no such store" in capsys.readouterr().err


def test_a_misspelt_parameter_of_a_matcher_stops_before_anything_is_computed(folder, capsys):
    assert evaluate(folder, "--matcher", "sgm:p3=20") == 2
    assert "Unknown parameter of sgm 'p3'" in capsys.readouterr().err
    with sg.open_store(folder / "s.sqlite", read_only=True) as store:
        assert store.counts()["scores"] == 0
        assert len(store.failures()) == 0


def test_metrics_without_a_value_are_told_with_the_reason(folder, capsys):
    assert evaluate(folder, "--metrics", "mae,z-mae,ause@3", "--regions", "all") == 0
    told = capsys.readouterr().err
    assert "note: z-mae has no value in 4 place(s), the first because z-mae needs a calibration" in told
    assert "note: ause@3 has no value in 4 place(s)" in told
    assert "mae has no value in 4" not in told.replace("z-mae", "")


def test_maps_of_scenes_that_were_not_asked_for_are_no_stray_files(folder, capsys):
    (folder / "results" / "good" / "readme.pfm").write_bytes(b"")
    assert evaluate(folder, "--metrics", "mae", "--regions", "all", "--scenes", "000001_10") == 0
    told = capsys.readouterr().err
    assert "1 file(s) belong to no scene of kitti-2015: good/readme.pfm" in told
    assert "000000_10" not in told
