"""A site that takes submissions, and those who make them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
from tests.web.small import serving

from stereogauge.evaluation.processes import CallCancelled
from stereogauge.evaluation.rights import Account
from stereogauge.store import Store
from stereogauge.web.app import create_app
from stereogauge.web.site import Site
from stereogauge.web.source import StoreSource
from stereogauge.web.submissions.rules import Rules
from stereogauge.web.submissions.submissions import Submissions
from stereogauge.web.submissions.uploads import MakeWorker, limited_worker

WAIT = 60.0
RULES = Rules(per_period=200, largest_bytes=4 << 20, largest_unpacked=16 << 20, most_entries=500, hidden=("beta",))


class Benchmark:
    """A running site with submissions and two submitters."""

    def __init__(self, base: str, taken: Submissions) -> None:
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


class OutsideError(BaseException):
    """What happens on the server's side of a report: the call never sees it."""

    def __init__(self, problem: Exception) -> None:
        self.problem = problem


class SameProcess:
    """A worker without a process of its own: as quick as a call, for tests that are not about its limits."""

    process_id = None

    def __init__(self, memory_bytes: int | None = None, account: Account | None = None) -> None:
        self.memory_bytes = memory_bytes

    def call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        seconds: float | None = None,
        report: Callable[..., None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        within: Path | None = None,
    ) -> Any:
        arguments = arguments if within is None else (str(within), *arguments)
        if report is None:
            return function(*arguments)

        def following(*values: Any) -> None:
            try:
                if cancelled is not None and cancelled():
                    raise CallCancelled("the call was cancelled")
                report(*values)
            except Exception as problem:
                raise OutsideError(problem) from None

        try:
            return function(*arguments, report=following)
        except OutsideError as outside:
            raise outside.problem from None

    def end(self) -> None:
        pass


def as_ourselves(rules: Rules) -> Rules:
    """The rules for workers in this process, which cannot have another user."""
    root = sys.platform == "linux" and os.geteuid() == 0
    return replace(rules, worker_user="root") if root else rules


@contextmanager
def benchmark_on(
    store: Store, folder: Path, rules: Rules = RULES, make_worker: MakeWorker = limited_worker
) -> Iterator[Benchmark]:
    """A site with submissions on a store."""
    source = StoreSource(store)
    own = rules if make_worker is limited_worker else as_ourselves(rules)
    taken = Submissions(store, source, folder, own, make_worker=make_worker)
    with serving(create_app(Site(source, rules.hidden, taken))) as base:
        one = Benchmark(base, taken)
        try:
            yield one
        finally:
            one.client.close()
