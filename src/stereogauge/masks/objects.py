"""Foreground objects and background by a dataset's object map."""

from __future__ import annotations

from stereogauge.errors import NotApplicable
from stereogauge.masks.declaration import region
from stereogauge.masks.evaluated_scene import EvaluatedScene
from stereogauge.model import Mask


def _object_mask(evaluated: EvaluatedScene, name: str) -> Mask:
    if name not in evaluated.scene.masks:
        raise NotApplicable(f"Region {name!r} needs an object map, and scene {evaluated.scene.id!r} has none.")
    return evaluated.own_mask(name)


@region(
    id="fg",
    name="Foreground objects",
    definition=r"\{x : \text{the object map names an object}\}",
    source="Menze & Geiger 2015",
    needs=("gt", "mask:fg"),
)
def foreground(evaluated: EvaluatedScene) -> Mask:
    """Pixels of moving objects in KITTI's object map."""
    return _object_mask(evaluated, "fg")


@region(
    id="bg",
    name="Background",
    definition=r"\{x : \text{the object map names no object}\}",
    source="Menze & Geiger 2015",
    needs=("gt", "mask:bg"),
)
def background(evaluated: EvaluatedScene) -> Mask:
    """Pixels outside all objects in KITTI's object map."""
    return _object_mask(evaluated, "bg")
