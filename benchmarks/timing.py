"""Medians of several callables measured in turn, so that a slow moment of the machine hits all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any


def interleave(work: Mapping[str, Callable[[], Any]], rounds: int = 7) -> dict[str, float]:
    """Median seconds of each callable over `rounds` rounds, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(rounds + 1):
        for name, call in work.items():
            start = time.perf_counter()
            call()
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}
