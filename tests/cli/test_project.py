"""A project file makes arguments needless."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.errors import UnknownNameError
from stereogauge.metrics.registry import canonical, canonical_column, parse_metric

TRUTH = np.tile(np.linspace(5, 30, 60, dtype=np.float32), (40, 1))
PROJECT = """
store = "scores.sqlite"
protocol = "default"
metrics = ["epe", "bad1"]
regions = ["all"]
[[datasets]]
dataset = "gt"
results = ["results"]
[[datasets]]
dataset = "more"
results = "others"
[evaluate]
jobs = 1
[rank]
model = "extended"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for folder, results, scenes in (("gt", "results", ("teddy", "cones")), ("more", "others", ("venus",))):
        Path(folder).mkdir()
        for scene in scenes:
            sg.write_disparity(f"{folder}/{scene}.pfm", TRUTH)
            for algorithm, error in {"SGM": 0.25, "BM": 2.0}.items():
                Path(results, algorithm).mkdir(parents=True, exist_ok=True)
                sg.write_disparity(f"{results}/{algorithm}/{scene}.pfm", TRUTH + np.float32(error))
    Path("stereogauge.toml").write_text(PROJECT)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def test_several_datasets_are_one_document(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "evaluate", "--format", "json")
    assert code == 0, err
    document = json.loads(out)
    assert list(document) == ["scores-gt", "scores-more"]
    assert [len(table["rows"]) for table in document.values()] == [2, 2]
    code, out, _ = run(capsys, "evaluate", "--format", "csv")
    assert out.splitlines()[0] == "table,algorithm,mae:all [px],bad@1:all [%]"
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ["scores-gt"] * 2 + ["scores-more"] * 2


def test_commands_need_no_arguments(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "evaluate")
    assert code == 0, err
    assert "from stereogauge.toml: store scores.sqlite" in err
    assert "dataset gt, results results" in err
    assert "dataset more, results others" in err
    assert "SGM" in out
    assert "0.250" in out
    code, out, _ = run(capsys, "table", "--dataset", "gt")
    assert code == 0
    assert "mae" in out
    assert run(capsys, "rank", "--dataset", "gt")[0] == 0
    assert run(capsys, "validate")[0] == 0


def test_the_command_line_goes_before_the_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "evaluate", "more", "others", "--store", "other.sqlite", "-m", "rms")
    assert code == 0, err
    assert Path("other.sqlite").exists()
    assert not Path("scores.sqlite").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sotre = 'x'\nstore = 'y'\n", "Unknown entry of stereogauge.toml 'sotre'"),
        ("store = 3\n", "store must be text; found 3"),
        ("store = 's'\nmetrics = 3\n", "metrics must be text or a list of texts; found 3"),
        ("store = 's'\nreport = 3\n", "report must be a table of values; found 3"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(
    project: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    Path("stereogauge.toml").write_text(text)
    code, _, err = run(capsys, "evaluate")
    assert code == 2
    assert said in err
    assert len(err.splitlines()) == 1


def test_the_manifest_of_a_dataset_is_no_project_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("stereogauge.toml").write_text('name = "x"\n[paths]\nground_truth = "gt/{scene}.pfm"\n')
    code, _, err = run(capsys, "compare", ".", "results", "-m", "mae", "-r", "all")
    assert code == 0, err
    assert "from stereogauge.toml" not in err


def test_a_project_file_is_no_manifest_of_results(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "compare", "gt", ".", "--template", "results/{algorithm}/{scene}.pfm")[0] == 0


def test_the_fields_names_of_metrics() -> None:
    assert canonical("EPE") == "mae"
    assert canonical_column("d1-all") == "d1:all"
    assert canonical_column("bad2.0:nonocc") == "bad@2:nonocc"
    assert [parse_metric(name).id for name in (">3px", "bad1", "rmse", "a90")] == [
        "bad@3",
        "bad@1",
        "rms",
        "quantile@90",
    ]
    with pytest.raises(UnknownNameError, match="Did you mean 'epe'"):
        parse_metric("epee")
    table = sg.evaluate(TRUTH + 2, sg.Scene("x", gt=TRUTH), ["epe", ">1px"], ["all"])
    assert table.value("epe") == pytest.approx(2.0)
    assert table.value("bad@1") == 100


def test_a_shell_completes_options_of_the_called_command(project: Path) -> None:
    environment = os.environ | {
        "_STEREOGAUGE_COMPLETE": "complete_bash",
        "COMP_WORDS": "stereogauge evaluate --st",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        [sys.executable, "-m", "stereogauge"], env=environment, capture_output=True, text=True, check=False
    )
    assert "--store" in done.stdout
