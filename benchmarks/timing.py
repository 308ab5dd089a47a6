"""Several callables timed in turn, so that a slow moment of the machine hits all of them."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Statistic = Literal["median", "fastest"]
BY: dict[Statistic, Callable[[Iterable[float]], float]] = {"median": statistics.median, "fastest": min}


@dataclass(frozen=True)
class Times:
    """What the same work took, one value per round: seconds, or another amount such as bytes."""

    values: tuple[float, ...]

    def by(self, statistic: Statistic) -> float:
        """The median or the smallest value."""
        return BY[statistic](self.values)

    @property
    def median(self) -> float:
        return self.by("median")

    @property
    def fastest(self) -> float:
        return self.by("fastest")

    def noise(self, statistic: Statistic = "median") -> float:
        """The same work timed twice, as a ratio ≥ 1: every second round against the rounds between them.

        NaN where there are not two rounds.
        """
        if len(self.values) < 2:
            return math.nan
        halves = [BY[statistic](self.values[start::2]) for start in (0, 1)]
        return max(halves) / min(halves) if min(halves) > 0 else math.nan


def interleave(work: Mapping[str, Callable[[], Any]], rounds: int = 8, *, warm: bool = True) -> dict[str, Times]:
    """Seconds of each callable over `rounds` rounds A B A B …, after one round that does not count if `warm`."""
    found: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(-1 if warm else 0, rounds):
        for name, call in work.items():
            start = time.perf_counter()
            call()
            if turn >= 0:
                found[name].append(time.perf_counter() - start)
    return {name: Times(tuple(values)) for name, values in found.items()}


def amounts(work: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, Times]:
    """What each callable returns (seconds that it took elsewhere, bytes), over `rounds` rounds A B A B …"""
    found: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, call in work.items():
            found[name].append(call())
    return {name: Times(tuple(values)) for name, values in found.items()}
