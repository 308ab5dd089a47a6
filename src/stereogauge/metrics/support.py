"""How many pixels a set needs before a score on it is evidence."""

from __future__ import annotations

from stereogauge.metrics.declaration import Metric

PIXELS_AT_FULL_SIZE = 200
FEWEST_PIXELS = 30
FEWEST_STRUCTURES = 3


def least_support(metric: Metric, size: float) -> float:
    """200·s² pixels, at least 30, for a scene of size s relative to full resolution; 3 structures; any run."""
    if metric.counts != "pixels":
        return FEWEST_STRUCTURES if metric.counts == "structures" else 0
    return max(PIXELS_AT_FULL_SIZE * size**2, FEWEST_PIXELS)
