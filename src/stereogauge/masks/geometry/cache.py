"""Geometry sets on disk, by a hash of everything they depend on.

A file is a NumPy archive that holds its own key and a checksum per member; a file that is damaged, of
another key or not ours at all is computed again and replaced.
"""

from __future__ import annotations

import contextlib
import os
import threading
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.hashing import source_hash, values_hash
from stereogauge.io.files import content_hash
from stereogauge.masks.geometry.sets import GeometrySets, geometry_sets
from stereogauge.model import DisparityMap, Mask
from stereogauge.paths import cache_folder
from stereogauge.protocol import GeometryParameters
from stereogauge.stages import Stage, unseen
from stereogauge.version import VERSION

DAMAGED = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError)
SOURCES = ("masks/geometry", "protocol.py", "kernels", "native")
"""The code that sets depend on; whole folders, since modules move between them."""


def sets_key(
    truth: DisparityMap | None,
    base: Mask,
    resolution: float,
    parameters: GeometryParameters,
    drawn_planes: NDArray[Any] | None,
    drawn_fine: Mask | None = None,
) -> str:
    """A hash of ground truth, evaluation mask, drawn sets, parameters, resolution and code."""
    arrays = ["" if part is None else content_hash(part) for part in (truth, base, drawn_planes, drawn_fine)]
    return values_hash([VERSION, source_hash(*SOURCES), repr(parameters), float(resolution), *arrays])[:40]


def cached_geometry_sets(
    truth: DisparityMap | None,
    base: Mask,
    resolution: float,
    parameters: GeometryParameters,
    drawn_planes: NDArray[Any] | None = None,
    drawn_fine: Mask | None = None,
    folder: Path | None = None,
    stage: Stage = unseen,
) -> GeometrySets:
    """`geometry_sets` of the same arguments, read from `folder` (by default the cache) when computed before."""
    key = sets_key(truth, base, resolution, parameters, drawn_planes, drawn_fine)
    path = (folder or cache_folder("geometry")) / f"{key}.npz"
    found = _read(path, key)
    if found is not None:
        return found
    sets = geometry_sets(truth, base, resolution, parameters, drawn_planes, drawn_fine, stage)
    _write(path, key, sets)
    return sets


def _read(path: Path, key: str) -> GeometrySets | None:
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            if str(archive["key"]) != key:
                return None
            values = {name: archive[name] for name in GeometrySets.__struct_fields__}
    except DAMAGED:
        return None
    scalars = {name: value.item() for name, value in values.items() if value.ndim == 0}
    return GeometrySets(**{**values, **scalars})


def _write(path: Path, key: str, sets: GeometrySets) -> None:
    """Write beside the target and rename, so that no reader ever sees half a file; a full disk costs the cache only."""
    arrays: dict[str, Any] = {"key": np.asarray(key), **sets.arrays()}
    part = path.with_name(f"{key}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            np.savez(file, **arrays)
        part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
