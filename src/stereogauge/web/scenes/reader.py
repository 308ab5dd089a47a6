"""Scenes, maps and regions behind the pictures; the last ones read are kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.figures.pictures import disparity_limits
from stereogauge.io.files import load_disparity
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import DisparityMap, Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.column import metric_of
from stereogauge.scores.cube import ScoreCube
from stereogauge.store.write import MapRecord
from stereogauge.web.cache import RecentCache
from stereogauge.web.errors import HiddenTruthError, UnknownChoiceError
from stereogauge.web.hiding import Hidden, coarse
from stereogauge.web.load import LimitedCalls
from stereogauge.web.scores.reader import submitted_name
from stereogauge.web.source import Maps, ScenePlace, StoreSource, scene_places

MOST_SCENE_BYTES, MOST_MAP_BYTES = 512 << 20, 256 << 20
MATCHING_BYTES = 6 << 30
"""The address space of the process that matches images for visitors."""

PrivateMaps = Callable[[str], Iterable[MapRecord]]
"""The maps of an unpublished submission, by its id."""


class SceneQuery(NamedTuple):
    """A scene of a dataset under a protocol; `submission` is the visitor's own unpublished one, shown too."""

    name: str
    protocol: str | None = None
    submission: str | None = None
    dataset: str | None = None


class OwnMaps(NamedTuple):
    """The maps of a visitor's unpublished submission on one scene, and the name that tables give it."""

    submission: str
    algorithm: str
    maps: Maps


