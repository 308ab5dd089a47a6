"""Writing files that appear whole or not at all."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from stereogauge.errors import FileError, one_line
from stereogauge.io.content import display_name
from stereogauge.io.remote import remote_file_system, told
from stereogauge.io.remote_path import is_remote


def write_bytes(path: str | os.PathLike[str], data: bytes | bytearray) -> None:
    """Write beside the target and move into place; object stores show only complete objects anyway."""
    name = display_name(path)
    if is_remote(path):
        _write_remote(os.fspath(path), name, data)
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
    with told(url, name, "written"), file_system.open(path, "wb") as file:
        file.write(data)


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is something at this path or address."""
    if not is_remote(path):
        return Path(path).exists()
    file_system, inner = remote_file_system(os.fspath(path), display_name(path))
    return bool(file_system.exists(inner))
