"""The process pool: worker processes that make one call at a time each, within limits of time and memory.

Whatever a call does to its process - it crashes, hangs or takes all memory - costs that call and nothing else. Every
message between the two processes has the number of its call, and a process is reused only after a call that ended
normally, so that no message can belong to another call.

`concurrent.futures.ProcessPoolExecutor` and loky lack this: one dead worker breaks their whole pool and fails every
other call, they tell neither exit code nor signal, and they have no limits of time and memory per call.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, Future
from multiprocessing import reduction
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.rights import Account, limit_memory, limit_rights

STARTING = 120.0
"""Seconds that a process has to start and to import what its first call needs, beside the time limit of the call."""
POLL = 0.2
"""Seconds between two looks at whether a call was cancelled."""
LARGEST_MESSAGE = 1 << 28
"""Bytes of a message from a process that reads files of strangers."""
KILLED = 9
"""The signal that nothing survives; Windows has no name for it."""
GONE = (EOFError, ConnectionResetError, BrokenPipeError)

Message = tuple[int, Literal["started", "report", "result", "error"], Any]


class WorkerDied(StereogaugeError):  # noqa: N818 - what happened, not whose mistake it is
    """A worker process ended in the middle of a call."""


class TimeLimitExceeded(StereogaugeError):  # noqa: N818
    """A call took longer than it was allowed to, and its process was ended."""


class CallCancelled(StereogaugeError):  # noqa: N818
    """A call was cancelled, and its process was ended."""


class WorkerProcess:
    """A spawned process, started at the first call, and again after a call that failed or was stopped.

    A `copied` one is a copy of this process instead, with everything that is imported and remembered here.

    `memory_bytes` limits its address space where the system can do that. An `untrusted` one reads files of strangers,
    which may take it over: it is kept from files larger than that, from core files and from new rights, and its files
    from other users; it runs as `account` where one is given; and what it answers is plain values and texts, since
    the sender of an object chooses what is run to rebuild it. Of what it raises, `errors` keep their class.
    `call` is for one thread; `kill` is for any.
    """

    def __init__(
        self,
        memory_bytes: int | None = None,
        *,
        copied: bool = False,
        untrusted: bool = False,
        account: Account | None = None,
        errors: Iterable[type[StereogaugeError]] = (),
    ) -> None:
        self._memory_bytes = memory_bytes
        self._copied = copied
        self._untrusted = untrusted
        self._account = account
        self._errors: dict[str, type[Exception]] = {kind.__name__: kind for kind in (*errors, MemoryError)}
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._calls = 0
        self._killed = False
        self._lock = threading.Lock()

    @property
    def process_id(self) -> int | None:
        """The id of the process; None while there is none."""
        with self._lock:
            return self._process.pid if self._process is not None and self._process.is_alive() else None

    def call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        options: Mapping[str, Any] = MappingProxyType({}),
        seconds: float | None = None,
        report: Callable[..., None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        within: Path | None = None,
    ) -> Any:
        """The result of `function(*arguments, **options)` in the process; what it raises is raised here.

        `seconds` is its time limit. With `report`, the function gets an argument of that name, and what it calls it
        with is what `report` is called with here. `cancelled` is called regularly and says whether to stop. With
        `within`, a folder, the function gets its path as the first argument; a process with an account needs no right
        to the folders above it.
        """
        self._calls += 1
        call = bytes(ForkingPickler.dumps((function, arguments, dict(options))))
        connection = self._started()
        try:
            handed = within is not None and self._account is not None
            connection.send((self._calls, call, report is not None, handed or within))
            if within is not None and handed:
                _hand_over(connection, within)
        except GONE:
            raise WorkerDied(self._cause_of_death()) from None
        try:
            return self._answer(connection, seconds, report, cancelled)
        except BaseException:
            self.end()
            raise

    def _answer(
        self,
        connection: Connection,
        seconds: float | None,
        report: Callable[..., None] | None,
        cancelled: Callable[[], bool] | None,
    ) -> Any:
        end = None if seconds is None else time.monotonic() + seconds + STARTING
        while True:
            if cancelled is not None and cancelled():
                raise CallCancelled("the call was cancelled")
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise TimeLimitExceeded(f"it took longer than the time limit of {seconds:g} s")
            waits = [wait for wait in (left, None if cancelled is None else POLL) if wait is not None]
            try:
                if not connection.poll(min(waits, default=None)):
                    continue
                number, kind, value = self._received(connection)
            except GONE:
                raise WorkerDied(self._cause_of_death()) from None
            if number != self._calls:
                continue
            if kind == "result":
                return value
            if kind == "error":
                raise self._error(*value) if self._untrusted else value
            if kind == "report" and report is not None:
                report(*value)
            elif kind == "started" and seconds is not None:
                end = time.monotonic() + seconds

    def _received(self, connection: Connection) -> Message:
        if not self._untrusted:
            message: Message = connection.recv()
            return message
        try:
            number, kind, value = json.loads(connection.recv_bytes(LARGEST_MESSAGE))
        except GONE:
            raise
        except (OSError, ValueError, TypeError, RecursionError):
            raise WorkerDied("the worker process sent what is no answer") from None
        return number, kind, value

    def _error(self, kind: object = "", sentence: object = "", *rest: object) -> Exception:
        """What an untrusted process says that it raised."""
        known = self._errors.get(str(kind))
        return known(str(sentence)) if known is not None else StereogaugeError(f"{kind}: {sentence}")

    def start(self) -> None:
        """Start the process now rather than at its first call: one that is copied, before other threads run."""
        self._started()

    def _started(self) -> Connection:
        with self._lock:
            if self._killed:
                raise WorkerDied("the worker process was ended")
            if self._connection is None:
                context: Any = multiprocessing.get_context("fork" if self._copied else "spawn")
                ours, theirs = context.Pipe()
                not_theirs = ours if self._copied else None
                limits = (self._memory_bytes, self._untrusted, self._account)
                self._process = context.Process(target=_serve, args=(theirs, not_theirs, *limits), daemon=True)
                self._process.start()
                self._connection = ours
                theirs.close()
            return self._connection

    def kill(self) -> None:
        """End the process at once and for good: the call that it makes is lost, and no other can be made."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._process.kill()

    def end(self, *, at_once: bool = True) -> int:
        """End the process between two calls, at once or when it notices that there are no more; returns its exit code.

        The next call starts another one.
        """
        with self._lock:
            process, self._process = self._process, None
            connection, self._connection = self._connection, None
            if process is not None and at_once:
                process.kill()
        if connection is not None:
            connection.close()
        if process is None:
            return 0
        process.join()
        code = process.exitcode or 0
        process.close()
        return code

    def _cause_of_death(self) -> str:
        code = self.end(at_once=False)
        if code == -KILLED:
            return "the worker process was killed (signal 9), for example by the system when memory ran out"
        what = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return f"the worker process ended {what}"


