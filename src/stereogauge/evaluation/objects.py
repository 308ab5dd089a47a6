"""Scores of single objects: every plane, fine structure and foreground object on its own.

One map of costs per metric serves all objects: their statistics are sums over its pixels by label.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from stereogauge.errors import NotApplicable
from stereogauge.masks.geometry.objects import ObjectKind, ObjectLabels, SceneObject, list_objects
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.declaration import FEWEST_PIXELS, PIXELS_AT_FULL_SIZE, BoundMetric, Statistic
from stereogauge.metrics.measurement import Measurement
from stereogauge.scores.column import Column

FITTING: dict[str, ObjectKind] = {
    "planar": "plane",
    "fine": "structure",
    "fine-surround": "structure",
    "disc-background": "object",
    "disc-foreground": "object",
    "disc-edge": "object",
}
"""The kind of object that a metric with this pixel set tells something about."""

NOTHING_HERE = "the metric has no pixel on this object"


def objects_of(scene_regions: SceneRegions) -> tuple[SceneObject, ...]:
    """The objects of a scene with enough pixels to score: 200·s², at least 30, at size s relative to full size."""
    least = max(PIXELS_AT_FULL_SIZE * scene_regions.scene.resolution**2, FEWEST_PIXELS)
    return list_objects(scene_regions.objects, least)


def object_columns(metrics: Iterable[BoundMetric], objects: Sequence[SceneObject]) -> dict[Column, SceneObject]:
    """Every metric on every object that it tells something about; one without a pixel set of its own on all."""
    found = {}
    for metric in metrics:
        own = metric.metric.region
        for one in objects:
            if own is None or FITTING.get(own) == one.kind:
                found[Column(metric.id, metric.within(one.region))] = one
    return found


def object_statistics(measurement: Measurement, columns: Mapping[Column, SceneObject]) -> dict[Column, Statistic]:
    """The statistics of metrics with a pixel set of their own, for all objects of their kind at once."""
    found: dict[Column, Statistic] = {}
    by_metric: dict[BoundMetric, list[tuple[Column, SceneObject]]] = {}
    for column, one in columns.items():
        if column.declared.metric.region is not None:
            by_metric.setdefault(column.declared, []).append((column, one))
    for bound, wanted in by_metric.items():
        kind = FITTING[bound.metric.region or ""]
        try:
            grouped = _grouped(measurement, bound, measurement.regions.objects[kind])
        except NotApplicable as reason:
            found |= {column: Statistic.empty(str(reason)) for column, _ in wanted}
            continue
        for column, one in wanted:
            found[column] = grouped.get(one.number, Statistic.empty(NOTHING_HERE))
    return found


def _grouped(m: Measurement, bound: BoundMetric, labels: ObjectLabels) -> dict[int, Statistic]:
    """The statistic of each label. A metric that counts structures gives each of them one count."""
    own = bound.metric.region or ""
    costs = bound.costs(m, own)
    inside = m.mask(own)
    numbers, values, given = labels.area[inside], costs[inside], np.isfinite(m.estimate[inside])
    counted = np.isfinite(values)
    size = int(numbers.max(initial=0)) + 1
    sums = np.bincount(numbers[counted], weights=values[counted], minlength=size)
    counts, lost, all_ = (
        np.bincount(numbers[chosen], minlength=size) for chosen in (counted, ~counted | ~given, np.ones_like(counted))
    )
    if bound.metric.counts == "structures":
        counts, lost = np.minimum(counts, 1), (lost == all_).astype(np.int64)
    return {
        int(number): Statistic(float(sums[number]), int(counts[number]), int(lost[number]))
        if counts[number]
        else Statistic.empty("no estimate on it", int(lost[number]))
        for number in np.flatnonzero(all_)
        if number
    }
