"""Worker processes: results, errors, deaths."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

import pytest

from stereogauge.evaluation.executors import InProcess
from stereogauge.evaluation.processes import LocalProcesses, WorkerDied, default_workers


@pytest.fixture(scope="module")
def executor():
    with LocalProcesses(2) as opened:
        yield opened


@pytest.mark.parametrize("kind", ["here", "processes"])
def test_results_and_errors_arrive(kind, executor):
    place = InProcess() if kind == "here" else executor
    assert place.submit(divmod, 7, 2).result(60) == (3, 1)
    assert list(place.map(abs, [-1, -2, -3], timeout=60)) == [1, 2, 3]
    with pytest.raises(ZeroDivisionError):
        place.submit(divmod, 1, 0).result(60)


def test_a_death_costs_only_the_call_that_was_running(executor):
    other = executor.submit(time.sleep, 0.5)
    doomed = executor.submit(signal.raise_signal, signal.SIGKILL)
    assert isinstance(doomed.exception(60), WorkerDied)
    assert other.result(60) is None
    assert executor.submit(abs, -5).result(60) == 5


def test_a_worker_that_ends_itself_is_reported_with_its_code(executor):
    with pytest.raises(WorkerDied, match="exit code 3"):
        executor.submit(os._exit, 3).result(60)
    with pytest.raises(WorkerDied, match="killed"):
        executor.submit(signal.raise_signal, signal.SIGKILL).result(60)
    assert executor.submit(abs, -5).result(60) == 5


def test_what_cannot_be_sent_is_an_error_of_the_call(executor):
    with pytest.raises(Exception, match="pickle"):
        executor.submit(lambda: 1).result(60)
    assert executor.submit(abs, -5).result(60) == 5


def test_ending_at_once_kills_what_runs_and_cancels_what_waits():
    others = set(multiprocessing.active_children())
    executor = LocalProcesses(1)
    running = executor.submit(time.sleep, 600)
    waiting = executor.submit(abs, -1)
    while not set(multiprocessing.active_children()) - others:
        time.sleep(0.01)
    started = time.monotonic()
    executor.shutdown(wait=True, cancel_futures=True)
    assert time.monotonic() - started < 300
    assert waiting.cancelled()
    assert isinstance(running.exception(), WorkerDied)
    assert not set(multiprocessing.active_children()) - others


def test_there_is_a_worker_for_each_processor_we_may_use():
    assert 1 <= default_workers() <= (os.cpu_count() or 1)
