"""Three places to compute behind `concurrent.futures.Executor`: this process, processes of this machine, a Dask
cluster.

A worker process that dies costs exactly the call that it was working on: its future raises `WorkerDied`, a new process
takes its place, and the other workers do not notice.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from multiprocessing.connection import Connection
from typing import Any

from stereogauge.errors import MissingDependency, StereogaugeError

CONNECTING = 10
"""Seconds that a scheduler has to answer."""
GONE = (EOFError, ConnectionResetError, BrokenPipeError)


class WorkerDied(StereogaugeError):  # noqa: N818 - what happened, not whose mistake it is
    """A worker process ended in the middle of a call."""


class InProcess(Executor):
    """Calls at once, in this thread; the future is done when `submit` returns."""

    workers = 1

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Call and return the finished future."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments, **options))
        except Exception as problem:
            future.set_exception(problem)
        return future


class LocalProcesses(Executor):
    """`workers` spawned processes, each fed by a thread of its own."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._waiting: queue.SimpleQueue[tuple[Future[Any], Any] | None] = queue.SimpleQueue()
        self._slots = [_Slot(self._waiting) for _ in range(workers)]

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Queue a call for the next worker that is free."""
        future: Future[Any] = Future()
        self._waiting.put((future, (function, arguments, options)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers: after the queued calls, or at once when `cancel_futures` is given."""
        if cancel_futures:
            with contextlib.suppress(queue.Empty):
                while True:
                    queued = self._waiting.get_nowait()
                    if queued is not None:
                        queued[0].cancel()
        for _ in self._slots:
            self._waiting.put(None)
        for slot in self._slots:
            if cancel_futures:
                slot.end()
            if wait:
                slot.thread.join()

    @property
    def process_ids(self) -> list[int]:
        """The processes that are alive."""
        return [number for slot in self._slots if (number := slot.process_id) is not None]


class _Slot:
    """One worker process and the thread that hands calls to it."""

    def __init__(self, waiting: queue.SimpleQueue[tuple[Future[Any], Any] | None]) -> None:
        self._waiting = waiting
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None
        self.thread = threading.Thread(target=self._feed, daemon=True)
        self.thread.start()

    @property
    def process_id(self) -> int | None:
        process = self._process
        return process.pid if process is not None and process.is_alive() else None

    def end(self) -> None:
        """Kill the process; the call that it works on is lost."""
        process = self._process
        if process is not None and process.is_alive():
            process.kill()

    def _feed(self) -> None:
        while (item := self._waiting.get()) is not None:
            future, call = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                good, value = self._call(call)
            except GONE:
                future.set_exception(WorkerDied(self._buried()))
                continue
            except Exception as problem:  # what cannot be sent to a worker is the caller's to know
                future.set_exception(problem)
                continue
            if good:
                future.set_result(value)
            else:
                future.set_exception(value)
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.join()

    def _call(self, call: Any) -> tuple[bool, Any]:
        if self._process is None or self._connection is None:
            context = multiprocessing.get_context("spawn")
            self._connection, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        self._connection.send(call)
        answer: tuple[bool, Any] = self._connection.recv()
        return answer

    def _buried(self) -> str:
        """Forget the dead process; returns what it died of."""
        process, self._process = self._process, None
        if self._connection is not None:
            self._connection.close()
        if process is None:
            return "the worker process could not be started"
        process.join()
        code = process.exitcode or 0
        if code == -signal.SIGKILL:
            return "the worker process was killed (signal 9), for example by the system when memory ran out"
        what = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return f"the worker process ended {what}"


def _serve(connection: Connection) -> None:
    """A worker's life: calls come, answers go, and it ends when the main process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_one_thread()
    while True:
        try:
            function, arguments, options = connection.recv()
        except GONE:
            return
        try:
            answer = (True, function(*arguments, **options))
        except Exception as problem:
            answer = (False, problem)
        try:
            connection.send(answer)
        except GONE:
            return
        except Exception as problem:  # an answer that cannot be pickled
            connection.send((False, StereogaugeError(f"A worker's answer cannot be sent: {problem}")))


def use_one_thread() -> None:
    """Let a worker keep to one processor, since there is a worker for each of them."""
    import cv2

    cv2.setNumThreads(1)


def default_workers() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Cluster(Executor):
    """A Dask cluster through Dask's own executor; "" is the scheduler that Dask's configuration names."""

    def __init__(self, address: str) -> None:
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise MissingDependency("distributed", "cluster", "Evaluating on a cluster") from None
        try:
            self._client = distributed.Client(address or None, timeout=CONNECTING)
        except (OSError, TimeoutError, ValueError) as problem:
            raise StereogaugeError(f"No Dask scheduler answers at {address!r} ({problem}); is it running?") from problem
        self._executor = self._client.get_executor()
        self.workers = max(1, sum(self._client.nthreads().values()))

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Queue a call with the scheduler."""
        future: Future[Any] = self._executor.submit(function, *arguments, **options)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let go of the cluster; it goes on for others."""
        self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close()


def is_lost_worker(problem: BaseException) -> bool:
    """Whether a future failed because its worker vanished, rather than by what it computed."""
    # By name, since Dask is not always installed.
    names = {kind.__name__ for kind in type(problem).__mro__}
    return bool(names & {"WorkerDied", "BrokenExecutor", "KilledWorker", "CommClosedError", "FutureCancelledError"})
