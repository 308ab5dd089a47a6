"""The choices of the Sigma-Z-Error, as one frozen object that belongs to the protocol."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from stereogauge.errors import ProtocolError

EITHER_UNIT = "m, 1/px"
METRES, PER_PIXEL = "m", "1/px"
MIXED_UNIT = "m on some scenes, 1/px on others"


@dataclass(frozen=True)
class SigmaZParameters:
    """How the Sigma-Z-Error is computed.

    mu keeps the depth of a vanishing disparity finite, in px. metric: use the scene's calibration where there is one,
    so that the error is in metres; otherwise f·B = 1 and the unit is 1/px. literal: a missing estimate counts as
    disparity 0 and contributes about f·B/mu, as printed in the paper; otherwise estimates that are missing or not in
    front of the cameras cost the worst depth error inside the scene's range. The invalid policy `exclude` leaves them
    out in either form.
    """

    mu: float = 1e-6
    metric: bool = True
    literal: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mu) and self.mu >= 0):
            raise ProtocolError(f"sigma_z.mu is a finite number of pixels of at least 0; found {self.mu}.")

    def unit(self, *, calibrated: bool) -> str:
        """The unit of the error on a scene with or without a calibration."""
        return METRES if self.metric and calibrated else PER_PIXEL


def common_unit(units: Collection[str]) -> str:
    """The one unit of several scenes; says so where they differ, and names both where a scene's unit is not known."""
    if not units or "" in units:
        return EITHER_UNIT
    return next(iter(units)) if len(set(units)) == 1 else MIXED_UNIT
