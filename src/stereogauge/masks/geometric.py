"""Regions from the geometry of the ground truth: edges, planes, fine structures, single objects, and parts.

Parts explain where two maps differ: an exclusive partition of the known pixels. Every known pixel belongs to exactly
one part, the first of this order that holds it: occluded, fine structures, background and foreground beside depth
discontinuities, textureless, planar, other. Sums over the parts are therefore sums over the whole. A set that the scene
does not allow (no left image, ground truth too sparse for geometry) is empty, and its pixels fall to the next ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from stereogauge.errors import NotApplicable
from stereogauge.masks.declaration import region
from stereogauge.masks.geometry.objects import KINDS, ObjectKind
from stereogauge.masks.geometry.sets import Positions, curved_surfaces
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.model import Mask
from stereogauge.registry import Parameter

HCI = "Honauer, Maier-Hein & Kondermann, ICCV 2015"
LIGHT_FIELDS = "after Honauer, Johannsen, Kondermann & Goldluecke, ACCV 2016"


def _mask(evaluated: SceneRegions, positions: Positions) -> Mask:
    sets = evaluated.geometry
    if sets.refusal and not positions.size:
        raise NotApplicable(sets.refusal)
    return sets.mask(positions)


@region(
    id="disc-jump",
    name="Depth discontinuities",
    definition=r"M_d = \{x : \|\nabla D(x)\| > c_d\}",
    source=HCI,
    version=2,
)
def disc_jump(evaluated: SceneRegions) -> Mask:
    """Pixels on a depth discontinuity: central-difference gradient of the ground truth above c_d = 8·s px per px."""
    return _mask(evaluated, evaluated.geometry.discontinuity)


@region(
    id="disc-foreground",
    name="Foreground at discontinuities",
    definition=r"M_f",
    source=HCI,
    version=2,
)
def disc_foreground(evaluated: SceneRegions) -> Mask:
    """The band of 20·s px on the near side of every depth discontinuity."""
    return _mask(evaluated, evaluated.geometry.foreground)


@region(
    id="disc-background",
    name="Background at discontinuities",
    definition=r"M_b",
    source=HCI,
    version=2,
)
def disc_background(evaluated: SceneRegions) -> Mask:
    """The band of 20·s px on the far side of every depth discontinuity."""
    return _mask(evaluated, evaluated.geometry.background)


@region(
    id="disc-edge",
    name="Surroundings of discontinuities",
    definition=r"M_e = M_d \cup M_f \cup M_b",
    source=HCI,
    version=2,
)
def disc_edge(evaluated: SceneRegions) -> Mask:
    """Depth discontinuities with the bands on both sides."""
    return _mask(evaluated, evaluated.geometry.edge)


@region(
    id="planar",
    name="Planar surfaces",
    definition=r"M_p",
    source=HCI,
    version=2,
)
def planar(evaluated: SceneRegions) -> Mask:
    """Pixels of planes fitted to the ground truth by RANSAC, or of the scene's drawn planes."""
    return _mask(evaluated, evaluated.geometry.planar)


@region(
    id="fine",
    name="Fine structures",
    definition=r"M_s",
    source=HCI,
    version=2,
)
def fine(evaluated: SceneRegions) -> Mask:
    """Structures at most 32·s px wide on their row, nearer than what is on both sides."""
    return _mask(evaluated, evaluated.geometry.fine)


@region(
    id="fine-surround",
    name="Background beside fine structures",
    definition=r"M_n",
    source=HCI,
    version=2,
)
def fine_surround(evaluated: SceneRegions) -> Mask:
    """Background pixels within 10·s px left and right of a fine structure on its row."""
    return _mask(evaluated, evaluated.geometry.surround)


@region(
    id="curved",
    name="Curved surfaces",
    definition=r"\{x \in M_0 \setminus (M_p \cup M_s) : D \text{ is smooth around } x\}",
    source=LIGHT_FIELDS,
)
def curved(evaluated: SceneRegions) -> Mask:
    """Smooth surfaces that are no planes: pixels on no plane and no fine structure, smooth over 5 × 5 px.

    Smooth means within the planes' tolerance, as root mean square, of a plane of the window's own; parts of at least
    `plane_part_share` of the image count.
    """
    sets = evaluated.geometry
    if sets.refusal:
        raise NotApplicable(sets.refusal)
    share = evaluated.protocol.geometry.plane_part_share
    return curved_surfaces(evaluated.scene.gt, evaluated.geometry_base, sets, share)


AFTER = f"after {HCI}"
NUMBER = (Parameter("number", description="which one, from 1", low=1.0, high=1e6),)


