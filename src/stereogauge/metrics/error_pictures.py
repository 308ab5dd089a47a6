"""Per-pixel errors as pictures, shared by the metrics of single pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture

GOOD, BAD = "#0072b2", "#e69f00"
WIDTH = 741  # px: the image width at which errors are clipped at 5 px


def absolute_error(m: Measurement) -> NDArray[np.float32]:
    """|e| in float32, NaN where either map is unknown."""
    error: NDArray[np.float32] = np.abs(m.estimate - m.gt)
    return error


def missing_estimates(m: Measurement) -> NDArray[np.bool_]:
    """Known pixels without an estimate."""
    return m.regions.known & np.isnan(m.estimate)


def clip_limit(m: Measurement) -> float:
    """Where error pictures are clipped: 5 px at 741 px width, growing with it."""
    return max(2.0, float(np.round(5.0 * m.gt.shape[1] / WIDTH, 1)))


def heat_picture(m: Measurement, title: str, values: NDArray[Any], unit: str, limit: float) -> Picture:
    """A size of error as heat from 0 to `limit`."""
    return Picture(
        title=title,
        values=values,
        kind="sequential",
        unit=unit,
        limits=(0.0, limit),
        unknown=~m.regions.known,
        missing=missing_estimates(m),
    )


def signed_picture(m: Measurement, title: str, values: NDArray[Any], unit: str, limit: float) -> Picture:
    """A signed error around 0, from −`limit` to `limit`."""
    return Picture(
        title=title,
        values=values,
        kind="diverging",
        unit=unit,
        limits=(-limit, limit),
        unknown=~m.regions.known,
        missing=missing_estimates(m),
    )


def two_class_picture(m: Measurement, title: str, bad: NDArray[np.bool_], good_text: str, bad_text: str) -> Picture:
    """Good and bad pixels in blue and orange; missing estimates count as bad."""
    missing = missing_estimates(m)
    return Picture(
        title=title,
        values=(bad | missing).astype(np.uint8),
        kind="labels",
        legend={0: (good_text, GOOD), 1: (bad_text, BAD)},
        unknown=~m.regions.known,
        missing=missing,
    )
