"""Protection of the site: no scripts from elsewhere, no other host names, no writes from other sites."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
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

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if "submission" in QueryParams(scope["query_string"]):  # also where the request is refused
                    headers["Cache-Control"] = PRIVATE
                if scope["path"] == EMBEDDED:
                    headers["Content-Security-Policy"] = POLICY.replace("frame-ancestors 'none'", "frame-ancestors *")
            await send(message)

        refused = self._refusal(scope["method"], Headers(scope=scope))
        if refused:
            await JSONResponse({"detail": refused}, status_code=403)(scope, receive, guarded)
            return
        await self.app(scope, receive, guarded)

    def _refusal(self, method: str, headers: Headers) -> str:
        host = headers.get("host", "")
        if "*" not in self.hosts and host_name(host) not in self.hosts:
            return f"This site does not answer to the host name {host[:80]!r}; name it with --host-name."
        if method in READING:
            return ""
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "Writes from another site are refused."
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return "Writes from another site are refused."
        return ""


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