def _single(evaluated: SceneRegions, kind: ObjectKind, number: float) -> Mask:
    labels = evaluated.objects[kind].area
    most = int(labels.max(initial=0))
    if number != int(number) or number > most:
        refusal = evaluated.geometry.refusal
        raise NotApplicable(
            refusal or f"Scene {evaluated.scene.id!r} has {most} {KINDS[kind]}s; found the number {number:g}."
        )
    mask: Mask = labels == int(number)
    return mask


def _compute(kind: ObjectKind, text: str) -> Callable[[SceneRegions, float], Mask]:
    def compute(evaluated: SceneRegions, number: float) -> Mask:
        return _single(evaluated, kind, number)

    compute.__doc__ = text
    return compute


plane = region(id="plane", name="One plane", definition=r"M_{p_i}", source=AFTER, parameters=NUMBER)(
    _compute("plane", "The pixels of one of the scene's planes.")
)
structure = region(id="structure", name="One fine structure", definition=r"s \in S", source=AFTER, parameters=NUMBER)(
    _compute("structure", "The pixels of one fine structure, and of the background that lies beside it.")
)
foreground_object = region(
    id="object", name="One foreground object", definition=r"o \subseteq M_e", source=AFTER, parameters=NUMBER
)(
    _compute(
        "object",
        "The surroundings of depth discontinuities that belong to one connected foreground: its own band, the "
        "discontinuity, and the background on the other side.",
    )
)


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


def _near_side(evaluated: SceneRegions) -> Mask:
    """Pixels nearer than the middle between the nearest and the farthest of their four neighbours and themselves."""
    import cv2

    cross = np.asarray(cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3)))
    truth = np.nan_to_num(evaluated.scene.gt, nan=0.0)
    middle = (cv2.dilate(truth, cross) + cv2.erode(truth, cross)) / 2
    return np.asarray(truth > middle, np.bool_)


def _edges(evaluated: SceneRegions) -> tuple[Mask, Mask]:
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
def part_occluded(evaluated: SceneRegions) -> Mask:
    """Known pixels that the right camera does not see."""
    return ~evaluated.visible


@region(
    id="part-fine",
    name="Part: fine structures",
    definition=r"M_s \setminus \mathrm{occluded}",
    source=SOURCE,
)
def part_fine(evaluated: SceneRegions) -> Mask:
    """Visible pixels of fine structures."""
    return evaluated.geometry.mask(evaluated.geometry.fine) & evaluated.visible


@region(
    id="part-background",
    name="Part: background beside edges",
    definition=r"M_b \text{ and the far side of } M_d, \text{ less the parts before}",
    source=SOURCE,
)
def part_background(evaluated: SceneRegions) -> Mask:
    """The band on the far side of discontinuities, outside fine structures."""
    return _edges(evaluated)[0] & evaluated.visible & ~evaluated.mask("part-fine")


@region(
    id="part-foreground",
    name="Part: foreground beside edges",
    definition=r"M_f \text{ and the near side of } M_d, \text{ less the parts before}",
    source=SOURCE,
)
def part_foreground(evaluated: SceneRegions) -> Mask:
    """The band on the near side of discontinuities, outside fine structures and outside the background's band."""
    return _edges(evaluated)[1] & evaluated.visible & ~evaluated.mask("part-fine")


def _surfaces(evaluated: SceneRegions) -> Mask:
    """Visible pixels away from fine structures and discontinuities."""
    taken = [evaluated.mask(name) for name in ("part-fine", "part-background", "part-foreground")]
    return np.asarray(evaluated.visible & ~np.logical_or.reduce(taken), np.bool_)


@region(
    id="part-textureless",
    name="Part: textureless",
    definition=r"\mathrm{textureless} \text{ less the parts before}",
    source=SOURCE,
)
def part_textureless(evaluated: SceneRegions) -> Mask:
    """Surfaces without texture, away from edges; none where the scene has no left image."""
    surfaces = _surfaces(evaluated)
    return surfaces & evaluated.mask("textureless") if evaluated.scene.has("left") else np.zeros_like(surfaces)


@region(
    id="part-planar",
    name="Part: planar",
    definition=r"M_p \text{ less the parts before}",
    source=SOURCE,
)
def part_planar(evaluated: SceneRegions) -> Mask:
    """Textured planar surfaces, away from edges."""
    planar = evaluated.geometry.mask(evaluated.geometry.planar)
    return planar & _surfaces(evaluated) & ~evaluated.mask("part-textureless")


@region(
    id="part-other",
    name="Part: other",
    definition=r"I \text{ less the other parts}",
    source=SOURCE,
)
def part_other(evaluated: SceneRegions) -> Mask:
    """Known pixels of no other part: textured curved surfaces, away from edges."""
    taken = [evaluated.mask(name) for name in PARTS if name != "part-other"]
    return np.asarray(~np.logical_or.reduce(taken), np.bool_)
