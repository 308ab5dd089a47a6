"""One table of algorithms on several datasets, as papers print it."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import stereogauge as sg
from stereogauge.cli import application

ERRORS = {"Good": 0.2, "Fair": 2.5, "Bad": 5.0}


@pytest.fixture
def pairs(tmp_path: Path) -> list[str]:
    """Two folders of ground truth and the results of three algorithms, one of which lacks the second dataset."""
    found = []
    for name in ("first", "second"):
        root, results = tmp_path / name, tmp_path / f"{name}-results"
        root.mkdir()
        (root / "stereogauge.toml").write_text(f'name = "{name}"\n[paths]\nground_truth = "gt-{{scene}}.pfm"\n')
        truth = np.tile(np.linspace(10, 30, 40, dtype=np.float32), (20, 1))
        truth[5:15, 20:25] = 45.0
        sg.write_disparity(root / "gt-a.pfm", truth)
        for algorithm, error in ERRORS.items():
            if (name, algorithm) == ("second", "Bad"):
                continue
            (results / algorithm).mkdir(parents=True)
            wrong = np.arange(40) % (2 if error < 5 else 4) > 0
            sg.write_disparity(results / algorithm / "a.pfm", truth + np.float32(error) * wrong)
        (results / "Good" / "results.toml").write_text('[tags]\nparameters = "12.6"\ndevice = "RTX 3090"\n')
        found.append(f"{root}={results}")
    return found


def run(*arguments: str) -> str:
    done = CliRunner().invoke(application("zero-shot", {}), ["zero-shot", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_outliers_ranks_and_facts_of_every_dataset(pairs: list[str], tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'scores.sqlite'}"
    made = json.loads(run(*pairs, "--store", store, "--format", "json"))["zero-shot"]
    rows = {row[0]: dict(zip(made["header"], row, strict=True)) for row in made["rows"]}
    assert list(rows) == ["Good", "Fair", "Bad"]
    assert rows["Good"]["first:> 1 px all [%]"] == 0.0
    assert rows["Fair"]["second:> 1 px all [%]"] == pytest.approx(50.0)
    assert [rows[name]["mean rank:all"] for name in rows] == [1.0, pytest.approx(2.0), None]
    assert (rows["Good"]["parameters [million]"], rows["Good"]["device"]) == ("12.6", "RTX 3090")
    again = run("--store", store, "--format", "latex", "--epe")
    assert "\\toprule" in again
    assert "EPE" in again


def test_matchers_that_were_run_have_a_time_and_a_device(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'scores.sqlite'}"
    metrics = "bad@2:all,seconds,weights"  # no learned parameters: that note is no condition of a run
    words = ["evaluate", "motorcycle", "--matcher", "opencv-bm", "--store", store, "--protocol", "stereo-toolbox"]
    done = CliRunner().invoke(application("evaluate", {}), [*words, "--metrics", metrics, "--jobs", "1"])
    assert done.exit_code == 0, done.output
    made = json.loads(run("--store", store, "--format", "json"))["zero-shot"]
    row = dict(zip(made["header"], made["rows"][0], strict=True))
    assert row["motorcycle:> 2 px all [%]"] > 0
    assert row["time [s]"] > 0
    assert row["device"]
    assert any(note.startswith("Run times at 741×500 px, 70 disparities") for note in made["notes"])


def test_a_device_that_works_by_itself_is_waited_for(tmp_path: Path) -> None:
    module = tmp_path / "network.py"
    module.write_text(
        textwrap.dedent(
            """
            import time

            import numpy as np

            pending, device, calls = [], "Test GPU 9000", []

            def synchronize():
                calls.append(1)
                while pending:
                    time.sleep(pending.pop())

            def weights():
                return 12_600_000

            def match(left, right, ndisp):
                pending.append(0.3)  # returns at once, like a kernel that was only started
                return np.full(left.shape[:2], len(calls), np.float32)
            """
        )
    )
    image = np.zeros((8, 12), np.uint8)
    result = sg.match(image, image, matcher=f"py:{module}:match", ndisp=4, python=sys.executable, warm_up=False)
    assert result.seconds >= 0.3
    assert result.disparity[0, 0] == 1, "the clock starts after the device is idle"
    assert (result.device, result.facts["processor"], result.facts["weights"]) == (
        "Test GPU 9000",
        "Test GPU 9000",
        12.6,
    )
    scene = sg.Scene("s", gt=np.ones((8, 12), np.float32))
    scores = sg.evaluate({"net": {"s": result}}, scene, ["seconds", "weights"], ["all"])
    assert scores.value("weights") == pytest.approx(12.6)
    assert "12×8, 4 disparities" in scores.score("seconds").note
    assert "Test GPU 9000" in scores.score("seconds").note


def test_a_network_called_weights_is_no_number_of_them(tmp_path: Path) -> None:
    module = tmp_path / "network.py"
    module.write_text(
        textwrap.dedent(
            """
            import numpy as np

            class Network:
                def __call__(self, image):
                    return np.ones(image.shape[:2], np.float32)

            weights = Network()

            def match(left, right, ndisp):
                return weights(left)
            """
        )
    )
    image = np.zeros((8, 12), np.uint8)
    result = sg.match(image, image, matcher=f"py:{module}:match", ndisp=4, python=sys.executable, warm_up=False)
    assert (result.disparity == 1).all()
    assert "weights" not in result.facts
