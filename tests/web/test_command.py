"""`stereogauge serve` as it is typed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.store import open_store


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["serve", *words])
    return int(ended.value.code or 0)


def test_a_store_that_is_not_there_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(tmp_path / "none.sqlite")) == 2
    assert "there is no such store" in capsys.readouterr().err
    assert not (tmp_path / "none.sqlite").exists()


def test_tokens_are_issued_and_revoked(small_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "scores.sqlite"
    shutil.copy(small_store, store)
    assert run(str(store), "--issue-token", "Ada") == 0
    assert re.fullmatch(r"sg_[\w-]{43}\n", capsys.readouterr().out)
    assert (tmp_path / "scores-submissions" / "submissions.sqlite").is_file()
    assert run(str(store), "--revoke-token", "Ada") == 0
    assert "1 token(s) of Ada revoked" in capsys.readouterr().err


def test_export_writes_a_site_and_stops(
    small_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stereogauge.web.export.export_site", lambda site, folder: 7)
    assert run(str(small_store), "--export", str(tmp_path / "out")) == 0
    assert f"7 files in {tmp_path / 'out'}" in capsys.readouterr().err


def test_a_pattern_that_hides_nothing_is_refused(small_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(small_store), "--hidden", "gamma", "--hidden", "small/bet", "--export", "nowhere") == 2
    assert "--hidden 'small/bet' matches no scene of the store; it holds small/alpha" in capsys.readouterr().err


def test_submissions_for_one_of_several_datasets_need_its_name(
    small_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "two.sqlite"
    shutil.copy(small_store, copy)
    truth = np.ones((6, 8), np.float32)
    with open_store(copy) as store:
        store.write(sg.evaluate({"A": truth}, sg.Scene("one", gt=truth, dataset="other")))
    assert run(str(copy), "--submissions") == 2
    assert "holds 2 datasets; name the one for submissions with --dataset" in capsys.readouterr().err


def test_a_store_on_a_server_needs_a_folder_for_submissions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], small_store: Path
) -> None:
    opened = open_store(small_store, read_only=True)
    monkeypatch.setattr("stereogauge.store.open_store", lambda *given, **options: opened)
    assert run("postgresql+psycopg://me@nowhere/scores", "--issue-token", "Ada") == 2
    assert "--data" in capsys.readouterr().err
