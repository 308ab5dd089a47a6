"""Protection of the site: no scripts from elsewhere, no other host names, no writes from other sites."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stereogauge.web.responses import PRIVATE

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "font-src 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
EMBEDDED = "/embed"
"""The only page that other sites may show in a frame."""
READING = ("GET", "HEAD", "OPTIONS")
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
LONGEST_QUERY = 32 << 10
"""Bytes of the parameters of a request."""
LONGEST_ADDRESS, NETWORK_BITS = 80, 64
MOST_DRAINED, DRAIN_SECONDS = 64 << 20, 10.0
"""How much of a refused request's body is read, and for how long, so that its sender gets the answer."""


class Guard:
    """Refuses unknown host names and writes from other sites, and adds the headers above to every answer."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = LOCAL_HOSTS) -> None:
        self.app = app
        self.hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = _Body(scope, receive)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if not await body.drained():
                    headers["Connection"] = "close"
                for name, value in HEADERS.items():
                    headers[name] = value
                if "submission" in QueryParams(scope["query_string"]):  # also where the request is refused
                    headers["Cache-Control"] = PRIVATE
                if scope["path"] == EMBEDDED:
                    headers["Content-Security-Policy"] = POLICY.replace("frame-ancestors 'none'", "frame-ancestors *")
            await send(message)

        refused, status = self._refusal(scope["method"], Headers(scope=scope)), 403
        if len(scope["query_string"]) > LONGEST_QUERY:
            refused, status = f"The parameters of a request have at most {LONGEST_QUERY >> 10} KiB.", 414
        if refused:
            await JSONResponse({"detail": refused}, status_code=status)(scope, body.receive, guarded)
            return
        await self.app(scope, body.receive, guarded)

    def _refusal(self, method: str, headers: Headers) -> str:
        host = headers.get("host", "")
        if "*" not in self.hosts and host_name(host) not in self.hosts:
            return f"This site does not answer to the host name {host[:80]!r}; name it with --host-name."
        if method in READING:
            return ""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        same = site in ("same-origin", "none") if site is not None else origin is None or self._is_ours(origin, host)
        return "" if same else "Writes from another site are refused."

    def _is_ours(self, origin: str, host: str) -> bool:
        """Whether an origin is this site; a proxy may have replaced the Host by the address of this server."""
        place = urlsplit(origin)
        return place.netloc == host or (place.hostname or "") in self.hosts.difference(LOCAL_HOSTS)


class _Body:
    """The body of a request. What an answer does not wait for is read before it is sent.

    A connection that is closed with unread bytes is reset: the answer is lost, and a proxy shows an error of its own.
    """

    def __init__(self, scope: Scope, receive: Receive) -> None:
        headers = Headers(scope=scope)
        self._receive = receive
        self._whole = not ("content-length" in headers or "transfer-encoding" in headers)
        # The sender waits until the body is wanted.
        self._withheld = headers.get("expect", "").lower() == "100-continue"

    async def receive(self) -> Message:
        """The next message about the request."""
        self._withheld = False
        message = await self._receive()
        self._whole = self._whole or message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def drained(self) -> bool:
        """Read the rest within the limits; whether nothing is left of it."""
        left = MOST_DRAINED
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self._whole and not self._withheld and left > 0:
                    left -= len((await self.receive()).get("body", b""))
        except TimeoutError:
            return False
        return self._whole


def visitor_address(request: Request) -> str:
    """The address that limits count for: of IPv6 the network (/64), of which one visitor has all addresses."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:  # a socket without a proxy
        return host[:LONGEST_ADDRESS]
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or ipaddress.ip_network((address, NETWORK_BITS), strict=False))
    return str(address)


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