class SceneView(NamedTuple):
    """A scene with its regions under a protocol, and whether its ground truth is hidden.

    `protocol` is the protocol's key. A scene reads its files on first use; `lock` keeps two threads from doing so at
    once. No map of an algorithm is read under it. `own` holds what only this visitor may see.
    """

    name: str
    place: ScenePlace
    scene: Scene
    regions: SceneRegions
    hidden: bool
    protocol: str
    lock: Any
    own: OwnMaps | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width) of the scene."""
        with self.lock:
            return self.scene.shape


class SceneReader:
    """Reads what pictures are made of."""

    def __init__(self, source: StoreSource, hidden: Hidden, private: PrivateMaps = lambda _: ()) -> None:
        self.source = source
        self.hidden = hidden
        self.private = private
        self.matching = LimitedCalls(MATCHING_BYTES)
        self._views: RecentCache[SceneView] = RecentCache(MOST_SCENE_BYTES)
        self._maps: RecentCache[DisparityMap] = RecentCache(MOST_MAP_BYTES)

    def view(self, query: SceneQuery) -> SceneView:
        """The scene that a query names, checked against those that have scores."""
        name, protocol, submission, dataset = query
        record = self.source.protocol(protocol, dataset)
        cube = self.source.cube(record.key, dataset)
        place = scene_places(cube).get(name)
        if place is None:
            raise UnknownChoiceError("scene", name, cube.scenes)

        def make() -> SceneView:
            scene = self.source.scene(place)
            regions = SceneRegions(scene, record.protocol or Protocol())
            hidden = self.hidden(place.scene, place.dataset)
            return SceneView(name, place, scene, regions, hidden, record.key, threading.RLock())

        view = self._views.get((self.source.version(), name, place, record.key), make)
        return view if submission is None else view._replace(own=self._own(place, submission, cube))

    def _own(self, place: ScenePlace, submission: str, cube: ScoreCube) -> OwnMaps | None:
        """The maps of an unpublished submission on a scene; None where it has none."""
        for record in self.private(submission):
            if (record.dataset, record.scene) == place:
                return OwnMaps(submission, submitted_name(record.algorithm, cube), self.source.maps_of(record))
        return None

    def algorithms(self, view: SceneView) -> list[str]:
        """The algorithms with maps that the visitor may see."""
        public = [record.name for record in self.source.algorithms()]
        return public if view.own is None else list(dict.fromkeys([*public, view.own.algorithm]))

    def maps(self, algorithm: str, view: SceneView) -> Maps:
        """The files of an algorithm on a scene."""
        own = view.own
        return own.maps if own is not None and own.algorithm == algorithm else self.source.maps(algorithm, view.place)

    def _key(self, algorithm: str, view: SceneView) -> tuple[Hashable, ...]:
        """What tells maps apart: a submission's are never those of a public algorithm of the same name."""
        own = view.own
        owner = own.submission if own is not None and own.algorithm == algorithm else None
        return (self.source.version(), owner, algorithm, view.place)

    def estimate(self, algorithm: str, view: SceneView) -> DisparityMap:
        """An algorithm's map of a scene; a file of another size than the scene is refused before it is decoded."""
        known = self.algorithms(view)
        if algorithm not in known:
            raise UnknownChoiceError("algorithm", algorithm, known)
        return self._maps.get(self._key(algorithm, view), lambda: self._read(algorithm, view))

    def shown(self, algorithm: str, view: SceneView) -> DisparityMap:
        """An algorithm's map as visitors may see it: coarse where the ground truth is hidden."""
        estimate = self.estimate(algorithm, view)
        return coarse(estimate) if view.hidden else estimate

    def confidence(self, algorithm: str, view: SceneView) -> dict[str, NDArray[np.float32]]:
        """An algorithm's confidence maps of a scene by name; lower values are more confident.

        Where no direction is declared, larger stored values are taken as the more confident ones.
        """
        key = self._key(algorithm, view)
        return {
            metric: self._maps.get(
                (*key, "confidence", metric),
                partial(replace(source, better=source.direction or "higher").read, view.shape),
            )
            for metric, source in self.maps(algorithm, view).confidence.items()
        }

    def _read(self, algorithm: str, view: SceneView) -> DisparityMap:
        source = self.maps(algorithm, view).left
        if source is None:
            reason = "it was not evaluated on this scene, or from memory only"
            raise StereogaugeError(f"There is no map of {algorithm} on {view.name}: {reason}.")
        return load_disparity(source, view.shape)

    def measurement(self, view: SceneView, algorithm: str, metric: str | None = None) -> Measurement:
        """The measurement of an algorithm's map against the scene."""
        right = self.maps(algorithm, view).right
        estimate = self.estimate(algorithm, view)
        right_estimate = None if right is None else load_disparity(right, view.shape)
        with view.lock:
            metrics = [] if metric is None else [metric_of(metric)]
            return Measurement(estimate, view.regions, metrics=metrics, right_estimate=right_estimate)

    def mask(self, view: SceneView, region: str) -> NDArray[np.bool_]:
        """The pixels of a region."""
        self.refuse_hidden(view, "its regions are")
        with view.lock:
            return view.regions.mask(region)

    def truth(self, view: SceneView) -> DisparityMap:
        """The ground truth, where it may be shown."""
        self.refuse_hidden(view, "it is")
        with view.lock:
            return view.scene.gt

    def limits(self, view: SceneView, algorithm: str | None = None) -> tuple[float, float]:
        """The range in which maps of a scene are drawn: the ground truth's, or the search's where that is hidden."""
        if not view.hidden and view.scene.has("gt"):
            return disparity_limits(self.truth(view))
        ndisp = view.scene.calibration.ndisp
        if ndisp is not None:
            return 0.0, float(ndisp)
        return (0.0, 1.0) if algorithm is None else disparity_limits(self.shown(algorithm, view))

    def refuse_hidden(self, view: SceneView, what: str) -> None:
        """Raise where an answer would show hidden ground truth."""
        if view.hidden:
            raise HiddenTruthError(view.name, what)

    def regions(self, view: SceneView) -> list[str]:
        """The regions with scores, and the masks that come with the scene."""
        cube = self.source.cube(view.protocol)
        return [name for name in dict.fromkeys([*cube.regions, *view.scene.masks]) if name != "scene"]
