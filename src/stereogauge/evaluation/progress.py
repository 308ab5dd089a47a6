"""Progress of a run: a bar on a terminal, plain lines elsewhere, nothing in a library call; the time left of stages."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from stereogauge.evaluation.objects import FITTING
from stereogauge.scores.column import Column
from stereogauge.stages import DISCONTINUITIES, FINE_STRUCTURES, GEOMETRY, OCCLUSIONS, PLANES, READING, scores_of
from stereogauge.text import counted

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

LINE_EVERY = 5.0
"""Seconds between plain lines."""
SHOWN_AFTER = 2.0
"""Seconds of reading before it is reported."""


class Progress:
    """What a run reports to; this one counts and shows nothing."""

    _total = _done = _failed = 0
    _name = ""
    _started = 0.0

    def start(self, total: int, stored: int) -> None:
        """`total` cells are to be done, `stored` are there already."""
        self._total, self._done, self._failed, self._started = total, 0, 0, time.monotonic()

    def scene(self, name: str) -> None:
        """Cells of this scene are submitted."""
        self._name = name

    def advance(self, done: int, failed: int) -> None:
        """`done` more cells are stored, `failed` more have failed."""
        self._done += done
        self._failed += failed

    def finish(self) -> None:
        """Nothing more will come."""

    def _rate(self) -> float:
        """Cells per second."""
        return (self._done + self._failed) / max(time.monotonic() - self._started, 1e-9)


class Lines(Progress):
    """A line every few seconds, for logs."""

    def __init__(self, stream: IO[str], every: float = LINE_EVERY, what: str = "cell", verb: str = "compute") -> None:
        self._stream, self._every, self._what, self._verb = stream, every, what, verb
        self._said = time.monotonic()

    def start(self, total: int, stored: int) -> None:
        """Write how much is to be done."""
        super().start(total, stored)
        self._said = self._started
        already = f", {stored} stored already" if stored else ""
        self._stream.write(f"{counted(total, self._what)} to {self._verb}{already}\n")
        self._stream.flush()

    def advance(self, done: int, failed: int) -> None:
        """Write a line when the last one is old enough."""
        super().advance(done, failed)
        if time.monotonic() - self._said < self._every:
            return
        self._said, rate = time.monotonic(), self._rate()
        left = (self._total - self._done - self._failed) / rate if rate else 0.0
        failures = f", {self._failed} failed" if self._failed else ""
        place = f", at {self._name}" if self._name else ""
        self._stream.write(
            f"{self._done}/{self._total} {self._what}s{failures}, {rate:.1f}/s, {left:.0f} s left{place}\n"
        )
        self._stream.flush()


class Bar(Progress):
    """A Rich bar: cells done, rate, time left, current scene."""

    def __init__(self, console: Any, what: str = "cell") -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        self._bars: Bars = Bars(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(f"{what}s  {{task.fields[rate]}}"),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
        )
        self._task: Any = None

    def start(self, total: int, stored: int) -> None:
        """Show the bar."""
        super().start(total, stored)
        if total:
            self._bars.start()
            self._task = self._bars.add_task("", total=total, rate="")

    def scene(self, name: str) -> None:
        """Show the scene behind the bar."""
        if self._task is not None:
            self._bars.update(self._task, description=name)

    def advance(self, done: int, failed: int) -> None:
        """Move the bar."""
        super().advance(done, failed)
        if self._task is not None:
            self._bars.update(self._task, advance=done + failed, rate=f"{self._rate():.1f}/s")

    def finish(self) -> None:
        """Remove the bar."""
        self._bars.stop()


class Reading:
    """Progress of files being read, shown once reading has taken a while."""

    def __init__(self, progress: Progress, after: float = SHOWN_AFTER) -> None:
        self._progress = progress
        self._after = after
        self._started = time.monotonic()
        self._done = 0
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` files are read."""
        if not self._shown and time.monotonic() - self._started < self._after:
            return
        if not self._shown or done < self._done:
            self._progress.finish()
            self._progress.start(total, 0)
            self._shown, self._done = True, 0
        self._progress.advance(done - self._done, 0)
        self._done = done

    def finish(self) -> None:
        """Nothing more will be read."""
        if self._shown:
            self._progress.finish()


def terminal_progress(console: Callable[[], Any], what: str = "cell", verb: str = "compute") -> Progress:
    """A bar when standard error is a terminal, lines, which need no console, when it is not."""
    return Bar(console(), what) if sys.stderr.isatty() else Lines(sys.stderr, what=what, verb=verb)


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

    def next(self, name: str) -> None:
        """End the stage that `next` began before, and begin this one."""
        self._over.update(self._open)
        self._open = [name]
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
