"""What others see of a long computation, its stages, and how they stop it; the computation itself shows nothing.

A function that takes long accepts a `Stage` and does each of its parts inside `with stage("name of the part")`. A loop
that others wait for calls `checkpoint()` once per round; that does nothing unless the caller has set an `Allowance`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TypeAlias

Stage: TypeAlias = Callable[[str], AbstractContextManager[None]]

READING = "reading"
OCCLUSIONS = "occlusions"
DISCONTINUITIES = "discontinuities"
FINE_STRUCTURES = "fine structures"
PLANES = "planes"
GEOMETRY = "geometry sets"


def unseen(name: str) -> AbstractContextManager[None]:
    """A stage that is not displayed."""
    return nullcontext()


def scores_of(algorithm: str) -> str:
    """The stage in which an algorithm's map is measured."""
    return f"scores of {algorithm}"


class UsedUpError(Exception):
    """A computation was stopped: it took longer than it may, or its result is not needed any more.

    It is no `StereogaugeError`, which code may handle as a reason to leave something out.
    """


class Allowance:
    """The seconds that a computation may take; `cancel` ends it at its next checkpoint."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Stop the computation; for any thread."""
        self._cancelled.set()

    @property
    def used_up(self) -> bool:
        """Whether the computation must end."""
        return self._cancelled.is_set() or time.monotonic() > self._end

    def check(self) -> None:
        """Raise where the allowance is used up."""
        if self._cancelled.is_set():
            raise UsedUpError("The computation was cancelled.")
        if self.used_up:
            raise UsedUpError(f"The answer took longer than {self._seconds:g} s and was stopped; ask for less.")


_current: ContextVar[Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def allowed(allowance: Allowance) -> Iterator[None]:
    """Let everything in the block be stopped at its checkpoints."""
    token = _current.set(allowance)
    try:
        yield
    finally:
        _current.reset(token)


def checkpoint() -> None:
    """Stop here where the allowance of this computation is used up."""
    allowance = _current.get()
    if allowance is not None:
        allowance.check()


def used_up() -> bool:
    """Whether the allowance of this computation is used up, for what cannot stop at a checkpoint by itself."""
    allowance = _current.get()
    return allowance is not None and allowance.used_up
