"""The choices of the Sigma-Z-Error, as one frozen object that belongs to the protocol."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stereogauge.errors import ProtocolError


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
