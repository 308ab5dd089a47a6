"""The folder of submissions: readable by the server alone, measured, and tidy after a stop."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.rights import Account
from stereogauge.web.submissions.decoding import LEFTOVERS
from stereogauge.web.submissions.jobs import ENDED, OPEN

IDENTIFIER = re.compile(r"[0-9a-f]{24}")


def make(folder: Path) -> Path:
    """An empty folder that only the server's user may look into."""
    folder.mkdir(mode=0o700)
    return folder


def private_file(path: Path) -> Path:
    """The path of a file that only the server's user may read, made where it does not exist."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    return path


@contextmanager
def lent(folder: Path, account: Account | None) -> Iterator[None]:
    """Let another user write to the folder of one upload, and read the upload, for as long as the block lasts."""
    if account is None:
        yield
        return
    owner = (folder.stat().st_uid, folder.stat().st_gid)
    places = (folder / "upload.zip", folder)
    try:
        for place in places:
            os.chown(place, account.user, account.group, follow_symlinks=False)
        yield
    finally:
        for place in reversed(places):
            with suppress(FileNotFoundError):  # withdrawn meanwhile
                os.chown(place, *owner, follow_symlinks=False)


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
    """Remove what a stop in the middle left behind: folders of no submission, and files that are no longer needed."""
    for path in folder.iterdir():
        if not path.is_dir() or not IDENTIFIER.fullmatch(path.name):
            continue
        state = states.get(path.name)
        if state is None or state in ENDED:
            shutil.rmtree(path, ignore_errors=True)
            continue
        for name in LEFTOVERS:
            shutil.rmtree(path / name, ignore_errors=True)
        if state not in (*OPEN, "held"):
            (path / "upload.zip").unlink(missing_ok=True)
