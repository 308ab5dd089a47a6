"""What each pixel costs: the one thing that a pixel metric computes, and how many of such values become one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.masks.geometry.sets import Positions
from stereogauge.model import Mask

Costs = NDArray[np.float64]
"""What each pixel adds to a score, as a map: 0 where it is right, NaN where the metric does not count it."""
Values = NDArray[Any]
BLOCKS_ACROSS = 24
SMALLEST_BLOCK = 8
MOST_BLOCKS = 12


class PixelCosts(Struct, frozen=True):
    """The values of all pixels, as the function of a pixel metric returns them.

    values: a map (height, width), or one value for each of `positions`. NaN where the estimate that the value needs is
    missing. positions: the flat pixel positions of the metric's own set. defined: the pixels on which the ground truth
    allows a value, None for all; `undefined` says what the others are, for the note of a score. charge: what a missing
    estimate counts where it counts, a number or an array like `values`; None leaves it to the declaration. The sum of a
    score is factor · Σ values / divisor. note: what a reader of the score must know. empty: why nothing was
    measured, with {region} for the region.
    """

    values: Values
    positions: Positions | None = None
    defined: Mask | None = None
    undefined: str = ""
    charge: float | Values | None = None
    factor: float = 1.0
    divisor: float = 1.0
    note: str = ""
    empty: str = ""

    def within(self, mask: Mask | None) -> tuple[Values, Values]:
        """Values and charges of the pixels of a mask, in the order of the image; None takes the metric's whole set."""
        chosen: Any = slice(None)
        if self.positions is None:
            assert mask is not None
            chosen = mask if self.defined is None else mask & self.defined
        elif mask is not None:
            chosen = mask.ravel()[self.positions]
        values = self.values[chosen]
        charge = 0.0 if self.charge is None else self.charge
        charges = np.broadcast_to(charge, self.values.shape)[chosen]
        return values if mask is None else values.astype(np.float64), charges

    def as_map(self, shape: tuple[int, int], charge: float | None) -> Costs:
        """The values as a map, NaN outside the set.

        A missing estimate has its own charge or else `charge`; NaN where `charge` is None.
        """
        values = self.values.astype(np.float64)
        if charge is not None:
            values = np.where(np.isnan(values), charge if self.charge is None else self.charge, values)
        values = self.factor * values / self.divisor
        if self.positions is not None:
            dense = np.full(shape, np.nan)
            dense.ravel()[self.positions] = values
            return dense
        return values if self.defined is None else np.where(self.defined, values, np.nan)


class Sums(NamedTuple):
    """The sufficient statistics of a region: `total` over its measured pixels, `size` of the metric's set, `missing`.

    `charged`: what the missing pixels add where they count; None leaves it to the declaration. `whole`: what a quantile
    would be if each missing pixel cost the most; None where that is not known.
    """

    total: float
    size: int
    missing: int
    charged: float | None = None
    note: str = ""
    empty: str = ""
    whole: float | None = None


def mean(total: float, count: int) -> float:
    """sum / count."""
    return total / count


def percent(total: float, count: int) -> float:
    """100·sum / count."""
    return 100.0 * total / count


def root_mean(total: float, count: int) -> float:
    """√(sum / count)."""
    return math.sqrt(total / count)


def plain_sum(total: float, count: int) -> float:
    """The sum itself."""
    return total


class Quantile(Struct, frozen=True):
    """A quantile of the pixels' values, exact, interpolated linearly; it does not pool over scenes."""

    share: Callable[..., float]

    def of(self, values: Values, *arguments: float, rule: str = "linear") -> float:
        """The quantile of some values for the arguments of a metric, by the protocol's rule for quantiles."""
        share = self.share(*arguments)
        if rule == "floor":  # in single precision, as ETH3D's program multiplies
            place = min(int(np.float32(values.size) * np.float32(share)), values.size - 1)
            return float(np.partition(values, place)[place])
        return float(np.median(values) if share == 0.5 else np.quantile(values, share))


def quantile(share: float | Callable[..., float]) -> Quantile:
    """The reducer of a fixed share from 0 to 1, or of one that follows from the metric's parameters."""
    return Quantile(share if callable(share) else lambda *_: share)


Reducer = Callable[[float, int], float] | Quantile
"""How values become a score: a function of their sum and number (`mean`, `percent`, `root_mean`), or a quantile."""


def emptiness(region: str, size: int) -> str:
    """Why a region of `size` pixels has nothing to average."""
    return f"no estimate in region {region!r}" if size else f"region {region!r} has no pixel"


class CostBlock(NamedTuple):
    """A square of pixels with its upper left corner and the share of all costs that lies in it."""

    x: int
    y: int
    size: int
    share: float


def worst_blocks(costs: Costs, most: int = MOST_BLOCKS) -> list[CostBlock]:
    """The blocks with most of the costs, the worst first; none where every counted pixel is right.

    Costs of both signs (of a bias) are those of the sign that prevails.

    >>> costs = np.zeros((48, 48))
    >>> costs[40:, :8] = 3.0
    >>> worst_blocks(costs)
    [CostBlock(x=0, y=40, size=8, share=1.0)]
    """
    height, width = costs.shape
    side = max(SMALLEST_BLOCK, -(-max(height, width) // BLOCKS_ACROSS))
    rows, columns = -(-height // side), -(-width // side)
    padded = np.zeros((rows * side, columns * side))
    padded[:height, :width] = np.nan_to_num(costs)
    sums = padded.reshape(rows, side, columns, side).sum(axis=(1, 3))
    sums = np.maximum(sums if sums.sum() >= 0 else -sums, 0.0)
    total = sums.sum()
    order = np.argsort(-sums, axis=None, kind="stable")[:most]
    return [
        CostBlock(int(column) * side, int(row) * side, side, float(sums[row, column] / total))
        for row, column in zip(*np.unravel_index(order, sums.shape), strict=True)
        if sums[row, column] > 0
    ]
