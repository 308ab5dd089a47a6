"""Parts of one computation in the threads of this process."""

from __future__ import annotations

import contextlib
import functools
import itertools
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, TypeVar

Workspace = TypeVar("Workspace")

WORTH_A_THREAD = 200_000
"""Pixels below which handing a part to another thread costs more than it saves."""


def thread_count() -> int:
    """How many threads kernels may use: one in a worker process, whose neighbours have the other processors."""
    return 1 if multiprocessing.parent_process() is not None else os.cpu_count() or 1


FIXED_BLOCKS = 8
"""Blocks of rows in which sums are added, on machines with any number of processors."""


def fixed_blocks(height: int, pixels: int) -> list[slice]:
    """The rows of a map, in blocks that depend on its size only: sums over them have the same digits everywhere."""
    blocks = FIXED_BLOCKS if pixels >= WORTH_A_THREAD else 1
    edges = [height * block // blocks for block in range(blocks + 1)]
    return [slice(first, last) for first, last in itertools.pairwise(edges)]


def at_once(parts: Sequence[Callable[[], Any]], pixels: int) -> list[Any]:
    """The results of all parts, in order; in threads where there are processors and enough pixels."""
    return in_threads(parts, thread_count() if pixels >= WORTH_A_THREAD else 1)


def at_once_with(
    workspace: Callable[[], Workspace], parts: Sequence[Callable[[Workspace], Any]], pixels: int
) -> list[Workspace]:
    """Do all parts, each with a workspace that no other uses meanwhile; returns those that there are then.

    There is one per thread, which stays in the thread's cache and is made only once.
    """
    made: list[Workspace] = []
    free: deque[Workspace] = deque()

    def do(part: Callable[[Workspace], Any]) -> None:
        try:
            own = free.pop()
        except IndexError:
            own = workspace()
            made.append(own)
        part(own)
        free.append(own)

    at_once([functools.partial(do, part) for part in parts], pixels)
    return made


def in_threads(parts: Sequence[Callable[[], Any]], threads: int) -> list[Any]:
    """The results of all parts, in order, by at most so many threads.

    The calling thread works too: were it only waiting, each finished part would wake it on a processor that has work.
    The others stay for later calls, since starting them takes as long as a small part.
    """
    threads = min(threads, len(parts))
    if threads <= 1:
        return [part() for part in parts]
    results: list[Any] = [None] * len(parts)
    waiting = deque(enumerate(parts))

    def work() -> None:
        while waiting:
            try:
                place, part = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            results[place] = part()

    others = _others(os.getpid()).ask(work, threads - 1)
    try:
        work()
    finally:
        failures = others.end()
    if failures:
        raise failures[0]
    return results


class _Task:
    """Work that some threads have been asked to do at the same time."""

    def __init__(self, work: Callable[[], None], threads: int) -> None:
        self._work = work
        self._threads = threads
        self._not_begun = deque(range(threads))
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def do(self) -> None:
        """The part of one thread, unless the work has ended before it begins."""
        try:
            self._not_begun.pop()
        except IndexError:
            return
        failure = None
        try:
            self._work()
        except BaseException as error:  # is raised in the thread that asked
            failure = error
        self._ended.put(failure)

    def end(self) -> list[BaseException]:
        """Let no thread begin any more and wait for those that have, which may be none: all may have other work."""
        begun = self._threads
        with contextlib.suppress(IndexError):
            while True:
                self._not_begun.pop()
                begun -= 1
        return [failure for failure in (self._ended.get() for _ in range(begun)) if failure is not None]


class _Others:
    """Threads that do what they are asked to, started when they are needed first."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[_Task] = SimpleQueue()
        self._started = 0
        self._starting = threading.Lock()

    def ask(self, work: Callable[[], None], threads: int) -> _Task:
        """Ask so many threads to work, as soon as they have nothing else to do."""
        if self._started < threads:
            with self._starting:
                for number in range(self._started, threads):
                    threading.Thread(target=self._stay, name=f"kernels {number}", daemon=True).start()
                    self._started = number + 1
        task = _Task(work, threads)
        for _ in range(threads):
            self._tasks.put(task)
        return task

    def _stay(self) -> None:
        while True:
            self._tasks.get().do()


@functools.cache
def _others(process: int) -> _Others:
    """The threads beside the calling one in a process: they do not live on in one that is forked from it."""
    return _Others()
