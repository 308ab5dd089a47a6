"""How uvicorn serves the site: connections and waiting times are limited."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import logging
import socket
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from stereogauge.errors import StereogaugeError, cause

MOST_CONNECTIONS = 400
"""Open connections; each takes a file descriptor, and a process usually has 1024."""
SILENT_SECONDS = 20.0
"""Seconds in which a connection must send a request, or read a part of its answer."""
SECONDS_BETWEEN_REPEATS, MOST_MESSAGES = 60.0, 100
LIMITED_LOGS = ("uvicorn.error", "stereogauge.web.refusals", "stereogauge.web.server")
"""Logs in which a stranger can cause as many lines as requests."""

UNIX = "unix:"
SOCKETS_CLIENT = "127.0.0.1"
"""The address of a proxy that uses a socket in the file system."""
LACKING = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""What the system says about an address of a kind that it does not have, such as ::1 where there is no IPv6."""

M_MMAP_THRESHOLD = -3
"""glibc: the size from which on memory is mapped of its own."""

log = logging.getLogger(__name__)


class RarelyRepeated(logging.Filter):
    """Lets a message pass once per minute, and 100 different ones, so that no stranger fills the log."""

    def __init__(self, seconds: float = SECONDS_BETWEEN_REPEATS, most: int = MOST_MESSAGES) -> None:
        super().__init__()
        self._seconds = seconds
        self._most = most
        self._passed: dict[tuple[object, ...], float] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the message was not logged in the last minute."""
        key = (record.getMessage(), *(record.exc_info or ())[:1])
        now = time.monotonic()
        with self._lock:
            self._passed = {one: at for one, at in self._passed.items() if at > now - self._seconds}
            if key in self._passed or len(self._passed) >= self._most:
                return False
            self._passed[key] = now
            return True


class LimitedProtocol(H11Protocol):
    """A connection that is closed at once where too many are open, and when it neither asks nor reads."""

    most = MOST_CONNECTIONS
    seconds = SILENT_SECONDS
    _next_look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take or close a new connection."""
        if len(self.connections) >= self.most:
            log.warning("More than %d connections are open; new ones are closed.", self.most)
            self.transport = transport
            transport.abort()
            return
        super().connection_made(transport)
        self.client = self.client or (SOCKETS_CLIENT, 0)
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


def listening(host: str, port: int) -> list[socket.socket]:
    """Sockets on the addresses of a host, or on the file of `unix:PATH`."""
    try:
        return [_unix_socket(Path(host.removeprefix(UNIX)))] if host.startswith(UNIX) else _on_addresses(host, port)
    except OSError as problem:
        place = host if host.startswith(UNIX) else f"{host}, port {port}"
        why = cause(problem).partition(" (")[0]
        raise StereogaugeError(f"The site cannot listen on {place}: {why}; give another --host or --port.") from None


def _on_addresses(host: str, port: int) -> list[socket.socket]:
    """A socket on each address of a host; those of a kind that this machine lacks are left out."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    addresses = dict.fromkeys((one[0], one[4]) for one in found)
    with contextlib.ExitStack() as opened:
        sockets = []
        for number, (family, address) in enumerate(addresses, 1):
            try:
                sockets.append(opened.enter_context(socket.create_server(address, family=family)))
            except OSError as problem:
                if problem.errno not in LACKING or (number == len(addresses) and not sockets):
                    raise
        opened.pop_all()
        return sockets


def _unix_socket(path: Path) -> socket.socket:
    """A socket in the file system for everybody, or for whom one of an earlier server was."""
    mode = path.stat().st_mode if path.is_socket() else 0o666
    if path.is_socket():
        path.unlink()
    made = socket.socket(socket.AF_UNIX)
    try:
        made.bind(str(path))
        path.chmod(mode)
    except OSError:
        made.close()
        raise
    return made


def server_config(app: FastAPI, proxies: Sequence[str] = (), **options: Any) -> uvicorn.Config:
    """The configuration of a server; an address that a request states in X-Forwarded-For counts only when one of
    `proxies` sent it, and of several addresses the last one that is none of `proxies`.
    """
    _free_large_arrays()
    believed: dict[str, Any] = {"proxy_headers": bool(proxies), "forwarded_allow_ips": list(proxies)}
    config = uvicorn.Config(app, http=LimitedProtocol, ws="none", server_header=False, **believed, **options)
    rarely = RarelyRepeated()
    for name in LIMITED_LOGS:
        logger = logging.getLogger(name)
        for earlier in [one for one in logger.filters if isinstance(one, RarelyRepeated)]:
            logger.removeFilter(earlier)
        logger.addFilter(rarely)
    return config
