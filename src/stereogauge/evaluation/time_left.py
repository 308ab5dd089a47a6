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
    """A `Stage` that knows how long stages usually take.

    Stages may lie inside each other. One that ends ends those before it too: they were not needed. What has ended
    tells how fast this machine is.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._usual: dict[str, float] = {}
        self._clock = clock
        self._open: list[str] = []
        self._over: set[str] = set()
        self._begun = self._changed = self._measured = clock()

    def expect(self, usual: Mapping[str, float]) -> None:
        """Say how many seconds stages usually take, in the order in which they end; some may be over already."""
        self._usual = dict(usual)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """The stage called `name`."""
        self._open.append(name)
        self._changed = self._clock()
        try:
            yield
        finally:
            self._over.add(self._open.pop())
            self._changed = self._measured = self._clock()

    @property
    def stage(self) -> str:
        """What is being done; "" between stages."""
        return self._open[-1] if self._open else ""

    def _ahead(self) -> tuple[float, float]:
        """Seconds that have been spent, and seconds that are left."""
        now, names = self._clock(), list(self._usual)
        ended = max((place + 1 for place, name in enumerate(names) if name in self._over), default=0)
        trusted = TRUST * sum(self._usual.values())
        usual_so_far = sum(self._usual[name] for name in names[:ended])
        slower = (self._measured - self._begun + trusted) / (usual_so_far + trusted) if usual_so_far else 1.0
        left = sum(self._usual[name] for name in names[ended:]) * slower
        this = self._usual[self.stage] * slower if self.stage in names[ended:] else 0.0
        return now - self._begun, left - min(now - self._changed, this)

    @property
    def seconds(self) -> float | None:
        """How many seconds are left; None before anything is expected."""
        return self._ahead()[1] if self._usual else None

    @property
    def share(self) -> float:
        """How much of the time is over, from 0 to 1; 0 before anything is expected."""
        spent, left = self._ahead()
        return spent / (spent + left) if self._usual and spent + left else 0.0
