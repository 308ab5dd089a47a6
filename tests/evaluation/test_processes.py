"""One worker process: limits, messages, and what is left of a call that was stopped."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from stereogauge.errors import MissingDependency, StereogaugeError
from stereogauge.evaluation.processes import CallCancelled, TimeLimitExceeded, WorkerDied, WorkerProcess


@pytest.fixture
def worker():
    opened = WorkerProcess()
    yield opened
    opened.end()


def counting(steps, report):
    for step in range(steps):
        report("step", step)
    return steps


def counting_after_the_end(report):
    """Goes on to report from a thread when its own call is over."""
    started = threading.Event()

    def later():
        started.set()
        for _ in range(400):
            report("late", None)
            time.sleep(0.005)

    threading.Thread(target=later, daemon=True).start()
    started.wait()


def failing_with_a_special_error():
    raise MissingDependency("package", "extra", "Something")


def takes_memory(size):
    return int(np.ones(size, np.uint8).sum())


def test_a_process_is_used_again_after_a_call_that_came_to_its_end(worker):
    assert worker.call(os.getpid) == worker.call(os.getpid) == worker.process_id != os.getpid()
    assert worker.call(int, "ff", options={"base": 16}) == 255


@pytest.mark.parametrize("fails", [(divmod, 1, 0), (os._exit, 3), (os.kill, 0)])
def test_a_process_is_not_used_again_after_an_error(worker, fails):
    first = worker.call(os.getpid)
    with pytest.raises((ZeroDivisionError, WorkerDied, TypeError)):
        worker.call(*fails)
    assert worker.process_id is None
    assert worker.call(os.getpid) != first


def test_messages_arrive_in_their_order_and_before_the_result(worker):
    heard = []
    assert worker.call(counting, 3, report=lambda *message: heard.append(message)) == 3
    assert heard == [("step", 0), ("step", 1), ("step", 2)]


def test_a_message_of_an_earlier_call_is_never_credited_to_a_later_one(worker):
    worker.call(counting_after_the_end, report=lambda *message: None)
    heard = []
    worker.call(time.sleep, 0.3)
    worker.call(counting, 2, report=lambda *message: heard.append(message))
    assert heard == [("step", 0), ("step", 1)]


def test_a_call_is_stopped_at_its_time_limit_which_does_not_count_the_start(worker):
    started = time.monotonic()
    with pytest.raises(TimeLimitExceeded, match=r"longer than the time limit of 0\.5 s"):
        worker.call(time.sleep, 600, seconds=0.5)
    assert time.monotonic() - started < 120
    assert worker.process_id is None
    assert worker.call(abs, -5, seconds=60) == 5


def test_a_call_is_stopped_when_it_is_cancelled(worker):
    asked = []

    def cancelled():
        asked.append(worker.process_id)
        return len(asked) > 3

    with pytest.raises(CallCancelled):
        worker.call(time.sleep, 600, cancelled=cancelled)
    assert worker.process_id is None
    assert worker.call(abs, -5) == 5


def test_a_process_killed_from_another_thread_ends_its_call_and_makes_no_other(worker):
    def kill():
        while worker.process_id is None:
            time.sleep(0.01)
        worker.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(WorkerDied, match="killed"):
        worker.call(time.sleep, 600)
    killer.join()
    with pytest.raises(WorkerDied, match="was ended"):
        worker.call(abs, -5)


def test_memory_beyond_the_limit_is_an_error_of_the_call_and_not_of_the_machine():
    worker = WorkerProcess(memory_bytes=3 << 30)
    try:
        assert worker.call(takes_memory, 1 << 20) == 1 << 20
        with pytest.raises(MemoryError):
            worker.call(takes_memory, 4 << 30)
    finally:
        worker.end()


def test_an_error_that_cannot_be_copied_keeps_its_sentence(worker):
    with pytest.raises(StereogaugeError, match="Something needs the package package"):
        worker.call(failing_with_a_special_error)


def test_an_answer_that_cannot_be_sent_is_an_error_of_the_call(worker):
    with pytest.raises(StereogaugeError, match="cannot be sent"):
        worker.call(threading.Lock)


def test_a_signal_is_named(worker):
    with pytest.raises(WorkerDied, match="by signal SIGSEGV"):
        worker.call(signal.raise_signal, signal.SIGSEGV)
