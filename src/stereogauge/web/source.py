"""The store behind a site, read once per version of it.

A scene is a dataset and an id: two datasets may use the same id. Without a dataset, scores of several datasets call
their scenes "dataset/id".
"""

from __future__ import annotations

import glob
import re
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from stereogauge.confidence_measures.files import ConfidenceSource
from stereogauge.datasets.layout import MAP_SUFFIXES
from stereogauge.datasets.results.manifest import manifest_beside, of_map
from stereogauge.errors import StereogaugeError, StoreError
from stereogauge.evaluation.error_density import stored_results
from stereogauge.figures.palette import Style, algorithm_styles
from stereogauge.io.files import DisparityFile
from stereogauge.io.remote import is_remote
from stereogauge.model import ResultSet, Scene
from stereogauge.protocol import Protocol, parse_protocol
from stereogauge.ranking.profile import load_profile
from stereogauge.scores.cube import ScoreCube
from stereogauge.store.listing import StoredAlgorithm
from stereogauge.store.read import aggregation_key
from stereogauge.store.sources import source_of_text
from stereogauge.store.store import Store
from stereogauge.store.write import MapRecord
from stereogauge.web.errors import UnknownChoiceError

Value = TypeVar("Value")
SECONDS_BETWEEN_LOOKS = 0.5
UNNAMED = "unnamed"
USUAL_PROFILE = "balanced"
COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
OWN = Style("#7a7a7a", "star")
"""An unpublished submission, which only its owner sees."""
NO_SCORES = "There are no scores yet; `stereogauge evaluate DATASET:ROOT RESULTS --store STORE` makes some."


class ProtocolRecord(NamedTuple):
    """A protocol under which there are scores; `key` is its scoring hash, or its own where another one that aggregates
    differently has the same scores.

    `also` lists the names of other protocols with the same choices: their scores are the same.
    """

    key: str
    name: str
    protocol: Protocol | None
    also: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The key and all names of this protocol."""
        return (self.key, self.name, *self.also)


class ScenePlace(NamedTuple):
    """A scene: its dataset, and its id in it."""

    dataset: str
    scene: str


class Maps(NamedTuple):
    """The files of one algorithm's maps of one scene, None where there is none; confidence maps by name."""

    left: Any = None
    right: Any = None
    confidence: Mapping[str, ConfidenceSource] = MappingProxyType({})


