"""Sweeps of semi-global matching over an image: path costs in rolling rows, their sums in one volume.

A sweep visits rows from the top (or, reversed in both axes, from the bottom) and carries up to four paths: along the
row, from the previous row, and from its two diagonal neighbours. Two opposite sweeps make 4 or 8 paths. Each path
keeps one slot a column and updates it in place; diagonal paths are addressed by (column ∓ row) mod width, which stays
constant along a diagonal. Matching costs of a row are computed afresh in each sweep from the two rows of census
codes, which is cheaper than storing them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import kernel
from stereogauge.kernels.sgm_plain import LANES, aggregate_plain, hamming_plain
from stereogauge.kernels.sgm_vector import CODE_LANES, aggregate_vector, hamming_vector

ZERO_SLOT = 2
FIRST_SLOT = 3


class Pair(NamedTuple):
    """What a sweep reads.

    `left` are census codes (H, W); `right` those of the right view with columns reversed, followed by at least ndisp
    arbitrary ones, so that codes over growing disparity are contiguous. `outside` is the cost of a disparity that
    leaves the right image. `guide` is the left image in 8 bits, `large_penalties[|Δ guide|]` is P2; `adapted` says
    whether that table is more than a constant.
    """

    left: NDArray[np.uint64]
    right: NDArray[np.uint64]
    ndisp: int
    outside: Any
    guide: NDArray[np.uint8]
    small_penalty: Any
    large_penalties: NDArray[Any]
    adapted: bool
    vectorised: bool


class Rolling(NamedTuple):
    """The state of a sweep: slots of path costs, the smallest cost in each slot, and costs and penalties (paths, W)
    of the current row.

    Slots 0 and 1 belong to the path along the row, slot 2 holds zeros (the costs before a path begins), then come the
    slots of the other paths, one a column and path.
    """

    paths: NDArray[Any]
    minima: NDArray[Any]
    costs: NDArray[Any]
    penalties: NDArray[Any]


@kernel
def cost_row(
    left: NDArray[np.uint64],
    right: NDArray[np.uint64],
    ndisp: int,
    outside: Any,
    padded: int,
    costs: NDArray[Any],
    vectorised: bool,
) -> None:
    """Hamming costs of a row: costs[x·padded + d] for d < ndisp; the rest of each pixel is left as it is."""
    width = left.size
    whole = ndisp // CODE_LANES * CODE_LANES if vectorised else 0
    for x in range(width):
        at = x * padded
        if vectorised:
            hamming_vector(left[x], right, width - 1 - x, costs, at, ndisp)
        hamming_plain(left[x], right, width - 1 - x + whole, costs, at + whole, ndisp - whole)
    for x in range(min(width, ndisp)):
        costs[x * padded + x + 1 : x * padded + ndisp] = outside


@kernel
def _penalty_row(guide: NDArray[np.uint8], table: NDArray[Any], y: int, sign: int, penalties: NDArray[Any]) -> None:
    """P2 between each pixel of row y and the one before it on each path; where a path begins, P2 has no effect."""
    height, width = guide.shape
    for path in range(penalties.shape[0]):
        previous_y = y if path == 0 else y - sign
        shift = (-sign, 0, -sign, sign)[path]
        for x in range(width):
            previous_x = x + shift
            if 0 <= previous_y < height and 0 <= previous_x < width:
                difference = np.int64(guide[y, x]) - np.int64(guide[previous_y, previous_x])
                penalties[path, x] = table[abs(difference)]


@kernel
def _row_four(
    costs: NDArray[Any],
    paths: NDArray[Any],
    minima: NDArray[Any],
    small: Any,
    large: NDArray[Any],
    sums: NDArray[np.uint16],
    sums_at: int,
    padded: int,
    mode: int,
    row: int,
    downward: bool,
    vectorised: bool,
) -> None:
    """One row of the paths along it, from above and from both diagonals; `row` counts in the sweep's direction."""
    width = large.shape[1]
    size = padded + LANES
    along = ZERO_SLOT
    west = (-row) % width
    east = row % width
    for column in range(width):
        x = column if downward else width - 1 - column
        here = column & 1
        above_slot = FIRST_SLOT + column
        west_slot = FIRST_SLOT + width + west
        east_slot = FIRST_SLOT + 2 * width + east
        from_above = ZERO_SLOT if row == 0 else above_slot
        from_west = ZERO_SLOT if row == 0 or column == 0 else west_slot
        from_east = ZERO_SLOT if row == 0 or column == width - 1 else east_slot
        sources = (along, from_above, from_west, from_east)
        targets = (here, above_slot, west_slot, east_slot)
        jump = (large[0, x], large[1, x], large[2, x], large[3, x])
        at = x * padded
        there = sums_at + at
        if vectorised:
            aggregate_vector(costs, at, paths, minima, size, sources, targets, small, jump, sums, there, padded, mode)
        else:
            aggregate_plain(costs, at, paths, minima, size, sources, targets, small, jump, sums, there, padded, mode)
        along = here
        west = 0 if west == width - 1 else west + 1
        east = 0 if east == width - 1 else east + 1


