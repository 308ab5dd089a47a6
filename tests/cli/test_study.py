"""`stereogauge study`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from stereogauge.cli import main
from stereogauge.study.damage import damages

SMALL = ["study", "--size", "160x120"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *SMALL, "--damages", "holes,blur", "-m", "bad@1,mae", "--format", "json")
    document = json.loads(out)
    assert code == 0
    assert document["sensitivity"]["damages"] == ["holes", "blur"]
    assert len(document["study"]["responses"]) == (6 + 5) * 2


def test_strengths_replace_the_steps_of_a_damage(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, *SMALL, "--damages", "holes", "-m", "invalid", "--strengths", "holes=0.25,0.5", "--format", "csv"
    )
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [float(row["strength"]) for row in rows] == [0.25, 0.5]
    assert float(rows[1]["value"]) == pytest.approx(50, abs=12)


def test_the_folder_gets_tables_and_figures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(
        capsys, *SMALL, "--damages", "holes,fatten-foreground", "-m", "bad@1,d-fat", "-o", str(tmp_path)
    )
    assert code == 0
    assert "fatten-foreground 1.00" in out
    assert "figures in" in err
    written = {path.name for path in tmp_path.iterdir()}
    assert {"study.csv", "study.json", "sensitivity.json", "response-curves.png", "selectivity.html"} <= written


def test_a_synthetic_scene_is_saved_on_request(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from stereogauge import load_dataset

    run(capsys, *SMALL, "--damages", "holes", "-m", "invalid", "--save-scene", str(tmp_path), "--format", "csv")
    loaded = load_dataset("middlebury-v3:Q", tmp_path)
    assert loaded.ids == ("anatomy-0",)
    assert loaded["anatomy-0"].calibration.ndisp == 17


def test_the_damages_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "study", "--list", "--format", "json")
    assert code == 0
    assert [row["id"] for row in json.loads(out)] == list(damages())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["study", "--strengths", "blur"], "Strengths are written DAMAGE=0.1,0.2; found 'blur'."),
        (["study", "--strengths", "blur=a"], "found 'blur=a'"),
        (["study", "--damages", "blurr"], "Did you mean 'blur'?"),
        (["study", "motorcycle", "--size", "99x99"], "--size is for synthetic scenes"),
        (["study", "synthetic:anatomy", "--size", "99"], "WIDTHxHEIGHT"),
        (["study", "--size", "160x120", "--damages", "holes", "--strengths", "holes=2"], "from 0 to 1 share; found 2"),
    ],
)
def test_mistakes_end_with_one_sentence_and_code_2(
    capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    code, out, err = run(capsys, *words)
    assert code == 2
    assert out == ""
    assert sentence in err.splitlines()[-1]
