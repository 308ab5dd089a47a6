"""One worker process: limits, messages, and what is left of a call that was stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from stereogauge import StereogaugeError
from stereogauge.errors import FileError, MissingDependency
from stereogauge.evaluation import processes
from stereogauge.evaluation.processes import CallCancelled, OpenedFile, TimeLimitExceeded, WorkerDied, WorkerProcess


@pytest.fixture
def worker():
    opened = WorkerProcess()
    yield opened
    opened.end()


def forking():
    child = os.fork()
    if child == 0:
        time.sleep(600)
    return child


def forking_and_staying():
    forking()
    time.sleep(600)


def reading(file):
    return file.read()


def writing(path):
    with open(path, "wb") as file:
        file.write(b"1")


class Trap:
    """An answer that would do something to whoever rebuilds it."""

    def __reduce__(self):
        return os.mkdir, ("/tmp/stereogauge-trap",)


def answer_with_a_trap():
    return {"maps": [Trap()]}


def bytes_of(size):
    return b"\x07" * size


def fail(kind):
    raise {"known": FileError, "memory": MemoryError}[kind]("what happened")


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


# a process that reads files of strangers


@pytest.fixture
def untrusted():
    opened = WorkerProcess(4 << 30, untrusted=True)
    yield opened
    opened.end()


def test_an_untrusted_worker_sends_plain_values_and_bytes_only(untrusted):
    assert untrusted.call(bytes_of, 1 << 20) == b"\x07" * (1 << 20)  # its module can be imported at the first call only
    assert untrusted.call(abs, -5) == 5
    with pytest.raises(StereogaugeError, match="cannot be sent"):
        untrusted.call(answer_with_a_trap)
    assert not Path("/tmp/stereogauge-trap").exists()
    with pytest.raises(StereogaugeError, match="FileError: what happened"):
        untrusted.call(fail, "known")
    with pytest.raises(MemoryError):
        untrusted.call(fail, "memory")


def test_an_answer_that_is_none_ends_the_process(untrusted):
    class Sending:
        def recv_bytes(self, most):
            return b"\x80\x04."

    with pytest.raises(WorkerDied, match="no answer"):
        untrusted._received(Sending())


def own_connection():
    """What code that has taken over its process finds: the connection to the server, and the number of the call."""
    frame = sys._getframe()
    while frame.f_code.co_name != "_serve":
        frame = frame.f_back
    return frame.f_locals["connection"], frame.f_locals["number"]


def begin_a_message():
    os.write(own_connection()[0].fileno(), (1000).to_bytes(4, "big") + b"no more than this")
    time.sleep(600)


def say_again_that_the_call_started():
    connection, number = own_connection()
    while True:
        connection.send_bytes(f'[{number}, "started", null]'.encode())
        time.sleep(0.05)


def answer(kind, value):
    connection, number = own_connection()
    connection.send_bytes(f'[{number}, "{kind}", {value}]'.encode())
    time.sleep(600)


@pytest.mark.parametrize(
    "taken_over",
    [
        pytest.param((begin_a_message,), id="half of a message"),
        pytest.param((say_again_that_the_call_started,), id="a clock that begins again"),
        pytest.param((answer, "over", 0), id="an unknown kind"),
        pytest.param((answer, "result", "[" + "[]," * (2 << 20) + "[]]"), id="lists that fill the memory"),
    ],
)
def test_whoever_takes_over_an_untrusted_worker_stops_nobody(untrusted, monkeypatch, taken_over):
    monkeypatch.setattr(processes, "WHOLE_MESSAGE", 2.0)
    with pytest.raises(WorkerDied):
        untrusted.call(*taken_over, seconds=60)
    assert untrusted.call(abs, -5, seconds=60) == 5


def test_an_error_of_an_untrusted_worker_is_short(untrusted):
    with pytest.raises(StereogaugeError) as problem:
        untrusted.call(int, "x" * 4000, options={"base": 2})
    assert len(str(problem.value)) < 2100


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
def test_an_untrusted_worker_reads_the_file_that_it_is_given_and_no_other(untrusted, tmp_path):
    (tmp_path / "given").write_bytes(b"content")
    assert untrusted.call(reading, OpenedFile(str(tmp_path / "given"))) == b"content"
    with pytest.raises(StereogaugeError, match=r"OSError|PermissionError"):
        untrusted.call(reading, OpenedFile(str(tmp_path / "given")))


def test_an_untrusted_worker_writes_no_file(untrusted, tmp_path):
    with pytest.raises(StereogaugeError, match="OSError"):
        untrusted.call(writing, str(tmp_path / "file"))
    assert not (tmp_path / "file").exists() or not (tmp_path / "file").read_bytes()


def gone(process):
    return not psutil.pid_exists(process) or psutil.Process(process).status() == psutil.STATUS_ZOMBIE


def wait_until(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_what_a_worker_started_ends_with_it(worker):
    child = worker.call(forking)
    assert not gone(child)
    worker.end()
    wait_until(lambda: gone(child))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.parametrize("untrusted", ["False", "True"])
def test_what_a_worker_started_ends_with_a_killed_server(untrusted):
    """The server has no time to end anything; its worker notices and takes its own children along."""
    program = (
        "import os, sys, threading, time, psutil\n"
        "from stereogauge.evaluation.processes import WorkerProcess\n"
        "from tests.evaluation.test_processes import forking_and_staying\n"
        "if __name__ == '__main__':\n"
        f"    worker = WorkerProcess(untrusted={untrusted})\n"
        "    threading.Thread(target=worker.call, args=(forking_and_staying,), daemon=True).start()\n"
        "    while worker.process_id is None or not psutil.Process(worker.process_id).children():\n"
        "        time.sleep(0.05)\n"
        "    print(worker.process_id, psutil.Process(worker.process_id).children()[0].pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    if untrusted == "True" and os.geteuid() != 0:
        pytest.skip("it cannot start a process here")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -9, done.stderr
    wait_until(lambda: all(gone(int(process)) for process in done.stdout.split()))
