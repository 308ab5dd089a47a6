"""The geometry sets as regions: where depth jumps, what is planar, what is thin.

They are parts of M₀: ground truth known, visible in both views, inside the margin of the geometry parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import FileError, NotApplicable, SizeError
from stereogauge.model import Mask, Scene
from stereogauge.regions.connected import components
from stereogauge.regions.declaration import region
from stereogauge.regions.geometry.cache import cached_geometry_sets
from stereogauge.regions.geometry.sets import GeometrySets, Positions
from stereogauge.regions.scene_regions import SceneRegions

__all__ = ["GeometrySets", "base_mask", "drawn_planes", "load_geometry_sets"]

HCI = "Honauer, Maier-Hein & Kondermann, ICCV 2015"
PLANES = "planes"


def drawn_planes(scene: Scene) -> NDArray[Any] | None:
    """The scene's own planar regions as labels, 0 = none; None where it has none.

    They are the label image (an array or a file) in the scene's metadata under "planes", or its mask "planes", whose
    connected parts are one region each.
    """
    source = scene.metadata.get(PLANES)
    if source is None:
        return components(scene.mask(PLANES))[0] if PLANES in scene.masks else None
    labels = source if isinstance(source, np.ndarray) else _read_labels(source)
    if labels.shape != scene.shape:
        found, wanted = "×".join(map(str, labels.shape[::-1])), "×".join(map(str, scene.shape[::-1]))
        raise SizeError(
            f"The drawn planes of scene {scene.id!r} are {found}, the scene is {wanted}; draw them at its size."
        )
    return labels


def _read_labels(path: Any) -> NDArray[Any]:
    from stereogauge.io.images import read_pixels

    pixels = read_pixels(path)
    if pixels.ndim == 2:
        return pixels
    if pixels.shape[2] < 3 or not (pixels[..., :1] == pixels[..., 1:3]).all():
        raise FileError(
            f"{path}: an image of drawn planes is grey, one value a plane and 0 for none; this one is coloured."
        )
    return np.asarray(pixels[..., 0])


def base_mask(scene_regions: SceneRegions) -> Mask:
    """M₀: known, visible in both views, inside the geometry parameters' margin."""
    height, width = scene_regions.scene.shape
    margin = scene_regions.protocol.geometry.border_width(width, scene_regions.scene.resolution)
    inside = np.zeros((height, width), np.bool_)
    inside[margin : height - margin, margin : width - margin] = True
    return inside & scene_regions.known & scene_regions.visible if scene_regions.scene.has("gt") else inside


def load_geometry_sets(scene_regions: SceneRegions) -> GeometrySets:
    """The geometry sets of a scene under a protocol, from the disk cache where they are there."""
    scene = scene_regions.scene
    truth = scene.gt if scene.has("gt") else None
    return cached_geometry_sets(
        truth, base_mask(scene_regions), scene.resolution, scene_regions.protocol.geometry, drawn_planes(scene)
    )


def _mask(scene_regions: SceneRegions, positions: Positions) -> Mask:
    sets = scene_regions.geometry
    if sets.refusal and not positions.size:
        raise NotApplicable(sets.refusal)
    return sets.mask(positions)


@region(
    id="disc-jump",
    name="Depth discontinuities",
    definition=r"M_d = \{x : \|\nabla D(x)\| > c_d\}",
    source=HCI,
)
def disc_jump(scene_regions: SceneRegions) -> Mask:
    """Pixels on a depth discontinuity: central-difference gradient of the ground truth above c_d = 8·s px per px."""
    return _mask(scene_regions, scene_regions.geometry.discontinuity)


@region(
    id="disc-foreground",
    name="Foreground at discontinuities",
    definition=r"M_f",
    source=HCI,
)
def disc_foreground(scene_regions: SceneRegions) -> Mask:
    """The band of 20·s px on the near side of every depth discontinuity."""
    return _mask(scene_regions, scene_regions.geometry.foreground)


@region(
    id="disc-background",
    name="Background at discontinuities",
    definition=r"M_b",
    source=HCI,
)
def disc_background(scene_regions: SceneRegions) -> Mask:
    """The band of 20·s px on the far side of every depth discontinuity."""
    return _mask(scene_regions, scene_regions.geometry.background)


@region(
    id="disc-edge",
    name="Surroundings of discontinuities",
    definition=r"M_e = M_d \cup M_f \cup M_b",
    source=HCI,
)
def disc_edge(scene_regions: SceneRegions) -> Mask:
    """Depth discontinuities with the bands on both sides."""
    return _mask(scene_regions, scene_regions.geometry.edge)


@region(
    id="planar",
    name="Planar surfaces",
    definition=r"M_p",
    source=HCI,
)
def planar(scene_regions: SceneRegions) -> Mask:
    """Pixels of planes fitted to the ground truth by RANSAC, or of the scene's drawn planes."""
    return _mask(scene_regions, scene_regions.geometry.planar)


@region(
    id="fine",
    name="Fine structures",
    definition=r"M_s",
    source=HCI,
)
def fine(scene_regions: SceneRegions) -> Mask:
    """Structures at most 32·s px wide on their row, nearer than what is on both sides."""
    return _mask(scene_regions, scene_regions.geometry.fine)


@region(
    id="fine-surround",
    name="Background beside fine structures",
    definition=r"M_n",
    source=HCI,
)
def fine_surround(scene_regions: SceneRegions) -> Mask:
    """Background pixels within 10·s px left and right of a fine structure on its row."""
    return _mask(scene_regions, scene_regions.geometry.surround)
