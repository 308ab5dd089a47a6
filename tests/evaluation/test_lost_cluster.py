"""A cluster that is gone ends a run with one sentence instead of a wait without end."""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Any

import pytest

from stereogauge import StereogaugeError
from stereogauge.evaluation import executors
from stereogauge.evaluation.executors import Cluster, Tasks


class Client:
    """A connection to a scheduler with so many workers; None: the scheduler is gone."""

    def __init__(self, workers: dict[str, int] | None) -> None:
        self.workers = workers

    def nthreads(self) -> dict[str, int]:
        if self.workers is None:
            raise OSError("Timed out trying to connect")
        return self.workers

    def submit(self, *arguments: Any) -> Future[Any]:
        if self.workers is None:
            raise RuntimeError("cannot schedule new futures after shutdown")
        return Future()

    def shutdown(self, wait: bool) -> None:
        if self.workers is None:
            raise RuntimeError("Client is closed. Can't send cancel-keys message.")

    def close(self) -> None:
        self.closed = True


def cluster(workers: dict[str, int] | None) -> Cluster:
    made = Cluster.__new__(Cluster)
    made._client = made._executor = Client(workers)
    made._seen = time.monotonic()
    made.workers = 1
    return made


@pytest.mark.parametrize(("workers", "says"), [({}, "no worker for"), (None, "scheduler does not answer")])
def test_a_run_without_workers_ends(workers: dict[str, int] | None, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "WITHOUT_WORKERS", 0.1)
    monkeypatch.setattr(executors, "LOOK_EVERY", 0.05)
    executor = cluster({})
    waiting: Tasks[int, Any] = Tasks(executor.submit, executor, [1])
    executor._client.workers = workers
    with pytest.raises(StereogaugeError, match=says):
        list(waiting.outcomes())


def test_leaving_a_cluster_whose_scheduler_is_gone_raises_nothing() -> None:
    executor = cluster(None)
    executor.shutdown(cancel_futures=True)
    assert executor._client.closed
