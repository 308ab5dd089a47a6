"""Where the site's numbers and maps come from: a store, or scores in memory.

A scene's name is the one that a score cube gives it: "dataset/scene" where a store holds several datasets.
"""

from __future__ import annotations

import glob
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from stereogauge.datasets.layout import MAP_SUFFIXES
from stereogauge.errors import StoreError, unknown_name
from stereogauge.io.content import is_remote
from stereogauge.io.files import DisparityFile
from stereogauge.model import Dataset, ResultSet, Scene
from stereogauge.protocol import Protocol as ScoringProtocol
from stereogauge.protocol import load_protocol
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.table import ScoreTable
from stereogauge.store.sources import source_of_text
from stereogauge.store.store import Store

SECONDS_BETWEEN_LOOKS = 0.5


class ProtocolRecord(NamedTuple):
    """A protocol under which there are scores; `key` is its scoring hash, by which scores are asked for.

    `also` names the others with the same scoring choices: their scores are the same.
    """

    key: str
    name: str
    protocol: ScoringProtocol | None
    also: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that means this protocol."""
        return (self.key, self.name, *self.also)


class AlgorithmRecord(NamedTuple):
    """What is known of an algorithm beside its scores."""

    name: str
    description: str = ""
    link: str = ""
    colour: str = ""
    seconds: float | None = None


class Maps(NamedTuple):
    """Where the maps of one algorithm on one scene lie; None where there is none. Confidence maps have names."""

    left: Any = None
    right: Any = None
    confidence: Mapping[str, Any] = MappingProxyType({})


class ScoreSource(Protocol):
    """What the site needs to know of its scores."""

    def version(self) -> str:
        """Changes whenever an answer may change."""
        ...

    def protocols(self) -> tuple[ProtocolRecord, ...]:
        """Protocols with scores; the first is the default."""
        ...

    def cube(self, key: str) -> ScoreCube:
        """All scores under a protocol."""
        ...

    def algorithms(self) -> tuple[AlgorithmRecord, ...]:
        """Every algorithm."""
        ...

    def scene(self, name: str) -> Scene:
        """A scene by its name in the cubes."""
        ...

    def maps(self, algorithm: str, scene: str) -> Maps:
        """Where an algorithm's maps of a scene lie."""
        ...

    def with_confidence(self, algorithm: str, scenes: Iterable[str]) -> list[str]:
        """Those of the scenes for which the algorithm has confidence maps."""
        ...


@dataclass
class _Kept:
    """What was read of a store at one version."""

    version: str
    cubes: dict[str, ScoreCube] = field(default_factory=dict)
    protocols: tuple[ProtocolRecord, ...] | None = None
    algorithms: tuple[AlgorithmRecord, ...] | None = None
    scenes: dict[str, Scene] = field(default_factory=dict)
    maps: dict[tuple[str, str], Maps] = field(default_factory=dict)


class StoreSource:
    """A store, read once for each of its versions."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.RLock()
        self._looked = -1.0
        self._kept = _Kept("")

    def version(self) -> str:
        """Of the store's files, or of its tables; looked at no more often than twice a second."""
        with self._lock:
            now = self._clock()
            if not self._kept.version or now - self._looked >= SECONDS_BETWEEN_LOOKS:
                self._looked = now
                found = self._look()
                if found != self._kept.version:
                    self._kept = _Kept(found)
            return self._kept.version

    def refresh(self) -> None:
        """Look at the store again at the next question."""
        with self._lock:
            self._looked = -1.0

    def _look(self) -> str:
        file = Path(self._store.name)
        if not file.is_file():
            return self._store.state()
        stamps = [part.stat() for part in (file, file.with_name(f"{file.name}-wal")) if part.exists()]
        return repr([(stamp.st_mtime_ns, stamp.st_size) for stamp in stamps])

    def protocols(self) -> tuple[ProtocolRecord, ...]:
        """One record for each scoring hash with scores, the one with most algorithms on all its scenes first."""
        with self._lock:
            kept = self._current()
            if kept.protocols is None:
                found: dict[str, ProtocolRecord] = {}
                for entry in self._store.protocols():
                    key = entry.scoring_hash
                    known = found.get(key)
                    if known is not None and entry.name not in known.names:
                        found[key] = known._replace(also=(*known.also, entry.name))
                    elif known is None and self._has_scores(key):
                        found[key] = ProtocolRecord(key, entry.name, self._store.protocol(entry.hash))
                kept.protocols = tuple(
                    sorted(found.values(), key=lambda own: _coverage(self.cube(own.key)), reverse=True)
                )
            return kept.protocols

    def _has_scores(self, key: str) -> bool:
        try:
            return bool(self.cube(key).columns)
        except StoreError:
            return False

    def cube(self, key: str) -> ScoreCube:
        """All scores under a scoring hash."""
        with self._lock:
            cubes = self._current().cubes
            if key not in cubes:
                cubes[key] = self._store.cube(protocol=key)
            return cubes[key]

    def algorithms(self) -> tuple[AlgorithmRecord, ...]:
        """In the order in which they came."""
        with self._lock:
            kept = self._current()
            if kept.algorithms is None:
                kept.algorithms = tuple(
                    AlgorithmRecord(entry.name, entry.description, entry.link, entry.colour, entry.seconds)
                    for entry in self._store.algorithms()
                )
            return kept.algorithms

    def scene(self, name: str) -> Scene:
        """Rebuilt from where its files lay when it was evaluated."""
        with self._lock:
            scenes = self._current().scenes
            if name not in scenes:
                scenes[name] = self._store.scene(*self._place(name))
            return scenes[name]

    def maps(self, algorithm: str, scene: str) -> Maps:
        """From where they lay when they were evaluated."""
        with self._lock:
            kept = self._current().maps
            if (algorithm, scene) not in kept:
                record = self._store.map_record(algorithm, *self._place(scene))
                left = None if record is None else source_of_text(record.source)
                right = None if record is None else source_of_text(record.right_source)
                kept[algorithm, scene] = Maps(left, right, _confidence_beside(left))
            return kept[algorithm, scene]

    def with_confidence(self, algorithm: str, scenes: Iterable[str]) -> list[str]:
        """Looked for scene by scene only where the folder of the first map has confidence maps at all."""
        names = iter(scenes)
        first = next((maps.left for name in names if (maps := self.maps(algorithm, name)).left is not None), None)
        folder = _folder(first)
        if folder is None or not (folder / "confidence").is_dir():
            return []
        return [name for name in scenes if self.maps(algorithm, name).confidence]

    def _place(self, name: str) -> tuple[str, str]:
        for record in self.protocols():
            cube = self.cube(record.key)
            if name in cube.scenes:
                dataset = cube.datasets[cube.scenes.index(name)]
                return dataset, name.removeprefix(f"{dataset}/")
        raise unknown_name("scene", name, {scene for r in self.protocols() for scene in self.cube(r.key).scenes})

    def _current(self) -> _Kept:
        self.version()
        return self._kept


