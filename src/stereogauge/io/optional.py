"""Packages of the extra `io`, imported when a file needs them."""

from __future__ import annotations

import importlib
from typing import Any

from stereogauge.errors import MissingDependency


def require(package: str, name: str, kind: str) -> Any:
    """The module `package`; the error for its absence names the file `name`, which is of the kind `kind`."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingDependency(package, "io", f"{name}: {kind}") from error
