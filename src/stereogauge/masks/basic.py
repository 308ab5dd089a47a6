"""All pixels, those that both cameras see, and the others."""

from __future__ import annotations

import numpy as np

from stereogauge.masks.declaration import region
from stereogauge.masks.evaluated_scene import EvaluatedScene
from stereogauge.model import Mask


@region(
    id="all",
    name="All known pixels",
    definition=r"I = \{x : D(x) \text{ is known}\}",
    source="Scharstein & Szeliski 2002",
)
def all_(evaluated: EvaluatedScene) -> Mask:
    """Every pixel with known ground truth inside the border; every pixel inside it where the scene has no ground
    truth.

    A scene's own mask of this name narrows it, and with it every other region.
    """
    return np.ones(evaluated.scene.shape, np.bool_)


@region(
    id="nonocc",
    name="Not occluded",
    definition=r"\{x \in I : x \text{ is visible in both views}\}",
    source="Scharstein & Szeliski 2002",
)
def nonocc(evaluated: EvaluatedScene) -> Mask:
    """Pixels that both cameras see, by the rule of the protocol."""
    return evaluated.visible


@region(
    id="occluded",
    name="Occluded",
    definition=r"I \setminus \mathrm{nonocc}",
    source="Cabezas, Padilla & Trujillo 2011",
    version=2,
)
def occluded(evaluated: EvaluatedScene) -> Mask:
    """Pixels with known ground truth that the right camera does not see."""
    return ~evaluated.visible
