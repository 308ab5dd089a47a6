"""Attacks on a benchmark that takes uploads from strangers; each did harm once."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
import zipfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import numpy as np
import psutil
import pytest
import sqlalchemy as sql
from msgspec.structs import replace
from starlette.requests import Request
from tests.web import taken_over, uploads
from tests.web.small import SHAPE
from tests.web.submitters import RULES, Benchmark, SameProcess, benchmark_on, queue_upload
from tests.web.test_submissions import benchmark_at

from stereogauge import open_store
from stereogauge.errors import StoreError
from stereogauge.io import encodings
from stereogauge.scores.score import Score
from stereogauge.web import refusals, security
from stereogauge.web.submissions import evaluations
from stereogauge.web.submissions.decoding import Stated
from stereogauge.web.submissions.jobs import Rules


@pytest.fixture(scope="module")
def bench(small_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Benchmark]:
    with benchmark_at(small_store, tmp_path_factory.mktemp("attacked")) as one:
        yield one


def wide_png(side: int = 16384) -> bytes:
    """A few kilobytes that decode to side² pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(bytes((side // 8 + 1) * side), 9)
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


CONFIDENCE = np.random.default_rng(0).random(SHAPE).astype(np.float32)


def published(bench: Benchmark, files: dict[str, bytes], name: str, who: str = "ada") -> str:
    accepted = bench.upload(uploads.zipped({**uploads.maps(), **files}), name, who)
    identifier = accepted.json()["id"]
    assert bench.finished(identifier, who)["state"] == "done"
    assert bench.call("POST", f"submissions/{identifier}/publish", who).status_code == 200
    return str(identifier)


# what strangers uploaded is decoded in a worker only


def test_the_server_reads_only_files_that_it_wrote_itself(bench: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    further = {
        "confidence/first/alpha.pfm": uploads.pfm(CONFIDENCE),
        "confidence/second/alpha.png": uploads.png16(65535 * (1 - CONFIDENCE)),
        "right/alpha.png": uploads.png16(256 * (5 + CONFIDENCE)),
    }
    identifier = published(bench, further, "with further maps")
    here: list[str] = []
    for name in ("spring", "npy", "npz", "kitti"):
        chosen = encodings.ENCODINGS[name]
        spied = replace(chosen, reader=lambda content, how, name=name: here.append(name))
        monkeypatch.setitem(encodings.ENCODINGS, name, spied)
    for measure in ("first", "second"):
        params = {"algorithm": "with further maps", "metric": measure}
        picture = httpx.get(bench.base + "scenes/alpha/layers/confidence.png", params=params, timeout=60)
        assert picture.status_code == 200, picture.text
    params = {"algorithm": "with further maps", "metric": "rms"}
    assert httpx.get(bench.base + "scenes/alpha/layers/metric.png", params=params, timeout=60).status_code == 200
    assert here == []
    kept = {file.suffix for file in (bench.taken.folder / identifier).rglob("*") if file.is_file()}
    assert kept == {".pfm"}


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("confidence/x/alpha.png", uploads.png16(65535 * CONFIDENCE)[:700] + bytes(900), "confidence map"),
        ("confidence/x/alpha.pfm", uploads.pfm(CONFIDENCE[1:]), "confidence map"),
        ("right/alpha.pfm", uploads.pfm(np.full(SHAPE, np.nan, np.float32)), "right map"),
        ("right/alpha.pfm", b"Pf\n" + bytes(50), "right map"),
        ("right/alpha.tiff", b"II*\0" + bytes(50), "PFM (.pfm) and 16-bit grey PNG"),
        ("alpha.pfm.gz", b"", "PFM (.pfm) and 16-bit grey PNG"),
        ("confidence/x/alpha.npz", b"", "PFM (.pfm) and 16-bit grey PNG"),
        ("confidence/né/alpha.pfm", uploads.pfm(CONFIDENCE), "measure's name"),
    ],
)
def test_right_and_confidence_maps_are_validated_too(bench: Benchmark, file: str, content: bytes, says: str) -> None:
    answer = bench.outcome(uploads.zipped({**uploads.maps(), file: content}), "with a bad further map")
    assert answer["state"] == "invalid"
    assert says in " ".join(finding["sentence"] for finding in answer["findings"])
    assert {finding["scene"] for finding in answer["findings"]} == {"alpha"}


@pytest.mark.parametrize("place", ["confidence/x/alpha.png", "right/alpha.png", "alpha.png"])
def test_a_picture_that_decodes_to_gigabytes_costs_nothing(bench: Benchmark, place: str) -> None:
    files = {
        name: data for name, data in uploads.maps().items() if not place.startswith("alpha") or "alpha" not in name
    }
    data = uploads.zipped({**files, place: wide_png()})
    assert len(data) < 100_000
    before, start = psutil.Process().memory_info().rss, time.monotonic()
    answer = bench.outcome(data, "bomb")
    assert answer["state"] == "invalid"
    assert "16384 × 16384" in " ".join(finding["sentence"] for finding in answer["findings"])
    assert time.monotonic() - start < 15
    assert psutil.Process().memory_info().rss - before < 200 << 20


# the queue


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program that writes to a database for as long as the block lasts."""
    other = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def wait_for(condition: object, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def test_the_queue_outlives_errors_and_says_that_it_waits(
    small_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with benchmark_at(small_store, tmp_path, RULES, SameProcess) as one:
        health = one.base + "health"
        assert httpx.get(health).json() == {"status": "ok", "reason": "", "waiting": 0}
        good = one.taken.jobs.take

        def broken() -> None:
            raise StoreError(f"{tmp_path}/submissions.sqlite: disk I/O error.")

        monkeypatch.setattr(one.taken.jobs, "take", broken)
        one.taken.evaluations.wake.set()
        wait_for(lambda: httpx.get(health).json()["status"] == "waiting")
        assert "database" in httpx.get(health).json()["reason"]
        assert str(tmp_path) not in httpx.get(health).text
        refused = one.upload(uploads.good(), "not now")
        assert refused.status_code == 503
        assert "health" in refused.json()["detail"]
        assert one.call("GET", "submissions").json()["left"] == 200
        monkeypatch.setattr(one.taken.jobs, "take", good)
        wait_for(lambda: httpx.get(health).json()["status"] == "ok")
        assert one.outcome(uploads.good(), "now")["state"] == "done"


def test_a_full_disk_stops_uploads_and_nothing_else(small_store: Path, tmp_path: Path) -> None:
    with benchmark_at(small_store, tmp_path, replace(RULES, least_free=1 << 60), SameProcess) as one:
        refused = one.upload(uploads.good(), "too much")
        assert refused.status_code == 503
        assert httpx.get(one.base + "rank").status_code == 200
        wait_for(lambda: httpx.get(one.base + "health").json()["status"] == "waiting")


def test_nobody_fills_the_disk(small_store: Path, tmp_path: Path) -> None:
    """Zeros that unpack to a thousand times their size are refused before they are unpacked."""
    with benchmark_at(
        small_store, tmp_path, replace(RULES, largest_unpacked=4 << 30, quota=50_000), SameProcess
    ) as one:
        bomb = uploads.zipped({**uploads.maps(), "confidence/x/alpha.pfm": bytes(64 << 20)})
        answer = one.outcome(bomb, "bomb")
        assert answer["state"] == "invalid"
        assert "bytes" in answer["findings"][0]["sentence"]
        first = one.outcome(uploads.good(), "first")
        left = sum(file.stat().st_size for file in one.taken.folder.rglob("*.pfm"))
        assert left < 3 * 4 * SHAPE[0] * SHAPE[1] + 1000
        assert not list((one.taken.folder / first["id"]).rglob("upload.zip"))
        assert one.upload(uploads.good(), "second").status_code == 202
        one.finished(one.call("GET", "submissions").json()["submissions"][0]["id"])
        third = one.upload(uploads.good(), "third")
        assert third.status_code == 429
        assert "withdraw" in third.json()["detail"]
        assert one.upload(uploads.good(), "third", "bob").status_code == 202


def test_small_pictures_of_large_maps_do_not_fill_the_disk(small_store: Path, tmp_path: Path) -> None:
    """A PNG of one value is a thousand times smaller than the map that the server writes."""
    with benchmark_at(small_store, tmp_path, replace(RULES, largest_unpacked=1 << 20), SameProcess) as one:
        flat = uploads.png16(np.full(SHAPE, 9000))
        measures = {f"confidence/m{place}/{scene}.png": flat for place in range(80) for scene in ("alpha", "beta")}
        answer = one.outcome(uploads.zipped({**uploads.maps(), **measures}), "flat")
        assert answer["state"] == "invalid"
        assert "at most 1 MiB are taken" in " ".join(finding["sentence"] for finding in answer["findings"])
        assert not list(one.taken.folder.rglob("*.pfm"))


def test_a_stop_while_unpacking_loses_nothing(small_store: Path, tmp_path: Path) -> None:
    with benchmark_at(small_store, tmp_path, RULES, SameProcess) as one:
        one.taken.evaluations.stop()  # as if the server was killed in the middle
        identifier = queue_upload(one.taken, uploads.good(), "cut off")
        folder, orphan = one.taken.folder / identifier, one.taken.folder / ("0" * 24)
        (folder / "maps").mkdir()
        orphan.mkdir()
        assert one.taken.jobs.take() is not None
        (folder / "maps" / "alpha.pfm").write_bytes(b"Pf\n")
        token = one.tokens["ada"]
    with benchmark_at(small_store, tmp_path, RULES, SameProcess) as one:
        one.tokens["ada"] = token
        assert not orphan.exists()
        assert one.finished(identifier)["state"] == "done"


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_the_submission_done_again(
    bench: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = bench.taken.jobs.change
    kills: list[int] = []

    def killing(identifier: str, **values: Any) -> bool:
        worker = bench.taken.evaluations._judge.process_id
        if values.get("state") == "evaluating" and not kills and worker is not None:
            kills.append(worker)
            psutil.Process(worker).kill()
        return change(identifier, **values)

    monkeypatch.setattr(bench.taken.jobs, "change", killing)
    done = bench.outcome(uploads.good(), "killed once")
    assert len(kills) == 1
    assert done["state"] == "done"


def test_an_upload_that_ends_its_worker_each_time_is_held_and_kept(
    bench: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = bench.taken.jobs.change

    def killing(identifier: str, **values: Any) -> bool:
        if values.get("state") == "validating":
            psutil.Process(bench.taken.evaluations._decoder.process_id).kill()
        return change(identifier, **values)

    monkeypatch.setattr(bench.taken.jobs, "change", killing)
    done = bench.outcome(uploads.good(), "deadly")
    monkeypatch.undo()
    assert done["state"] == "held"
    assert (bench.taken.folder / done["id"] / "upload.zip").is_file()
    assert bench.call("DELETE", f"submissions/{done['id']}").status_code == 204


# a process that an upload may have taken over


@pytest.mark.parametrize("attack", [taken_over.forging, taken_over.naming_the_truth])
def test_a_decoder_tells_nothing_but_pixels(
    small_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack: Any
) -> None:
    with benchmark_at(small_store, tmp_path, RULES) as one:
        before = httpx.get(one.base + "table").json()["values"]
        monkeypatch.setattr(evaluations, "read_texts", attack)
        done = one.outcome(uploads.good(), "taken over")
        assert done["state"] in ("held", "invalid")
        assert done["scores"] == []
        assert httpx.get(one.base + "table").json()["values"] == before
        assert not list(one.taken.folder.rglob("*.pfm"))


def has_landlock() -> bool:
    """Whether Linux can forbid a process to reach files and other processes (from version 6 of Landlock on)."""
    return sys.platform == "linux" and ctypes.CDLL(None).syscall(444, None, 0, 1) >= 6


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="Windows has no such links")
@pytest.mark.parametrize("attack", [taken_over.linking, taken_over.replacing])
def test_nothing_is_written_through_a_link(
    small_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack: Any
) -> None:
    victim = tmp_path / "victim"
    (victim / "maps").mkdir(parents=True)
    for path in (victim / "alpha.pfm", victim / "maps" / "alpha.pfm", victim / "upload.zip"):
        path.write_bytes(b"of somebody else")
    with benchmark_at(small_store, tmp_path, RULES) as one:
        monkeypatch.setattr(evaluations, "read_texts", taken_over.waiting)
        monkeypatch.setattr(evaluations, "read_map", attack)
        done = one.outcome(uploads.good(), "with links")
        assert done["state"] == "done", done
        maps = one.taken.folder / done["id"] / "maps"
        assert not maps.is_symlink()
        assert not maps.parent.is_symlink()
        assert {path.name for path in maps.iterdir()} == {"alpha.pfm", "beta.pfm", "gamma.pfm"}
    for path in (victim / "alpha.pfm", victim / "maps" / "alpha.pfm", victim / "upload.zip"):
        assert path.read_bytes() == b"of somebody else"
    assert {path.name for path in victim.rglob("*")} == {"alpha.pfm", "maps", "upload.zip"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of open files")
def test_a_decoder_reads_no_file_but_the_upload(
    small_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code that answers with the ground truth would have the best entry, and would show it to everybody."""
    with benchmark_at(small_store, tmp_path, RULES) as one:
        (tmp_path / "truth").symlink_to(small_store.parent / "data")
        assert (tmp_path / "truth" / "beta" / "disp.pfm").is_file()
        monkeypatch.setattr(evaluations, "read_texts", taken_over.waiting)
        monkeypatch.setattr(evaluations, "read_map", taken_over.copying_the_truth)
        done = one.outcome(uploads.good(0.5), "copied")
        assert done["state"] == "done", done
        rms = next(score["value"] for score in done["scores"] if score["column"] == "rms:all")
        assert rms == pytest.approx(0.5, abs=0.01)


@pytest.mark.skipif(not has_landlock(), reason="this system cannot forbid it")
def test_a_decoder_deletes_nothing_and_ends_no_other_process(
    small_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as victim,
        benchmark_at(small_store, tmp_path, RULES) as one,
    ):
        (tmp_path / "process").symlink_to(str(victim.pid))
        monkeypatch.setattr(evaluations, "read_texts", taken_over.waiting)
        monkeypatch.setattr(evaluations, "read_map", taken_over.destroying)
        assert one.outcome(uploads.good(), "destroying")["state"] == "done"
        assert victim.poll() is None
        assert (one.taken.folder / "submissions.sqlite").is_file()
        assert (tmp_path / "scores.sqlite").is_file()
        victim.kill()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_what_a_decoder_starts_ends_with_it(small_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with benchmark_at(small_store, tmp_path, RULES) as one:
        monkeypatch.setattr(evaluations, "read_texts", taken_over.forking)
        groups: list[int] = []
        change = one.taken.jobs.change

        def watching(identifier: str, **values: Any) -> bool:
            groups.append(one.taken.evaluations._decoder.process_id or 0)
            return change(identifier, **values)

        monkeypatch.setattr(one.taken.jobs, "change", watching)
        assert one.outcome(uploads.good(), "with a child")["state"] in ("done", "held")  # it may not fork at all
        wait_for(lambda: not any(_alive_in(group) for group in groups if group))


def _alive_in(group: int) -> list[int]:
    """The processes of a group."""
    found = []
    for process in psutil.process_iter(["pid", "status"]):
        with contextlib.suppress(OSError):
            if os.getpgid(process.pid) == group and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def test_what_a_decoder_says_is_checked() -> None:
    for said in (
        None,
        {"ok": True},
        {"maps": [{"scene": "a", "kind": "truth", "file": "a.pfm"}]},
        {"seconds": {}, "scores": [{"value": 0.0}]},
        {"seconds": {"time.txt": "1"}},
        {"kind": "truth"},
        {"better": ["higher"]},
    ):
        with pytest.raises(ValueError):
            msgspec.convert(said, Stated)


def test_scores_belong_to_the_submission_that_was_judged(small_store: Path, tmp_path: Path) -> None:
    """Whatever the judge answers: names are the server's, and another number of columns is refused."""
    with benchmark_at(small_store, tmp_path, RULES, SameProcess) as one:
        task = one.taken.task()
        forged = [Score("other", "beta", "good", "mae", "all", 0.1, 0.1, 0, 0, "x")] * len(task.columns)
        kept = evaluations.named_scores(forged, "mine", task.dataset["alpha"], task)
        named = {(row["algorithm"], row["scene"], row["dataset"], row["protocol"]) for row in kept}
        assert named == {("mine", "alpha", "small", task.protocol.scoring_hash)}
        assert [(row["metric"], row["region"]) for row in kept] == [column.column for column in task.columns]
        for other in (forged[1:], [*forged, forged[0]]):
            with pytest.raises(ValueError):
                evaluations.named_scores(other, "mine", task.dataset["alpha"], task)


def test_a_store_that_is_away_fails_no_submission(
    small_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with benchmark_at(small_store, tmp_path, RULES, SameProcess) as one:
        away = threading.Event()
        dataset = one.taken.dataset

        def sometimes() -> object:
            if away.is_set():
                raise StoreError("the server does not answer.")
            return dataset()

        monkeypatch.setattr(one.taken, "dataset", sometimes)
        ids = [one.upload(uploads.good(), "first").json()["id"]]
        away.set()
        ids.append(one.upload(uploads.good(), "second").json().get("id"))
        time.sleep(2.0)
        away.clear()
        states = [one.finished(identifier)["state"] for identifier in ids if identifier]
        assert set(states) == {"done"}


def test_reports_that_cannot_be_recorded_reach_nobody_else(small_store: Path, tmp_path: Path) -> None:
    """A database that is locked while a worker reports: the next submission gets its own scores and no others."""
    with benchmark_at(small_store, tmp_path, replace(RULES, database_seconds=0.2), SameProcess) as one:
        first = one.upload(uploads.good(0.1), "first", "ada").json()["id"]
        wait_for(lambda: one.call("GET", f"submissions/{first}").json()["state"] != "queued")
        second = one.upload(uploads.good(0.4), "second", "bob").json()["id"]
        with locked(one.taken.folder / "submissions.sqlite"):
            time.sleep(3.0)
        for identifier, who, error in ((first, "ada", 0.1), (second, "bob", 0.4)):
            done = one.finished(identifier, who)
            rms = next(row["value"] for row in done["scores"] if row["column"] == "rms:all")
            assert rms == pytest.approx(error, abs=0.01)


# names


def test_one_name_is_published_by_one_owner(small_store: Path, tmp_path: Path) -> None:
    with benchmark_at(small_store, tmp_path, RULES, SameProcess) as one, ThreadPoolExecutor(2) as pool:
        for race in range(3):
            name = f"race {race}"
            ids = {}
            for who in ("ada", "bob"):
                ids[who] = one.upload(uploads.good(), name, who).json()["id"]
            for who, identifier in ids.items():
                assert one.finished(identifier, who)["state"] == "done"
            gate = threading.Barrier(2)

            def publish(who: str, ids: dict[str, str] = ids, gate: threading.Barrier = gate) -> int:
                with httpx.Client() as client:
                    gate.wait()
                    headers = {"Authorization": f"Bearer {one.tokens[who]}"}
                    return client.post(f"{one.base}submissions/{ids[who]}/publish", headers=headers).status_code

            answers = dict(zip(ids, pool.map(publish, ids), strict=True))
            assert sorted(answers.values()) == [200, 409]
            loser = min(answers, key=lambda who: answers[who] == 200)
            assert one.call("DELETE", f"submissions/{ids[loser]}", loser).status_code == 204
            assert name in [entry["name"] for entry in httpx.get(one.base + "algorithms").json()]


@pytest.mark.parametrize(
    "name", ["Good", "gооd", "ｇｏｏｄ", "go\u00adod", "rоugh", "good ", " g o o d é", "a/b", "a\\b"]
)
def test_names_that_look_like_another_are_refused(bench: Benchmark, name: str) -> None:
    assert bench.upload(uploads.good(), name).status_code in (409, 422)


def test_a_lock_while_publishing_leaves_nothing_public(small_store: Path, tmp_path: Path) -> None:
    store_path = tmp_path / "scores.sqlite"
    store_path.write_bytes(small_store.read_bytes())
    with (
        open_store(store_path, timeout=0.5) as store,
        benchmark_on(store, tmp_path / "submissions", RULES, SameProcess) as one,
    ):
        identifier = one.outcome(uploads.good(), "locked out")["id"]
        with locked(store_path):
            assert one.call("POST", f"submissions/{identifier}/publish").status_code == 503
        assert "locked out" not in [entry["name"] for entry in httpx.get(one.base + "algorithms").json()]
        assert one.call("GET", f"submissions/{identifier}").json()["state"] == "done"
        assert one.call("POST", f"submissions/{identifier}/publish").status_code == 200
        assert one.call("GET", f"submissions/{identifier}").json()["state"] == "published"


def test_a_fault_at_any_statement_of_publishing_is_public_and_said_or_neither(
    small_store: Path, tmp_path: Path
) -> None:
    """A lock between two statements once gave 503 for what everybody saw: each statement of the store fails in turn."""
    store_path = tmp_path / "scores.sqlite"
    store_path.write_bytes(small_store.read_bytes())
    with open_store(store_path) as store, benchmark_on(store, tmp_path / "submissions", RULES, SameProcess) as one:
        identifier = one.outcome(uploads.good(), "at any statement")["id"]
        left = [0]

        def fails(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
            if not statement.startswith(("BEGIN", "SELECT", "PRAGMA")):
                left[0] -= 1
                if left[0] == 0:
                    cause = sqlite3.OperationalError("database is locked")
                    raise sql.exc.OperationalError(statement, None, cause)

        sql.event.listen(store._database.engine, "before_cursor_execute", fails)
        statuses = []
        for number in range(1, 60):
            left[0] = number
            statuses.append(one.call("POST", f"submissions/{identifier}/publish").status_code)
            left[0] = 0
            public = "at any statement" in [entry["name"] for entry in httpx.get(one.base + "algorithms").json()]
            assert public == (statuses[-1] == 200), (number, statuses)
            state = one.call("GET", f"submissions/{identifier}").json()["state"]
            assert state == ("published" if public else "done")
            if public:
                break
        assert statuses == [503] * (len(statuses) - 1) + [200]
        assert len(statuses) > 3


def test_a_lock_after_the_store_has_taken_a_submission_is_no_failure(
    small_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public is what the store shows; nothing has to be marked as such."""
    with benchmark_at(small_store, tmp_path, replace(RULES, database_seconds=0.3), SameProcess) as one:
        identifier = one.outcome(uploads.good(), "marked later")["id"]
        publish, block = one.taken._store.publish, locked(one.taken.folder / "submissions.sqlite")

        def locking(*arguments: Any, **options: Any) -> None:
            publish(*arguments, **options)
            block.__enter__()

        monkeypatch.setattr(one.taken._store, "publish", locking)
        try:
            assert one.call("POST", f"submissions/{identifier}/publish").status_code == 200
        finally:
            block.__exit__(None, None, None)
        assert "marked later" in [entry["name"] for entry in httpx.get(one.base + "algorithms").json()]
        assert one.call("GET", f"submissions/{identifier}").json()["state"] == "published"


def test_what_a_restored_store_lacks_is_private_again(small_store: Path, tmp_path: Path) -> None:
    """A copy of the store without its last pages, or an older one: what it does not show is not published."""
    with benchmark_at(small_store, tmp_path, RULES, SameProcess) as one:
        identifier = one.outcome(uploads.good(), "lost")["id"]
        assert one.call("POST", f"submissions/{identifier}/publish").status_code == 200
        token = one.tokens["ada"]
    for part in tmp_path.glob("scores.sqlite*"):
        part.unlink()
    with benchmark_at(small_store, tmp_path, RULES, SameProcess) as one:
        one.tokens["ada"] = token
        assert one.call("GET", f"submissions/{identifier}").json()["state"] == "done"
        assert one.call("POST", f"submissions/{identifier}/publish").json()["state"] == "published"


def test_a_queue_of_an_earlier_version_keeps_whose_a_name_is(small_store: Path, tmp_path: Path) -> None:
    """It had a table of names as they look; the store and the submissions' owners say the same."""
    with benchmark_at(small_store, tmp_path, RULES, SameProcess) as one:
        identifier = one.outcome(uploads.good(), "G00d Matcher")["id"]
        assert one.call("POST", f"submissions/{identifier}/publish").status_code == 200
        tokens = one.tokens
    with contextlib.closing(sqlite3.connect(tmp_path / "submissions" / "submissions.sqlite")) as other:
        other.execute("CREATE TABLE published_names (key VARCHAR PRIMARY KEY, submitter VARCHAR, job VARCHAR)")
        other.execute("INSERT INTO published_names VALUES ('goodmatcher', 'ada', ?)", (identifier,))
        other.commit()
    with benchmark_at(small_store, tmp_path, RULES, SameProcess) as one:
        one.tokens = tokens
        assert one.upload(uploads.good(), "g00d matcher", "bob").status_code == 409
        again = one.outcome(uploads.good(0.3), "G00d Matcher")
        assert one.call("POST", f"submissions/{again['id']}/publish").status_code == 200
        names = [entry["name"] for entry in httpx.get(one.base + "algorithms").json()]
        assert names.count("G00d Matcher") == 1


def test_a_queue_of_version_0_2_goes_on(small_store: Path, tmp_path: Path) -> None:
    identifier = "a" * 24
    upload = tmp_path / "submissions" / identifier / "upload.zip"
    upload.parent.mkdir(parents=True)
    upload.write_bytes(uploads.good())
    texts = ("submitter", "name", "description", "link", "state", "message", "findings", "scores", "maps")
    with contextlib.closing(sqlite3.connect(tmp_path / "submissions" / "submissions.sqlite")) as other:
        columns = [*(f"{name} TEXT NOT NULL" for name in texts), "progress FLOAT NOT NULL", "created FLOAT NOT NULL"]
        columns += ["attempt INTEGER NOT NULL DEFAULT 0", "losses INTEGER NOT NULL DEFAULT 0"]
        other.execute(f"CREATE TABLE jobs (id TEXT PRIMARY KEY, {', '.join(columns)})")
        for number, state in ((identifier, "evaluating"), ("b" * 24, "publishing")):
            row = (number, "ada", f"of 0.2 {state}", "", "", state, "", "[]", "[]", "[]", 0.5, time.time())
            other.execute(f"INSERT INTO jobs (id, {', '.join(texts)}, progress, created) VALUES ({'?,' * 11}?)", row)
        other.commit()
    with benchmark_at(small_store, tmp_path, RULES, SameProcess) as one:
        assert one.finished(identifier)["state"] == "done"
        assert one.call("GET", f"submissions/{'b' * 24}").json()["state"] == "done"
        assert one.outcome(uploads.good(), "of now")["state"] == "done"


# variants of the same attacks


@pytest.mark.parametrize(
    "name", ["good/entropy", "good∕entropy", "a\u202eb", "a\u200db", "a\u2066b", "\u0301", "mine （submitted）"]
)
def test_names_that_pretend_are_refused(bench: Benchmark, name: str) -> None:
    assert bench.upload(uploads.good(), name).status_code in (409, 422)


def test_a_link_shows_where_it_leads(bench: Benchmark) -> None:
    assert bench.upload(uploads.good(), "linked", link="https://a.example/\u202egnp.exe").status_code == 422


def test_one_submitter_holds_few_streams_open(small_store: Path, tmp_path: Path) -> None:
    with benchmark_at(small_store, tmp_path, RULES, SameProcess) as one, contextlib.ExitStack() as held:
        one.taken.evaluations.stop()
        identifier = queue_upload(one.taken, uploads.good(), "watched")
        headers = {"Authorization": f"Bearer {one.tokens['ada']}"}
        address = f"{one.base}submissions/{identifier}/events"
        most = RULES.watched_at_once
        streams = [held.enter_context(httpx.stream("GET", address, headers=headers)) for _ in range(most + 2)]
        assert [stream.status_code for stream in streams] == [200] * most + [429] * 2
        for stream in streams:
            stream.close()
        wait_for(lambda: one.taken.watching["ada"] == 0)
        with httpx.stream("GET", address, headers=headers) as again:
            assert again.status_code == 200


def test_a_line_of_the_log_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    scope = {"type": "http", "path": "/x\nERROR all is lost", "query_string": b"", "headers": [], "server": ("a", 1)}
    refusals._lost(Request(scope), StoreError("a\nb"))
    assert all("\n" not in record.getMessage() for record in caplog.records)


# archives


def larger_format(entries: int) -> bytes:
    """A zip of empty files whose last record says that there are three; the zip64 record before it knows better."""
    data = bytearray()
    for place in range(entries):
        name = b"%06d" % place
        data += struct.pack(
            "<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 3, 20, 0, 0, 0, 0, 0, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0
        )
        data += name
    size = len(data)
    data += struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, entries, entries, size, 0)
    data += struct.pack("<4sLQL", b"PK\x06\x07", 0, size, 1)
    data += struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 3, 3, 150, 0, 0)
    return bytes(data)


def test_the_larger_format_hides_no_entries(bench: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    data = larger_format(60_000)
    assert len(zipfile.ZipFile(io.BytesIO(data)).infolist()) == 60_000
    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", lambda self: pytest.fail("read in the server"))
    answer = bench.upload(data)
    assert answer.status_code == 422
    assert "500 files" in answer.json()["detail"]


# limits


def test_parallel_uploads_do_not_pass_the_limit(small_store: Path, tmp_path: Path) -> None:
    with benchmark_at(small_store, tmp_path, Rules(per_period=1), SameProcess) as one, ThreadPoolExecutor(8) as pool:
        headers = {"Authorization": f"Bearer {one.tokens['ada']}"}

        def send(place: int) -> int:
            address = f"{one.base}submissions?name=parallel{place}"
            return httpx.post(address, content=uploads.good(), headers=headers, timeout=60).status_code

        answers = list(pool.map(send, range(8)))
        assert sorted(answers) == [202] + [429] * 7


@pytest.mark.parametrize(("who", "size", "status"), [("sg_wrong", 24 << 20, 401), ("ada", 24 << 20, 413)])
def test_a_refused_upload_gets_its_answer_and_no_reset(bench: Benchmark, who: str, size: int, status: int) -> None:
    """A connection that is closed with unread bytes is reset, and a proxy shows 502 in place of the answer."""
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", httpx.URL(bench.base).port or 80), timeout=60) as line:
            head = f"POST /api/v1/submissions?name=x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {size}\r\n"
            token = bench.tokens.get(who, who)
            line.sendall(f"{head}Authorization: Bearer {token}\r\n\r\n".encode() + bytes(size))
            assert line.recv(100).startswith(f"HTTP/1.1 {status} ".encode())
    bench.taken.tokens._failures.clear()  # tokens are guessed here more often than anybody may


def test_a_body_that_never_ends_is_cut_off(bench: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "MOST_DRAINED", 1 << 20)
    head = b"POST /api/v1/submissions?name=x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n"
    with socket.create_connection(("127.0.0.1", httpx.URL(bench.base).port or 80), timeout=60) as line:
        line.sendall(head)
        with pytest.raises(ConnectionError):
            line.sendall(bytes(1 << 30))


def test_trickled_uploads_block_nobody_and_are_cut_off(small_store: Path, tmp_path: Path) -> None:
    rules = replace(RULES, stall_seconds=2.0)
    with benchmark_at(small_store, tmp_path, rules) as one, ThreadPoolExecutor(4) as pool:
        for place in range(4):
            one.tokens[f"slow {place}"] = one.taken.tokens.issue(f"slow {place}")

        def trickle() -> Iterator[bytes]:
            for _ in range(100):
                yield b"P"
                time.sleep(0.1)

        def send(place: int) -> int:
            headers = {"Authorization": f"Bearer {one.tokens[f'slow {place}']}"}
            address = f"{one.base}submissions?name=slow{place}"
            try:
                return httpx.post(address, content=trickle(), headers=headers, timeout=60).status_code
            except httpx.HTTPError:
                return 408  # hung up while we were still sending

        slow = [pool.submit(send, place) for place in range(4)]
        time.sleep(0.5)
        start = time.monotonic()
        assert one.upload(uploads.good(), "quick").status_code == 202
        assert time.monotonic() - start < 8
        assert [one.result() for one in slow] == [408] * 4


def test_submitters_take_turns(bench: Benchmark) -> None:
    jobs = bench.taken.jobs
    bench.taken.evaluations.stop()
    try:
        own = [queue_upload(bench.taken, uploads.good(), f"a{place}") for place in range(5)]
        other = queue_upload(bench.taken, uploads.good(), "b", "bob")
        order = []
        while (job := jobs.take()) is not None:
            assert jobs.change(job.id, state="failed")
            order.append(job.id)
        assert order.index(other) <= 1
        assert [identifier for identifier in order if identifier != other] == own
    finally:
        jobs.remove(order)
        bench.taken.evaluations.start()


# tokens


def test_a_forwarded_address_is_believed_only_from_a_named_proxy(small_store: Path, tmp_path: Path) -> None:
    with benchmark_at(small_store, tmp_path, Rules(failures_allowed=5, failure_seconds=600), SameProcess) as one:
        statuses = [
            one.call("GET", "submissions", f"sg_{place}", headers={"X-Forwarded-For": f"10.0.0.{place}"}).status_code
            for place in range(20)
        ]
        assert statuses.count(401) == 5
        assert statuses.count(429) == 15
        assert one.call("GET", "submissions", "ada").status_code == 200


# texts


@pytest.mark.parametrize("description", ["a\0b", "bell \a", "escape \x1b[31m"])
def test_descriptions_are_printable(bench: Benchmark, description: str) -> None:
    answer = bench.upload(uploads.good(), "described", description=description)
    assert answer.status_code == 422
    assert "printable" in answer.json()["detail"]


def test_only_the_server_reads_its_files(bench: Benchmark) -> None:
    bench.outcome(uploads.good(), "private files")
    for path in (bench.taken.folder, *bench.taken.folder.rglob("*")):
        if path.name.endswith(("-wal", "-shm")):
            continue
        assert path.stat().st_mode & 0o077 == 0, path
