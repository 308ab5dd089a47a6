"""Foreground objects and background by a dataset's object map."""

from __future__ import annotations

from stereogauge.errors import NotApplicable
from stereogauge.model import Mask
from stereogauge.regions.criteria import Criteria
from stereogauge.regions.declaration import region


def _object_mask(criteria: Criteria, name: str) -> Mask:
    if name not in criteria.scene.masks:
        raise NotApplicable(f"Criterion {name!r} needs an object map, and scene {criteria.scene.id!r} has none.")
    return criteria.own_mask(name)


@region(
    id="fg",
    name="Foreground objects",
    definition=r"\{x : \text{the object map names an object}\}",
    source="Menze & Geiger 2015",
    needs=("gt", "mask:fg"),
)
def foreground(criteria: Criteria) -> Mask:
    """Pixels of moving objects in KITTI's object map."""
    return _object_mask(criteria, "fg")


@region(
    id="bg",
    name="Background",
    definition=r"\{x : \text{the object map names no object}\}",
    source="Menze & Geiger 2015",
    needs=("gt", "mask:bg"),
)
def background(criteria: Criteria) -> Mask:
    """Pixels outside all objects in KITTI's object map."""
    return _object_mask(criteria, "bg")
