"""`stereogauge serve` as it is typed."""

from __future__ import annotations

import os
import re
import shutil
import socket
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.web import uploads
from tests.web.submitters import RULES, SameProcess
from tests.web.test_submissions import benchmark_at

import stereogauge as sg
from stereogauge import open_store
from stereogauge.cli import main
from stereogauge.web.server import listening
from stereogauge.web.submissions.submissions import only_server


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
    monkeypatch.setattr("stereogauge.web.export.export_site", lambda site, folder, ahead: 7)
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


@pytest.mark.skipif(os.name != "posix", reason="Windows has no root")
@pytest.mark.parametrize("address", [["--host", "0.0.0.0"], ["--host-name", "bench.example.org"], ["--proxy", "::1"]])
def test_a_public_server_that_takes_submissions_does_not_run_as_root(
    small_store: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    address: list[str],
) -> None:
    shutil.copy(small_store, tmp_path / "scores.sqlite")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert run(str(tmp_path / "scores.sqlite"), "--submissions", *address) == 2
    said = capsys.readouterr().err
    assert "must not run as root" in said
    assert [path.name for path in tmp_path.iterdir()] == ["scores.sqlite"]  # nothing of root's is in the service's way
    for recipe in re.findall(r"docs/guide/hosting/\w+\.\w+", said.replace("\n", " ")):
        assert (Path(__file__).parents[2] / recipe).is_file()


def test_a_port_in_use_is_one_sentence(small_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert run(str(small_store), "--port", str(port)) == 2
    said = capsys.readouterr().err
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use; give another" in " ".join(said.split())
    assert "http://" not in said


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such sockets")
def test_a_socket_that_cannot_be_made_is_one_sentence(
    small_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(small_store), "--host", f"unix:{tmp_path / 'none' / 'site.sock'}") == 2
    assert "No such file or directory" in " ".join(capsys.readouterr().err.split())


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such sockets")
def test_a_socket_of_an_earlier_server_is_replaced_with_its_rights(tmp_path: Path) -> None:
    place = tmp_path / "site.sock"
    for mode in (0o666, 0o660):
        with listening(f"unix:{place}", 0)[0]:
            assert place.stat().st_mode & 0o777 == mode
        place.chmod(0o660)


def test_a_second_server_of_one_folder_is_one_sentence(
    small_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("fcntl")
    shutil.copy(small_store, tmp_path / "scores.sqlite")
    (tmp_path / "scores-submissions").mkdir()
    with only_server(tmp_path / "scores-submissions") as first:
        assert first is not None
        assert run(str(tmp_path / "scores.sqlite"), "--submissions", "--port", "0") == 2
    said = capsys.readouterr().err
    assert "Another server uses" in said
    assert "Traceback" not in said


@pytest.mark.skipif(os.name != "posix", reason="Windows has other permissions")
def test_a_store_with_hidden_scores_is_read_by_its_owner_alone(
    small_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stereogauge.web.export.export_site", lambda site, folder, ahead: 7)
    store = tmp_path / "scores.sqlite"
    shutil.copy(small_store, store)
    store.chmod(0o644)
    assert run(str(store), "--export", str(tmp_path / "out")) == 0
    assert store.stat().st_mode & 0o777 == 0o644
    assert run(str(store), "--hidden", "beta", "--export", str(tmp_path / "out")) == 0
    assert store.stat().st_mode & 0o777 == 0o600


def test_a_backup_holds_store_and_submissions_and_can_be_served(small_store: Path, tmp_path: Path) -> None:
    live = tmp_path / "live"
    live.mkdir()
    with benchmark_at(small_store, live, RULES, SameProcess) as one:
        identifier = one.outcome(uploads.good(), "kept")["id"]
        assert one.call("POST", f"submissions/{identifier}/publish").status_code == 200
        words = ["store", "backup", str(live / "scores.sqlite"), str(tmp_path / "copy"), "--data"]
        with pytest.raises(SystemExit) as ended:
            main([*words, str(live / "submissions")])
        assert not ended.value.code
        token = one.tokens["ada"]
    with benchmark_at(small_store, tmp_path / "copy", RULES, SameProcess) as one:
        one.tokens["ada"] = token
        assert one.call("GET", f"submissions/{identifier}").json()["state"] == "published"
        assert "kept" in [entry["name"] for entry in httpx.get(one.base + "algorithms").json()]
        params = {"algorithm": "kept"}
        for path in (live / "submissions").rglob("*.pfm"):
            assert (tmp_path / "copy" / path.relative_to(live)).read_bytes() == path.read_bytes()
        assert httpx.get(one.base + "scenes/alpha/layers/estimate.png", params=params).status_code == 200


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--limit", "0"), "--limit"),
        (("--period", "nan"), "period must be a number greater than 0"),
        (("--time-limit", "-1"), "time_limit must be a number greater than 0"),
        (("--largest", "0"), "--largest"),
        (("--issue-token", ""), "a name of 1 to 80 letters"),
    ],
)
def test_limits_that_allow_nothing_are_refused(
    small_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    assert run(str(shutil.copy(small_store, tmp_path)), "--submissions", *words) == 2
    assert says in capsys.readouterr().err
