"""What each pixel adds to a score, as a map: 0 where it is right, NaN where the metric does not count it.

For a metric whose sums may be added, the costs of a region add up to what separates its sum from a perfect one's. They
say where a map goes wrong, and what the metric is on one object or inside a region of interest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.pixelwise import D1_PIXELS, D1_SHARE, GUARD
from stereogauge.masks.geometry.sets import Positions
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture

Costs = NDArray[np.float64]
FEW_LABELS = 5


def absolute_costs(m: Measurement, *_: Any) -> Costs:
    """|e|."""
    return np.asarray(np.abs(m.estimate - m.gt), np.float64)


def given_costs(m: Measurement, *_: Any) -> Costs:
    """|e| of the estimate as the algorithm gave it, before filling."""
    return np.asarray(np.abs(m.clipped - m.gt), np.float64)


def squared_costs(m: Measurement, *_: Any) -> Costs:
    """e²."""
    return absolute_costs(m) ** 2


def signed_costs(m: Measurement, *_: Any) -> Costs:
    """The signed error e."""
    return (m.estimate - m.gt).astype(np.float64)


def relative_costs(m: Measurement, factor: float) -> Costs:
    """factor · |e| / |D|, not counted where D = 0."""
    truth = np.abs(m.gt.astype(np.float64))
    return factor * absolute_costs(m) / np.where(truth > 0, truth, np.nan)


def missing_costs(m: Measurement, *_: Any) -> Costs:
    """1 where the algorithm gave no estimate."""
    return np.isnan(m.clipped).astype(np.float64)


def by_policy(m: Measurement, wrong: NDArray[np.bool_]) -> Costs:
    """1 where wrong or, unless the protocol leaves them out, without an estimate."""
    missing = np.isnan(m.estimate)
    if m.protocol.invalid == "exclude":
        return np.where(missing, np.nan, wrong.astype(np.float64))
    return (wrong | missing).astype(np.float64)


def above(errors: Costs, threshold: float) -> NDArray[np.bool_]:
    """Whether an error exceeds the threshold, equality being good in spite of rounding."""
    return np.asarray(errors > threshold + float(GUARD))


def outside_d1(m: Measurement, errors: Costs) -> NDArray[np.bool_]:
    """KITTI's rule: off by more than 3 px and by more than 5 % of the true disparity."""
    single = errors.astype(np.float32) - GUARD
    return np.asarray((single > D1_PIXELS) & (single * D1_SHARE > m.largest_truth))


def set_costs(
    positions: Callable[[Measurement], Positions], values: Callable[..., NDArray[Any]]
) -> Callable[..., Costs]:
    """The costs of a metric with a pixel set of its own: `values` per pixel of `positions`, NaN elsewhere."""

    def costs(m: Measurement, region: str, *arguments: float) -> Costs:
        dense = np.full(m.scene.shape, np.nan)
        dense.ravel()[positions(m)] = np.abs(values(m, *arguments))
        return dense

    return costs


def pictured_costs(picture: Picture) -> Costs:
    """Costs by a picture alone, for a metric that declares none: the error shown, a missing estimate as the worst."""
    if picture.kind == "rgb":
        return np.zeros(picture.values.shape[:2])
    values = np.nan_to_num(np.asarray(picture.values, np.float64))
    if picture.kind == "labels":
        worst, top = max(picture.legend, default=1), 1.0
        costs = values / worst if len(picture.legend) > FEW_LABELS else (values == worst).astype(np.float64)
    else:
        low, high = picture.limits or (0.0, np.inf)
        top = max(abs(low), abs(high)) if np.isfinite(high) else 1.0
        costs = np.minimum(np.abs(values), top)
    if picture.missing is not None:
        costs = np.where(picture.missing, top, costs)
    return costs if picture.unknown is None else np.where(picture.unknown, np.nan, costs)