def can_copy() -> bool:
    """Whether a copy of this process could do all that this one can: on Linux, while it has one thread.

    Other threads do not run in a copy, and what they had locked stays locked there.
    """
    return sys.platform == "linux" and len(os.listdir("/proc/self/task")) == 1


def _hand_over(connection: Connection, folder: Path) -> None:
    """Send an open folder: its holder needs no right to those above it."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        reduction.send_handle(connection, opened, None)
    finally:
        os.close(opened)


def _serve(
    connection: Connection,
    not_ours: Connection | None,
    memory_bytes: int | None,
    untrusted: bool,
    account: Account | None,
) -> None:
    """Answer calls until the other side is gone, whose own end a copied process has to close to notice that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not_ours is not None:
        not_ours.close()
    if memory_bytes is not None:
        limit_memory(memory_bytes)
    _use_one_thread()
    sending = threading.Lock()
    limited = False

    def send(*message: Any) -> None:
        with sending:
            if untrusted:
                connection.send_bytes(json.dumps(message, default=_plain).encode())
            else:
                connection.send(message)

    while True:
        try:
            number, call, reports, within = connection.recv()
            handed = reduction.recv_handle(connection) if within is True else None
            try:
                function, arguments, options = pickle.loads(call)
                if untrusted and not limited:  # only now: an account may be unable to read what the call imports
                    limited = True
                    limit_rights(memory_bytes, account)
                if within:
                    arguments = (str(within) if handed is None else f"/proc/self/fd/{handed}", *arguments)
                if reports:
                    options["report"] = lambda *values, number=number: send(number, "report", values)
                send(number, "started", None)
                answer = ("result", function(*arguments, **options))
            except Exception as problem:
                answer = ("error", (type(problem).__name__, str(problem)) if untrusted else _sendable(problem))
            finally:
                if handed is not None:
                    os.close(handed)
            try:
                send(number, *answer)
            except GONE:
                return
            except Exception as problem:  # an answer that cannot be sent may raise anything
                sentence = f"A worker's answer cannot be sent: {problem}"
                send(number, "error", ("StereogaugeError", sentence) if untrusted else StereogaugeError(sentence))
        except GONE:
            return


