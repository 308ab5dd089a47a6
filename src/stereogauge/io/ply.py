"""Point clouds as binary PLY files, which MeshLab, CloudCompare, Open3D and Blender read."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import SizeError
from stereogauge.io.replace import write_bytes


def write_ply(path: str | os.PathLike[str], points: NDArray[Any], colours: NDArray[Any] | None = None) -> int:
    """Write the points that are finite, in metres, with their colours; the number of them.

    `points` is (…, 3) with x to the right, y down and z forward; `colours` is (…, 3) or (…) of 8 bits.
    """
    flat = np.asarray(points, np.float32).reshape(-1, 3)
    fields = [("x", "<f4"), ("y", "<f4"), ("z", "<f4")]
    shades = None
    if colours is not None:
        if colours.shape[:2] != points.shape[:2]:
            raise SizeError(
                f"The image has {colours.shape[1]} × {colours.shape[0]} pixels, the map {points.shape[1]} × "
                f"{points.shape[0]}; colours need an image of the map's size."
            )
        grey = colours if colours.dtype == np.uint8 else (colours.astype(np.float64) / 257.0).astype(np.uint8)
        shades = (np.repeat(grey[:, :, np.newaxis], 3, axis=2) if grey.ndim == 2 else grey[:, :, :3]).reshape(-1, 3)
        fields += [("red", "u1"), ("green", "u1"), ("blue", "u1")]
    known = np.isfinite(flat).all(axis=1)
    rows = np.empty(int(known.sum()), np.dtype(fields))
    for axis, name in enumerate("xyz"):
        rows[name] = flat[known, axis]
    if shades is not None:
        for channel, name in enumerate(("red", "green", "blue")):
            rows[name] = shades[known, channel]
    kinds = {"<f4": "float", "u1": "uchar"}
    properties = "".join(f"property {kinds[kind]} {name}\n" for name, kind in fields)
    header = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(rows)}\n{properties}end_header\n"
    write_bytes(path, header.encode("ascii") + rows.tobytes())
    return len(rows)
