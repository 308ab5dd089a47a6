"""Foreground objects and background by a dataset's object map."""

from __future__ import annotations

from stereogauge.errors import NotApplicable
from stereogauge.model import Mask
from stereogauge.regions.declaration import region
from stereogauge.regions.scene_regions import SceneRegions


def _object_mask(scene_regions: SceneRegions, name: str) -> Mask:
    if name not in scene_regions.scene.masks:
        raise NotApplicable(f"Region {name!r} needs an object map, and scene {scene_regions.scene.id!r} has none.")
    return scene_regions.own_mask(name)


@region(
    id="fg",
    name="Foreground objects",
    definition=r"\{x : \text{the object map names an object}\}",
    source="Menze & Geiger 2015",
    needs=("gt", "mask:fg"),
)
def foreground(scene_regions: SceneRegions) -> Mask:
    """Pixels of moving objects in KITTI's object map."""
    return _object_mask(scene_regions, "fg")


@region(
    id="bg",
    name="Background",
    definition=r"\{x : \text{the object map names no object}\}",
    source="Menze & Geiger 2015",
    needs=("gt", "mask:bg"),
)
def background(scene_regions: SceneRegions) -> Mask:
    """Pixels outside all objects in KITTI's object map."""
    return _object_mask(scene_regions, "bg")
