"""A scene's criteria and geometry sets as files: pictures to look at, arrays to compute with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.figures import mpl
from stereogauge.figures.geometry import (
    criterion_picture,
    direction_histograms_data,
    plane_segmentation_data,
    set_pictures,
)
from stereogauge.figures.pictures import save_picture
from stereogauge.figures.scene_pictures import file_name
from stereogauge.io.files import load_disparity
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import Mask
from stereogauge.regions.criteria import Criteria


def write_regions(folder: Path, criteria: Criteria, masks: Mapping[str, Mask]) -> list[Path]:
    """Each criterion over the image, the geometry sets, extrapolated maps and planes; all of it again as arrays.

    `criteria.npz` holds the masks, `geometry.npz` the fields of `GeometrySets`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scene = criteria.scene.id
    pictures = {name: criterion_picture(criteria, name, mask) for name, mask in masks.items()} | set_pictures(criteria)
    written = []
    for name, picture in pictures.items():
        written.append(folder / f"{file_name(name)}.png")
        save_picture(written[-1], picture, scene)
    planes = plane_segmentation_data(criteria)
    if planes is not None:
        written.append(mpl.save(mpl.draw(planes), folder / "planes.png"))
    arrays: dict[str, Any] = dict(masks)
    fields: dict[str, Any] = criteria.geometry.arrays()
    np.savez_compressed(folder / "criteria.npz", **arrays)
    np.savez_compressed(folder / "geometry.npz", **fields)
    return [*written, folder / "criteria.npz", folder / "geometry.npz"]


def write_directions(folder: Path, criteria: Criteria, maps: Mapping[str, Any], region: str = "planar") -> Path:
    """Gradient directions of estimates against the ground truth's, as a figure."""
    measurements = {name: Measurement(load_disparity(source), criteria) for name, source in maps.items()}
    return mpl.save(mpl.draw(direction_histograms_data(measurements, region)), folder / "directions.png")
