"""What the limited process does with a batch of files; apart, so that it imports little."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stereogauge import StereogaugeError, read_disparity
from stereogauge.datasets.archives import Limits, member_names, unpack


def read_all(folder: str, names: list[str], options: dict[str, Any]) -> list[tuple[str, str]]:
    """In the limited process: read files; returns those that raised anything but our own errors."""
    found = []
    for name in names:
        (Path(folder) / "current").write_text(name)
        try:
            read_disparity(Path(folder) / name, **options)
        except (StereogaugeError, MemoryError):
            continue
        except Exception as problem:
            found.append((name, f"{type(problem).__name__}: {problem}"))
    return found


def unpack_all(folder: str, names: list[str], options: dict[str, Any]) -> list[tuple[str, str]]:
    """In the limited process: list and unpack archives; an entry outside of the folder is a finding too."""
    found = []
    for name in names:
        (Path(folder) / "current").write_text(name)
        target = Path(folder) / f"{name}-unpacked"
        try:
            member_names(Path(folder) / name, Limits(entries=500, size=1 << 24))
            files = unpack(Path(folder) / name, target, Limits(entries=500, size=1 << 24))
            outside = [file for file in files if not file.resolve().is_relative_to(target.resolve())]
            found += [(name, f"wrote outside: {file}") for file in outside]
        except (StereogaugeError, MemoryError):
            continue
        except Exception as problem:
            found.append((name, f"{type(problem).__name__}: {problem}"))
    return found
