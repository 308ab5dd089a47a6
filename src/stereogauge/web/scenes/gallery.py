"""Scenes, maps and regions behind the pictures, read once and kept while they are looked at."""

from __future__ import annotations

import threading
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.figures.pictures import disparity_limits
from stereogauge.io.files import load_disparity
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import DisparityMap, Scene
from stereogauge.protocol import Protocol
from stereogauge.regions.scene_regions import SceneRegions
from stereogauge.scores.cube import metric_of
from stereogauge.web.cache import RecentCache
from stereogauge.web.hiding import Hidden, HiddenTruthError
from stereogauge.web.scores.desk import Desk
from stereogauge.web.selection import Asked, UnknownChoiceError

MOST_SCENES = 12
MOST_MAP_BYTES = 512 << 20


class Place(NamedTuple):
    """A scene under a protocol, as the site sees it."""

    name: str
    scene: Scene
    regions: SceneRegions
    hidden: bool


class Gallery:
    """What pictures are made of."""

    def __init__(self, desk: Desk, hidden: Hidden) -> None:
        self.desk = desk
        self.hidden = hidden
        self._places: RecentCache[Place] = RecentCache(MOST_SCENES)
        self._maps: RecentCache[DisparityMap] = RecentCache(MOST_MAP_BYTES, lambda values: float(values.nbytes))
        # Scenes read their files when first asked; two threads must not do so at once.
        self._lock = threading.Lock()

    def place(self, name: str, protocol: str | None = None) -> Place:
        """The scene called `name`, checked against those that have scores."""
        record = self.desk.protocol(Asked(protocol=protocol))
        cube = self.desk.source.cube(record.key)
        if name not in cube.scenes:
            raise UnknownChoiceError("scene", name, cube.scenes)
        dataset = cube.datasets[cube.scenes.index(name)] if cube.datasets else ""

        def make() -> Place:
            scene = self.desk.source.scene(name)
            return Place(name, scene, SceneRegions(scene, record.protocol or Protocol()), self.hidden(name, dataset))

        return self._places.get((self.desk.source.version(), name, record.key), make)

    def estimate(self, algorithm: str, name: str) -> DisparityMap:
        """An algorithm's map of a scene."""
        known = [record.name for record in self.desk.source.algorithms()]
        if algorithm not in known:
            raise UnknownChoiceError("algorithm", algorithm, known)
        return self._maps.get((self.desk.source.version(), algorithm, name), lambda: self._read(algorithm, name))

    def confidence(self, algorithm: str, name: str) -> dict[str, DisparityMap]:
        """An algorithm's confidence maps of a scene by name; larger values are more confident."""
        version = self.desk.source.version()
        return {
            metric: self._maps.get((version, algorithm, name, "confidence", metric), partial(load_disparity, source))
            for metric, source in self.desk.source.maps(algorithm, name).confidence.items()
        }

    def _read(self, algorithm: str, name: str) -> DisparityMap:
        source = self.desk.source.maps(algorithm, name).left
        if source is None:
            raise StereogaugeError(
                f"There is no map of {algorithm} on {name}: it was not evaluated on this scene, or from memory only."
            )
        return load_disparity(source)

    def measurement(self, place: Place, algorithm: str, metric: str | None = None) -> Measurement:
        """The algorithm's map held against the scene."""
        with self._lock:
            right = self.desk.source.maps(algorithm, place.name).right
            return Measurement(
                self.estimate(algorithm, place.name),
                place.regions,
                metrics=[] if metric is None else [metric_of(metric)],
                right_estimate=None if right is None else load_disparity(right),
            )

    def mask(self, place: Place, region: str) -> NDArray[np.bool_]:
        """The pixels of a region."""
        self.refuse_hidden(place, "its regions are")
        with self._lock:
            return place.regions.mask(region)

    def truth(self, place: Place) -> DisparityMap:
        """The ground truth, where it may be shown."""
        self.refuse_hidden(place, "it is")
        with self._lock:
            return place.scene.gt

    def limits(self, place: Place, algorithm: str | None = None) -> tuple[float, float]:
        """The range in which maps of a scene are drawn: the ground truth's, or the search's where that is hidden."""
        if not place.hidden and place.scene.has("gt"):
            return disparity_limits(self.truth(place))
        ndisp = place.scene.calibration.ndisp
        if ndisp is not None:
            return 0.0, float(ndisp)
        return (0.0, 1.0) if algorithm is None else disparity_limits(self.estimate(algorithm, place.name))

    def refuse_hidden(self, place: Place, what: str) -> None:
        """Raise where an answer would show hidden ground truth."""
        if place.hidden:
            raise HiddenTruthError(place.name, what)

    def regions(self, place: Place) -> list[str]:
        """Regions that the scene has among those with scores, and its own masks."""
        cube = self.desk.source.cube(self.desk.protocol(Asked(protocol=place.regions.protocol.scoring_hash)).key)
        return [name for name in dict.fromkeys([*cube.regions, *place.scene.masks]) if name != "scene"]
