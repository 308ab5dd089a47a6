"""Single objects of a scene: each plane, each fine structure and each foreground object as a label image.

A foreground object is a connected part of the foreground beside depth discontinuities, with the discontinuity and the
background on its other side: every pixel around discontinuities belongs to the nearest foreground.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.masks.geometry.connected import components
from stereogauge.masks.geometry.sets import GeometrySets
from stereogauge.model import Mask

Labels = NDArray[np.int32]
ObjectKind = Literal["plane", "structure", "object"]
KINDS: dict[ObjectKind, str] = {"plane": "plane", "structure": "fine structure", "object": "foreground object"}


class SceneObject(Struct, frozen=True):
    """One object: `region` names its pixels, the box holds them; `pixels` are those of a structure itself, of a plane,
    or around the discontinuities of a foreground object.
    """

    kind: ObjectKind
    number: int
    x: int
    y: int
    width: int
    height: int
    pixels: int

    @property
    def region(self) -> str:
        """For example `plane@3`."""
        return f"{self.kind}@{self.number}"

    @property
    def name(self) -> str:
        """For a reader: "fine structure 3"."""
        return f"{KINDS[self.kind]} {self.number}"


class ObjectLabels(Struct, frozen=True):
    """The number (from 1) of each pixel's object, 0 for none.

    `area` are the pixels on which an object's metrics are measured, `core` those of the object itself: without the
    background beside a fine structure.
    """

    core: Labels
    area: Labels


def object_labels(sets: GeometrySets) -> dict[ObjectKind, ObjectLabels]:
    """The label images of all kinds."""
    planes = sets.label_image(sets.planar, sets.planar_label)
    structures = sets.label_image(sets.fine, sets.fine_label)
    rims, _ = components(sets.mask(sets.foreground))
    around = _nearest(rims, sets.mask(sets.edge))
    beside = _nearest(structures, sets.mask(sets.surround) | (structures > 0))
    return {
        "plane": ObjectLabels(planes, planes),
        "structure": ObjectLabels(structures, beside),
        "object": ObjectLabels(around, around),
    }


def list_objects(labels: dict[ObjectKind, ObjectLabels], least: float = 0.0) -> tuple[SceneObject, ...]:
    """Every object of at least `least` pixels, by kind and number."""
    from scipy.ndimage import find_objects

    found = []
    for kind, images in labels.items():
        sizes = np.bincount(images.core.ravel()).tolist()
        for number, box in enumerate(find_objects(images.core), start=1):
            if box is not None and sizes[number] >= least:
                y, x = box
                sides = x.stop - x.start, y.stop - y.start
                found.append(SceneObject(kind, number, x.start, y.start, *sides, sizes[number]))
    return tuple(found)


def _nearest(labels: Labels, inside: Mask) -> Labels:
    """Each pixel of `inside` with the label nearest to it; 0 everywhere where nothing is labelled."""
    from scipy.ndimage import distance_transform_edt

    if not labels.any():
        return labels
    rows, columns = distance_transform_edt(labels == 0, return_distances=False, return_indices=True)
    return np.where(inside, labels[rows, columns], 0).astype(np.int32)
