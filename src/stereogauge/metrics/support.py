"""How many pixels a set needs before a score on it is evidence."""

from __future__ import annotations

from stereogauge.metrics.declaration import Metric

PIXELS_AT_FULL_SIZE = 200
FEWEST_PIXELS = 30
FEWEST_STRUCTURES = 3


def least_support(metric: Metric, size: float) -> float:
    """The number of pixels that a set needs: 200·s², at least 30, in a scene of size s relative to full resolution.

    3 for a metric that counts structures, 0 for one that counts runs. Metrics measure smaller sets too; the limit is
    applied where orders are made.

    >>> from stereogauge.metrics.declaration import metrics
    >>> least_support(metrics()["rms"], 0.5), least_support(metrics()["f-frag"], 0.5)
    (50.0, 3)
    """
    if metric.counts != "pixels":
        return FEWEST_STRUCTURES if metric.counts == "structures" else 0
    return max(PIXELS_AT_FULL_SIZE * size**2, FEWEST_PIXELS)
