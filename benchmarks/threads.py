"""Work on a given number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stereogauge.kernels import threads


def on_threads(count: int, call: Callable[[], Any]) -> Callable[[], Any]:
    """`call` with kernels on `count` threads, whatever the machine has."""

    def work() -> Any:
        usual = threads.thread_count
        threads.thread_count = lambda: count
        try:
            return call()
        finally:
            threads.thread_count = usual

    return work
