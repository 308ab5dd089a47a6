"""Local copies of remote files: bounded in size, safe for several processes, each copy of one state of one file.

`STEREOGAUGE_CACHE` names the folder of all caches, `STEREOGAUGE_CACHE_GB` the most that copies may take.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from stereogauge.errors import FileError, cause
from stereogauge.paths import cache_folder

DEFAULT_GIGABYTES = 20.0
GIGABYTE = 10**9
KEPT_SHARE = 0.9
"""The part of the limit that is left when old copies are removed, so that it is not done for every file."""
LOOK_SHARE = 1 / 16
"""The part of the limit that a process adds before it counts again what all processes have added."""
ABANDONED = 3600.0
"""Seconds after which an unfinished download belongs to a process that was killed."""


class FileCache:
    """Copies below `folder` that take at most `limit` bytes; those that were not used for longest are removed."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self._added = limit  # unknown what is there: the first copy counts

    def get(self, key: str, size: int, name: str, write: Callable[[Path], None]) -> Path:
        """The copy that `key` stands for; where it is absent or not `size` bytes long, `write` makes it.

        The file's name is a hash of `key`, which nothing in an address can lead out of the folder. A copy appears whole
        or not at all; two processes that want it at the same time both make it, and the later one wins.
        """
        hashed = hashlib.sha256(key.encode()).hexdigest()
        path = self.folder / hashed[:2] / hashed
        try:
            if path.stat().st_size == size:
                os.utime(path)
                return path
        except OSError:
            pass
        temporary = path.with_name(f"{hashed}.{uuid.uuid4().hex}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                write(temporary)
                os.replace(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as problem:
            raise FileError(
                f"{name}: the copy cannot be kept in {self.folder} ({cause(problem)}); make room, or name another "
                "folder with STEREOGAUGE_CACHE."
            ) from problem
        self._added += size
        if self._added > LOOK_SHARE * self.limit:
            self._added = 0
            self._make_room(path, size)
        return path

    def _make_room(self, newest: Path, size_of_newest: int) -> None:
        """Remove what was not used for longest until the limit is kept; the newest copy stays in any case."""
        copies: list[tuple[float, int, Path]] = []
        for path in self.folder.glob("??/*"):
            with contextlib.suppress(OSError):  # another process may have removed it
                status = path.stat()
                if path.suffix == ".tmp":
                    if time.time() - status.st_mtime > ABANDONED:
                        path.unlink()
                elif path != newest:
                    copies.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in copies) + size_of_newest
        if total <= self.limit:
            return
        for _, size, path in sorted(copies):
            if total <= KEPT_SHARE * self.limit:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size


@functools.cache
def file_cache() -> FileCache:
    """The cache of this process."""
    given = os.environ.get("STEREOGAUGE_CACHE_GB", "")
    try:
        gigabytes = float(given or DEFAULT_GIGABYTES)
    except ValueError:
        gigabytes = 0.0
    if not gigabytes > 0:
        raise FileError(f"STEREOGAUGE_CACHE_GB is a positive number of gigabytes, e.g. 20; found {given!r}.")
    return FileCache(cache_folder("remote"), int(min(gigabytes, 1e9) * GIGABYTE))
