"""Parts of one computation in the threads of this process."""

from __future__ import annotations

import itertools
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

WORTH_A_THREAD = 200_000
"""Pixels below which handing a part to another thread costs more than it saves."""


def thread_count() -> int:
    """How many threads kernels may use: one in a worker process, whose neighbours have the other processors."""
    return 1 if multiprocessing.parent_process() is not None else os.cpu_count() or 1


FIXED_BLOCKS = 8
"""Blocks of rows in which sums are added, on machines with any number of processors."""


def fixed_blocks(height: int, pixels: int) -> list[slice]:
    """The rows of a map, in blocks that depend on its size only: sums over them have the same digits everywhere."""
    return _blocks(height, FIXED_BLOCKS if pixels >= WORTH_A_THREAD else 1)


def row_blocks(height: int, pixels: int) -> list[slice]:
    """The rows of a map, in one block per thread that they are worth."""
    return _blocks(height, thread_count() if pixels >= WORTH_A_THREAD else 1)


def _blocks(height: int, blocks: int) -> list[slice]:
    edges = [height * block // blocks for block in range(blocks + 1)]
    return [slice(first, last) for first, last in itertools.pairwise(edges)]


def at_once(parts: Sequence[Callable[[], Any]], pixels: int) -> list[Any]:
    """The results of all parts, in order; in threads where there are processors and enough pixels."""
    return in_threads(parts, thread_count() if pixels >= WORTH_A_THREAD else 1)


def in_threads(parts: Sequence[Callable[[], Any]], threads: int) -> list[Any]:
    """The results of all parts, in order, by at most so many threads.

    The calling thread works too: were it only waiting, each finished part would wake it on a processor that has work.
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

    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(work) for _ in range(threads - 1)]
        work()
        for other in others:
            other.result()
    return results
