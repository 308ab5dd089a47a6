"""Three places to compute behind `concurrent.futures.Executor`: this process, processes of this machine, a Dask
cluster.

A worker process that dies costs exactly the call that it was working on: its future raises `WorkerDied`, a new process
takes its place, and the other workers do not notice.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any, NamedTuple

from stereogauge.errors import MissingDependency, StereogaugeError
from stereogauge.evaluation.processes import WorkerDied, WorkerProcess

CONNECTING = 10
"""Seconds that a scheduler has to answer."""
WITHOUT_WORKERS = 60.0
"""Seconds for which a cluster may be without any worker."""
WAITING_STEP = 0.2
"""Seconds between two looks at whether the first worker has come."""
GONE = (
    "The Dask scheduler does not answer any more ({problem}); start it and run the same command again, what was stored "
    "is kept."
)


DASK_LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application")
"""Those that Dask gives handlers of their own."""


class _NoTracebacks(logging.Filter):
    """Leaves out what Dask logs with a traceback: a lost connection, which `GONE` tells in one sentence."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not record.exc_info


_no_tracebacks = _NoTracebacks()


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


class Cluster(Executor):
    """A Dask cluster through Dask's own executor; "" is the scheduler that Dask's configuration names.

    `workers` follows those that come and go; the first is waited for.
    """

    def __init__(self, address: str) -> None:
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise MissingDependency("distributed", "cluster", "Evaluating on a cluster") from None
        for handler in [one for name in DASK_LOGGERS for one in logging.getLogger(name).handlers]:
            handler.addFilter(_no_tracebacks)
        try:
            self._client = distributed.Client(address or None, timeout=CONNECTING)
        except (OSError, TimeoutError, ValueError) as problem:
            raise StereogaugeError(f"No Dask scheduler answers at {address!r} ({problem}); is it running?") from problem
        self._executor = self._client.get_executor()
        self._seen = time.monotonic()
        self.workers = 0
        self.check_alive()
        while not self.workers:
            time.sleep(WAITING_STEP)
            self.check_alive()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Queue a call with the scheduler."""
        try:
            future: Future[Any] = self._executor.submit(function, *arguments, **options)
        except Exception as problem:  # Dask has its own error for every way in which a connection ends
            raise StereogaugeError(GONE.format(problem=type(problem).__name__)) from problem
        return future

    def check_alive(self) -> None:
        """Raise an error where the scheduler is gone, or has had no worker for a minute."""
        try:
            workers = self._client.nthreads()
        except Exception as problem:
            raise StereogaugeError(GONE.format(problem=type(problem).__name__)) from problem
        self.workers = sum(workers.values())
        if workers:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > WITHOUT_WORKERS:
            raise StereogaugeError(
                f"The Dask cluster has had no worker for {WITHOUT_WORKERS:g} s; start some and run the same command "
                "again, what was stored is kept."
            )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Disconnect from the cluster, which goes on running."""
        self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close()


def is_lost_worker(problem: BaseException) -> bool:
    """Whether a future failed because its worker vanished, rather than by what it computed."""
    if isinstance(problem, WorkerDied | BrokenExecutor | CancelledError):
        return True
    dask: Any = sys.modules.get("distributed")
    return dask is not None and isinstance(problem, dask.scheduler.KilledWorker | dask.comm.CommClosedError)
