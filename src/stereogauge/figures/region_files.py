"""A scene's regions and geometry sets as files: pictures to look at, arrays to compute with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.figures import mpl
from stereogauge.figures.data.geometry import (
    direction_histograms_data,
    plane_segmentation_data,
    region_picture,
    set_pictures,
)
from stereogauge.figures.pictures import save_picture
from stereogauge.figures.scene_pictures import file_name
from stereogauge.io.files import load_disparity
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import Mask
from stereogauge.regions.scene_regions import SceneRegions


def write_regions(folder: Path, scene_regions: SceneRegions, masks: Mapping[str, Mask]) -> list[Path]:
    """Each region over the image, the geometry sets, extrapolated maps and planes; all of it again as arrays.

    `regions.npz` holds the masks, `geometry.npz` the fields of `GeometrySets`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scene = scene_regions.scene.id
    pictures = {name: region_picture(scene_regions, name, mask) for name, mask in masks.items()} | set_pictures(
        scene_regions
    )
    written = []
    for name, picture in pictures.items():
        written.append(folder / f"{file_name(name)}.png")
        save_picture(written[-1], picture, scene)
    planes = plane_segmentation_data(scene_regions)
    if planes is not None:
        written.append(mpl.save(mpl.draw(planes), folder / "planes.png"))
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
    return mpl.save(mpl.draw(direction_histograms_data(measurements, region)), folder / "directions.png")
