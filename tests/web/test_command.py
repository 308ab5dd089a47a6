"""`stereogauge serve` as it is typed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from stereogauge.cli import main


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


def test_export_writes_a_site(small_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(small_store), "--export", str(tmp_path / "out")) == 0
    assert (tmp_path / "out" / "index.html").is_file()
    assert "files in" in capsys.readouterr().err
