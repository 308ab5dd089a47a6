"""`evaluate`: estimates against scenes, in this process, as a table of scores."""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from stereogauge.confidence_measures.files import ConfidenceSource, every_confidence
from stereogauge.datasets.plausibility import Finding, doubt_lines, map_doubts, scene_doubts
from stereogauge.disparity import as_array, is_array
from stereogauge.errors import (
    NotApplicable,
    ProtocolError,
    SizeError,
    StereogaugeError,
    StereogaugeWarning,
    unknown_name,
)
from stereogauge.evaluation.objects import object_columns, object_statistics, objects_of
from stereogauge.io.files import DisparityFile, load_disparity
from stereogauge.masks.expression import WHOLE_SCENE, check_region
from stereogauge.masks.geometry.objects import SceneObject
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.matching.result import MatchResult
from stereogauge.metrics.declaration import BoundMetric, Metric, Statistic
from stereogauge.metrics.measurement import Fact, Measurement
from stereogauge.metrics.picture import Picture
from stereogauge.metrics.registry import metric_id, parse_column
from stereogauge.model import Dataset, DisparityMap, ResultSet, Scene, as_disparity
from stereogauge.protocol import Protocol, load_protocol
from stereogauge.scores.column import Column, columns_of, metric_of
from stereogauge.scores.facts import SceneFacts
from stereogauge.scores.score import NO_ESTIMATE, Score
from stereogauge.scores.table import ScoreTable
from stereogauge.stages import READING, Stage, scores_of, unseen
from stereogauge.tags import TagBook

ONE_SCENE = "scene"
"""The id of a scene that is only a ground truth."""


def scene_list(scenes: Any) -> list[Scene]:
    """The scenes that estimates are compared with: one or several."""
    several = isinstance(scenes, Dataset | Sequence) and not isinstance(scenes, str)
    found = list(scenes) if several else [scenes]
    strange = next((type(scene).__name__ for scene in found if not isinstance(scene, Scene)), None)
    if strange is not None:
        raise StereogaugeError(
            f"Estimates are compared with a Scene, a dataset or a list of scenes; found {strange}. "
            "A map and its ground truth alone are given as a pair: sg.evaluate((map, truth))."
        )
    return found


def split_pair(estimates: Any) -> tuple[Any, Scene]:
    """The estimate and the scene of a pair (map, truth)."""
    if isinstance(estimates, tuple) and len(estimates) == 2:
        estimate, truth = estimates
        if _is_map(truth) and (_is_map(estimate) or isinstance(estimate, MatchResult)):
            return estimate, Scene(ONE_SCENE, gt=truth)
    raise StereogaugeError("Estimates alone have no truth: give a scene as well, or a pair (map, truth).")


def result_sets(estimates: Any, scenes: Sequence[Scene]) -> list[ResultSet]:
    """What was given as estimates, as one result set per algorithm.

    A map or path (one scene) is called "estimate", a match result by its matcher, paths in a list by their files; a
    mapping gives names, with maps for one scene or {scene: map} for several.
    """
    if estimates is None or (isinstance(estimates, Mapping | list | tuple) and not estimates):
        raise StereogaugeError("No estimate was given: a map, a path, a match result, or a mapping of names to them.")
    if isinstance(estimates, ResultSet):
        return [estimates]
    if isinstance(estimates, Mapping):
        return [_named_results(str(name), value, scenes) for name, value in estimates.items()]
    if isinstance(estimates, MatchResult):
        return [_named_results(estimates.matcher, estimates, scenes)]
    if isinstance(estimates, list | tuple) and estimates:
        if all(isinstance(one, ResultSet) for one in estimates):
            return list(estimates)
        if all(isinstance(one, MatchResult | str | os.PathLike) for one in estimates):
            files = [one for one in estimates if not isinstance(one, MatchResult)]
            names = iter(distinct_names(files))
            named = [(one.matcher if isinstance(one, MatchResult) else next(names), one) for one in estimates]
            return [_named_results(name, one, scenes) for name, one in named]
        if any((is_array(one) and np.ndim(one) > 1) or isinstance(one, MatchResult) for one in estimates):
            raise StereogaugeError(
                "Maps in a list have no names; give a mapping, for example {'A': map_a, 'B': map_b}."
            )
    return [_named_results("estimate", estimates, scenes)]


