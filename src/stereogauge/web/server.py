"""How uvicorn serves the site."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import uvicorn
from fastapi import FastAPI


def server_config(app: FastAPI, proxies: Sequence[str] = (), **options: Any) -> uvicorn.Config:
    """The configuration of a server; an address that a request states in X-Forwarded-For counts only when one of
    `proxies` sent it.
    """
    believed: dict[str, Any] = {"proxy_headers": bool(proxies), "forwarded_allow_ips": list(proxies)}
    return uvicorn.Config(app, ws="none", server_header=False, **believed, **options)
