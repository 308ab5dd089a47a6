"""Tasks on an executor: handed out a little ahead, returned as they finish, tried again when their worker was lost.

The executor is this process (`InProcess`), a Dask cluster (`Cluster`), or the processes of this machine
(`processes.LocalProcesses`).
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from typing import Any, Generic, TypeVar

from msgspec import Struct

from stereogauge.errors import MissingDependency, StereogaugeError
from stereogauge.evaluation.processes import WorkerDied

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
            # What Dask logs with a traceback is a lost connection, which `GONE` reports in one sentence.
            handler.addFilter(lambda record: not record.exc_info)
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
        """Disconnect from the cluster, which goes on running; one that is gone has nothing left to cancel."""
        with contextlib.suppress(Exception):  # the error that a run ends with says that the scheduler is gone
            self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close()


def is_lost_worker(problem: BaseException) -> bool:
    """Whether a future failed because its worker vanished, rather than by what it computed."""
    if isinstance(problem, WorkerDied | BrokenExecutor | CancelledError):
        return True
    dask: Any = sys.modules.get("distributed")
    return dask is not None and isinstance(problem, dask.scheduler.KilledWorker | dask.comm.CommClosedError)


AHEAD = 2
"""Tasks that are handed out per worker before the first answer."""

Task = TypeVar("Task")
Answer = TypeVar("Answer")


LOOK_EVERY = 5.0
"""Seconds between two looks at whether there are workers at all."""


class TaskOutcome(Generic[Task, Answer], Struct, frozen=True):
    """A task and what came of it: `answer`, or the `problem` that kept it from being done.

    The problem of a task that lost its worker is a `WorkerDied`, whatever the executor calls it.
    """

    task: Task
    answer: Answer | None = None
    problem: Exception | None = None

    @property
    def reason(self) -> str:
        """The problem as one sentence."""
        text = str(self.problem) or type(self.problem).__name__
        return text if isinstance(self.problem, StereogaugeError) else f"{type(self.problem).__name__}: {text}"


class Tasks(Generic[Task, Answer]):
    """Tasks that `submit` hands to `executor`, a few more than it has workers.

    With `again`, a task whose worker was lost is tried a second time, as the smaller tasks that `again` makes of it; a
    task that loses its worker twice is done with. `retried` counts those second tries. An executor with `check_alive`
    is asked now and then; it raises an error where nothing can be expected any more.
    """

    def __init__(
        self,
        submit: Callable[[Task], Future[Answer]],
        executor: Executor,
        tasks: Iterable[Task] = (),
        *,
        again: Callable[[Task], Iterable[Task]] | None = None,
    ) -> None:
        self.retried = 0
        self._submit, self._executor, self._again = submit, executor, again
        self._looked = time.monotonic()
        self._waiting = deque((task, False) for task in tasks)
        self._running: dict[Future[Answer], tuple[Task, bool]] = {}

    def add(self, task: Task) -> None:
        """One task more, handed out at once where there is room."""
        self._waiting.append((task, False))
        self._hand_out()

    def outcomes(self) -> Iterator[TaskOutcome[Task, Answer]]:
        """Every outcome as it comes, until nothing waits or runs."""
        while self._waiting or self._running:
            yield from self.next_outcomes()

    def next_outcomes(self) -> Iterator[TaskOutcome[Task, Answer]]:
        """Wait until something is finished; what is."""
        finished: set[Future[Answer]] = set()
        while not finished and (self._waiting or self._running):
            if time.monotonic() - self._looked >= LOOK_EVERY:
                getattr(self._executor, "check_alive", lambda: None)()
                self._looked = time.monotonic()
            self._hand_out()
            finished = wait(list(self._running), LOOK_EVERY, FIRST_COMPLETED).done
        for future in [one for one in self._running if one in finished]:
            outcome = self._taken(future)
            if outcome is not None:
                yield outcome

    def finished_outcomes(self) -> Iterator[TaskOutcome[Task, Answer]]:
        """After an interruption, what was done by then; nothing is waited for."""
        for future in [future for future in self._running if future.done() and not future.cancelled()]:
            if future.exception() is None:
                yield TaskOutcome(self._running.pop(future)[0], future.result())

    def _hand_out(self) -> None:
        most = AHEAD * worker_count(self._executor)
        while self._waiting and len(self._running) < most:
            task, second = self._waiting.popleft()
            self._running[self._submit(task)] = (task, second)

    def _taken(self, future: Future[Answer]) -> TaskOutcome[Task, Answer] | None:
        task, second = self._running.pop(future)
        try:
            return TaskOutcome(task, future.result())
        except Exception as problem:
            if not is_lost_worker(problem):
                return TaskOutcome(task, problem=problem)
            if second or self._again is None:
                text = str(problem) or type(problem).__name__
                return TaskOutcome(task, problem=WorkerDied(f"{text}, twice" if second else text))
        parts = [(part, True) for part in self._again(task)]
        self.retried += len(parts)
        self._waiting.extendleft(reversed(parts))
        return None


def worker_count(executor: Executor) -> int:
    """How many calls an executor makes at once; 1 where it does not say, or is without workers for the moment."""
    count: Any = getattr(executor, "workers", 1)
    return max(1, int(count))
