"""The region that every other one is a part of."""

from __future__ import annotations

import numpy as np

from stereogauge.model import Mask
from stereogauge.regions.declaration import region
from stereogauge.regions.scene_regions import SceneRegions


@region(
    id="all",
    name="All known pixels",
    definition=r"I = \{x : D(x) \text{ is known}\}",
    source="Scharstein & Szeliski 2002",
)
def all_(scene_regions: SceneRegions) -> Mask:
    """Every pixel with known ground truth inside the border; every pixel inside it where the scene has no ground
    truth.

    A scene's own mask of this name narrows it, and with it every other region.
    """
    return np.ones(scene_regions.scene.shape, np.bool_)
