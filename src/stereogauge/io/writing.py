"""Writing files that appear whole or not at all, and point clouds as PLY files."""

from __future__ import annotations

import io
import os
import uuid
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import FileError, check_one_size, one_line
from stereogauge.io.content import display_name, require
from stereogauge.io.remote import is_remote, remote_file_system, translated_errors


def write_bytes(path: str | os.PathLike[str], data: bytes | bytearray) -> None:
    """Write beside the target and move into place; object stores show only complete objects anyway."""
    name = display_name(path)
    if is_remote(path):
        url = os.fspath(path)
        file_system, place = remote_file_system(url, name)
        with translated_errors(url, name, "written"), file_system.open(place, "wb") as written:
            written.write(data)
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


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is something at this path or address."""
    if not is_remote(path):
        return Path(path).exists()
    file_system, inner = remote_file_system(os.fspath(path), display_name(path))
    return bool(file_system.exists(inner))


def write_ply(path: str | os.PathLike[str], points: NDArray[Any], colours: NDArray[Any] | None = None) -> int:
    """Write the points that are finite as a binary PLY file, in metres, with their colours; the number of them.

    `points` is (H, W, 3) with x to the right, y down and z forward; `colours` is (H, W, 3) or (H, W), 8 or 16 bits.
    """
    plyfile = require("plyfile", display_name(path), "a PLY file")
    known = np.isfinite(points).all(axis=2)
    axes = dict(zip("xyz", np.asarray(points, np.float32)[known].T, strict=True))
    shades = {} if colours is None else dict(zip(("red", "green", "blue"), _shades(colours, known), strict=True))
    columns = {**axes, **shades}
    rows = np.rec.fromarrays([*columns.values()], [(name, values.dtype) for name, values in columns.items()])
    buffer = io.BytesIO()
    plyfile.PlyData([plyfile.PlyElement.describe(rows, "vertex")], byte_order="<").write(buffer)
    write_bytes(path, buffer.getvalue())
    return len(rows)


def _shades(colours: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Red, green and blue of the known pixels, in 8 bits."""
    check_one_size("The image of the colours", colours.shape[:2], "the map", known.shape)
    levels = colours if colours.dtype == np.uint8 else (colours.astype(np.float64) / 257.0).astype(np.uint8)
    three = np.repeat(levels[..., np.newaxis], 3, axis=2) if levels.ndim == 2 else levels[..., :3]
    return three[known].T
