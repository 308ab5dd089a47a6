"""Work on a given number of threads."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import Times
from stereogauge.kernels import threads


def on_threads(count: int, call: Callable[[], Any]) -> Callable[[], Any]:
    """`call` with kernels on so many threads, whatever the machine has."""

    def work() -> Any:
        usual = threads.thread_count
        threads.thread_count = lambda: count
        try:
            return call()
        finally:
            threads.thread_count = usual

    return work


def second_thread(milliseconds: int) -> dict[str, Callable[[], Any]]:
    """Arithmetic on one and on two threads: what a second one is worth on this machine at this time.

    Processors of a virtual machine may share a core of their host, or one of them may be taken away for a while. It
    takes about so many milliseconds on one thread.
    """
    work = functools.partial(arithmetic, milliseconds)
    return {"arithmetic, one": on_threads(1, work), "arithmetic, two": on_threads(2, work)}


def worth(times: Mapping[str, Times]) -> float:
    """Two threads' time for arithmetic as a share of one thread's: 0.5 where both have a processor of their own."""
    return times["arithmetic, two"].median / times["arithmetic, one"].median


def steadiness(times: Mapping[str, Times]) -> float:
    """The median of two threads' times for arithmetic against the fastest: 1 where the machine is always the same."""
    return times["arithmetic, two"].median / times["arithmetic, two"].fastest


def arithmetic(milliseconds: int) -> None:
    """Eight parts that need no memory beyond the cache: what threads could gain at best."""
    parts = [functools.partial(_multiply, np.ones(4096, np.float32), 750 * milliseconds) for _ in range(8)]
    threads.at_once(parts, threads.WORTH_A_THREAD)


@numba.njit(nogil=True, fastmath=True)
def _multiply(numbers: NDArray[np.float32], times: int) -> None:
    for _ in range(times):
        for i in range(numbers.size):
            numbers[i] = numbers[i] * np.float32(0.999) + np.float32(0.5)
