"""What the HCI Stereo Metrics share: values on pixel sets of their own, and why a set gave no score.

A set is a sorted array of flat pixel positions (row · width + column). Shares are of the pixels that have an estimate:
a hole is neither right nor wrong, and is reported as missing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.masks.declaration import HCI as HCI
from stereogauge.masks.geometry.sets import Positions, Values
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import DisparityMap

VARIANT = f"after {HCI}"
GUARD = 1e-6


def closer_to_beyond(estimate: DisparityMap, truth: DisparityMap, pixels: Positions, beyond: Values) -> Values:
    """1 where |E − D| > |E − beyond|, 0 where not, NaN where the estimate is missing."""
    found, known = (values.take(pixels).astype(np.float64) for values in (estimate, truth))
    verdict = (np.abs(found - known) > np.abs(found - beyond)).astype(np.float32)
    verdict[np.isnan(found)] = np.nan
    return verdict


def is_above(values: Values, threshold: float) -> NDArray[np.float64]:
    """1 where the magnitude exceeds the threshold, 0 where not, NaN where it was not measured.

    Equality is good in spite of rounding.
    """
    return np.where(np.isnan(values), np.nan, np.abs(values) > np.float64(threshold + GUARD))


def nothing_measured(m: Measurement, size: int, what: str, estimated: str, looked_for: str) -> str:
    """Why a set of `size` pixels gave no score.

    The ground truth is too sparse, the scene has no such pixel, or the estimate has none there. Where the scene has
    none, `looked_for` names the threshold that nothing passed, and the note the scene's size s that scales it.
    """
    if size:
        return f"no estimate {estimated}"
    return m.regions.geometry.refusal or f"no {what} found: {looked_for} (s = {m.scene.resolution:.3g})"
