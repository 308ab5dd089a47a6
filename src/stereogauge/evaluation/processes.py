"""The process pool: worker processes that make one call at a time each, within limits of time and memory.

Whatever a call does to its process - it crashes, hangs or takes all memory - costs that call and nothing else. Every
message between the two processes has the number of its call, and a process is reused only after a call that ended
normally, so that no message can belong to another call.

`concurrent.futures.ProcessPoolExecutor` and loky lack this: one dead worker breaks their whole pool and fails every
other call, they tell neither exit code nor signal, and they have no limits of time and memory per call.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import multiprocessing
import operator
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from stereogauge.errors import StereogaugeError

STARTING = 120.0
"""Seconds that a process has to start and to import what its first call needs, beside the time limit of the call."""
POLL = 0.2
"""Seconds between two looks at whether a call was cancelled."""
LARGEST_BYTES, LARGEST_JSON = 1 << 28, 1 << 22
"""Bytes of an answer from a process that reads files of strangers; plain values take twenty times their text."""
WHOLE_MESSAGE = 20.0
"""Seconds in which the rest of a message from such a process must follow its beginning."""
LONGEST_ERROR = 1000
NO_ANSWER = "the worker process sent what is no answer"
PRELOADED = ("numpy", "cv2", "stereogauge.evaluation.processes")
"""What the process that untrusted ones are forked from has imported."""
KILLED = 9
"""The signal that nothing survives; Windows has no name for it."""
GONE = (EOFError, ConnectionResetError, BrokenPipeError)

LANDLOCK_CREATE, LANDLOCK_RESTRICT, LANDLOCK_VERSION, NO_NEW_PRIVILEGES = 444, 446, 1, 38
"""Linux: numbers of two system calls, a flag of the first one, and an option of `prctl`."""

Kind = Literal["started", "result", "bytes", "error"]
KINDS = get_args(Kind)
Message = tuple[int, Kind, Any]


class WorkerDied(StereogaugeError):  # noqa: N818 - what happened, not whose mistake it is
    """A worker process ended in the middle of a call."""


class TimeLimitExceeded(StereogaugeError):  # noqa: N818
    """A call took longer than it was allowed to, and its process was ended."""


class CallCancelled(StereogaugeError):  # noqa: N818
    """A call was cancelled, and its process was ended."""


class OpenedFile(NamedTuple):
    """An argument of a call that arrives as the file at `path`, opened for reading."""

    path: str

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.path, "rb")


class WorkerProcess:
    """A spawned process, started at the first call, and again after a call that failed or was stopped.

    It leads a process group, which is ended as a whole, also where this process is killed.

    `memory_bytes` limits its address space where the system can do that. An `untrusted` one reads files of strangers:
    it is forked from a clean process, opens no files but those that its first call was given (`OpenedFile`), starts no
    processes where the system can forbid it, and answers with bytes or plain values, since the sender of an object
    chooses what is run to rebuild it.
    `call` is for one thread; `kill` is for any.
    """

    def __init__(self, memory_bytes: int | None = None, *, untrusted: bool = False) -> None:
        self._memory_bytes = memory_bytes
        self._untrusted = untrusted
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._lifeline: Connection | None = None
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
        cancelled: Callable[[], bool] | None = None,
    ) -> Any:
        """The result of `function(*arguments, **options)` in the process; what it raises is raised here.

        `seconds` is its time limit. `cancelled` is called regularly and says whether to stop.
        """
        self._calls += 1
        call = bytes(ForkingPickler.dumps((function, arguments, dict(options))))
        connection = self._started(function.__module__)
        try:
            connection.send((self._calls, call))
        except GONE:
            raise WorkerDied(self._cause_of_death()) from None
        try:
            return self._answer(connection, seconds, cancelled)
        except BaseException:
            self.end()
            raise

    def _answer(self, connection: Connection, seconds: float | None, cancelled: Callable[[], bool] | None) -> Any:
        end = None if seconds is None else time.monotonic() + seconds + STARTING
        started = False
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
            if number != self._calls or (kind == "started" and started):
                raise WorkerDied(NO_ANSWER)
            if kind == "started":
                started = True
                end = None if seconds is None else time.monotonic() + seconds
            elif kind == "error":
                if not self._untrusted:
                    raise value
                name, said = [str(part)[:LONGEST_ERROR] for part in (*value, "", "")][:2]
                raise MemoryError(said) if name == "MemoryError" else StereogaugeError(f"{name}: {said}")
            else:
                return value

    def _received(self, connection: Connection) -> Message:
        if not self._untrusted:
            message: Message = connection.recv()
            return message
        stalled = threading.Timer(WHOLE_MESSAGE, self._end_group, (self._process,))
        stalled.start()
        try:
            number, kind, value = json.loads(connection.recv_bytes(LARGEST_JSON))
            if kind not in KINDS:
                raise ValueError
            return number, kind, connection.recv_bytes(LARGEST_BYTES) if kind == "bytes" else value
        except GONE:
            raise
        except (OSError, ValueError, TypeError, RecursionError):
            raise WorkerDied(NO_ANSWER) from None
        finally:
            stalled.cancel()

    def _started(self, needed: str = "") -> Connection:
        """The connection to the process; `needed` is a module that its calls import."""
        with self._lock:
            if self._killed:
                raise WorkerDied("the worker process was ended")
            if self._connection is None:
                context: Any = multiprocessing.get_context("spawn")
                if self._untrusted and "forkserver" in multiprocessing.get_all_start_methods():
                    multiprocessing.set_forkserver_preload([*PRELOADED, needed])
                    context = multiprocessing.get_context("forkserver")
                ours, theirs = context.Pipe()
                watched, self._lifeline = context.Pipe(duplex=False)
                arguments = (theirs, watched, self._memory_bytes, self._untrusted)
                process = context.Process(target=_serve, args=arguments, daemon=True)
                process.start()
                self._process = process
                self._connection = ours
                theirs.close()
                watched.close()
            return self._connection

    def kill(self) -> None:
        """End the process at once and for good: the call that it makes is lost, and no other can be made."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._end_group(self._process)

    def _end_group(self, process: BaseProcess) -> None:
        """End the process and all that it started."""
        end_group = getattr(os, "killpg", None)
        if end_group is not None and process.pid is not None:
            with contextlib.suppress(OSError):  # it does not lead its group yet, or is gone with all of it
                end_group(process.pid, KILLED)
        process.kill()

    def end(self, *, at_once: bool = True) -> int:
        """End the process between two calls, at once or when it notices that there are no more; returns its exit code.

        The next call starts another one.
        """
        with self._lock:
            process, self._process = self._process, None
            connection, self._connection = self._connection, None
            lifeline, self._lifeline = self._lifeline, None
            if process is not None and at_once:
                self._end_group(process)
        if connection is not None:
            connection.close()
        if process is None:
            return 0
        process.join()
        self._end_group(process)  # what it started outlives it otherwise
        if lifeline is not None:
            lifeline.close()
        code = process.exitcode or 0
        process.close()
        return code

    def _cause_of_death(self) -> str:
        code = self.end(at_once=False)
        if code == -KILLED:
            return "the worker process was killed (signal 9), for example by the system when memory ran out"
        what = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return f"the worker process ended {what}"


