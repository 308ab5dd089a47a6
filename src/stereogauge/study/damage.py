"""Damages: named, controlled corruptions of a true disparity map, each with a strength. Their registry.

A damage is a pure function of the ground truth, a strength and a random generator. Strength 0 returns the truth.
Packages add their own through the entry-point group `stereogauge.damages`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from stereogauge.errors import StereogaugeError, unknown_name
from stereogauge.model import DisparityMap, Mask
from stereogauge.registry import collect
from stereogauge.study.ground_truth import GroundTruth

ENTRY_POINTS = "stereogauge.damages"
DamageFunction = Callable[[GroundTruth, float, np.random.Generator], DisparityMap]
BLUR: Mapping[str, Any] = {
    "unit": "σ / reach",
    "strengths": (0.05, 0.1, 0.2, 0.4, 0.8),
    "reference": 0.4,
    "limit": 10.0,
    "per_reach": True,
}


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


@functools.cache
def damages() -> Mapping[str, Damage]:
    """Every damage by id: ours, then those of installed packages."""
    return collect("damage", Damage, "stereogauge.study", ENTRY_POINTS)


def damage_called(name: str) -> Damage:
    """The damage with that id."""
    known = damages()
    if name not in known:
        raise unknown_name("damage", name, known)
    return known[name]


everywhere: Callable[[GroundTruth], Mask] = attrgetter("everywhere")
"""The zone of a damage that may touch any pixel."""
