"""Pictures of a comparison and of a scene's regions as files, with the arrays behind the regions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.errors import NotApplicable
from stereogauge.figures.geometry import (
    direction_histograms_data,
    plane_segmentation_data,
    region_picture,
    set_pictures,
)
from stereogauge.figures.pictures import disparity_limits, render_disparity, save_picture, write_png
from stereogauge.io.files import load_disparity
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import Mask, Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.column import columns_of


def file_name(text: str) -> str:
    """`text` as a file name that every system accepts."""
    text = text.replace("&", "+").replace("|", "_or_")
    return re.sub(r"[^\w.@+-]+", "-", text).strip("-.") or "unnamed"


def write_pictures(folder: Path, maps: Mapping[str, Any], scene: Scene, protocol: Protocol) -> list[Path]:
    """One annotated picture per estimate and distinct metric map, and all disparity maps in one range."""
    limits = disparity_limits(scene.gt)
    scene_regions = SceneRegions(scene, protocol)
    metrics = list(dict.fromkeys(column.declared for column in columns_of(protocol.metrics, protocol.regions)))
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
            save_picture(written[-1], picture, f"{name} on {scene.id}")
    return written


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
        save_picture(written[-1], picture, scene)
    planes = plane_segmentation_data(scene_regions)
    if planes is not None:
        written.append(planes.save(folder / "planes.png"))
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
