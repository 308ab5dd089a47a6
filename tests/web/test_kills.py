"""A server that is killed again and again: what it accepted is done once, and what it published stays published."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from tests.web import uploads
from tests.web.test_recipes import free_port

STARTING, FINISHING = 60.0, 90.0


class Server:
    """`stereogauge serve` in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], base: str, token: str, log: Path) -> None:
        self.process = process
        self.log = log
        self.client = httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=60)

    def kill(self) -> None:
        """End it in whatever it does; its workers end with it."""
        started = psutil.Process(self.process.pid).children(recursive=True)
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        gone, alive = psutil.wait_procs(started, timeout=20)
        assert alive == [], gone

    def state(self, identifier: str) -> dict[str, Any]:
        answer = self.client.get(f"submissions/{identifier}")
        assert answer.status_code == 200, f"{answer.text}\n{self.log.read_text(encoding='utf-8')[-4000:]}"
        return dict(answer.json())


@contextmanager
def serving(store: Path, token: str) -> Iterator[Server]:
    port = free_port()
    words = [sys.executable, "-m", "stereogauge", "serve", str(store), "--port", str(port), "--submissions"]
    log = store.with_name("server.log")
    with (
        log.open("wb") as errors,
        subprocess.Popen([*words, "--hidden", "beta", "--limit", "1000"], stderr=errors) as process,
    ):
        one = Server(process, f"http://127.0.0.1:{port}/api/v1/", token, log)
        try:
            end = time.monotonic() + STARTING
            while True:
                assert process.poll() is None
                assert time.monotonic() < end
                with contextlib.suppress(httpx.TransportError):
                    if one.client.get("health").status_code == 200:
                        break
                time.sleep(0.1)
            yield one
        finally:
            one.client.close()
            process.kill()


def test_a_server_that_is_killed_loses_and_doubles_nothing(small_store: Path, tmp_path: Path) -> None:
    survive_kills(small_store, tmp_path, kills=1)


@pytest.mark.slow
def test_a_server_that_is_killed_often_loses_and_doubles_nothing(small_store: Path, tmp_path: Path) -> None:
    survive_kills(small_store, tmp_path, kills=20)


def survive_kills(original: Path, folder: Path, kills: int) -> None:
    store, chance = folder / "scores.sqlite", random.Random(kills)
    shutil.copy(original, store)
    issue = [sys.executable, "-m", "stereogauge", "serve", str(store), "--issue-token", "Ada"]
    token = subprocess.run(issue, capture_output=True, text=True, check=True).stdout.strip()
    accepted: dict[str, float] = {}
    public: set[str] = set()
    for number in range(kills):
        with serving(store, token) as one:

            def visit(one: Server = one, number: int = number) -> None:
                """Upload twice and publish all that is done, until the server is gone."""
                with contextlib.suppress(httpx.TransportError):
                    for place in range(2):
                        error = round(0.1 + 0.02 * (2 * number + place), 2)
                        params = {"name": f"of round {number}.{place}"}
                        sent = one.client.post("submissions", params=params, content=uploads.good(error))
                        assert sent.status_code == 202, sent.text
                        accepted[sent.json()["id"]] = error
                    while one.process.poll() is None:
                        time.sleep(0.05)
                        for identifier in set(accepted) - public:
                            if one.client.post(f"submissions/{identifier}/publish").status_code == 200:
                                public.add(identifier)

            visitor = threading.Thread(target=visit)
            visitor.start()
            time.sleep(chance.uniform(0.05, 6.0))
            while number == kills - 1 and visitor.is_alive() and not accepted:
                time.sleep(0.05)
            one.kill()
            visitor.join()
    with serving(store, token) as one:
        end = time.monotonic() + FINISHING
        while any(one.state(identifier)["state"] not in ("done", "published") for identifier in accepted):
            assert time.monotonic() < end, [one.state(identifier) for identifier in accepted]
            time.sleep(0.2)
        assert accepted
        for identifier, error in accepted.items():
            now = one.state(identifier)
            assert now["state"] == "published" or identifier not in public
            assert next(row["value"] for row in now["scores"] if row["column"] == "rms:all") == pytest.approx(
                error, abs=0.01
            )
        names = [entry["name"] for entry in one.client.get("algorithms").json()]
        assert len(names) == len(set(names))
        assert public <= {one["id"] for one in one.client.get("submissions").json()["submissions"]}
