"""A site that takes submissions, and those who make them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx
from tests.web.small import serving

from stereogauge.evaluation.processes import CallCancelled, OpenedFile, WorkerProcess
from stereogauge.store import Store
from stereogauge.web.app import create_app
from stereogauge.web.site import Site
from stereogauge.web.source import StoreSource
from stereogauge.web.submissions.api import HostedSubmissions
from stereogauge.web.submissions.evaluations import for_owner
from stereogauge.web.submissions.jobs import Rules

WAIT = 60.0
RULES = Rules(per_period=200, largest_bytes=4 << 20, largest_unpacked=16 << 20, most_entries=500, hidden=("beta",))


class Benchmark:
    """A running site with submissions and two submitters."""

    def __init__(self, base: str, taken: HostedSubmissions) -> None:
        self.base = f"{base}/api/v1/"
        self.taken = taken
        self.tokens = {name: taken.tokens.issue(name) for name in ("ada", "bob")}
        self.client = httpx.Client(base_url=self.base, timeout=60)

    def call(self, method: str, path: str, who: str = "ada", **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.tokens.get(who, who)}", **more.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **more)

    def upload(self, data: Any, name: str = "mine", who: str = "ada", **params: str) -> httpx.Response:
        return self.call("POST", "submissions", who, params={"name": name, **params}, content=data)

    def finished(self, identifier: str, who: str = "ada") -> dict[str, Any]:
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            answer = self.call("GET", f"submissions/{identifier}", who).json()
            if answer["state"] not in ("queued", "validating", "evaluating"):
                return dict(answer)
            time.sleep(0.1)
        raise AssertionError(f"{identifier} was not finished in {WAIT:g} s")

    def outcome(self, data: bytes, name: str = "mine") -> dict[str, Any]:
        accepted = self.upload(data, name)
        assert accepted.status_code == 202, accepted.text
        return self.finished(accepted.json()["id"])


def queue_upload(taken: HostedSubmissions, data: bytes, name: str, who: str = "ada") -> str:
    """Put an upload into the queue without a request; returns its id."""
    with taken.uploading(who) as folder:
        with open(folder / "upload.zip", "xb", opener=for_owner) as file:
            file.write(data)
        return taken.enqueue(folder, who, name, "", "").id


class SameProcess:
    """A worker without a process of its own: as quick as a call, for tests that are not about its limits."""

    process_id = None

    def __init__(self, memory_bytes: int | None = None, *, untrusted: bool = False) -> None:
        self.memory_bytes = memory_bytes
        self.opened: list[IO[bytes]] = []

    def call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        seconds: float | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Any:
        if cancelled is not None and cancelled():
            raise CallCancelled("the call was cancelled")
        given = [open(one.path, "rb") if isinstance(one, OpenedFile) else one for one in arguments]  # noqa: SIM115
        self.opened += [file for file, one in zip(given, arguments, strict=True) if file is not one]
        return function(*given)

    def end(self) -> None:
        while self.opened:
            self.opened.pop().close()


@contextmanager
def benchmark_on(
    store: Store, folder: Path, rules: Rules = RULES, make_worker: Callable[..., Any] = WorkerProcess
) -> Iterator[Benchmark]:
    """A site with submissions on a store."""
    source = StoreSource(store)
    taken = HostedSubmissions(store, source, folder, rules, make_worker=make_worker)
    with serving(create_app(Site(source, rules.hidden, taken))) as base:
        one = Benchmark(base, taken)
        try:
            yield one
        finally:
            one.client.close()
