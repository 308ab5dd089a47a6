"""The geometry sets as regions: where depth jumps, what is planar, what is thin.

They are parts of M₀: ground truth known, visible in both views, inside the margin of the geometry parameters.
"""

from __future__ import annotations

from stereogauge.errors import NotApplicable
from stereogauge.masks.declaration import region
from stereogauge.masks.evaluated_scene import EvaluatedScene
from stereogauge.masks.geometry.curved import curved_surfaces
from stereogauge.masks.geometry.sets import Positions
from stereogauge.model import Mask

HCI = "Honauer, Maier-Hein & Kondermann, ICCV 2015"
LIGHT_FIELDS = "after Honauer, Johannsen, Kondermann & Goldluecke, ACCV 2016"


def _mask(evaluated: EvaluatedScene, positions: Positions) -> Mask:
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
def disc_jump(evaluated: EvaluatedScene) -> Mask:
    """Pixels on a depth discontinuity: central-difference gradient of the ground truth above c_d = 8·s px per px."""
    return _mask(evaluated, evaluated.geometry.discontinuity)


@region(
    id="disc-foreground",
    name="Foreground at discontinuities",
    definition=r"M_f",
    source=HCI,
    version=2,
)
def disc_foreground(evaluated: EvaluatedScene) -> Mask:
    """The band of 20·s px on the near side of every depth discontinuity."""
    return _mask(evaluated, evaluated.geometry.foreground)


@region(
    id="disc-background",
    name="Background at discontinuities",
    definition=r"M_b",
    source=HCI,
    version=2,
)
def disc_background(evaluated: EvaluatedScene) -> Mask:
    """The band of 20·s px on the far side of every depth discontinuity."""
    return _mask(evaluated, evaluated.geometry.background)


@region(
    id="disc-edge",
    name="Surroundings of discontinuities",
    definition=r"M_e = M_d \cup M_f \cup M_b",
    source=HCI,
    version=2,
)
def disc_edge(evaluated: EvaluatedScene) -> Mask:
    """Depth discontinuities with the bands on both sides."""
    return _mask(evaluated, evaluated.geometry.edge)


@region(
    id="planar",
    name="Planar surfaces",
    definition=r"M_p",
    source=HCI,
    version=2,
)
def planar(evaluated: EvaluatedScene) -> Mask:
    """Pixels of planes fitted to the ground truth by RANSAC, or of the scene's drawn planes."""
    return _mask(evaluated, evaluated.geometry.planar)


@region(
    id="fine",
    name="Fine structures",
    definition=r"M_s",
    source=HCI,
    version=2,
)
def fine(evaluated: EvaluatedScene) -> Mask:
    """Structures at most 32·s px wide on their row, nearer than what is on both sides."""
    return _mask(evaluated, evaluated.geometry.fine)


@region(
    id="fine-surround",
    name="Background beside fine structures",
    definition=r"M_n",
    source=HCI,
    version=2,
)
def fine_surround(evaluated: EvaluatedScene) -> Mask:
    """Background pixels within 10·s px left and right of a fine structure on its row."""
    return _mask(evaluated, evaluated.geometry.surround)


@region(
    id="curved",
    name="Curved surfaces",
    definition=r"\{x \in M_0 \setminus (M_p \cup M_s) : D \text{ is smooth around } x\}",
    source=LIGHT_FIELDS,
)
def curved(evaluated: EvaluatedScene) -> Mask:
    """Smooth surfaces that are no planes: pixels on no plane and no fine structure, smooth over 5 × 5 px.

    Smooth means within the planes' tolerance, as root mean square, of a plane of the window's own; parts of at least
    `plane_part_share` of the image count.
    """
    sets = evaluated.geometry
    if sets.refusal:
        raise NotApplicable(sets.refusal)
    share = evaluated.protocol.geometry.plane_part_share
    return curved_surfaces(evaluated.scene.gt, evaluated.geometry_base, sets, share)
