"""Work on a given number of threads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

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


def arithmetic() -> None:
    """Eight parts of one millisecond each that need no memory beyond the cache: what threads could gain at best."""
    parts = [functools.partial(_multiply, np.ones(4096, np.float32), 6000) for _ in range(8)]
    threads.at_once(parts, threads.WORTH_A_THREAD)


@numba.njit(nogil=True, fastmath=True)
def _multiply(numbers: NDArray[np.float32], times: int) -> None:
    for _ in range(times):
        for i in range(numbers.size):
            numbers[i] = numbers[i] * np.float32(0.999) + np.float32(0.5)