class StoreSource:
    """A store, read once per version of it."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.RLock()
        self._looked = -1.0
        self._version = ""
        self._kept: dict[Hashable, Any] = {}
        self.uploads: Path | None = None
        """The folder of submissions: of the files below it only those are read that we wrote ourselves, as PFM."""

    def version(self) -> str:
        """A text that changes whenever an answer may change; looked up at most twice per second."""
        with self._lock:
            now = self._clock()
            if not self._version or now - self._looked >= SECONDS_BETWEEN_LOOKS:
                self._looked = now
                found = self._look()
                if found != self._version:
                    self._version, self._kept = found, {}
            return self._version

    def _once(self, key: Hashable, read: Callable[[], Value]) -> Value:
        """What `read` gives, read once per version of the store."""
        with self._lock:
            self.version()
            kept = self._kept
            if key not in kept:
                kept[key] = read()
            found: Value = kept[key]
            return found

    def refresh(self) -> None:
        """Look at the store again at the next request."""
        with self._lock:
            self._looked = -1.0

    def _look(self) -> str:
        file = Path(self._store.name)
        if not file.is_file():
            return self._store.state()
        stamps = [file.stat()]
        with suppress(FileNotFoundError):  # it ends with the last connection of any program
            stamps.append(file.with_name(f"{file.name}-wal").stat())
        return repr([(stamp.st_mtime_ns, stamp.st_size) for stamp in stamps])

    def protocols(self) -> tuple[ProtocolRecord, ...]:
        """One record per scoring hash and way to aggregate.

        The first one is what a visitor meets: it measures most of what the balanced profile weighs, on most scenes with
        most algorithms.
        """

        def read() -> tuple[ProtocolRecord, ...]:
            found = []
            for record in self._records():
                with suppress(StoreError):
                    if self.cube(record.key).columns:
                        found.append(record)
            return tuple(sorted(found, key=lambda record: _coverage(self.cube(record.key)), reverse=True))

        return self._once("protocols", read)

    def _records(self) -> Iterator[ProtocolRecord]:
        """The protocols of the store, with or without scores."""
        alike: dict[str, dict[str, list[tuple[str, Protocol]]]] = {key: {} for key in self._store.scorings()}
        for entry in self._store.protocols():
            own = parse_protocol(entry.text, self._store.name)
            alike[entry.scoring_hash].setdefault(aggregation_key(own), []).append((entry.hash, own))
        for scoring, ways in alike.items():
            for members in ways.values():
                (own_hash, first), names = members[0], tuple(dict.fromkeys(member.name for _, member in members))
                yield ProtocolRecord(scoring if len(ways) == 1 else own_hash, first.name, first, names[1:])
            if not ways:
                preset = self._store.protocol(scoring)
                yield ProtocolRecord(scoring, preset.name if preset else UNNAMED, preset)

    def protocol(self, name: str | None = None, dataset: str | None = None, *, filled: bool = False) -> ProtocolRecord:
        """The protocol with this name or scoring hash, of those with scores of a dataset; without a name the first.

        With `filled`, the one of the same datasets under which holes were filled first.
        """
        records = self.protocols()
        if not records:
            raise StereogaugeError(NO_SCORES)
        if dataset is not None:
            known = {owner for record in records for owner in self.cube(record.key).datasets}
            records = tuple(record for record in records if dataset in self.cube(record.key).datasets)
            if not records:
                raise UnknownChoiceError("dataset", dataset, known)
        found = next((record for record in records if name is None or name in record.names), None)
        if found is None:
            raise UnknownChoiceError("protocol", str(name), {known for record in records for known in record.names})
        return self._filled(found, records, dataset) if filled else found

    def _filled(self, found: ProtocolRecord, records: Iterable[ProtocolRecord], dataset: str | None) -> ProtocolRecord:
        wanted = {dataset} if dataset is not None else set(self.cube(found.key).datasets)
        for record in (found, *records):
            policy = record.protocol.invalid if record.protocol else ""
            if policy == "fill" and wanted <= set(self.cube(record.key).datasets):
                return record
        names = ", ".join(sorted(wanted))
        raise StereogaugeError(
            f"There are no scores of {names} from maps with filled holes, which a value at every pixel requires; "
            f"evaluate again with --set invalid=fill."
        )

    def cube(self, key: str, dataset: str | None = None) -> ScoreCube:
        """All scores under a scoring hash, or those of one dataset."""
        return self._once(("cube", key, dataset), lambda: self._store.cube(protocol=key, dataset=dataset))

    def algorithms(self) -> tuple[StoredAlgorithm, ...]:
        """Every algorithm, in the order of first evaluation."""
        return self._once("algorithms", lambda: tuple(self._store.algorithms()))

    def styles(self, names: Iterable[str] = ()) -> dict[str, Style]:
        """One colour and marker per algorithm, the same in every view; those of `names` that are not public get OWN."""
        records = self.algorithms()
        styles = algorithm_styles(record.name for record in records)
        stated = {record.name: record.colour for record in records if COLOUR.fullmatch(record.colour)}
        public = {name: style._replace(colour=stated.get(name, style.colour)) for name, style in styles.items()}
        return dict.fromkeys(names, OWN) | public

    def scene(self, place: ScenePlace) -> Scene:
        """The scene, rebuilt from the files that it was evaluated with."""
        with self._lock:
            return self._store.scene(*place)

    def maps(self, algorithm: str, place: ScenePlace) -> Maps:
        """The files that were evaluated, and the confidence maps beside them."""

        def read() -> Maps:
            record = self._store.map_record(algorithm, *place)
            return Maps() if record is None else self.maps_of(record)

        return self._once((algorithm, place), read)

    def maps_of(self, record: MapRecord) -> Maps:
        """The files that a record names, as far as they may be read here, and the confidence maps beside them."""
        left = self._trusted(source_of_text(record.source))
        right = self._trusted(source_of_text(record.right_source))
        found = _confidence_beside(left)
        beside = {name: one for name, one in found.items() if self._trusted(one.source) is not None}
        return Maps(left, right, beside)

    def results(
        self, cube: ScoreCube, own: Mapping[str, Iterable[MapRecord]] = MappingProxyType({})
    ) -> tuple[dict[str, Scene], list[ResultSet]]:
        """The scenes and maps behind the scores of a cube, with the confidence that was evaluated beside them.

        `own` holds maps of the visitor that are not in the store, by the name that the cube gives their algorithm.
        """
        private = {
            (name, record.dataset, record.scene): record
            for name, records in own.items()
            for record in records
            if self._trusted(source_of_text(record.source)) is not None
        }

        def find(algorithm: str, dataset: str, scene: str) -> MapRecord | None:
            if algorithm in own:
                return private.get((algorithm, dataset, scene))
            return self._store.map_record(algorithm, dataset, scene)

        with self._lock:
            return stored_results(self._store, cube, find)

    def _trusted(self, source: Any) -> Any:
        """The source; None for an uploaded file that was not written again."""
        path = getattr(source, "path", source)
        if self.uploads is None or not isinstance(path, str | Path) or is_remote(path):
            return source
        uploaded = Path(path).resolve().is_relative_to(self.uploads)
        return None if uploaded and Path(path).suffix != ".pfm" else source

    def with_confidence(self, algorithm: str, places: Mapping[str, ScenePlace]) -> list[str]:
        """The names of those scenes for which the algorithm has confidence maps.

        Looked for scene by scene only where there are confidence maps beside the first map.
        """
        found = (self.maps(algorithm, place).left for place in places.values())
        folder = _folder(next((left for left in found if left is not None), None))
        if folder is None or not (folder / "confidence").is_dir():
            return []
        return [name for name, place in places.items() if self.maps(algorithm, place).confidence]


def scene_places(cube: ScoreCube) -> dict[str, ScenePlace]:
    """The scenes of a cube by the names that it gives them."""
    return {name: ScenePlace(*key) for name, key in zip(cube.scenes, cube.scene_keys, strict=True)}


def _coverage(cube: ScoreCube) -> tuple[float, int, int]:
    """The share of the balanced profile that is measured, the maps of complete algorithms, and the number of scores."""
    known = np.isfinite(cube.values)
    on_scene = np.asarray(known.any(axis=2))
    metrics = {column.metric for place, column in enumerate(cube.columns) if known[:, :, place].any()}
    measured = sum(weight for metric, weight in load_profile(USUAL_PROFILE).weights.items() if metric in metrics)
    return round(measured, 3), int(on_scene.all(axis=1).sum()) * len(cube.scenes), int(known.sum())


def _folder(source: Any) -> Path | None:
    """The folder of a map; None for arrays and remote files."""
    path = getattr(source, "path", source)
    if not isinstance(path, str | Path) or is_remote(path) or not Path(path).is_file():
        return None
    return Path(path).parent


def _confidence_beside(left: Any) -> dict[str, ConfidenceSource]:
    """The confidence maps `confidence/NAME/SCENE.*` beside a map, by name, with what `results.toml` says of them."""
    beside = _folder(left)
    if beside is None:
        return {}
    folder = beside / "confidence"
    stem = Path(str(getattr(left, "path", left))).stem
    found = sorted(file for file in folder.rglob(f"{glob.escape(stem)}.*") if file.suffix.lower() in MAP_SUFFIXES)
    named = {file.parent.name if file.parent != folder else "confidence": file for file in found}
    if not named:
        return {}
    manifest = manifest_beside(beside)
    return {
        name: ConfidenceSource(
            DisparityFile(file, scale=65535.0 if file.suffix == ".png" else None),
            of_map(manifest.confidence.better, name),
            of_map(manifest.confidence.kind, name) or "order",
        )
        for name, file in named.items()
    }
