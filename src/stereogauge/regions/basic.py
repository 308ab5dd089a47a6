"""The criterion that every other one is a part of."""

from __future__ import annotations

import numpy as np

from stereogauge.model import Mask
from stereogauge.regions.criteria import Criteria
from stereogauge.regions.declaration import region


@region(
    id="all",
    name="All known pixels",
    definition=r"I = \{x : D(x) \text{ is known}\}",
    source="Scharstein & Szeliski 2002",
)
def all_(criteria: Criteria) -> Mask:
    """Every pixel with known ground truth inside the border; every pixel inside it where the scene has no ground
    truth.

    A scene's own mask of this name narrows it, and with it every other criterion.
    """
    return np.ones(criteria.scene.shape, np.bool_)
