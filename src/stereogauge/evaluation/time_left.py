"""How far a task with stages is, and how many seconds are left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from stereogauge.evaluation.objects import FITTING
from stereogauge.scores.column import Column
from stereogauge.stages import DISCONTINUITIES, FINE_STRUCTURES, GEOMETRY, OCCLUSIONS, PLANES, READING, scores_of

USUAL = {OCCLUSIONS: 10.0, DISCONTINUITIES: 80.0, FINE_STRUCTURES: 20.0, PLANES: 20.0, GEOMETRY: 40.0}
"""Nanoseconds per pixel on two processors. Their ratios matter, since what has ended tells how fast the machine is."""

USUAL_FILE, USUAL_COLUMN = 5.0, 1.0
TRUST = 0.1
"""The share of the whole that must have ended to count as much as what is usual."""


def usual_seconds(columns: Sequence[Column], algorithms: Sequence[str], pixels: int) -> dict[str, float]:
    """How long the stages of an evaluation on one scene usually take, in the order in which they end."""
    geometric = any(column.region in FITTING for column in columns)
    nanoseconds = {READING: USUAL_FILE * len(algorithms)}
    nanoseconds |= USUAL if geometric else {OCCLUSIONS: USUAL[OCCLUSIONS]}
    nanoseconds |= {scores_of(algorithm): USUAL_COLUMN * len(columns) for algorithm in algorithms}
    return {name: 1e-9 * pixels * value for name, value in nanoseconds.items()}


class TimeLeft:
    """A `Stage` that knows how long stages usually take, `usual`, in the order in which they end.

    Stages may lie inside each other. One that ends ends those before it too: they were not needed. What has ended
    tells how fast this machine is.
    """

    def __init__(self, usual: Mapping[str, float], clock: Callable[[], float] = time.monotonic) -> None:
        self._usual = dict(usual)
        self._order = list(usual)
        self._clock = clock
        self._open: list[str] = []
        self._ended = 0
        self._begun = self._changed = self._measured = clock()

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """The stage called `name`."""
        self._open.append(name)
        self._changed = self._clock()
        try:
            yield
        finally:
            self._open.pop()
            self._changed = self._clock()
            if name in self._usual:
                self._ended = max(self._ended, self._order.index(name) + 1)
                self._measured = self._changed

    @property
    def stage(self) -> str:
        """What is being done; "" between stages."""
        return self._open[-1] if self._open else ""

    def _ahead(self) -> tuple[float, float]:
        """Seconds that have been spent, and seconds that are left."""
        now = self._clock()
        trusted = TRUST * sum(self._usual.values())
        usual_so_far = sum(self._usual[name] for name in self._order[: self._ended])
        slower = (self._measured - self._begun + trusted) / (usual_so_far + trusted) if trusted else 1.0
        left = sum(self._usual[name] for name in self._order[self._ended :]) * slower
        this = self._usual.get(self.stage, 0.0) * slower if self.stage in self._order[self._ended :] else 0.0
        return now - self._begun, left - min(now - self._changed, this)

    @property
    def seconds(self) -> float:
        """How many seconds are left."""
        return self._ahead()[1]

    @property
    def share(self) -> float:
        """How much of the time is over, from 0 to 1."""
        spent, left = self._ahead()
        return spent / (spent + left) if spent + left else 0.0
