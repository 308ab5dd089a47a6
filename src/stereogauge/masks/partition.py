"""Regions that divide the known pixels into disjoint parts, and the check that they do."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from stereogauge.errors import ProtocolError
from stereogauge.masks.declaration import region
from stereogauge.masks.discontinuities import near_discontinuities
from stereogauge.masks.evaluated_scene import EvaluatedScene
from stereogauge.model import Mask

PARTITION = ("boundary", "interior", "occluded")


@region(
    id="boundary",
    name="Boundary",
    definition=r"\{x \text{ visible} : \text{a jump or an occluded pixel lies near } x\}",
    source="Cabezas & Trujillo 2013",
    version=2,
)
def boundary(evaluated: EvaluatedScene) -> Mask:
    """Visible pixels near depth discontinuities or near occluded regions."""
    return near_discontinuities(evaluated, with_occlusions=True) & evaluated.visible


@region(
    id="interior",
    name="Interior",
    definition=r"\mathrm{nonocc} \setminus \mathrm{boundary}",
    source="Cabezas & Trujillo 2013",
    version=2,
)
def interior(evaluated: EvaluatedScene) -> Mask:
    """Visible pixels that are not boundary."""
    return evaluated.visible & ~evaluated.mask("boundary")


def check_partition(masks: Mapping[str, Mask], whole: Mask, scene: str = "") -> None:
    """Raise unless the masks are pairwise disjoint and together are `whole`."""
    where = f" on scene {scene!r}" if scene else ""
    for first, second in combinations(masks, 2):
        overlap = int(np.count_nonzero(masks[first] & masks[second]))
        if overlap:
            raise ProtocolError(
                f"Regions {first!r} and {second!r} overlap in {overlap} pixels{where} and are not a partition; "
                f"use {', '.join(PARTITION)}, or do not add their counts up."
            )
    union = np.logical_or.reduce(list(masks.values()))
    missed = int(np.count_nonzero(whole & ~union))
    if missed:
        raise ProtocolError(
            f"Regions {', '.join(masks)} leave out {missed} known pixels{where} and are not a partition."
        )
