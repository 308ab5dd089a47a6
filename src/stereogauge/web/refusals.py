"""Refusals of requests: one sentence as JSON that never shows a path of the server."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from stereogauge.errors import FileError, MissingLibrary, NothingLeftError, StereogaugeError, StoreError
from stereogauge.stages import UsedUpError
from stereogauge.web.errors import BusyError, RefusedError, UnknownChoiceError, printable

LOST_FILE = "A file behind this answer cannot be read; the server's log says which."
LOST_STORE = "The store cannot be read at the moment; the server's log says why."
LOST_LIBRARY = "Nothing can be computed at the moment; the server's log says why."
LONGEST_QUOTE = 80

log = logging.getLogger(__name__)


def register_refusals(app: FastAPI) -> None:
    """Answer every mistake in a request, and every failure of the server, with one sentence."""
    app.add_exception_handler(FileError, _lost)
    app.add_exception_handler(StoreError, _lost)
    app.add_exception_handler(MissingLibrary, _lost)
    app.add_exception_handler(StereogaugeError, _mistake)
    app.add_exception_handler(UsedUpError, _mistake)
    app.add_exception_handler(RequestValidationError, _parameters)
    app.add_exception_handler(RecursionError, _nested)
    app.add_exception_handler(HTTPException, _nowhere)


def _mistake(request: Request, problem: Exception) -> JSONResponse:
    allowed = {"allowed": problem.allowed} if isinstance(problem, UnknownChoiceError) else {}
    reason = {"reason": "gaps"} if isinstance(problem, NothingLeftError) else {}
    refused = BusyError(str(problem)) if isinstance(problem, UsedUpError) else problem
    status, headers = 422, {}
    if isinstance(refused, RefusedError):
        status = refused.status
        headers = {"Retry-After": str(math.ceil(refused.wait))} if refused.wait else {}
        headers |= {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return JSONResponse({"detail": str(problem), **allowed, **reason}, status_code=status, headers=headers)


def _nested(request: Request, problem: Exception) -> JSONResponse:
    return JSONResponse({"detail": "A parameter of the request is nested too deeply."}, status_code=422)


def _lost(request: Request, problem: Exception) -> JSONResponse:
    # The sentence names a path or host of the server, which visitors must not see.
    log.warning("%s: %s", printable(request.url.path), printable(problem))
    if isinstance(problem, FileError):
        return JSONResponse({"detail": LOST_FILE}, status_code=410)
    missing = isinstance(problem, MissingLibrary)
    return JSONResponse({"detail": LOST_LIBRARY if missing else LOST_STORE}, status_code=503)


def _parameters(request: Request, problem: Exception) -> JSONResponse:
    errors = problem.errors() if isinstance(problem, RequestValidationError) else []
    allowed = [name for error in errors[:1] for name in _allowed(error)]
    detail = " ".join(parameter_sentence(error) for error in errors)
    return JSONResponse({"detail": detail, **({"allowed": allowed} if allowed else {})}, status_code=422)


def _nowhere(request: Request, problem: Exception) -> JSONResponse:
    status = problem.status_code if isinstance(problem, HTTPException) else 404
    headers = dict(problem.headers or {}) if isinstance(problem, HTTPException) else {}
    if status == 405:
        detail = f"{request.method} is not possible here; {headers.get('allow', 'GET')} is."
    else:
        detail = "There is nothing at this address; /api/v1/openapi.json describes every call."
    return JSONResponse({"detail": detail}, status_code=status, headers=headers)


def parameter_sentence(error: Mapping[str, Any]) -> str:
    """A sentence about one wrong parameter of a request, from pydantic's finding."""
    name = str(error["loc"][1] if len(error["loc"]) > 1 else error["loc"][0])
    if error["type"] == "missing":
        return f"The parameter {name} is missing."
    found = repr(error.get("input"))[:LONGEST_QUOTE]
    allowed = _allowed(error)
    if allowed:
        return f"Unknown {name} {found}; known are: {', '.join(allowed)}."
    message = str(error["msg"])
    said = message.removeprefix("Input ") if message.startswith("Input ") else f"is refused: {message}"
    return f"The parameter {name} {said}; found {found}."


def _allowed(error: Mapping[str, Any]) -> list[str]:
    """The allowed values of a parameter with a fixed list of them, from pydantic's sentence."""
    return re.findall(r"'([^']*)'", str(error["ctx"]["expected"])) if error["type"] == "literal_error" else []
