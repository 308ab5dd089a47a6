"""Expensive answers take turns, so that a visitor's table never waits behind many of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from stereogauge.web.errors import BusyError

Value = TypeVar("Value")


class Turns:
    """At most `at_once` of these answers are computed at a time; `most_waiting` more may wait, others are refused.

    A request that waits holds no thread, so that cheap requests find one.
    """

    def __init__(self, at_once: int, most_waiting: int) -> None:
        self._at_once = at_once
        self._most = at_once + most_waiting
        self._inside = 0
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, make: Callable[[], Value]) -> Value:
        """The answer, computed in a thread when it is its turn."""
        if self._inside >= self._most:
            raise BusyError("Many expensive questions are being answered; ask again in a minute.")
        if self._limiter is None:  # it belongs to the event loop that first needs it
            self._limiter = anyio.CapacityLimiter(self._at_once)
        self._inside += 1
        try:
            return await anyio.to_thread.run_sync(make, limiter=self._limiter)
        finally:
            self._inside -= 1
