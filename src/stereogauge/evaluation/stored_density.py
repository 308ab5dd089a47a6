"""Error over density of the maps behind a store's scores, read from where they lay when they were evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.error_density import STEPS, ErrorDensity, density_curves
from stereogauge.metrics.declaration import Metric
from stereogauge.model import ResultSet, Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube
from stereogauge.store.sources import confidence_of_text, source_of_text
from stereogauge.store.store import Store
from stereogauge.store.write import MapRecord

MOST_CURVES = 3

FindMap = Callable[[str, str, str], MapRecord | None]


def density_columns(cube: ScoreCube) -> list[Column]:
    """The columns that can be measured on part of a map: sums over single pixels against ground truth."""
    return [column for column in cube.columns if _per_pixel(column.declared.metric)]


def _per_pixel(metric: Metric) -> bool:
    pooled = metric.counts == "pixels" and metric.pools and metric.missing in ("left out", "counted")
    return pooled and metric.needs == {"gt"} and metric.denominator is None


def stored_density(
    store: Store,
    cube: ScoreCube,
    protocol: Protocol | None,
    columns: Sequence[Column] | None = None,
    *,
    steps: int = STEPS,
    progress: Callable[[str], None] | None = None,
) -> list[ErrorDensity]:
    """The curves of the algorithms and scenes of a cube, one for each column; by default of the first three metrics.

    Scenes without ground truth and algorithms without maps are left out.
    """
    chosen = list(density_columns(cube) if columns is None else columns)
    if columns is None:
        first = {column.metric: column for column in reversed(chosen)}
        chosen = [column for column in chosen if first[column.metric] == column][:MOST_CURVES]
    if not chosen:
        raise StereogaugeError(
            f"None of {', '.join(cube.metrics)} can be measured on part of a map; select a metric such as bad@1 or rms."
        )
    scenes, results = stored_results(store, cube)
    tell = progress or (lambda _: None)
    return [
        density_curves(
            scenes,
            results,
            column.metric,
            column.region,
            protocol,
            steps=steps,
            progress=lambda scene, name=str(column): tell(f"{name} over density: {scene}"),  # type: ignore[misc]
        )
        for column in chosen
    ]


def stored_results(
    store: Store, cube: ScoreCube, find: FindMap | None = None
) -> tuple[dict[str, Scene], list[ResultSet]]:
    """The scenes of a cube by its names, and the maps of its algorithms with their confidence.

    `find(algorithm, dataset, scene)` gives the record of a map; by default the store's.
    """
    owners = dict(zip(cube.scenes, zip(cube.datasets, cube.scene_names, strict=True), strict=True))
    scenes = {name: store.scene(*owner) for name, owner in owners.items()}
    scenes = {name: scene for name, scene in scenes.items() if scene.has("gt")}
    with_truth = {name: owners[name] for name in scenes}
    results = [_result(find or store.map_record, algorithm, with_truth) for algorithm in cube.algorithms]
    known = [result for result in results if result.maps]
    if not scenes or not known:
        raise StereogaugeError(
            "Error over density needs the maps and the ground truth at the paths from which they were evaluated; "
            "these scores came without them."
        )
    return scenes, known


def _result(find: FindMap, algorithm: str, owners: Mapping[str, tuple[str, str]]) -> ResultSet:
    maps: dict[str, Any] = {}
    confidence: dict[str, Any] = {}
    better: Literal["higher", "lower"] | None = None
    for name, (dataset, scene) in owners.items():
        record = find(algorithm, dataset, scene)
        source = None if record is None else source_of_text(record.source)
        if record is None or source is None:
            continue
        maps[name] = source
        doubt = confidence_of_text(record.confidence)
        if doubt is not None:
            confidence[name], better = doubt.source, doubt.better
    return ResultSet(algorithm, maps, confidence=confidence, confidence_better=better)
