"""Runs: when, on which machine and with which versions scores were computed."""

from __future__ import annotations

import contextlib
import json
import platform
import socket
import time
from importlib import metadata

from sqlalchemy.engine import Connection

from stereogauge.store import schema
from stereogauge.version import VERSION

PACKAGES = ("numpy", "numba", "opencv-python-headless", "scikit-image", "scipy")


def versions() -> dict[str, str]:
    """Versions of everything that a score's last digits may depend on, by package."""
    found = {"stereogauge": VERSION, "python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def begin_run(connection: Connection, command: str) -> int:
    """Record that a run begins; returns its id."""
    row = {
        "started": time.time(),
        "host": socket.gethostname(),
        "versions": json.dumps(versions(), sort_keys=True),
        "command": command,
    }
    key = connection.execute(schema.runs.insert().values(**row)).inserted_primary_key
    assert key is not None
    return int(key[0])
