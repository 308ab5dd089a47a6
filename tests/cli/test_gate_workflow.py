"""The shipped workflow: its commands work as they are written, and a gate fails when what it guarded is gone."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml

import stereogauge as sg
from stereogauge.cli import main

GUIDE = Path(__file__).parents[2] / "docs" / "guide"


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return int(stopped.value.code or 0)


def commands() -> list[list[str]]:
    steps = yaml.safe_load((GUIDE / "gate.yml").read_text(encoding="utf-8"))["jobs"]["gate"]["steps"]
    lines = [step["run"] for step in steps if step.get("run", "").startswith("stereogauge ")]
    return [shlex.split(line)[1:] for line in lines]


def test_the_page_shows_the_file() -> None:
    assert (GUIDE / "gate.yml").read_text(encoding="utf-8") in (GUIDE / "gate.md").read_text(encoding="utf-8")


def test_the_installation_of_the_workflow_takes_the_variable(tmp_path: Path) -> None:
    """The file is copied unchanged; without the variable it says what to set."""
    steps = yaml.safe_load((GUIDE / "gate.yml").read_text(encoding="utf-8"))["jobs"]["gate"]["steps"]
    (script,) = [step["run"] for step in steps if step.get("name") == "Install"]
    (tmp_path / "pip").write_text('#!/bin/sh\necho "pip $*"\n', encoding="utf-8")
    (tmp_path / "pip").chmod(0o755)

    def installed(source: str) -> tuple[int, str]:
        given = {"PATH": f"{tmp_path}:/usr/bin:/bin", "STEREOGAUGE": source}
        done = subprocess.run(["sh", "-ec", script], env=given, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert installed("./stereogauge") == (0, "pip install ./stereogauge\n")
    code, said = installed("")
    assert code == 1
    assert said.startswith("::error title=stereogauge::Set the variable STEREOGAUGE")


def test_the_commands_of_the_workflow_gate_what_they_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    truth = sg.load_dataset("motorcycle")["motorcycle"].gt
    evaluate, gate = commands()
    dataset = evaluate.index("middlebury-v3:Q:MiddEval3")
    evaluate[dataset] = "motorcycle"

    def evaluated(amount: float, store: Path, *names: str) -> None:
        for name in names:
            folder = tmp_path / "results" / name
            folder.mkdir(parents=True, exist_ok=True)
            noise = np.random.default_rng(3).normal(0, amount, truth.shape).astype(np.float32)
            sg.write_disparity(folder / "motorcycle.pfm", truth + noise)
        words = [*evaluate, "--jobs", "1", "-m", "bad@4,d-fat"]
        words[words.index("today.sqlite")] = str(store)
        assert run(*words) == 0

    (tmp_path / "baseline").mkdir()
    evaluated(1.0, tmp_path / "baseline" / "today.sqlite", "mine", "other")
    evaluated(1.0, tmp_path / "today.sqlite", "mine", "other")
    capsys.readouterr()
    assert run(*gate) == 0
    assert "::notice" in capsys.readouterr().out
    evaluated(3.0, tmp_path / "today.sqlite", "mine")
    assert run(*gate) == 1
    assert "::error title=mine by bad@4%3Anonocc::all scenes: " in capsys.readouterr().out
    assert "| mine | bad@4:nonocc |" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert run("store", "delete", "today.sqlite", "other") == 0
    assert run(*gate) == 1
    assert "::error title=other%3A gone from the store" in capsys.readouterr().out
    evaluated(1.0, tmp_path / "today.sqlite", "mine")
    assert run(*gate, "--allow-missing") == 0
    (tmp_path / "results" / "mine" / "motorcycle.pfm").write_bytes(b"Pf\n")
    run(*evaluate, "--jobs", "1", "-m", "bad@4,d-fat")
    capsys.readouterr()
    assert run(*gate) == 1
    assert "mine on motorcycle%3A failed" in capsys.readouterr().out