def _coverage(cube: ScoreCube) -> tuple[int, int]:
    """Algorithms with a score on every scene, and scores: a protocol with more of both is the better start."""
    known = np.isfinite(cube.values)
    on_scene = np.asarray(known.any(axis=2))
    return int(on_scene.all(axis=1).sum()), int(known.sum())


def _folder(source: Any) -> Path | None:
    """The folder in which a map lies; None for arrays and remote files."""
    path = getattr(source, "path", source)
    if not isinstance(path, str | Path) or is_remote(path) or not Path(path).is_file():
        return None
    return Path(path).parent


def _confidence_beside(left: Any) -> dict[str, Any]:
    """The confidence maps that lie as the result layouts say: `confidence/NAME/SCENE.*` beside the map itself."""
    beside = _folder(left)
    if beside is None:
        return {}
    folder = beside / "confidence"
    stem = Path(str(getattr(left, "path", left))).stem
    found = sorted(file for file in folder.rglob(f"{glob.escape(stem)}.*") if file.suffix.lower() in MAP_SUFFIXES)
    named = {file.parent.name if file.parent != folder else "confidence": file for file in found}
    return {name: DisparityFile(file, scale=65535.0 if file.suffix == ".png" else None) for name, file in named.items()}


class TableSource:
    """Scores in memory with the scenes and maps behind them; what is given never changes."""

    def __init__(self, tables: Mapping[str, ScoreTable], scenes: Dataset, results: tuple[ResultSet, ...] = ()) -> None:
        self._tables = dict(tables)
        self._scenes = scenes
        self._results = {result.name: result for result in results}

    def version(self) -> str:
        """Always the same."""
        return "memory"

    @cached_property
    def _cubes(self) -> dict[str, ScoreCube]:
        return {table[0].protocol: ScoreCube.of(table) for table in self._tables.values()}

    def protocols(self) -> tuple[ProtocolRecord, ...]:
        """The tables' protocols."""
        return tuple(
            ProtocolRecord(table[0].protocol, name, table.protocol or load_protocol(name))
            for name, table in self._tables.items()
        )

    def cube(self, key: str) -> ScoreCube:
        """The cube of one table."""
        return self._cubes[key]

    def algorithms(self) -> tuple[AlgorithmRecord, ...]:
        """In order of appearance."""
        names = dict.fromkeys(name for cube in self._cubes.values() for name in cube.algorithms)
        empty = ResultSet("", {})
        return tuple(
            AlgorithmRecord(name, *(getattr(self._results.get(name, empty), part) for part in ("description", "link")))
            for name in names
        )

    def scene(self, name: str) -> Scene:
        """A scene of the dataset."""
        return self._scenes[name]

    def maps(self, algorithm: str, scene: str) -> Maps:
        """The maps that were given."""
        result = self._results.get(algorithm)
        if result is None:
            return Maps()
        own = {"confidence": result.confidence[scene]} if scene in result.confidence else {}
        return Maps(result.maps.get(scene), result.right_maps.get(scene), own)

    def with_confidence(self, algorithm: str, scenes: Iterable[str]) -> list[str]:
        """As given."""
        result = self._results.get(algorithm)
        return [] if result is None else [scene for scene in scenes if scene in result.confidence]
