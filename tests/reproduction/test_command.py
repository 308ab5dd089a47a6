"""`stereogauge reproduce`: one document on standard output, words on standard error, known mistakes in one sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from stereogauge.cli import main


def call(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", *words])
    return int(ended.value.code or 0)


def test_json_is_one_document_with_the_rows_of_the_item(data_root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = call("sigma-z-error", "--item", "figure 1", "--data", str(data_root), "--format", "json")
    printed = capsys.readouterr()
    assert code == 0
    rows = json.loads(printed.out)["rows"]
    assert [(row["paper"], row["item"], row["status"]) for row in rows] == [("sigma-z-error", "figure 1", "reproduced")]
    assert "sigma-z-error: figure 1" in printed.err


def test_figures_are_written_where_asked(data_root: Path, tmp_path: Path) -> None:
    item = ("evaluation-methodology", "--item", "section 4, scenario 2")
    assert call(*item, "--data", str(data_root), "--out", str(tmp_path / "figures")) == 0
    written = {path.name for path in (tmp_path / "figures").iterdir()}
    assert written == {f"methodology-scenario-2.{kind}" for kind in ("pdf", "png", "svg")}


def test_the_list_needs_no_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--list") == 0
    listed = capsys.readouterr().out
    assert "hci-stereo-metrics-supplement" in listed
    assert re.search(r"^ +figure 11 +Coefficients of determination$", listed, re.MULTILINE)


def test_no_data_is_one_sentence(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STEREOGAUGE_DATA", raising=False)
    assert call("sigma-z-error") == 2
    assert "--data" in capsys.readouterr().err
