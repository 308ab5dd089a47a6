"""Answers as plain values, and as bytes: encoded once per version of the store, with an entity tag for the browser."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from typing import Any

from fastapi import Request, Response
from pydantic import TypeAdapter

from stereogauge.text import json_values
from stereogauge.web.cache import RecentCache

MOST_ANSWER_BYTES = 64 << 20
PRIVATE = "private, no-store"

Plain = dict[str, Any]
"""A JSON object: null where a number is missing, the text "inf" where it is infinite."""

plain = json_values


class Answers:
    """Finished answers by the address that was requested."""

    def __init__(self, version: Callable[[], str]) -> None:
        self._version = version
        self._kept: RecentCache[tuple[bytes, str, str]] = RecentCache(MOST_ANSWER_BYTES)

    def give(self, request: Request, make: Callable[[], Any], seconds: float = math.inf) -> Response:
        """The kept answer, or a new one from `make`.

        It is kept until the store changes, and for at most `seconds` where other things change it too. An answer about
        an unpublished submission is for one visitor only and is never kept.
        """
        if "submission" in request.query_params:
            return fresh(make())
        key = (self._version(), request.url.path, request.url.query, time.monotonic() // seconds)
        data, tag, kind = self._kept.get(key, lambda: _encoded(make()))
        return tagged(request, data, tag, kind)


def fresh(answer: Any) -> Response:
    """An answer that is not cached: for one visitor only, or too small."""
    data, _, kind = _encoded(answer)
    return Response(data, media_type=kind, headers={"Cache-Control": PRIVATE})


def _encoded(answer: Any) -> tuple[bytes, str, str]:
    if isinstance(answer, Response):
        data, kind = bytes(answer.body), answer.headers["content-type"]
    else:
        data, kind = TypeAdapter(Any).dump_json(answer), "application/json"
    return data, hashlib.sha256(data).hexdigest()[:24], kind


def tagged(request: Request, data: bytes, tag: str, kind: str, cache: str = "no-cache") -> Response:
    """The data, or "not modified" where the browser has them already."""
    headers = {"ETag": f'"{tag}"', "Cache-Control": cache}
    if f'"{tag}"' in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(data, media_type=kind, headers=headers)
