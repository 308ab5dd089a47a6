"""Where caches live. `STEREOGAUGE_CACHE` names the folder; else the system's cache folder; else a temporary one."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


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


PROJECT_KEYS = ("dataset", "datasets", "results", "store", "protocol", "profile", "profiles", "metrics", "regions")
"""What a stereogauge.toml says that is the file of a project, and not the manifest of a dataset or of results."""


def is_project(content: Mapping[str, Any]) -> bool:
    """Whether the content of a stereogauge.toml is that of a project."""
    return any(key in content for key in PROJECT_KEYS) and "paths" not in content