@kernel
def _row_two(
    costs: NDArray[Any],
    paths: NDArray[Any],
    minima: NDArray[Any],
    small: Any,
    large: NDArray[Any],
    sums: NDArray[np.uint16],
    sums_at: int,
    padded: int,
    mode: int,
    row: int,
    downward: bool,
    vectorised: bool,
) -> None:
    """One row of the paths along it and from above."""
    width = large.shape[1]
    size = padded + LANES
    along = ZERO_SLOT
    for column in range(width):
        x = column if downward else width - 1 - column
        here = column & 1
        above_slot = FIRST_SLOT + column
        sources = (along, ZERO_SLOT if row == 0 else above_slot)
        targets = (here, above_slot)
        jump = (large[0, x], large[1, x])
        at = x * padded
        there = sums_at + at
        if vectorised:
            aggregate_vector(costs, at, paths, minima, size, sources, targets, small, jump, sums, there, padded, mode)
        else:
            aggregate_plain(costs, at, paths, minima, size, sources, targets, small, jump, sums, there, padded, mode)
        along = here


@kernel
def _row_one(
    costs: NDArray[Any],
    paths: NDArray[Any],
    minima: NDArray[Any],
    small: Any,
    large: NDArray[Any],
    sums: NDArray[np.uint16],
    sums_at: int,
    padded: int,
    mode: int,
    row: int,
    downward: bool,
    vectorised: bool,
) -> None:
    """One row of the path along it."""
    width = large.shape[1]
    size = padded + LANES
    along = ZERO_SLOT
    for column in range(width):
        x = column if downward else width - 1 - column
        here = column & 1
        at = x * padded
        there = sums_at + at
        jump = (large[0, x],)
        if vectorised:
            aggregate_vector(costs, at, paths, minima, size, (along,), (here,), small, jump, sums, there, padded, mode)
        else:
            aggregate_plain(costs, at, paths, minima, size, (along,), (here,), small, jump, sums, there, padded, mode)
        along = here


@kernel
def sweep_four(
    pair: Any, rolling: Any, sums: NDArray[np.uint16], first_row: int, downward: bool, start: int, stop: int, mode: int
) -> None:
    """Rows start…stop, counted in the sweep's direction, of the paths along the row, vertical and both diagonal.

    `sums` is flat, (rows, width, padded disparities), and begins with image row `first_row`.
    """
    height, width = pair.left.shape
    padded = rolling.costs.size // width
    paths, minima, costs, large = rolling.paths, rolling.minima, rolling.costs, rolling.penalties
    small, vectorised = pair.small_penalty, pair.vectorised
    for row in range(start, stop):
        y = row if downward else height - 1 - row
        cost_row(pair.left[y], pair.right[y], pair.ndisp, pair.outside, padded, costs, vectorised)
        if pair.adapted:
            _penalty_row(pair.guide, pair.large_penalties, y, 1 if downward else -1, large)
        sums_at = (y - first_row) * width * padded
        _row_four(costs, paths, minima, small, large, sums, sums_at, padded, mode, row, downward, vectorised)


@kernel
def sweep_two(
    pair: Any, rolling: Any, sums: NDArray[np.uint16], first_row: int, downward: bool, start: int, stop: int, mode: int
) -> None:
    """As `sweep_four`, for the paths along the row and vertical only."""
    height, width = pair.left.shape
    padded = rolling.costs.size // width
    paths, minima, costs, large = rolling.paths, rolling.minima, rolling.costs, rolling.penalties
    small, vectorised = pair.small_penalty, pair.vectorised
    for row in range(start, stop):
        y = row if downward else height - 1 - row
        cost_row(pair.left[y], pair.right[y], pair.ndisp, pair.outside, padded, costs, vectorised)
        if pair.adapted:
            _penalty_row(pair.guide, pair.large_penalties, y, 1 if downward else -1, large)
        sums_at = (y - first_row) * width * padded
        _row_two(costs, paths, minima, small, large, sums, sums_at, padded, mode, row, downward, vectorised)


@kernel
def sweep_one(
    pair: Any, rolling: Any, sums: NDArray[np.uint16], first_row: int, downward: bool, start: int, stop: int, mode: int
) -> None:
    """As `sweep_four`, for the path along the row only."""
    height, width = pair.left.shape
    padded = rolling.costs.size // width
    paths, minima, costs, large = rolling.paths, rolling.minima, rolling.costs, rolling.penalties
    small, vectorised = pair.small_penalty, pair.vectorised
    for row in range(start, stop):
        y = row if downward else height - 1 - row
        cost_row(pair.left[y], pair.right[y], pair.ndisp, pair.outside, padded, costs, vectorised)
        if pair.adapted:
            _penalty_row(pair.guide, pair.large_penalties, y, 1 if downward else -1, large)
        sums_at = (y - first_row) * width * padded
        _row_one(costs, paths, minima, small, large, sums, sums_at, padded, mode, row, downward, vectorised)
