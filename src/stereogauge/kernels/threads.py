"""Parts of one computation in the threads of this process."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import os
import sys
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
    workers = sys.modules.get("multiprocessing")  # imported in every process that it has started
    return 1 if workers is not None and workers.parent_process() is not None else os.cpu_count() or 1


FIXED_BLOCKS = 8
"""Blocks of rows in which sums are added, on machines with any number of processors."""


def fixed_blocks(height: int, pixels: int) -> list[slice]:
    """The rows of a map, in blocks that depend on its size only: sums over them have the same digits everywhere."""
    blocks = FIXED_BLOCKS if pixels >= WORTH_A_THREAD else 1
    edges = [height * block // blocks for block in range(blocks + 1)]
    return [slice(first, last) for first, last in itertools.pairwise(edges)]


def _nothing() -> None:
    pass


def at_once(parts: Sequence[Callable[[], Any]], pixels: int, meanwhile: Callable[[], None] = _nothing) -> list[Any]:
    """The results of all parts, in order; in threads where there are processors and enough pixels."""
    return in_threads(parts, thread_count() if pixels >= WORTH_A_THREAD else 1, meanwhile)


def at_once_with(
    workspace: Callable[[], Workspace],
    parts: Sequence[Callable[[Workspace], Any]],
    pixels: int,
    meanwhile: Callable[[], None] = _nothing,
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

    at_once([functools.partial(do, part) for part in parts], pixels, meanwhile)
    return made


def in_threads(parts: Sequence[Callable[[], Any]], threads: int, meanwhile: Callable[[], None] = _nothing) -> list[Any]:
    """The results of all parts, in order, computed by at most `threads` threads.

    The calling thread computes parts too, since a waiting one would be woken by each finished part on a processor that
    has work. It calls `meanwhile` first, while the others start. Threads are kept for later calls, since starting one
    takes as long as a small part.
    """
    threads = min(threads, len(parts))
    if threads <= 1:
        meanwhile()
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
        meanwhile()
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
        self._threads: list[threading.Thread] = []
        self._starting = threading.Lock()
        self._avoided: int | None = None

    def ask(self, work: Callable[[], None], threads: int) -> _Task:
        """Ask this many threads to work, as soon as they are idle."""
        with self._starting:
            while len(self._threads) < threads:
                name = f"kernels {len(self._threads)}"
                self._threads.append(threading.Thread(target=self._stay, name=name, daemon=True))
                self._threads[-1].start()
                self._avoided = None
            self._make_way()
        task = _Task(work, threads)
        for _ in range(threads):
            self._tasks.put(task)
        return task

    def _make_way(self) -> None:
        """Keep these threads off the processor on which the one that asks is running.

        Linux may wake a thread on the processor of the one that wakes it, and leave them there, each waiting for the
        other, for longer than a pass takes, while another processor has nothing to do.
        """
        here = _processor()
        if here is None or here == self._avoided:
            return
        self._avoided = here
        allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
        if not allowed - {here}:
            return
        with contextlib.suppress(OSError):  # a system may forbid it
            for thread in self._threads:
                os.sched_setaffinity(thread.native_id or 0, allowed - {here})

    def _stay(self) -> None:
        while True:
            self._tasks.get().do()


@functools.cache
def _processor_call() -> Callable[[], int] | None:
    """The system's call for the number of the processor that runs the calling thread; None where there is none."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "sched_getcpu", None)


def _processor() -> int | None:
    """The number of the processor that runs the calling thread, where the system tells it."""
    call = _processor_call()
    here = -1 if call is None else call()
    return here if here >= 0 else None


@functools.cache
def _others(process: int) -> _Others:
    """The threads beside the calling one in a process: they do not live on in one that is forked from it."""
    return _Others()
