"""How uvicorn serves the site: connections and waiting times are limited."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import sys
import time
from collections.abc import Sequence
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 400
"""Open connections; each takes a file descriptor, of which a process usually has 1024."""
SILENT_SECONDS = 20.0
"""Seconds in which a connection must send a request, or read a part of its answer."""
SECONDS_BETWEEN_WARNINGS = 60.0

M_MMAP_THRESHOLD = -3
"""glibc: the size from which on memory is mapped of its own."""

log = logging.getLogger(__name__)


class LimitedProtocol(H11Protocol):
    """A connection that is closed at once where too many are open, and when it neither asks nor reads."""

    most = MOST_CONNECTIONS
    seconds = SILENT_SECONDS
    _warned = 0.0
    _next_look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take or close a new connection."""
        if len(self.connections) >= self.most:
            now = time.monotonic()
            if now - LimitedProtocol._warned > SECONDS_BETWEEN_WARNINGS or not LimitedProtocol._warned:
                LimitedProtocol._warned = now
                log.warning("More than %d connections are open; new ones are closed.", self.most)
            self.transport = transport
            transport.abort()
            return
        super().connection_made(transport)
        self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection; one that was closed at once was never counted."""
        if self._next_look is not None:
            self._next_look.cancel()
        if self in self.connections:
            super().connection_lost(exc)

    def _look_later(self) -> None:
        before = self.cycle, self.transport.get_write_buffer_size()
        self._next_look = self.loop.call_later(self.seconds, self._close_silent, *before)

    def _close_silent(self, request: object, unread: int) -> None:
        """Close where no other request came meanwhile and nothing was read of the answer, unless one is made."""
        now = self.transport.get_write_buffer_size()
        made = now == 0 and self.cycle is not None and not self.cycle.response_complete
        if self.cycle is request and now == unread and not made:
            self.transport.abort()
        else:
            self._look_later()


def _free_large_arrays() -> None:
    """Let glibc give arrays of a megabyte and more back to the system as soon as they are freed.

    Otherwise it raises that size with use, and each thread keeps the memory of its largest answer.
    """
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError, OSError):  # another C library
            ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 1 << 20)


def server_config(app: FastAPI, proxies: Sequence[str] = (), **options: Any) -> uvicorn.Config:
    """The configuration of a server; an address that a request states in X-Forwarded-For counts only when one of
    `proxies` sent it; "*" is any, for a socket that only a proxy reaches.
    """
    _free_large_arrays()
    believed: dict[str, Any] = {"proxy_headers": bool(proxies), "forwarded_allow_ips": list(proxies)}
    return uvicorn.Config(app, http=LimitedProtocol, ws="none", server_header=False, **believed, **options)
