"""A score: one number with what it was computed from.

A score's key is (dataset, scene, algorithm, metric, region, protocol). Sums and counts are kept, so pooling over pixels
or averaging over scenes is a choice made when reading.
"""

from __future__ import annotations

from dataclasses import dataclass, field

NO_ESTIMATE = "no estimate for this scene"


@dataclass(frozen=True, slots=True)
class Score:
    """One number with its sufficient statistics; NaN with a note where nothing could be measured.

    `rule` is the occlusion rule that made the region, which the protocol's "auto" leaves open. It follows from scene
    and protocol, so it is no part of what makes two scores equal; a score from a store has "".
    """

    dataset: str
    scene: str
    algorithm: str
    metric: str
    region: str
    value: float
    sum: float
    count: int
    missing: int
    protocol: str
    note: str = ""
    rule: str = field(default="", compare=False, repr=False)
