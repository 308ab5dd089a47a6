"""Parts of a scene that explain where two maps differ: an exclusive partition of the known pixels.

Every known pixel belongs to exactly one part, the first of this order that holds it: occluded, fine structures,
background and foreground beside depth discontinuities, textureless, planar, other. Sums over the parts are therefore
sums over the whole. A set that the scene does not allow (no left image, ground truth too sparse for geometry) is
empty, and its pixels fall to the next ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stereogauge.masks.declaration import region
from stereogauge.masks.evaluated_scene import EvaluatedScene
from stereogauge.model import Mask
from stereogauge.opencv import cv2

SOURCE = "an exclusive partition for explanations"
PARTS: Mapping[str, str] = {
    "part-occluded": "occluded",
    "part-background": "background beside edges",
    "part-foreground": "foreground beside edges",
    "part-fine": "fine structures",
    "part-textureless": "textureless",
    "part-planar": "planar",
    "part-other": "other",
}
"""The parts by id with their names, in the order in which they are shown."""


def _near_side(evaluated: EvaluatedScene) -> Mask:
    """Pixels nearer than the middle between the nearest and the farthest of their four neighbours and themselves."""
    cross = np.asarray(cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3)))
    truth = np.nan_to_num(evaluated.scene.gt, nan=0.0)
    middle = (cv2.dilate(truth, cross) + cv2.erode(truth, cross)) / 2
    return np.asarray(truth > middle, np.bool_)


def _edges(evaluated: EvaluatedScene) -> tuple[Mask, Mask]:
    """Background and foreground beside discontinuities; a pixel on one belongs to the side that it lies on."""
    sets = evaluated.geometry
    jump = sets.mask(sets.discontinuity)
    near = _near_side(evaluated)
    background = sets.mask(sets.background) | (jump & ~near)
    foreground = (sets.mask(sets.foreground) | (jump & near)) & ~background
    return background, foreground


@region(
    id="part-occluded",
    name="Part: occluded",
    definition=r"I \setminus \mathrm{nonocc}",
    source=SOURCE,
)
def part_occluded(evaluated: EvaluatedScene) -> Mask:
    """Known pixels that the right camera does not see."""
    return ~evaluated.visible


@region(
    id="part-fine",
    name="Part: fine structures",
    definition=r"M_s \setminus \mathrm{occluded}",
    source=SOURCE,
)
def part_fine(evaluated: EvaluatedScene) -> Mask:
    """Visible pixels of fine structures."""
    return evaluated.geometry.mask(evaluated.geometry.fine) & evaluated.visible


@region(
    id="part-background",
    name="Part: background beside edges",
    definition=r"M_b \text{ and the far side of } M_d, \text{ less the parts before}",
    source=SOURCE,
)
def part_background(evaluated: EvaluatedScene) -> Mask:
    """The band on the far side of discontinuities, outside fine structures."""
    return _edges(evaluated)[0] & evaluated.visible & ~evaluated.mask("part-fine")


@region(
    id="part-foreground",
    name="Part: foreground beside edges",
    definition=r"M_f \text{ and the near side of } M_d, \text{ less the parts before}",
    source=SOURCE,
)
def part_foreground(evaluated: EvaluatedScene) -> Mask:
    """The band on the near side of discontinuities, outside fine structures and outside the background's band."""
    return _edges(evaluated)[1] & evaluated.visible & ~evaluated.mask("part-fine")


def _surfaces(evaluated: EvaluatedScene) -> Mask:
    """Visible pixels away from fine structures and discontinuities."""
    taken = [evaluated.mask(name) for name in ("part-fine", "part-background", "part-foreground")]
    return np.asarray(evaluated.visible & ~np.logical_or.reduce(taken), np.bool_)


@region(
    id="part-textureless",
    name="Part: textureless",
    definition=r"\mathrm{textureless} \text{ less the parts before}",
    source=SOURCE,
)
def part_textureless(evaluated: EvaluatedScene) -> Mask:
    """Surfaces without texture, away from edges; none where the scene has no left image."""
    surfaces = _surfaces(evaluated)
    return surfaces & evaluated.mask("textureless") if evaluated.scene.has("left") else np.zeros_like(surfaces)


@region(
    id="part-planar",
    name="Part: planar",
    definition=r"M_p \text{ less the parts before}",
    source=SOURCE,
)
def part_planar(evaluated: EvaluatedScene) -> Mask:
    """Textured planar surfaces, away from edges."""
    planar = evaluated.geometry.mask(evaluated.geometry.planar)
    return planar & _surfaces(evaluated) & ~evaluated.mask("part-textureless")


@region(
    id="part-other",
    name="Part: other",
    definition=r"I \text{ less the other parts}",
    source=SOURCE,
)
def part_other(evaluated: EvaluatedScene) -> Mask:
    """Known pixels of no other part: textured curved surfaces, away from edges."""
    taken = [evaluated.mask(name) for name in PARTS if name != "part-other"]
    return np.asarray(~np.logical_or.reduce(taken), np.bool_)
