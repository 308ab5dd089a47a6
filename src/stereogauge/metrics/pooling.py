"""How sums and counts become values, and what an empty region says."""

from __future__ import annotations

import math

from stereogauge.metrics.declaration import Statistic
from stereogauge.metrics.statistics import RegionStatistics


def percent(total: float, count: int) -> float:
    """100·sum / count."""
    return 100.0 * total / count


def mean(total: float, count: int) -> float:
    """sum / count."""
    return total / count


def root_mean(total: float, count: int) -> float:
    """√(sum / count)."""
    return math.sqrt(total / count)


def plain_sum(total: float, count: int) -> float:
    """The sum itself."""
    return total


def emptiness(region: str, size: int) -> str:
    """Why a region of `size` pixels has nothing to average."""
    return f"no estimate in region {region!r}" if size else f"region {region!r} has no pixel"


def over_estimated(pixels: RegionStatistics, region: str, total: float) -> Statistic:
    """A sum over the estimated pixels V of a region."""
    if pixels.valid == 0:
        return Statistic.empty(emptiness(region, pixels.size), pixels.missing)
    return Statistic(total, pixels.valid, pixels.missing)


def over_all(pixels: RegionStatistics, region: str, total: float) -> Statistic:
    """A sum over all pixels R of a region."""
    if pixels.size == 0:
        return Statistic.empty(emptiness(region, 0))
    return Statistic(total, pixels.size, pixels.missing)
