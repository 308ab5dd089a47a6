"""The columns that a protocol asks for, with the versions of their declarations.

Finding them means importing every metric, and with them Numba. A second run with nothing to do should not pay for that,
so the answer is kept beside the other caches, under a key that changes with any file that declares some.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import json
from collections.abc import Iterable

from stereogauge.errors import FileError
from stereogauge.hashing import source_hash, values_hash
from stereogauge.io.writing import write_bytes
from stereogauge.masks.declaration import ENTRY_POINTS as REGIONS
from stereogauge.masks.expression import WHOLE_SCENE, check_region
from stereogauge.metrics.declaration import ENTRY_POINTS as METRICS
from stereogauge.model import Dataset, Scene
from stereogauge.paths import cache_folder
from stereogauge.protocol import Protocol
from stereogauge.registry import plugin_files
from stereogauge.scores.column import VersionedColumn, columns_of, metric_of
from stereogauge.version import VERSION

DECLARING = ("metrics", "masks")


def declared_columns(protocol: Protocol) -> tuple[VersionedColumn, ...]:
    """Every column of the protocol as it is declared now."""
    if plugin_files() or _packages_declare():
        # The sources of plug-ins are not hashed, so their declarations are read each time.
        return _computed(protocol)
    key = values_hash([VERSION, protocol.metrics, protocol.regions, source_hash(*DECLARING)])
    path = cache_folder("columns") / f"{key[:32]}.json"
    with contextlib.suppress(OSError, ValueError, TypeError):
        return tuple(VersionedColumn(*values) for values in json.loads(path.read_text(encoding="utf-8")))
    computed = _computed(protocol)
    with contextlib.suppress(FileError):
        write_bytes(path, json.dumps(computed).encode())
    return computed


@functools.cache
def _packages_declare() -> bool:
    """Whether an installed package adds metrics or regions; a running process gets no new ones."""
    installed = importlib.metadata.entry_points()
    return any(installed.select(group=group) for group in (METRICS, REGIONS))


def _computed(protocol: Protocol) -> tuple[VersionedColumn, ...]:
    return tuple(column.versioned for column in columns_of(protocol.metrics, protocol.regions))


def confidence_columns(declared: Iterable[VersionedColumn]) -> tuple[VersionedColumn, ...]:
    """Those that judge a confidence map."""
    return tuple(column for column in declared if "confidence" in metric_of(column.metric).metric.needs)


def columns_of_scene(
    declared: Iterable[VersionedColumn], scene: Scene, dataset: Dataset
) -> tuple[VersionedColumn, ...]:
    """The columns that this scene can have: a mask that only other scenes ship is a gap here."""
    kept = []
    everywhere = tuple(dict.fromkeys(name for other in dataset for name in other.masks))
    for column in declared:
        if column.region == WHOLE_SCENE:
            kept.append(column)
            continue
        parts = check_region(column.region, everywhere).parts
        if all(part.own_mask is None or part.own_mask in scene.masks for part in parts):
            kept.append(column)
    return tuple(kept)
