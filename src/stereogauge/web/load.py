"""Expensive answers take turns, address by address, so that no visitor waits behind all questions of another one."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from fastapi import Request

from stereogauge.allowance import Allowance, allowed, checkpoint, used_up
from stereogauge.evaluation.processes import CallCancelled, WorkerDied, WorkerProcess
from stereogauge.web.errors import BusyError, RefusedError

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
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._limiter: anyio.CapacityLimiter | None = None
        self._at_once = at_once

    async def run(self, request: Request, make: Callable[[], Value]) -> Value:
        """The answer, computed in a thread when it is its turn."""
        left = asyncio.create_task(_left(request))
        try:
            await self._turn(request.client.host if request.client else "", left)
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
        self._waiting.setdefault(client, deque()).append(turn)
        try:
            await asyncio.wait({turn, left}, timeout=self._wait_seconds, return_when=asyncio.FIRST_COMPLETED)
            if not turn.done():
                raise BusyError()
            turn.result()
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._pass_on()  # it was this one's turn already
            self._forget(client, turn)
            raise

    def _make_room(self, client: str) -> None:
        """Refuse this request, or the last one of an address that waits for more, where too many wait."""
        if sum(map(len, self._waiting.values())) < self._most:
            return
        refusal = BusyError()
        longest = max(self._waiting, key=lambda name: len(self._waiting[name]), default=client)
        if len(self._waiting.get(longest, ())) <= len(self._waiting.get(client, ())) + 1:
            raise refusal
        last = self._waiting[longest].pop()
        if not last.done():
            last.set_exception(refusal)

    def _pass_on(self) -> None:
        """Serve the next address, which is then queued behind all others."""
        while self._waiting:
            client = next(iter(self._waiting))
            queue = self._waiting.pop(client)
            turn = queue.popleft() if queue else None
            if queue:
                self._waiting[client] = queue
            if turn is not None and not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _forget(self, client: str, turn: asyncio.Future[None]) -> None:
        with suppress(KeyError, ValueError):
            self._waiting[client].remove(turn)
            if not self._waiting[client]:
                del self._waiting[client]

    async def _computed(self, make: Callable[[], Value], left: asyncio.Task[None]) -> Value:
        if self._limiter is None:  # it belongs to the event loop that first needs it
            self._limiter = anyio.CapacityLimiter(self._at_once)
        allowance = Allowance(self._seconds)

        def work() -> Value:
            with allowed(allowance):
                return make()

        computed = asyncio.ensure_future(anyio.to_thread.run_sync(work, limiter=self._limiter))
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
