"""Damages: named, controlled corruptions of a true disparity map, each with a strength.

A damage is a pure function of the ground truth, a strength and a random generator. Strength 0 returns the truth.
Packages add their own through the entry-point group `stereogauge.damages`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import StereogaugeError, unknown_name
from stereogauge.kernels.edges import fill_rows
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.model import DisparityMap, Mask, Scene
from stereogauge.protocol import Protocol, load_protocol
from stereogauge.registry import Registry


def disc(radius: float) -> NDArray[np.uint8]:
    """A round structuring element; the radius in px need not be whole."""
    reach = int(np.floor(radius))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    return np.asarray(np.hypot(x, y) <= radius + 1e-9, dtype=np.uint8)


def grown(mask: Mask, radius: float) -> Mask:
    """`mask` and everything within `radius` px of it."""
    import cv2

    return np.asarray(cv2.dilate(mask.astype(np.uint8), disc(radius)) > 0)


@dataclass(frozen=True)
class GroundTruth:
    """A scene's ground truth with its structures.

    `disparity` has no gaps (rows filled by the smaller neighbour). `planes` and `fine` number planar surfaces and thin
    structures from 1, 0 = none; `jumps` are depth discontinuities. `reach` (px) is the width of the bands in which
    edges are assessed, `step` (px) the smallest jump that counts as an edge. Damages keep to their zones unless
    `confined` is false.
    """

    disparity: DisparityMap
    planes: NDArray[np.int32]
    fine: NDArray[np.int32]
    jumps: Mask
    reach: float
    step: float
    confined: bool = True

    @functools.cached_property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest true disparity."""
        return float(self.disparity.min()), float(self.disparity.max())

    @functools.cached_property
    def everywhere(self) -> Mask:
        """All pixels."""
        return np.ones(self.disparity.shape, np.bool_)

    @functools.cached_property
    def around_fine(self) -> Mask:
        """Thin structures and their surroundings."""
        return grown(self.fine > 0, self.reach)

    @functools.cached_property
    def edge_zone(self) -> Mask:
        """Within reach of a depth discontinuity, away from thin structures; all pixels where nothing is confined."""
        if not self.confined:
            return self.everywhere
        return grown(self.jumps, self.reach) & ~grown(self.fine > 0, 2.0 * self.reach)

    @functools.cached_property
    def plane_zone(self) -> Mask:
        """Planes out of reach of edges and thin structures; all pixels where nothing is confined."""
        if not self.confined:
            return self.everywhere
        return (self.planes > 0) & ~grown(self.jumps, self.reach + 2.0) & ~self.around_fine

    @functools.cached_property
    def behind_fine(self) -> DisparityMap:
        """The truth as if thin structures were not there: their pixels take the smaller neighbour on their row."""
        background: DisparityMap = fill_rows(np.where(self.fine > 0, np.float32(np.nan), self.disparity))
        return background


def ground_truth_of(scene: Scene, protocol: Protocol | str | None = None) -> GroundTruth:
    """The ground truth of a scene; the protocol's geometry parameters define its structures."""
    chosen = load_protocol(protocol)
    sets = SceneRegions(scene, chosen).geometry
    scaled = chosen.geometry.at(scene.resolution)
    return GroundTruth(
        disparity=fill_rows(scene.gt),
        planes=sets.label_image(sets.planar, sets.planar_label),
        fine=sets.label_image(sets.fine, sets.fine_label),
        jumps=sets.mask(sets.discontinuity),
        reach=float(scaled.band_length),
        step=2.0 * scaled.discontinuity_gradient,
    )


ENTRY_POINTS = "stereogauge.damages"
DamageFunction = Callable[[GroundTruth, float, np.random.Generator], DisparityMap]
BLUR: Mapping[str, Any] = {
    "unit": "σ / reach",
    "strengths": (0.05, 0.1, 0.2, 0.4, 0.8),
    "reference": 0.4,
    "limit": 10.0,
    "per_reach": True,
}

everywhere: Callable[[GroundTruth], Mask] = attrgetter("everywhere")
"""The zone of a damage that may touch any pixel."""


@dataclass(frozen=True)
class Damage:
    """A declared damage.

    `strengths` are the default steps of a study, `reference` the one that metrics are compared at, `limit` the largest
    that makes sense.

    `zone(truth)` are the pixels that it may touch; `metric` is the geometry metric that is named after it, "" where
    none is. A damage with `per_reach` takes its strength in units of the ground truth's reach, so that scenes of any
    size are damaged alike.
    """

    id: str
    name: str
    unit: str
    strengths: tuple[float, ...]
    reference: float
    limit: float
    compute: DamageFunction
    zone: Callable[[GroundTruth], Mask]
    metric: str = ""
    per_reach: bool = False

    @property
    def description(self) -> str:
        """The function's docstring."""
        return (self.compute.__doc__ or "").strip()

    def apply(self, truth: GroundTruth, strength: float, seed: int = 0) -> DisparityMap:
        """The damaged map; the same seed gives the same map."""
        if not 0.0 <= strength <= self.limit:
            raise StereogaugeError(
                f"Damage {self.id!r} takes a strength from 0 to {self.limit:g} {self.unit}; found {strength:g}."
            )
        if strength == 0.0:
            return truth.disparity.copy()
        scaled = strength * truth.reach if self.per_reach else strength
        return self.compute(truth, scaled, np.random.default_rng(seed)).astype(np.float32)


def damage(identifier: str, name: str, **declaration: Any) -> Callable[[DamageFunction], Damage]:
    """Declare the decorated function as a damage; `Damage` explains the keywords."""
    return lambda function: Damage(identifier, name, compute=function, **declaration)


def unconfined(kind: Damage, identifier: str, name: str, text: str) -> Damage:
    """The damage `kind` without its zone, as another one: real matchers do not keep to zones."""

    def compute(truth: GroundTruth, strength: float, random: np.random.Generator) -> DisparityMap:
        return kind.compute(replace(truth, confined=False), strength, random)

    compute.__doc__ = text
    return replace(kind, id=identifier, name=name, compute=compute, zone=everywhere, metric="")


@functools.cache
def damages() -> Mapping[str, Damage]:
    """Every damage by id: ours, then those of installed packages."""
    return Registry("damage", Damage, "stereogauge.study", ENTRY_POINTS)


def damage_called(name: str) -> Damage:
    """The damage with that id."""
    known = damages()
    if name not in known:
        raise unknown_name("damage", name, known)
    return known[name]
