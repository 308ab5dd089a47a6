"""Expensive answers take turns, address by address, so that no visitor waits behind all questions of another one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from fastapi import Request

from stereogauge.evaluation.processes import CallCancelled, WorkerDied, WorkerProcess
from stereogauge.stages import Allowance, allowed, checkpoint, used_up
from stereogauge.web.errors import BusyError, RefusedError
from stereogauge.web.security import visitor_address

Value = TypeVar("Value")
POLL = 0.5
"""Seconds between two looks at whether a visitor is still there."""


class ConcurrencyLimit:
    """At most `at_once` of these answers are computed at a time; `most_waiting` more may wait, address by address.

    Where more would wait, the address that waits for most answers loses its last one. A request waits at most
    `wait_seconds`, and is computed for at most `seconds`; both end when the visitor leaves. One that waits holds no
    thread, so that cheap requests find one.
    """

    def __init__(self, at_once: int, most_waiting: int, wait_seconds: float = 60.0, seconds: float = 60.0) -> None:
        self._free = at_once
        self._most = most_waiting
        self._wait_seconds = wait_seconds
        self._seconds = seconds
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        """Who waits, by address; the first address is next."""

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return sum(not turn.done() for turns in self._waiting.values() for turn in turns)

    async def run(self, request: Request, make: Callable[[], Value]) -> Value:
        """The answer, computed in a thread when it is its turn."""
        left = asyncio.create_task(_left(request))
        try:
            await self._turn(visitor_address(request), left)
            try:
                return await self._computed(make, left)
            finally:
                self._pass_on()
        finally:
            left.cancel()

    async def _turn(self, client: str, left: asyncio.Task[None]) -> None:
        if self._free > 0:
            self._free -= 1
            return
        self._make_room(client)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, []).append(turn)
        try:
            await asyncio.wait({turn, left}, timeout=self._wait_seconds, return_when=asyncio.FIRST_COMPLETED)
            if not turn.done():
                raise BusyError()
            turn.result()
        except BaseException:
            if not turn.cancel() and turn.exception() is None:
                self._pass_on()  # it was this one's turn already
            raise

    def _make_room(self, client: str) -> None:
        """Refuse this request, or the last one of an address that waits for more, where too many wait."""
        if self.waiting < self._most:
            return
        turns = {name: [turn for turn in own if not turn.done()] for name, own in self._waiting.items()}
        longest = max(turns.values(), key=len, default=[])
        if len(longest) <= len(turns.get(client, [])) + 1:
            raise BusyError()
        longest[-1].set_exception(BusyError())

    def _pass_on(self) -> None:
        """Serve the address next that arrived or was served longest ago."""
        for client, turns in list(self._waiting.items()):
            left = [turn for turn in turns if not turn.done()]
            del self._waiting[client]
            if left:
                self._waiting[client] = left[1:]
                left[0].set_result(None)
                return
        self._free += 1

    async def _computed(self, make: Callable[[], Value], left: asyncio.Task[None]) -> Value:
        allowance = Allowance(self._seconds)

        def work() -> Value:
            with allowed(allowance):
                return make()

        computed = asyncio.ensure_future(anyio.to_thread.run_sync(work, limiter=anyio.CapacityLimiter(1)))
        try:
            await asyncio.wait({computed, left}, return_when=asyncio.FIRST_COMPLETED)
            if not computed.done():
                allowance.cancel()
            return await computed
        except asyncio.CancelledError:
            allowance.cancel()
            raise


class LimitedCalls:
    """Calls in a process with limited memory, one at a time; one ends when the allowance of its request does."""

    def __init__(self, memory_bytes: int) -> None:
        self._worker = WorkerProcess(memory_bytes)
        self._free = threading.Lock()

    @property
    def process_id(self) -> int | None:
        """The id of the process; None while there is none."""
        return self._worker.process_id

    def call(self, function: Callable[..., Value], *arguments: Any) -> Value:
        """The result of a call, within what the request may still take."""
        while not self._free.acquire(timeout=POLL):
            checkpoint()
        try:
            result: Value = self._worker.call(function, *arguments, cancelled=used_up)
            return result
        except CallCancelled:
            checkpoint()
            raise
        except (MemoryError, WorkerDied):
            raise RefusedError("This needs more memory than one request may use; ask for less.") from None
        finally:
            self._free.release()

    def end(self) -> None:
        """End the process."""
        self._worker.end()


async def _left(request: Request) -> None:
    """Return when the visitor has gone."""
    while not await request.is_disconnected():
        await asyncio.sleep(POLL)
