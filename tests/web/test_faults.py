"""The whole path of submissions under faults: nothing is lost, nothing is mixed up.

Each schedule queues submissions of several owners, each with scores of its own, and lets faults strike at random steps:
the worker dies, the database is locked or gone, the disk is full, the server stops and starts again. In the end every
submission is done with its own scores, or held for the host with its upload kept.
"""

from __future__ import annotations

import errno
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.web import uploads
from tests.web.submitters import RULES, SameProcess, queue_upload

from stereogauge import open_store
from stereogauge.errors import StoreError
from stereogauge.evaluation.processes import CallCancelled, WorkerDied
from stereogauge.store import Store
from stereogauge.web.source import StoreSource
from stereogauge.web.submissions.api import HostedSubmissions
from stereogauge.web.submissions.judging import HostError

QUICK, ALL = 8, 200
MOST_STEPS = 60


class Faults:
    """Raises one of the faults at some of the steps; `left` are still to come."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.left = self.random.randrange(1, 7)
        self.kinds: tuple[Callable[[], Exception], ...] = (
            lambda: WorkerDied("the worker process was killed (signal 9)"),
            lambda: StoreError("submissions.sqlite: another program is writing to it."),
            lambda: StoreError("postgresql://host/name: the server does not answer."),
            lambda: HostError("The host's disk or system fails: No space left on device."),
            lambda: CallCancelled("the call was cancelled"),  # the server was stopped
        )

    def fill_disk(self) -> None:
        """In the worker itself."""
        if self.left and self.random.random() < 0.05:
            self.left -= 1
            raise OSError(errno.ENOSPC, "No space left on device")

    def strike(self) -> None:
        if self.left and self.random.random() < 0.2:
            self.left -= 1
            raise self.random.choice(self.kinds)()


class FaultyWorker(SameProcess):
    """A worker that may be struck at every call: before it, in it, or before its answer arrives."""

    faults: Faults

    def call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        self.faults.strike()
        self.faults.fill_disk()
        answer = super().call(function, *arguments, **options)
        self.faults.strike()
        return answer


@contextmanager
def benchmark(
    store: Store, folder: Path, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HostedSubmissions]:
    monkeypatch.setattr(FaultyWorker, "faults", faults, raising=False)
    taken = HostedSubmissions(store, StoreSource(store), folder, RULES, make_worker=FaultyWorker)
    for name in ("take", "change", "lose"):
        good = getattr(taken.jobs, name)

        def sometimes(*arguments: Any, good: Callable[..., Any] = good, **options: Any) -> Any:
            if faults.left and faults.random.random() < 0.03:
                faults.left -= 1
                raise StoreError("submissions.sqlite: another program is writing to it.")
            return good(*arguments, **options)

        monkeypatch.setattr(taken.jobs, name, sometimes)
    try:
        yield taken
    finally:
        taken.stop()


def check_schedule(store: Store, folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> str:
    faults = Faults(seed)
    errors = {}
    with benchmark(store, folder, Faults(0), monkeypatch) as taken:
        FaultyWorker.faults.left = 0
        for place in range(3):
            owner, error = f"owner {place % 2}", 0.1 + 0.2 * place
            errors[queue_upload(taken, uploads.good(error), f"algorithm {error:.1f}", owner)] = (owner, error)
    steps = 0
    while steps < MOST_STEPS:
        with benchmark(store, folder, faults, monkeypatch) as taken:
            taken.clean()
            for _ in range(faults.random.randrange(2, 8)):  # then the server is started anew
                steps += 1
                try:
                    taken.evaluations.step()
                except Exception:  # what the loop outlives
                    continue
            jobs = {identifier: taken.get(identifier) for identifier in errors}
        if all(job is not None and not job.open for job in jobs.values()):
            break
    for identifier, (owner, error) in errors.items():
        job = jobs[identifier]
        assert job is not None, seed
        assert job.submitter == owner, seed
        assert job.state in ("done", "held"), (seed, job.state, job.message)
        if job.state == "held":
            assert (folder / identifier / "upload.zip").is_file(), seed
            continue
        rms = [row["value"] for row in job.scores if (row["metric"], row["region"]) == ("rms", "all")]
        assert rms == pytest.approx([error] * 3, abs=1e-4), seed
        assert {Path(json.loads(row["source"])).parts[-3] for row in job.maps} == {identifier}, seed
    return " ".join(sorted(job.state for job in jobs.values() if job is not None))


def run_schedules(original: Path, tmp_path: Path, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scores.sqlite").write_bytes(original.read_bytes())
    with open_store(tmp_path / "scores.sqlite", timeout=1.0) as store:
        ends = [check_schedule(store, tmp_path / f"schedule-{seed}", seed, monkeypatch) for seed in seeds]
    assert ends.count("done done done") > len(ends) // 2


def test_faults_lose_and_mix_up_nothing(small_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_schedules(small_store, tmp_path, range(QUICK), monkeypatch)


@pytest.mark.slow
def test_two_hundred_schedules(small_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_schedules(small_store, tmp_path, range(QUICK, QUICK + ALL), monkeypatch)