def _serve(connection: Connection, lifeline: Connection, memory_bytes: int | None, untrusted: bool) -> None:
    """Answer calls until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own_session = getattr(os, "setsid", None)
    if own_session is not None:
        own_session()
        if not untrusted:
            threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    if memory_bytes is not None:
        limit_memory(memory_bytes)
    import cv2

    cv2.setNumThreads(1)  # there is a worker for each processor
    limited = False

    def send(number: int, kind: str, value: Any) -> None:
        if not untrusted:
            connection.send((number, kind, value))
        elif isinstance(value, bytes):
            connection.send_bytes(json.dumps((number, "bytes", None)).encode())
            connection.send_bytes(value)
        else:
            text = json.dumps((number, kind, value), default=operator.methodcaller("item"), ensure_ascii=False)
            connection.send_bytes(text.encode("utf-8", "replace"))

    while True:
        try:
            number, call = connection.recv()
            try:
                function, arguments, options = pickle.loads(call)
                if untrusted and not limited:  # only now: what the call needs is imported and opened
                    limited = True
                    _limit_rights(lifeline)
                send(number, "started", None)
                answer = ("result", function(*arguments, **options))
            except Exception as problem:
                answer = ("error", (type(problem).__name__, str(problem)) if untrusted else _sendable(problem))
            try:
                send(number, *answer)
            except GONE:
                return
            except Exception as problem:  # an answer that cannot be sent may raise anything
                sentence = f"A worker's answer cannot be sent: {problem}"
                send(number, "error", ("StereogaugeError", sentence) if untrusted else StereogaugeError(sentence))
        except GONE:
            return


def _end_with(lifeline: Connection) -> None:
    """End this process and all that it started when the process that started it is gone."""
    with contextlib.suppress(*GONE, OSError):
        lifeline.recv_bytes()
    end_group = getattr(os, "killpg", None)
    if end_group is None:
        os._exit(1)
    end_group(0, KILLED)


def limit_memory(memory_bytes: int) -> None:
    """Limit the address space of this process where the system can do that."""
    try:
        import resource
    except ImportError:  # not on this system: the host limits the service instead
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def _limit_rights(lifeline: Connection) -> None:
    """Give up what the reading of an open file does not need: all other files, processes and core files."""
    if sys.platform == "win32":
        return
    import resource

    os.nice(5)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write raises an error instead
    if sys.platform == "linux":
        _leave_files()
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()  # which has left them, too
    for limit in ("RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_NPROC", "RLIMIT_NOFILE"):
        if hasattr(resource, limit):
            resource.setrlimit(getattr(resource, limit), (0, 0))


def _leave_files() -> None:
    """Let Linux forbid this thread to open, make, rename, link and delete files, and to reach other processes.

    That is Landlock with a rule for nothing (https://docs.kernel.org/userspace-api/landlock.html); a kernel without it
    still forbids to open and write files, by its limits of resources.
    """
    library = ctypes.CDLL(None)
    version = library.syscall(LANDLOCK_CREATE, None, 0, LANDLOCK_VERSION)
    files, network, scopes = (1 << 13) - 1, 0b11, 0b11
    handled = (ctypes.c_uint64 * 3)(files, network, scopes)
    rules = library.syscall(LANDLOCK_CREATE, ctypes.byref(handled), 24 if version >= 6 else 8, 0)
    if rules >= 0:
        library.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        library.syscall(LANDLOCK_RESTRICT, rules, 0)
        os.close(rules)


def _sendable(problem: Exception) -> Exception:
    """The error itself, or one that says the same where it cannot be copied to another process."""
    try:
        pickle.loads(ForkingPickler.dumps(problem))
    except Exception:  # whatever the constructor of a foreign error raises
        return StereogaugeError(f"{type(problem).__name__}: {problem}")
    return problem


class LocalProcesses(ThreadPoolExecutor):
    """`workers` worker processes, each used by one thread at a time."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.workers = workers
        self._processes = [WorkerProcess() for _ in range(workers)]
        # As many as there are threads; the last one that was used comes first.
        self._free = list(self._processes)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Queue a call for the next worker that is free."""
        return self.submit_limited(None, function, *arguments, **options)

    def submit_limited(
        self, seconds: float | None, function: Callable[..., Any], /, *arguments: Any, **options: Any
    ) -> Future[Any]:
        """Queue a call that ends with `TimeLimitExceeded` when it takes longer than `seconds`, whatever it is doing."""
        return super().submit(self._call, seconds, function, arguments, options)

    def _call(self, seconds: float | None, function: Callable[..., Any], arguments: Any, options: Any) -> Any:
        process = self._free.pop()
        try:
            return process.call(function, *arguments, options=options, seconds=seconds)
        finally:
            self._free.append(process)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers: after the queued calls, or at once when `cancel_futures` is given."""
        super().shutdown(wait and not cancel_futures, cancel_futures=cancel_futures)
        if cancel_futures:
            for process in self._processes:
                process.kill()
        super().shutdown(wait)
        if wait:
            for process in self._processes:
                process.end(at_once=False)


def default_workers() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
