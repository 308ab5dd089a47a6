"""`stereogauge robustness`: from results, from matchers, and what it says where there is nothing to compare."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main

SHIFT = 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A place by day and at two moments of a night, and two algorithms; one has no map of the later moment."""
    rng = np.random.default_rng(0)
    texture = cv2.GaussianBlur(rng.integers(0, 255, (40, 90 + SHIFT), dtype=np.uint8), (0, 0), 0.8)
    for scene, gain in (("day", 1.0), ("night", 0.5), ("later", 0.45)):
        for name, image in (("left", texture[:, :90]), ("right", texture[:, SHIFT:])):
            path = tmp_path / "yard" / scene / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(path), (image * gain).astype(np.uint8))
    text = 'name = "yard"\n[paths]\nleft = "{scene}/left.png"\nright = "{scene}/right.png"\n'
    (tmp_path / "yard" / "stereogauge.toml").write_text(text, encoding="utf-8")
    day = np.full((40, 90), SHIFT, np.float32)
    night = day.copy()
    night[:10] += 3
    night[10:20] = np.nan
    steady, shy = {"day": day, "night": day}, {"day": day, "night": night, "later": night}
    for algorithm, maps in (("steady", steady), ("shy", shy)):
        for scene, values in maps.items():
            path = tmp_path / "results" / algorithm / f"{scene}.pfm"
            path.parent.mkdir(parents=True, exist_ok=True)
            sg.write_disparity(path, values)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], folder: Path, *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["robustness", f"folder:{folder / 'yard'}", *(str(word) for word in words)])
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def test_shares_of_a_hand_made_change(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, folder, folder / "results", "--pair", "light=day,night", "--format", "json")
    rows = {row["algorithm"]: row for row in json.loads(out)}
    assert code == 0
    assert rows["steady"] | {"algorithm": ""} == {
        "algorithm": "",
        "condition": "light",
        "first": "day",
        "second": "night",
        "changed": 0.0,
        "mean": 0.0,
        "median": 0.0,
        "lost": 0.0,
        "gained": 0.0,
        "count": 3600,
    }
    assert rows["shy"]["changed"] == pytest.approx(100 / 3)
    assert rows["shy"]["mean"] == pytest.approx(1)
    assert rows["shy"]["lost"] == pytest.approx(25)
    assert rows["shy"]["count"] == 2700


def test_a_missing_map_is_a_gap_that_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--sequence", "day,night,later", "--format", "csv")
    code, out, err = run(capsys, folder, folder / "results", *words)
    rows = {(row["algorithm"], row["condition"]): row for row in csv.DictReader(io.StringIO(out))}
    assert code == 0
    assert rows["steady", "step 2"]["changed"] == ""
    assert rows["steady", "step 2"]["count"] == ""
    assert float(rows["shy", "step 2"]["changed"]) == 0
    assert "note: steady has not both maps of night and later" in err


def test_another_threshold_and_other_formats(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = (folder / "results", "--pair", "light=day,night")
    _, out, _ = run(capsys, folder, *common, "--threshold", 3, "--format", "json")
    assert {row["changed"] for row in json.loads(out)} == {0.0}
    _, out, _ = run(capsys, folder, *common)
    assert "changed %" in out
    _, out, _ = run(capsys, folder, *common, "--format", "latex")
    assert r"changed \%" in out


def test_the_folder_gets_table_figure_and_pictures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "out"
    code, _, err = run(capsys, folder, folder / "results", "--pair", "light=day,night", "--out", out)
    assert code == 0
    assert "2 pictures" in err
    names = {path.name for path in out.iterdir()}
    assert {"robustness.csv", "robustness.json", "robustness.png", "robustness.svg", "robustness.html"} <= names
    assert {"light-shy.png", "light-steady.png"} <= names
    assert len(json.loads((out / "robustness.json").read_text(encoding="utf-8"))) == 2


def test_a_matcher_runs_once_and_its_maps_are_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--matcher", "sgm", "--pair", "light=day,night", "--maps", folder / "maps", "--jobs", 1, "--ndisp", 16)
    code, out, err = run(capsys, folder, *words, "--format", "json")
    (row,) = json.loads(out)
    assert code == 0
    assert row["algorithm"] == "sgm"
    assert row["changed"] < 5  # the census does not see a gain
    assert "2 maps to compute" in err
    _, again, err = run(capsys, folder, *words, "--format", "json")
    assert "0 maps to compute, 2 stored already" in err
    assert json.loads(again) == [row]


def test_a_matcher_that_fails_is_told_and_the_rest_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--matcher", "gone=cmd:./no-such-program {left} {right} {out}", "--jobs", 1, "--ndisp", 16)
    code, out, err = run(capsys, folder, folder / "results", *words, "--pair", "light=day,night", "--format", "csv")
    assert code == 1
    assert "failed: gone on day" in err
    assert len(out.splitlines()) == 4


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "none of the known pairs (Motorcycle and MotorcycleE"),
        (("--pair", "light=day"), "CONDITION=FIRST,SECOND"),
        (("--pair", "light=day,day"), "CONDITION=FIRST,SECOND"),
        (("--pair", "light=day,nigth"), "Did you mean 'night'?"),
        (("--sequence", "day"), "at least two scenes"),
        (("--pair", "light=day,night", "--region", "nonoc"), "Did you mean 'nonocc'?"),
        (("--pair", "light=day,night", "--matcher", "sgm:p3=1"), "Unknown parameter of sgm 'p3'"),
    ],
)
def test_mistakes_are_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    code, out, err = run(capsys, folder, folder / "results", *words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err


def test_nothing_to_compare_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, folder, "--pair", "light=day,night")
    assert code == 2
    assert "give folders of results, or --matcher" in err
    (folder / "results" / "shy" / "later.pfm").unlink()
    code, out, err = run(capsys, folder, folder / "results", "--pair", "light=night,later")
    assert (code, out) == (2, "")
    assert "No algorithm has the maps of both scenes" in err


def test_maps_of_two_sizes_name_the_algorithm(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sg.write_disparity(folder / "results" / "shy" / "night.pfm", np.ones((4, 9), np.float32))
    code, _, err = run(capsys, folder, folder / "results", "--pair", "light=day,night")
    assert code == 2
    assert "shy, day and night" in err
    assert "9×4" in err
