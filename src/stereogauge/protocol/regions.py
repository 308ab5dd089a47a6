"""Every number that a region depends on, in one frozen object that is part of the protocol."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from stereogauge.errors import ProtocolError

Rule = Literal["auto", "dataset", "middlebury-v2", "bidirectional", "z-buffer"]


@dataclass(frozen=True)
class RegionParameters:
    """How regions are made.

    rule: which occlusion and discontinuity rule; "auto" takes the dataset's own mask where there is one, else both
    views' ground truth, else a z-buffer of the left one's. consistency: largest disagreement of the two views'
    disparities at a visible pixel, in px. The discontinuity gap and radius hold at 450 px image width and grow with it
    (the gap never below 1 px); both are ignored by the `middlebury-v2` rule, whose numbers are fixed.
    texture_threshold: mean squared horizontal gradient in grey levels² per px². near and far: limits in metres between
    which a pixel is `mid`; None takes the scene's own terciles.
    """

    rule: Rule = "auto"
    consistency: float = 1.0
    discontinuity_gap: float = 2.0
    discontinuity_radius: float = 4.0
    texture_threshold: float = 4.0
    near: float | None = None
    far: float | None = None

    def __post_init__(self) -> None:
        for name in ("consistency", "discontinuity_gap", "discontinuity_radius", "texture_threshold", "near", "far"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ProtocolError(f"regions.{name} is a finite number of at least 0; found {value}.")
