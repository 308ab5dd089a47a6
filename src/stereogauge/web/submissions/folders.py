"""The folder of submissions: readable by the server only, with a measured size, and cleaned after a stop."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from stereogauge.errors import StereogaugeError
from stereogauge.web.submissions.jobs import OPEN

IDENTIFIER = re.compile(r"[0-9a-f]{24}")


def for_owner(path: str | Path, flags: int) -> int:
    """Open a file that only the server's user may read, and never through a link; an opener for `open`."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def private_file(path: Path) -> Path:
    """The path of a file that only the server's user may read, made where it does not exist."""
    os.close(for_owner(path, os.O_CREAT | os.O_RDWR))
    return path


def used(folders: Iterable[Path]) -> int:
    """The bytes of all files below some folders."""
    total = 0
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                try:
                    total += os.lstat(os.path.join(place, name)).st_size
                except OSError:  # removed meanwhile
                    continue
    return total


def only_server(folder: Path) -> IO[bytes] | None:
    """A lock that says that this is the only server of the folder, held until it is closed."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return None
    file = open(private_file(folder / "server.lock"), "rb")  # noqa: SIM115 - it stays open as long as the server runs
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise StereogaugeError(
            f"Another server uses {folder} for its submissions; give this one another --data."
        ) from None
    return file


def clean(folder: Path, states: Mapping[str, str]) -> None:
    """Remove what a stop in the middle left behind: folders of no submission, and uploads that are no longer needed."""
    for path in folder.iterdir():
        if not path.is_dir() or not IDENTIFIER.fullmatch(path.name):
            continue
        state = states.get(path.name)
        if state in (None, "invalid", "failed"):
            shutil.rmtree(path, ignore_errors=True)
        elif state not in (*OPEN, "held"):
            (path / "upload.zip").unlink(missing_ok=True)
