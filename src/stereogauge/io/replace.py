"""Writing files that appear whole or not at all."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from stereogauge.errors import FileError
from stereogauge.io.content import display_name, is_remote, one_line, remote_file_system


def write_bytes(path: str | os.PathLike[str], data: bytes | bytearray) -> None:
    """Write beside the target and move into place; object stores show only complete objects anyway."""
    name = display_name(path)
    if is_remote(path):
        _write_remote(str(path), name, data)
        return
    target = Path(path)
    if target.is_dir():
        raise FileError(f"{name}: this is a folder; a file name is needed.")
    temporary = target.with_name(f".{target.name[:100]}.{uuid.uuid4().hex}.tmp")
    try:
        try:
            with open(temporary, "xb") as file:
                file.write(data)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except FileNotFoundError:
        raise FileError(f"{name}: the folder does not exist.") from None
    except (OSError, ValueError) as error:
        raise FileError(
            f"{name}: cannot be written ({one_line(getattr(error, 'strerror', None) or error)})."
        ) from error


def _write_remote(url: str, name: str, data: bytes | bytearray) -> None:
    file_system, path = remote_file_system(url, name)
    try:
        with file_system.open(path, "wb") as file:
            file.write(data)
    except Exception as error:  # each file system has its own kinds of failure, with no base class in common
        raise FileError(f"{name}: cannot be written ({type(error).__name__}: {one_line(error)}).") from error


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is something at this path or address."""
    if not is_remote(path):
        return Path(path).exists()
    file_system, inner = remote_file_system(str(path), display_name(path))
    return bool(file_system.exists(inner))
