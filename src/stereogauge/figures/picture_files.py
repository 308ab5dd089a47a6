"""Pictures of a comparison and of a scene's regions as files, with the arrays behind the regions."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.errors import NotApplicable
from stereogauge.figures.geometry import (
    PLANES,
    direction_histograms_data,
    plane_segmentation_data,
    region_picture,
    set_pictures,
)
from stereogauge.figures.pictures import disparity_limits, render_disparity, save_picture, write_png
from stereogauge.io.files import load_disparity
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.declaration import BoundMetric
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import Mask, Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.aggregation import column_costs
from stereogauge.scores.column import Column, columns_of


def file_name(text: str) -> str:
    """`text` as a file name that every system accepts."""
    text = text.replace("&", "+").replace("|", "_or_")
    return re.sub(r"[^\w.@+-]+", "-", text).strip("-.") or "unnamed"


def write_pictures(folder: Path, maps: Mapping[str, Any], scene: Scene, protocol: Protocol) -> list[Path]:
    """One annotated picture per estimate and distinct metric map, and all disparity maps in one range.

    A picture of a metric has its score, and its rank among the estimates where there are several.
    """
    limits = disparity_limits(scene.gt)
    scene_regions = SceneRegions(scene, protocol)
    columns = {column.declared: column for column in reversed(columns_of(protocol.metrics, protocol.regions))}
    metrics = list(reversed(columns))
    scores = _scores(maps, scene_regions, columns)
    written = [folder / "ground-truth.png"]
    write_png(written[0], render_disparity(scene.gt, limits))
    for name, source in maps.items():
        estimate = load_disparity(source)
        written.append(folder / f"{file_name(name)}.png")
        write_png(written[-1], render_disparity(estimate, limits))
        measurement = Measurement(estimate, scene_regions, metrics=metrics)
        seen: set[str] = set()
        for metric in metrics:
            if not metric.metric.has_picture:
                continue
            try:
                picture = metric.picture(measurement)
            except NotApplicable:
                continue
            if picture.title in seen:
                continue
            seen.add(picture.title)
            written.append(folder / f"{file_name(name)}-{file_name(metric.id)}.png")
            save_picture(written[-1], picture, f"{name} on {scene.id}, {_score(scores, columns[metric], name)}")
    return written


def _scores(
    maps: Mapping[str, Any], scene_regions: SceneRegions, columns: Mapping[BoundMetric, Column]
) -> dict[Column, dict[str, float]]:
    """The score of each estimate by each metric that can be drawn."""
    found: dict[Column, dict[str, float]] = {}
    for name, source in maps.items():
        measurement = Measurement(load_disparity(source), scene_regions, metrics=columns)
        for metric, column in columns.items():
            if metric.metric.has_picture:
                with contextlib.suppress(NotApplicable):
                    found.setdefault(column, {})[name] = metric.value(measurement, column.region)
    return found


def _score(scores: Mapping[Column, Mapping[str, float]], column: Column, name: str) -> str:
    """Score and rank for the reader of a picture."""
    values = scores.get(column, {})
    value = values.get(name, math.nan)
    if math.isnan(value):
        return f"{column.label}: no score"
    unit = column.declared.metric.unit
    text = f"{column.label} {value:.3g} {unit}".strip()
    known = [one for one in values.values() if not math.isnan(one)]
    own, *costs = column_costs((column,), np.array([[value], *([one] for one in known)]))[:, 0].tolist()
    rank = 1 + sum(cost < own for cost in costs)
    return f"{text}, rank {rank} of {len(known)}" if len(known) > 1 else text


def write_regions(
    folder: Path, scene_regions: SceneRegions, masks: Mapping[str, Mask], layers: Sequence[str] | None = None
) -> list[Path]:
    """Each region over the image, the geometry sets, extrapolated maps and planes; all of it again as arrays.

    `layers` names those of the sets' pictures (`SET_LAYERS`) that are written; None means all.
    `regions.npz` holds the masks, `geometry.npz` the fields of `GeometrySets`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scene = scene_regions.scene.id
    pictures = {name: region_picture(scene_regions, name, mask) for name, mask in masks.items()} | set_pictures(
        scene_regions, layers
    )
    written = []
    for name, picture in pictures.items():
        written.append(folder / f"{file_name(name)}.png")
        segmentation = plane_segmentation_data(scene_regions) if name == PLANES and name not in masks else None
        if segmentation is not None:
            segmentation.save(written[-1])
        else:
            save_picture(written[-1], picture, scene)
    arrays: dict[str, Any] = dict(masks)
    fields: dict[str, Any] = scene_regions.geometry.arrays()
    np.savez_compressed(folder / "regions.npz", **arrays)
    np.savez_compressed(folder / "geometry.npz", **fields)
    return [*written, folder / "regions.npz", folder / "geometry.npz"]


def write_directions(
    folder: Path, scene_regions: SceneRegions, maps: Mapping[str, Any], region: str = "planar"
) -> Path:
    """Gradient directions of estimates against the ground truth's, as a figure."""
    measurements = {name: Measurement(load_disparity(source), scene_regions) for name, source in maps.items()}
    return direction_histograms_data(measurements, region).save(folder / "directions.png")
