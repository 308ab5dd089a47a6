"""`stereogauge report` from evaluated files to a folder that can be handed on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main

TRUTH = np.full((60, 80), 10, np.float32)
TRUTH[20:40, 30:60] = 24


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main([*map(str, words)])
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two algorithms on two scenes, evaluated from files by the command."""
    folder = tmp_path_factory.mktemp("evaluated")
    manifest = 'name = "made"\n[paths]\nground_truth = "gt/{scene}.pfm"\n'
    (folder / "stereogauge.toml").write_text(manifest, encoding="utf-8")
    (folder / "gt").mkdir()
    for place, scene in enumerate(("box", "shifted")):
        sg.write_disparity(folder / "gt" / f"{scene}.pfm", np.roll(TRUTH, 5 * place, axis=1))
        for algorithm, error in (("good", 0.25), ("bad", 1.5)):
            (folder / algorithm).mkdir(exist_ok=True)
            sg.write_disparity(folder / algorithm / f"{scene}.pfm", np.roll(TRUTH, 5 * place, axis=1) + error)
    path = folder / "scores.sqlite"
    choices = ["--store", path, "--jobs", 1, "--metrics", "bad@1,rms", "--regions", "all"]
    words = ["evaluate", f"folder:{folder}", folder / "good", folder / "bad", *choices]
    with pytest.raises(SystemExit) as stopped:
        main([*map(str, words)])
    assert not stopped.value.code
    return path


def test_a_report_is_written_with_galleries_of_the_evaluated_maps(
    store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = run(capsys, "report", store, "--out", tmp_path / "report", "--formats", "png", "--draws", "20")
    assert code == 0
    assert out == f"{tmp_path / 'report' / 'report.html'}\n"
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert 'id="gallery-box-bad-1"' in page
    assert "Protocol in full" in page
    assert "Friedman" in err
    assert (tmp_path / "report" / "figures" / "box-bad-1.png").is_file()


def test_galleries_can_be_left_out(store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ("--no-galleries", "--formats", "png", "--draws", "20", "--title", "Mine")
    assert run(capsys, "report", store, "--out", tmp_path, *words)[0] == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "gallery-box" not in page
    assert "<h1>Mine</h1>" in page


def test_values_only_where_they_are_sure_stand_with_their_coverage_and_no_order(
    store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ("--no-galleries", "--formats", "png", "--need", "sure", "--metrics", "rms")
    assert run(capsys, "report", store, "--out", tmp_path, *words)[0] == 0
    names = {path.name for path in (tmp_path / "tables").glob("*.csv")}
    assert names == {"scores.csv", "coverage.csv", "density-rms-all.csv"}
    assert (tmp_path / "figures" / "error-density.png").is_file()
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Algorithms are ordered at equal density only" in page
    assert "brings no confidence map" in page


def test_orders_refuse_values_that_are_needed_only_where_sure(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, said = run(capsys, "rank", store, "--need", "sure")
    assert code == 2
    assert "order them at equal density" in said


def test_an_unknown_profile_is_refused(store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = run(capsys, "report", store, "--out", tmp_path, "--profile", "balansed", "--no-galleries")
    assert code == 2
    assert "Did you mean 'balanced'?" in err
