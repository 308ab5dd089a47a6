"""The maps behind stored scores: where they and their scenes are, and scores that are measured from them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.evaluate import SceneEstimate, evaluate_cell
from stereogauge.io.files import load_disparity
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.model import DisparityMap, Scene, as_disparity
from stereogauge.protocol import Protocol, load_protocol
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.score import Score
from stereogauge.store import Store

BEST, MEDIAN = "best of all (uses the truth)", "median of all"


class Origins(NamedTuple):
    """Functions of names, so that stores and folders are used alike; `source` is None where a map is not available."""

    scene: Callable[[str], Scene]
    source: Callable[[str, str], Any]
    protocol: Protocol | None

    def measure(self, scene: str, algorithms: Sequence[str], columns: Sequence[Column]) -> list[Score]:
        """The scores of some algorithms on one scene, measured from their maps."""
        regions = SceneRegions(self.scene(scene), load_protocol(self.protocol))
        scores: list[Score] = []
        for name in algorithms:
            source = self.source(name, scene)
            if source is None:
                raise StereogaugeError(f"the map of {name} is not available")
            scores += evaluate_cell(SceneEstimate(name, source), regions, columns)
        return scores


def store_origins(store: Store, cube: ScoreCube, protocol: Protocol | None) -> Origins:
    """The origins that a store remembers, for the scenes of a cube."""
    keys = dict(zip(cube.scenes, cube.scene_keys, strict=True))
    return Origins(
        scene=lambda name: store.scene(*keys[name]),
        source=lambda algorithm, name: store.map_source(algorithm, *keys[name]),
        protocol=protocol,
    )


def map_origins(
    scenes: Mapping[str, Scene], maps: Mapping[str, Mapping[str, Any]], protocol: Protocol | None = None
) -> Origins:
    """Origins from scenes by name and maps by algorithm and scene."""
    return Origins(
        scene=lambda name: scenes[name],
        source=lambda algorithm, name: maps.get(algorithm, {}).get(name),
        protocol=protocol,
    )


def meta_maps(maps: Sequence[DisparityMap], truth: DisparityMap) -> dict[str, DisparityMap]:
    """The maps of two meta-algorithms: at every pixel the estimate nearest the truth, and the median of all.

    The first uses the ground truth: it shows what choosing well could reach, and is no algorithm that one could take.
    Pixels that no algorithm estimates stay NaN; of an even number of estimates the median is the mean of the middle
    two.

    >>> maps = [np.array([[1, np.nan]], np.float32), np.array([[4, np.nan]], np.float32)]
    >>> {name: found.tolist() for name, found in meta_maps(maps, np.array([[3.0, 3.0]], np.float32)).items()}
    {'best of all (uses the truth)': [[4.0, nan]], 'median of all': [[2.5, nan]]}
    """
    stack = np.stack(maps)
    error = np.where(np.isfinite(stack), np.abs(stack - truth), np.inf)
    best = np.take_along_axis(stack, error.argmin(axis=0)[None], axis=0)[0]
    best = np.where(np.isnan(best) | np.isnan(truth), _median(stack), best)
    return {BEST: best.astype(np.float32), MEDIAN: _median(stack)}


def _median(stack: NDArray[np.float32]) -> DisparityMap:
    """The median of the finite values along the first axis; NaN where there is none."""
    ordered = np.sort(stack, axis=0)  # NaN last
    count = np.isfinite(stack).sum(axis=0)
    low, high = np.maximum(count - 1, 0) // 2, count // 2
    pair = [np.take_along_axis(ordered, np.minimum(k, len(stack) - 1)[None], axis=0)[0] for k in (low, high)]
    return np.where(count > 0, (pair[0] + pair[1]) / 2, np.float32(np.nan)).astype(np.float32)


def meta_scores(
    cube: ScoreCube, origins: Origins, progress: Callable[[str], None] | None = None
) -> tuple[ScoreCube, list[str]]:
    """The cube with two more rows, the meta-algorithms on every scene, and reasons for scenes without them.

    A scene on which an algorithm's map is not available makes the meta-algorithms of the others.
    """
    columns = [column for column in cube.columns if column.declared.metric.missing != "not about pixels"]
    scores: list[Score] = list(cube.scores())
    reasons = []
    for place, name in enumerate(cube.scenes):
        if progress is not None:
            progress(name)
        try:
            scene = origins.scene(name)
            regions = SceneRegions(scene, load_protocol(origins.protocol))
            sources: list[Any] = [origins.source(algorithm, name) for algorithm in cube.algorithms]
            maps = [as_disparity(load_disparity(source)) for source in sources if source is not None]
            for meta, disparity in meta_maps(maps, scene.gt).items() if maps else ():
                made = evaluate_cell(SceneEstimate(meta, disparity), regions, columns)
                dataset, own = cube.scene_keys[place]
                scores += [replace(score, dataset=dataset, scene=own, protocol=cube.protocol) for score in made]
        except (StereogaugeError, OSError) as reason:
            reasons.append(f"{name}: {reason}")
    facts = dict(zip(cube.scene_keys, cube.facts, strict=True))
    units = dict(zip(cube.scene_keys, cube.depth_units, strict=True))
    whole = ScoreCube.of(scores, facts=facts, depth_units=units, invalid=cube.invalid)
    return whole.limited(cube.least_coverage, cube.least_support), reasons
