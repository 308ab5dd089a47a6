"""Parts of one computation in the threads of this process."""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

WORTH_A_THREAD = 200_000
"""Pixels below which handing a part to another thread costs more than it saves."""

MOST_THREADS = 256
"""Threads beside the calling ones that may work at a time."""


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

    others = [_others().submit(work) for _ in range(threads - 1)]
    try:
        work()
    finally:
        # One that has not begun finds nothing to do, and may be waiting for the thread that waits here.
        begun = [other for other in others if not other.cancel()]
        wait(begun)
    for other in begun:
        other.result()
    return results


@functools.cache
def _others() -> ThreadPoolExecutor:
    """The threads beside the calling one; each is started when it is needed first."""
    return ThreadPoolExecutor(MOST_THREADS)