def distinct_names(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The shortest ends of the paths that tell them apart, without suffix.

    >>> distinct_names(["sgm/teddy.pfm", "bm/teddy.pfm"])
    ['sgm/teddy', 'bm/teddy']
    """
    parts = [Path(path).with_suffix("").parts for path in paths]
    for length in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def _named_results(name: str, value: Any, scenes: Sequence[Scene]) -> ResultSet:
    if isinstance(value, ResultSet):
        return value
    if not isinstance(value, Mapping):
        if len(scenes) != 1:
            raise SizeError(f"Algorithm {name!r} gives one map for {len(scenes)} scenes; give {{scene: map}} instead.")
        value = {scenes[0].id: value}
    matches = {str(scene): one for scene, one in value.items() if isinstance(one, MatchResult)}
    right = {scene: one.right_disparity for scene, one in matches.items() if one.right_disparity is not None}
    return ResultSet(
        name,
        {str(scene): one.disparity if isinstance(one, MatchResult) else one for scene, one in value.items()},
        right_maps=right,
        confidence={scene: one.confidence for scene, one in matches.items() if one.confidence is not None},
        seconds={scene: one.seconds for scene, one in matches.items()},
        runs={scene: one.facts for scene, one in matches.items()},
        confidence_better=next((one.confidence_better for one in matches.values() if one.confidence is not None), None),
    )


def _is_map(value: Any) -> bool:
    """Whether this may be a disparity map, a list of its rows, or its file."""
    if isinstance(value, str | os.PathLike | DisparityFile):
        return True
    try:
        return as_array(value).ndim >= 2
    except ValueError:  # rows of several lengths
        return False


MetricSource = str | Metric | BoundMetric | Callable[..., Any]


def resized(estimate: DisparityMap, shape: tuple[int, int]) -> DisparityMap:
    """The map brought to another size by nearest neighbour, its disparities scaled with the width."""
    import cv2

    if estimate.shape == shape:
        return estimate
    factor = np.float32(shape[1] / estimate.shape[1])
    return as_disparity(cv2.resize(estimate, (shape[1], shape[0]), interpolation=cv2.INTER_NEAREST) * factor)


def measure(measurement: Measurement, column: Column) -> Statistic:
    """One column's statistic; a metric that does not apply gives an empty one with the reason."""
    absent = _absent(column.declared, measurement)
    if absent:
        return Statistic.empty(absent)
    try:
        return column.declared.measure(measurement, column.region)
    except NotApplicable as reason:
        return Statistic.empty(str(reason))


def _absent(metric: BoundMetric, measurement: Measurement) -> str:
    scene = measurement.scene
    for need in sorted(metric.metric.needs):
        if need in ("gt", "gt_right", "left", "right") and not scene.has(need):
            return f"{metric.id} needs the scene's {need}, and there is none"
        if need == "gt_next" and not scene.has(need):
            return f"{metric.id} needs a next frame with ground truth, and scene {scene.id!r} has none"
        if need == "calibration" and not scene.calibration.metric:
            return f"{metric.id} needs a calibration with focal length and baseline, and scene {scene.id!r} has none"
        if need.startswith("mask:") and need[5:] not in scene.masks:
            return f"{metric.id} needs the mask {need[5:]!r}, and scene {scene.id!r} has none"
    return ""


class SceneEstimate(Struct, frozen=True, gc=False):
    """An algorithm's map of a scene, and what comes with it.

    `extras` is what is known of the run that made the map: its time, threads, processor, … Garbage collection passes it
    over: a plan holds many thousands of them, and none refers to itself.
    """

    algorithm: str
    estimate: Any
    right_estimate: Any = None
    next_estimate: Any = None
    confidence: ConfidenceSource | None = None
    extras: Mapping[str, Fact] = field(default_factory=dict)

    @classmethod
    def of(cls, result: ResultSet, scene: Scene, columns: Sequence[Column]) -> SceneEstimate:
        """What a result brings for a scene; the map of the next frame only where one of the columns needs it."""
        needed = any("next_estimate" in column.declared.metric.needs for column in columns)
        seconds = {"seconds": result.seconds[scene.id]} if scene.id in result.seconds else {}
        return cls(
            algorithm=result.name,
            estimate=result.maps[scene.id],
            right_estimate=result.right_maps.get(scene.id),
            next_estimate=result.maps.get(scene.next_id) if needed and scene.has("gt_next") else None,
            confidence=ConfidenceSource.of(result, scene.id),
            extras={**result.runs.get(scene.id, {}), **seconds},
        )


def evaluate_cell(
    cell: SceneEstimate,
    scene_regions: SceneRegions,
    wanted: Sequence[Column],
    *,
    resize: bool = False,
    objects: Mapping[Column, SceneObject] | None = None,
) -> list[Score]:
    """All columns of one algorithm on one scene; `objects` are those that columns of single objects are about."""
    # The measurement itself checks arrays.
    plain = isinstance(cell.estimate, np.ndarray) and not resize
    disparity = cell.estimate if plain else load_disparity(cell.estimate)
    maps = [
        disparity,
        *(None if one is None else load_disparity(one) for one in (cell.right_estimate, cell.next_estimate)),
    ]
    if resize:
        maps = [None if one is None else resized(one, scene_regions.scene.shape) for one in maps]
    measurement = Measurement(
        maps[0],
        scene_regions,
        metrics=[column.declared for column in wanted],
        regions=_measurable(scene_regions, wanted),
        right_estimate=maps[1],
        next_estimate=maps[2],
        confidence=cell.confidence,
        extras=cell.extras,
    )
    together = object_statistics(measurement, objects or {})
    return [
        _score(scene_regions, cell.algorithm, column, together.get(column) or measure(measurement, column))
        for column in wanted
    ]


def _measurable(scene_regions: SceneRegions, wanted: Sequence[Column]) -> tuple[str, ...]:
    """The free regions of the columns that this scene has; the others get their own reason when they are measured."""
    if not scene_regions.scene.has("gt"):
        return ()
    names = dict.fromkeys(column.region for column in wanted if column.declared.metric.region is None)
    if tuple(names) == ("all",) and scene_regions.is_unlimited:
        return ("all",)
    found = []
    for name in names:
        with contextlib.suppress(NotApplicable):
            scene_regions.mask(name)
            found.append(name)
    return tuple(found)


def _score(scene_regions: SceneRegions, algorithm: str, column: Column, statistic: Statistic) -> Score:
    return Score(
        dataset=scene_regions.scene.dataset,
        scene=scene_regions.scene.id,
        algorithm=algorithm,
        metric=column.metric,
        region=column.region,
        value=float(column.declared.metric.value_of(statistic)),
        sum=float(statistic.kept_sum),
        count=int(statistic.count),
        missing=int(statistic.missing),
        protocol=scene_regions.protocol.scoring_hash,
        note=statistic.note,
        rule=_rule(scene_regions),
    )


def _rule(scene_regions: SceneRegions) -> str:
    """The rule in force; "" where it has no ground truth to work on or cannot work on this scene."""
    try:
        return scene_regions.rule if scene_regions.scene.has("gt") else ""
    except ProtocolError:
        return ""


class Evaluated(Struct):
    """A table of scores, what looks wrong about its inputs, and a hash of the common pixels per scene, if requested."""

    table: ScoreTable
    doubts: list[Finding]
    common: list[str]


Done = Callable[[Scene, Mapping[str, DisparityMap]], None]
"""What is called after each scene, with the maps that were measured on it."""


def evaluate(
    estimates: Any,
    scenes: Scene | Dataset | Sequence[Scene] | None = None,
    metrics: Sequence[MetricSource] | MetricSource | None = None,
    regions: Sequence[str] | str | None = None,
    protocol: Protocol | str | None = None,
    *,
    resize: bool = False,
    common: bool = False,
    by: Literal["object"] | None = None,
    stage: Stage = unseen,
) -> ScoreTable:
    """Scores of one or more estimates on one or more scenes.

    `estimates`: a map, a path, a list of paths, the result of `match`, {algorithm: map}, {algorithm: {scene: map or
    path}}, or result sets. `scenes`: a scene, a dataset or a list of scenes; a pair (map, truth) needs none.

    `metrics` and `regions` default to the protocol's; of several scenes those that the protocol names are used, or
    all but those that it excludes. A metric is an id ("bad@1"), one that `@metric` declares, or a
    function of two arrays, estimate and truth on the pixels of a region, that returns a number. A scene without an
    estimate is a gap: NaN with a note. For many scenes and algorithms with a store, progress and several processes,
    see `stereogauge.evaluation.run`.

    `common` measures all maps of a scene on the pixels that every one of them estimates, and on no others: a fair
    comparison of semi-dense maps, which says nothing about the rest of the image.

    `by="object"` gives one score per plane, fine structure and foreground object instead of one per region, for the
    metrics that tell something about it: the region `plane@3` is the third plane, and `to_pandas` adds its place.
    Without `metrics` they are those of the protocol `hci`.

    `stage` is entered for each step, as `with stage("planes"): …`, to show progress.

    Inputs that look misread - a scale, a sign or a code for "unknown" that was not stated, depths, another view - give
    one `sg.StereogaugeWarning` per call, with the same sentences that the command line prints.

    >>> truth = np.array([[4, 4, 8], [4, 4, 8], [4, 4, 8]])
    >>> estimate = truth + [0, 0, 3]  # the last column is off by 3 px
    >>> table = sg.evaluate(estimate, sg.Scene("step", gt=truth), metrics=["bad@1", "mae"], regions=["all"])
    >>> round(table.value("bad@1"), 2), table.value("mae")
    (33.33, 1.0)
    """
    found = evaluate_with_doubts(
        estimates, scenes, metrics, regions, protocol, resize=resize, common=common, by=by, stage=stage
    )
    warn_of(doubt_lines(found.doubts, scenes=len(found.table.facts)))
    return found.table


def warn_of(sentences: Sequence[str]) -> None:
    """One warning for the caller of the function that calls this one."""
    if sentences:
        warnings.warn(" ".join(sentences), StereogaugeWarning, stacklevel=3)


def evaluate_with_doubts(
    estimates: Any,
    scenes: Scene | Dataset | Sequence[Scene] | None = None,
    metrics: Sequence[MetricSource] | MetricSource | None = None,
    regions: Sequence[str] | str | None = None,
    protocol: Protocol | str | None = None,
    *,
    resize: bool = False,
    common: bool = False,
    by: Literal["object"] | None = None,
    stage: Stage = unseen,
    done: Done = lambda scene, maps: None,
) -> Evaluated:
    """What `evaluate` computes, with the doubts as values."""
    chosen = measured_protocol(metrics, regions, protocol)
    if common:
        chosen = chosen.replace(invalid="exclude")
    if by is not None:
        if by != "object":
            raise unknown_name("division of the scores", by, ["object"])
        chosen = chosen if metrics is not None else chosen.replace(metrics=load_protocol("hci").metrics)
    wanted = columns_of(chosen.metrics, chosen.regions)
    if scenes is None:
        estimates, scenes = split_pair(estimates)
    several = scene_list(scenes)
    results = result_sets(estimates, several)
    of_confidence = [column for column in wanted if "confidence" in column.declared.metric.needs]
    further = every_confidence(results) if of_confidence else []
    judged = [*((result, wanted) for result in results), *((result, of_confidence) for result in further)]
    check_names([*results, *further], [scene.id for scene in several])
    masks = [mask for scene in several for mask in scene.masks]
    for region in dict.fromkeys(column.region for column in wanted if column.region != WHOLE_SCENE):
        check_region(region, masks)
    scores: list[Score] = []
    facts: dict[tuple[str, str], SceneFacts] = {}
    objects: dict[tuple[str, str, str], SceneObject] = {}
    doubts: list[Finding] = []
    shared: list[str] = []
    for scene in several if isinstance(scenes, Scene) else _chosen(several, chosen):
        scene_regions = SceneRegions(scene, chosen, stage)
        sources = {result.name: result.maps[scene.id] for result in results if scene.id in result.maps}
        if sources:
            facts[scene.dataset, scene.id] = SceneFacts.of_scene(scene)
        here, placed = wanted, {}
        if by is not None and sources:
            placed = object_columns(dict.fromkeys(column.declared for column in wanted), objects_of(scene_regions))
            objects |= {(scene.dataset, scene.id, column.region): one for column, one in placed.items()}
            here = tuple(placed)
        with stage(READING):
            maps = {name: as_disparity(load_disparity(source), "estimate") for name, source in sources.items()}
        if resize:
            maps = {name: resized(estimate, scene.shape) for name, estimate in maps.items()}
        if common:
            maps = common_pixels(maps)
            shared.append(estimated_hash(maps.values()))
        for result, columns in judged:
            own = here if columns is wanted else columns
            if scene.id not in result.maps:
                empty = Statistic.empty(NO_ESTIMATE)
                scores += [_score(scene_regions, result.name, column, empty) for column in own]
                continue
            with stage(scores_of(result.name)):
                cell = SceneEstimate.of(result, scene, columns)
                cell = replace(cell, estimate=maps.get(result.name, cell.estimate))
                scores += evaluate_cell(cell, scene_regions, own, resize=resize, objects=placed)
        if not maps:
            continue
        doubts += scene_doubts(scene)
        for name, estimate in maps.items():
            doubts += map_doubts(name, estimate, scene, sources[name])
        done(scene, maps)
    tags = TagBook(
        {result.name: result.tags for result in results},
        {(scene.dataset, scene.id): scene.tags for scene in several},
    )
    return Evaluated(ScoreTable(scores, chosen, facts, tags, objects), doubts, shared)


def measured_protocol(
    metrics: Sequence[MetricSource] | MetricSource | None,
    regions: Sequence[str] | str | None,
    protocol: Protocol | str | None,
) -> Protocol:
    """The protocol with metrics and regions in place of its own where they are given."""
    given = {"metrics": _metric_ids(metrics), "regions": regions}
    changes = {
        key: [value] if isinstance(value, str) else list(value) for key, value in given.items() if value is not None
    }
    return load_protocol(protocol).replace(**changes)


def _metric_ids(metrics: Sequence[MetricSource] | MetricSource | None) -> list[str] | None:
    if metrics is None:
        return None
    several = metrics if isinstance(metrics, Sequence) and not isinstance(metrics, str) else [metrics]
    ids = [metric_id(metric) for metric in several]
    named = dict(zip(ids, several, strict=True))
    for name, metric in zip(ids, several, strict=True):
        if callable(metric) and named[name] is not metric:
            raise StereogaugeError(f"Two functions among the metrics are called {name}; give them different names.")
    # A function of a notebook may have been defined again under its old name.
    metric_of.cache_clear()
    return ids


def common_pixels(maps: Mapping[str, Any]) -> dict[str, Any]:
    """The maps with NaN wherever one of them has no estimate; all must have one size.

    >>> maps = common_pixels({"a": np.array([[1.0, np.nan, 3.0]]), "b": np.array([[1.0, 2.0, np.nan]])})
    >>> maps["a"].tolist(), maps["b"].tolist()
    ([[1.0, nan, nan]], [[1.0, nan, nan]])
    """
    read = {name: as_disparity(load_disparity(source), name) for name, source in maps.items()}
    shapes = sorted({values.shape for values in read.values()})
    if len(shapes) > 1:
        sizes = " and ".join(f"{width}×{height}" for height, width in shapes)
        raise SizeError(f"Maps that are compared on their common pixels have one size; found {sizes}.")
    known = np.logical_and.reduce([np.isfinite(values) for values in read.values()])
    return {name: np.where(known, values, np.float32(np.nan)) for name, values in read.items()}


def estimated_hash(maps: Iterable[DisparityMap]) -> str:
    """Digits that change with the pixels that each of these maps estimates."""
    digest = hashlib.sha256()
    for one in maps:
        digest.update(np.packbits(np.isfinite(one)).tobytes())
    return digest.hexdigest()


def _chosen(scenes: Sequence[Scene], protocol: Protocol) -> list[Scene]:
    """The scenes that the protocol selects, in its order."""
    by_id = {scene.id: scene for scene in scenes}
    datasets = {scene.dataset for scene in scenes}
    return [by_id[name] for name in protocol.selected(list(by_id), datasets.pop() if len(datasets) == 1 else "")]


def check_names(results: Sequence[ResultSet], scenes: Sequence[str]) -> None:
    """Refuse two results of one name, and maps of scenes that are not among `scenes`."""
    names = [result.name for result in results]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise StereogaugeError(f"Several results have the algorithm name {twice[0]!r}; rename one of them.")
    for result in results:
        for name in result.maps:
            if name not in scenes:
                raise unknown_name(f"scene in the results of {result.name!r}", name, scenes)


def picture(
    estimate: Any,
    scene: Scene,
    metric: str,
    protocol: Protocol | str | None = None,
    *,
    right_estimate: Any = None,
    confidence: ConfidenceSource | None = None,
) -> Picture:
    """The per-pixel map behind a metric's score, from the same functions.

    `estimate` is a map, a path, or a match result.

    >>> truth = np.array([[4, 4, 8], [4, 4, 8], [4, 4, 8]])
    >>> seen = sg.picture(truth + [0, 0, 3], sg.Scene("step", gt=truth), "mae")
    >>> seen.values[0], seen.unit
    (array([0., 0., 3.], dtype=float32), 'px')
    """
    bound, _ = parse_column(metric)
    scene_regions = SceneRegions(scene, load_protocol(protocol))
    if isinstance(estimate, MatchResult):
        right_estimate = estimate.right_disparity if right_estimate is None else right_estimate
        estimate = estimate.disparity
    measurement = Measurement(
        load_disparity(estimate),
        scene_regions,
        metrics=[bound],
        right_estimate=right_estimate,
        confidence=confidence,
    )
    return bound.picture(measurement)
