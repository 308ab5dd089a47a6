"""Tasks on their way through an executor: handed out a little ahead, taken back as they finish, tried again when their
worker was lost.
"""

from __future__ import annotations

import functools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.executors import is_lost_worker

AHEAD = 2
"""Tasks that are handed out per worker before the first answer."""

Task = TypeVar("Task")
Answer = TypeVar("Answer")


LOOK_EVERY = 5.0
"""Seconds between two looks at whether there are workers at all."""


@dataclass(frozen=True)
class Outcome(Generic[Task, Answer]):
    """A task and what came of it: `answer`, or the `problem` that kept it from being done.

    `lost` says that the problem is the loss of its worker.
    """

    task: Task
    answer: Answer | None = None
    problem: Exception | None = None
    lost: bool = False
    twice: bool = False

    @property
    def reason(self) -> str:
        """The problem as one sentence."""
        text = str(self.problem) or type(self.problem).__name__
        if self.lost:
            return f"{text}, twice" if self.twice else text
        return text if isinstance(self.problem, StereogaugeError) else f"{type(self.problem).__name__}: {text}"


class Tasks(Generic[Task, Answer]):
    """Tasks that `submit` hands to an executor with so many `workers`: a number, or what tells it where it may change.

    With `again`, a task whose worker was lost is tried a second time, as the smaller tasks that `again` makes of it; a
    task that loses its worker twice is done with. `retried` counts those second tries. `check_alive` is called now and
    then; it raises an error where nothing can be expected any more.
    """

    def __init__(
        self,
        submit: Callable[[Task], Future[Answer]],
        workers: int | Callable[[], int],
        tasks: Iterable[Task] = (),
        *,
        again: Callable[[Task], Iterable[Task]] | None = None,
        check_alive: Callable[[], None] = lambda: None,
    ) -> None:
        self.retried = 0
        self._submit = submit
        self._workers: Callable[[], int] = functools.partial(int, workers) if isinstance(workers, int) else workers
        self._looked = time.monotonic()
        self._again = again
        self._check_alive = check_alive
        self._waiting = deque((task, False) for task in tasks)
        self._running: dict[Future[Answer], tuple[Task, bool]] = {}

    def add(self, task: Task) -> None:
        """One task more, handed out at once where there is room."""
        self._waiting.append((task, False))
        self._hand_out()

    def outcomes(self) -> Iterator[Outcome[Task, Answer]]:
        """Every outcome as it comes, until nothing waits or runs."""
        while self._waiting or self._running:
            yield from self.next_outcomes()

    def next_outcomes(self) -> Iterator[Outcome[Task, Answer]]:
        """Wait until something is finished; what is."""
        if time.monotonic() - self._looked > LOOK_EVERY:
            self._look()
        self._hand_out()
        futures = list(self._running)
        finished = [future for future in futures if future.done()]
        if futures and not finished:
            while not (finished := list(wait(futures, LOOK_EVERY, FIRST_COMPLETED).done)):
                self._look()
                self._hand_out()
                futures = list(self._running)
        for future in finished:
            outcome = self._taken(future)
            if outcome is not None:
                yield outcome

    def finished_outcomes(self) -> Iterator[Outcome[Task, Answer]]:
        """After an interruption, what was done by then; nothing is waited for."""
        for future in [future for future in self._running if future.done() and not future.cancelled()]:
            if future.exception() is None:
                yield Outcome(self._running.pop(future)[0], future.result())

    def _look(self) -> None:
        self._check_alive()
        self._looked = time.monotonic()

    def _hand_out(self) -> None:
        most = AHEAD * self._workers()
        while self._waiting and len(self._running) < most:
            task, second = self._waiting.popleft()
            self._running[self._submit(task)] = (task, second)

    def _taken(self, future: Future[Answer]) -> Outcome[Task, Answer] | None:
        task, second = self._running.pop(future)
        try:
            return Outcome(task, future.result())
        except Exception as problem:
            lost = is_lost_worker(problem)
            if not lost or second or self._again is None:
                return Outcome(task, problem=problem, lost=lost, twice=second)
        parts = [(part, True) for part in self._again(task)]
        self.retried += len(parts)
        self._waiting.extendleft(reversed(parts))
        return None


def alive_check(executor: Executor) -> Callable[[], None]:
    """How to ask an executor whether its workers can still finish anything; nothing where it cannot lose them all."""
    check: Callable[[], None] = getattr(executor, "check_alive", lambda: None)
    return check


def worker_count(executor: Executor) -> int:
    """How many calls an executor makes at once; 1 where it does not say, or is without workers for the moment."""
    count: Any = getattr(executor, "workers", 1)
    return max(1, int(count))