def _plain(value: Any) -> Any:
    """NumPy's numbers as those of JSON."""
    return value.item()


def _sendable(problem: Exception) -> Exception:
    """The error itself, or one that says the same where it cannot be copied to another process."""
    try:
        pickle.loads(ForkingPickler.dumps(problem))
    except Exception:  # whatever the constructor of a foreign error raises
        return StereogaugeError(f"{type(problem).__name__}: {problem}")
    return problem


def _use_one_thread() -> None:
    """Let a worker keep to one processor, since there is a worker for each of them."""
    import cv2

    cv2.setNumThreads(1)


class _Call(NamedTuple):
    future: Future[Any]
    seconds: float | None
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]


class LocalProcesses(Executor):
    """`workers` worker processes, each fed by a thread of its own; copies of this process if `copied` is given."""

    def __init__(self, workers: int, *, copied: bool = False) -> None:
        self.workers = workers
        self._waiting: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._processes = [WorkerProcess(copied=copied) for _ in range(workers)]
        if copied:
            for process in self._processes:
                process.start()
        self._threads = [threading.Thread(target=self._feed, args=(one,), daemon=True) for one in self._processes]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Queue a call for the next worker that is free."""
        return self.submit_limited(None, function, *arguments, **options)

    def submit_limited(
        self, seconds: float | None, function: Callable[..., Any], /, *arguments: Any, **options: Any
    ) -> Future[Any]:
        """Queue a call that ends with `TimeLimitExceeded` when it takes longer than `seconds`, whatever it is doing."""
        call = _Call(Future(), seconds, function, arguments, options)
        self._waiting.put(call)
        return call.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers: after the queued calls, or at once when `cancel_futures` is given."""
        if cancel_futures:
            with contextlib.suppress(queue.Empty):
                while True:
                    queued = self._waiting.get_nowait()
                    if queued is not None:
                        queued.future.cancel()
            for process in self._processes:
                process.kill()
        for _ in self._threads:
            self._waiting.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    @property
    def process_ids(self) -> list[int]:
        """The processes that are alive."""
        return [number for process in self._processes if (number := process.process_id) is not None]

    def _feed(self, process: WorkerProcess) -> None:
        while (call := self._waiting.get()) is not None:
            if not call.future.set_running_or_notify_cancel():
                continue
            try:
                result = process.call(call.function, *call.arguments, options=call.options, seconds=call.seconds)
            except Exception as problem:
                call.future.set_exception(problem)
            else:
                call.future.set_result(result)
        process.end(at_once=False)


def default_workers() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
