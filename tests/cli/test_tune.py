"""`stereogauge tune`: formats, files, failures and an interruption that loses nothing."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main

SCENES = ("one", "two")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(1)
    for number, scene in enumerate(SCENES):
        left = random.integers(0, 255, (40, 64), dtype=np.uint8)
        (root / scene).mkdir()
        cv2.imwrite(str(root / scene / "left.png"), left)
        cv2.imwrite(str(root / scene / "right.png"), np.roll(left, -4 - number, axis=1))
        sg.write_disparity(root / scene / "truth.pfm", np.full((40, 64), 4.0 + number, np.float32))
    (root / "stereogauge.toml").write_text(
        """
        name = "tiny"
        [paths]
        ground_truth = "{scene}/truth.pfm"
        left = "{scene}/left.png"
        right = "{scene}/right.png"
        [calibration]
        ndisp = 16
        """
    )
    (root / "profile.toml").write_text('[weights]\n"bad@1" = 1\n"mae" = 1\n')
    return root


def words(folder: Path, store: Path, *more: object) -> list[str]:
    common = ["--matcher", "opencv-bm", "-d", f"folder:{folder}", "--profile", folder / "profile.toml", "-p", "default"]
    return ["tune", *map(str, [*common, "--store", store, "--jobs", 1, *more])]


def run(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def test_every_format_and_the_folder_tell_of_the_same_study(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = words(folder, tmp_path / "s.sqlite", "--trials", 6, "--folds", 2)
    code, out, err = run(capsys, [*request, "-f", "json", "--out", str(tmp_path / "out")])
    assert code == 0, err
    document = json.loads(out)
    assert sum(document["states"].values()) == 6
    assert document["states"]["complete"] > 1
    assert document["held_out"][0]["scenes"] == list(SCENES)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"best.toml", "trials.csv", "result.json", "history.png", "slices.html", "gains.svg"} <= names

    rows = list(csv.DictReader(io.StringIO(run(capsys, [*request, "-f", "csv"])[1])))
    assert [row["state"] for row in rows] == [trial["state"] for trial in document["trials"]]
    best = tomllib.loads(run(capsys, [*request, "-f", "toml"])[1])
    assert best == tomllib.loads((tmp_path / "out" / "best.toml").read_text())
    assert best["matcher"] == document["matcher_text"]

    code, out, err = run(capsys, request)
    assert code == 0
    assert "held out" in out
    assert f"--matcher '{best['matcher']}'" in out
    assert "trials" in err


def test_a_trial_that_takes_too_long_has_failed_and_the_others_count(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "slow.py"
    program.write_text(
        "import sys, time, numpy as np\n"
        "time.sleep(float(sys.argv[2]))\n"
        "np.save(sys.argv[1], np.full((40, 64), 4, np.float32))\n"
    )
    space = tmp_path / "space.toml"
    space.write_text('[parameters.nap]\nchoices = [0, 600]\ndefault = 0\n[fixed]\nextension = "npy"\n')
    request = words(folder, tmp_path / "s.sqlite", "--trials", 3, "--folds", 0, "--sampler", "grid", "-f", "json")
    request[request.index("opencv-bm")] = f"cmd:{sys.executable} {program} {{out}} {{nap}} {{left}} {{right}}"
    code, out, err = run(capsys, [*request, "--space", str(space), "--time-limit", "12"])
    assert code == 0, err
    trials = json.loads(out)["trials"]
    assert [trial["state"] for trial in trials] == ["complete", "failed"]
    assert "time limit" in trials[1]["failure"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("--sampler", "best"), "Unknown sampler 'best'"),
        (("--trials", "0"), "at least one trial"),
        (("--folds", "9"), "9 folds need"),
        (("--objective", "f-pore"), "Unknown metric 'f-pore'"),
        (("--profile", "nobody"), "Unknown profile 'nobody'"),
        (("--space", "/nowhere.toml"), "cannot be read"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_two(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], sentence: str
) -> None:
    code, out, err = run(capsys, words(folder, tmp_path / "s.sqlite", *change))
    assert code == 2
    assert out == ""
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.cluster
# Dask itself leaves sockets and loops to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cluster_gives_the_same_study_as_this_machine(folder: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")

    def trials(store: str, *more: object) -> list[dict[str, str]]:
        command = [sys.executable, "-m", "stereogauge", *words(folder, tmp_path / store, "--trials", 5, "--folds", 0)]
        command += [*map(str, more), "-f", "csv"]
        result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster:
        there = trials("cluster.sqlite", "--cluster", cluster.scheduler_address)
    assert there == trials("here.sqlite")
    assert len(there) == 5


def test_control_c_keeps_finished_trials_and_says_how_to_go_on(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    arguments = words(folder, store, "--trials", 400, "--folds", 0, "--no-prune")
    process = subprocess.Popen(
        [sys.executable, "-m", "stereogauge", *arguments], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    while "/400 trials" not in process.stderr.readline():
        assert process.poll() is None
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "the same command continues from there" in err

    from stereogauge.tuning import studies

    states = studies(store)[0]["states"]
    assert states["complete"] > 0
    assert states["running"] == 0
