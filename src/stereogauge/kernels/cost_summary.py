"""The maps that one pass over aggregated costs fills for confidence measures (native/cost_summary.cpp)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.library import FLAG, INTEGER, SINGLE, Reads, Writes, aligned, native

NONE = 65535
NEGLIGIBLE = 2.0**-40
"""What a sum that holds a 1 does not notice in float32, however many disparities add as little to it."""

ENTRIES = 32
DIGIT = 5
"""Entries of a table, and the bits that number one of them."""

ROOTS, UNITS, SECOND_DIGITS, LAST_DIGIT = (ENTRIES * place for place in range(4))
"""Where the tables of `Scales` begin."""

MANTISSA_BITS = 23
MOST_LANES = 16
"""Pixels that are summarised at once where registers have 64 bytes; fewer elsewhere."""

CHUNK = 8
"""Memory is for a multiple of this many disparities."""


class CostSummary(NamedTuple):
    """Per pixel (H, W), A the aggregated costs, d₀ the winner; 65535 means "there is none".

    `minimum` A(d₀); `below`, `above` A(d₀ ∓ 1); `second` the smallest A(d) with d ≠ d₀; `second_minimum` the smallest
    A at another local minimum (a plateau is one minimum, the ends of the range may be minima); `total` Σ A(d);
    `perturbation` Σ_{d≠d₀} exp(−(A₀−A(d))²/ς²); `partition` Z = Σ exp(−(A(d)−A₀)/T); `excess` Σ p·(A(d)−A₀)/T with p
    = exp(−(A(d)−A₀)/T)/Z, so that the entropy of p is log Z + excess; `ambiguity` the mean of max(0, 1 −
    (A(d)−A₀)/ramp) over d ≤ x.
    """

    minimum: NDArray[np.uint16]
    below: NDArray[np.uint16]
    above: NDArray[np.uint16]
    second: NDArray[np.uint16]
    second_minimum: NDArray[np.uint16]
    total: NDArray[np.uint32]
    perturbation: NDArray[np.float32]
    partition: NDArray[np.float32]
    excess: NDArray[np.float32]
    ambiguity: NDArray[np.float32]

    @classmethod
    def empty(cls, height: int, width: int) -> CostSummary:
        """Maps to be filled, in two pieces of memory: for small ones the system prepares page after page."""
        long = np.empty((5, height, width), np.uint32)
        short = np.empty((5, height, width), np.uint16)
        return cls(short[0], short[1], short[2], short[3], short[4], long[0], *long[1:].view(np.float32))


class Scales(NamedTuple):
    """What turns a cost difference q = A(d) − A₀ into evidence.

    exp(−q²/ς²) = 2^−(q·`sigma_scale`)², negligible from q = `far` on, and exp(−q/T) = 2^−(q·`temperature_scale`);
    `far_close` and `far_weight` are theirs at q = 65535. `ramp` is the difference from which a disparity is no rival
    any more. `tables`, for processors that look exponentials up: those of `lookup_tables`.
    """

    sigma_scale: np.float32
    temperature_scale: np.float32
    far: int
    far_close: np.float32
    far_weight: np.float32
    temperature: np.float32
    ramp: int
    tables: NDArray[np.float32]

    @classmethod
    def of(cls, sigma: float, temperature: float, ramp: float) -> Scales:
        """Those for ς and T."""
        return cls(
            sigma_scale=np.float32(math.sqrt(1 / math.log(2)) / sigma),
            temperature_scale=np.float32(1 / (math.log(2) * temperature)),
            far=min(NONE, math.ceil(math.sqrt(-math.log(NEGLIGIBLE)) * sigma)),
            far_close=np.float32(math.exp(-((NONE / sigma) ** 2))),
            far_weight=np.float32(math.exp(-NONE / temperature)),
            temperature=np.float32(temperature),
            ramp=round(ramp),
            tables=lookup_tables(temperature),
        )


def lookup_tables(temperature: float) -> NDArray[np.float32]:
    """2^(j/32), exp(−j/T), exp(−32·j/T) for j = 0 … 31, and exp(−1024/T).

    The bits of 2^(j/32) are less by j steps of 1/32 of the exponent: the sum of
    them and all steps of an exponent n + j/32, its digit j included, is 2^(n + j/32).
    """
    entries = np.arange(ENTRIES, dtype=np.int32)
    roots = np.exp2(entries / ENTRIES).astype(np.float32).view(np.int32) - (entries << (MANTISSA_BITS - DIGIT))
    differences = np.concatenate([entries, ENTRIES * entries, [ENTRIES**2]])
    weights = np.exp(-differences / temperature).astype(np.float32)
    return np.concatenate([roots.view(np.float32), weights])


_map = ("height", "width")
_cost_summary = native(
    "cost_summary",
    returns=FLAG,
    sums=Reads(np.uint16, "size"),
    winners=Reads(np.uint16, *_map),
    tables=Reads(np.float32, LAST_DIGIT + 1),
    minimum=Writes(np.uint16, *_map),
    below=Writes(np.uint16, *_map),
    above=Writes(np.uint16, *_map),
    second=Writes(np.uint16, *_map),
    second_minimum=Writes(np.uint16, *_map),
    total=Writes(np.uint32, *_map),
    perturbation=Writes(np.float32, *_map),
    partition=Writes(np.float32, *_map),
    excess=Writes(np.float32, *_map),
    ambiguity=Writes(np.float32, *_map),
    room=Writes(np.uint16, "rounded // 2 + 2", 2 * MOST_LANES, align=64),
    near=Writes(np.uint16, "rounded"),
    lowest=Writes(np.uint16, "columns"),
    chosen=Writes(np.uint16, "columns"),
    copied=Writes(np.uint16, "copied_size"),
    sigma=SINGLE,
    cold=SINGLE,
    far_close=SINGLE,
    far_weight=SINGLE,
    temperature=SINGLE,
    far=INTEGER,
    ramp=INTEGER,
    padded=INTEGER,
    ndisp=INTEGER,
    first_row=INTEGER,
    start=INTEGER,
    stop=INTEGER,
    refusal="a winner of these costs is not among their {ndisp} disparities.",
)


class RowSummary:
    """Fills image rows of a `CostSummary`; not from several threads at once, since they would share memory.

    `sums` is flat (rows, W, padded); its last pixel may end after `ndisp` costs. The arrays are checked once.
    """

    def __init__(
        self,
        sums: NDArray[np.uint16],
        padded: int,
        ndisp: int,
        winners: NDArray[np.uint16],
        scales: Scales,
        summary: CostSummary,
    ) -> None:
        self._shape, self._size, self._ranges = winners.shape, sums.size, (padded, ndisp)
        columns, rounded = -(-winners.shape[1] // MOST_LANES) * MOST_LANES, -(-ndisp // CHUNK) * CHUNK
        vectors = rounded // 2 + 2
        self._call = _cost_summary.bind(
            *(sums, winners, scales.tables, *summary),
            aligned(vectors * 2 * MOST_LANES, np.uint16).reshape(vectors, 2 * MOST_LANES),
            *(np.empty(count, np.uint16) for count in (rounded, columns, columns, columns * padded + rounded)),
        )
        self._numbers = (
            *(scales.sigma_scale, scales.temperature_scale, scales.far_close, scales.far_weight, scales.temperature),
            *(scales.far, scales.ramp, padded, ndisp),
        )

    def fill(self, start: int, stop: int, first_row: int = 0) -> None:
        """Image rows start … stop − 1; the costs begin with image row `first_row`."""
        (height, width), (padded, ndisp) = self._shape, self._ranges
        end = (stop - first_row) * width * padded - (padded - ndisp)
        if not (first_row <= start <= stop <= height and start >= 0 and 1 <= ndisp <= padded) or (
            stop > start and end > self._size
        ):
            raise ValueError(
                f"The rows {start} to {stop} of {height} x {width} pixels with {ndisp} of {padded} disparities are not "
                f"within {self._size} costs from row {first_row} on."
            )
        self._call(*self._numbers, first_row, start, stop)


def flat_costs(costs: NDArray[np.uint16]) -> tuple[NDArray[np.uint16], int]:
    """The volume as one row of numbers and the distance between its pixels, without a copy where its layout allows."""
    height, width, ndisp = costs.shape
    item = costs.itemsize
    padded = costs.strides[1] // item
    if costs.dtype != np.uint16 or costs.strides != (width * padded * item, padded * item, item) or padded < ndisp:
        return np.ascontiguousarray(costs, np.uint16).reshape(-1), ndisp
    size = height * width * padded - (padded - ndisp)
    return np.lib.stride_tricks.as_strided(costs, shape=(size,), strides=(item,), writeable=False), padded
