"""Where caches live. `STEREOGAUGE_CACHE` names the folder; else the system's cache folder; else a temporary one."""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@functools.cache
def cache_folder(part: str = "") -> Path:
    """A writable folder for the cache called `part`."""
    from platformdirs import user_cache_path

    wanted = os.environ.get("STEREOGAUGE_CACHE")
    for base in ([Path(wanted)] if wanted else []) + [user_cache_path("stereogauge", appauthor=False)]:
        if _writable(base / part):
            return base / part
    return Path(tempfile.mkdtemp(prefix="stereogauge-")) / part
