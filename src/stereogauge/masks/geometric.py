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
from stereogauge.masks.declaration import HCI, LIGHT_FIELDS, Region, region
from stereogauge.masks.geometry.objects import KINDS, ObjectKind
from stereogauge.masks.geometry.sets import Positions, curved_surfaces
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.model import Mask
from stereogauge.registry import Parameter


def _of_set(id: str, name: str, definition: str, field: str, version: int, text: str) -> Region:  # noqa: A002
    """The region of the pixels in one field of the geometry sets; `text` describes it."""

    def compute(evaluated: SceneRegions) -> Mask:
        sets = evaluated.geometry
        positions: Positions = getattr(sets, field)
        if sets.refusal and not positions.size:
            raise NotApplicable(sets.refusal)
        return sets.mask(positions)

    compute.__doc__ = text
    return region(id=id, name=name, definition=definition, source=HCI, version=version)(compute)


disc_jump = _of_set(
    *("disc-jump", "Depth discontinuities", r"M_d = \{x : \|\nabla D(x)\| > c_d\}", "discontinuity", 2),
    "Pixels on a depth discontinuity: central-difference gradient of the ground truth above c_d = 8·s px per px.",
)
disc_foreground = _of_set(
    *("disc-foreground", "Foreground at discontinuities", r"M_f", "foreground", 4),
    "The band of 20·s px on the near side of every depth discontinuity, with that side of the edge itself.",
)
disc_background = _of_set(
    *("disc-background", "Background at discontinuities", r"M_b", "background", 4),
    "The band of 20·s px on the far side of every depth discontinuity, with that side of the edge itself.",
)
disc_edge = _of_set(
    *("disc-edge", "Surroundings of discontinuities", r"M_e = M_d \cup M_f \cup M_b", "edge", 3),
    "Depth discontinuities with the bands on both sides.",
)
planar = _of_set(
    *("planar", "Planar surfaces", r"M_p", "planar", 7),
    "Pixels of planes fitted to the ground truth by RANSAC, away from edges, or of the scene's drawn planes.\n\n"
    "Left out are the surroundings of discontinuities, and pixels whose 5 × 5 window holds one off the plane.",
)
fine = _of_set(
    *("fine", "Fine structures", r"M_s", "fine", 4),
    "Structures nearer than what is on both sides and on most of their rows at most 48·s px wide.",
)
fine_surround = _of_set(
    *("fine-surround", "Background beside fine structures", r"M_n", "surround", 4),
    "Background pixels within 10·s px left and right of a fine structure on its row.",
)


@region(
    id="curved",
    name="Curved surfaces",
    definition=r"\{x \in M_0 \setminus (M_p \cup M_s) : D \text{ is smooth around } x\}",
    source=f"after {LIGHT_FIELDS}",
    version=7,
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


def _of_objects(kind: ObjectKind, name: str, definition: str, text: str, version: int = 1) -> Region:
    """The region of the pixels of one object of a kind, by its number; `text` describes it."""

    def compute(evaluated: SceneRegions, number: float) -> Mask:
        labels = evaluated.objects[kind].area
        most = int(labels.max(initial=0))
        if number != int(number) or number > most:
            refusal = evaluated.geometry.refusal
            raise NotApplicable(
                refusal or f"Scene {evaluated.scene.id!r} has {most} {KINDS[kind]}s; found the number {number:g}."
            )
        mask: Mask = labels == int(number)
        return mask

    compute.__doc__ = text
    declare = region(id=kind, name=name, definition=definition, source=AFTER, parameters=NUMBER, version=version)
    return declare(compute)


plane = _of_objects("plane", "One plane", r"M_{p_i}", "The pixels of one of the scene's planes.", version=5)
structure = _of_objects(
    *("structure", "One fine structure", r"s \in S"),
    "The pixels of one fine structure, and of the background that lies beside it.",
)
foreground_object = _of_objects(
    *("object", "One foreground object", r"o \subseteq M_e"),
    "The surroundings of depth discontinuities that belong to one connected foreground: its own band, the "
    "discontinuity, and the background on the other side.",
    version=2,
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


def _part(name: str, definition: str, version: int = 4) -> Callable[[Callable[..., Mask]], Region]:
    """Declare the part called `part-NAME`."""
    return region(
        id=f"part-{name}", name=f"Part: {PARTS[f'part-{name}']}", definition=definition, source=SOURCE, version=version
    )


@_part("occluded", r"I \setminus \mathrm{nonocc}", version=1)
def part_occluded(evaluated: SceneRegions) -> Mask:
    """Known pixels that the right camera does not see."""
    return ~evaluated.visible


@_part("fine", r"M_s \setminus \mathrm{occluded}", version=3)
def part_fine(evaluated: SceneRegions) -> Mask:
    """Visible pixels of fine structures."""
    return evaluated.geometry.mask(evaluated.geometry.fine) & evaluated.visible


@_part("background", r"M_b \text{ less the parts before}")
def part_background(evaluated: SceneRegions) -> Mask:
    """The band on the far side of discontinuities, outside fine structures."""
    sets = evaluated.geometry
    return sets.mask(sets.background) & evaluated.visible & ~evaluated.mask("part-fine")


@_part("foreground", r"M_f \text{ less the parts before}")
def part_foreground(evaluated: SceneRegions) -> Mask:
    """The band on the near side of discontinuities, outside fine structures."""
    sets = evaluated.geometry
    return sets.mask(sets.foreground) & evaluated.visible & ~evaluated.mask("part-fine")


def _surfaces(evaluated: SceneRegions) -> Mask:
    """Visible pixels away from fine structures and discontinuities."""
    taken = [evaluated.mask(name) for name in ("part-fine", "part-background", "part-foreground")]
    return np.asarray(evaluated.visible & ~np.logical_or.reduce(taken), np.bool_)


@_part("textureless", r"\mathrm{textureless} \text{ less the parts before}")
def part_textureless(evaluated: SceneRegions) -> Mask:
    """Surfaces without texture, away from edges; none where the scene has no left image."""
    surfaces = _surfaces(evaluated)
    return surfaces & evaluated.mask("textureless") if evaluated.scene.has("left") else np.zeros_like(surfaces)


@_part("planar", r"M_p \text{ less the parts before}", version=7)
def part_planar(evaluated: SceneRegions) -> Mask:
    """Textured planar surfaces, away from edges."""
    planar = evaluated.geometry.mask(evaluated.geometry.planar)
    return planar & _surfaces(evaluated) & ~evaluated.mask("part-textureless")


@_part("other", r"I \text{ less the other parts}", version=7)
def part_other(evaluated: SceneRegions) -> Mask:
    """Known pixels of no other part: textured curved surfaces, away from edges."""
    taken = [evaluated.mask(name) for name in PARTS if name != "part-other"]
    return np.asarray(~np.logical_or.reduce(taken), np.bool_)
