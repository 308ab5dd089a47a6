"""Sweeps of semi-global matching over an image: path costs in rolling rows, their sums in one volume.

A sweep visits rows from the top (or, reversed in both axes, from the bottom) and carries up to four paths: along the
row, from the previous row, and from its two diagonal neighbours. Two opposite sweeps make 4, 5 or 8 paths. The path
along the row keeps one slot, the others one a column, and they are updated in place; diagonal paths are addressed by
(column ∓ row) mod width, which stays constant along a diagonal. Matching costs are computed afresh in each sweep from
the census codes, which is cheaper than storing them. The sweep that completes a row's sums also finds its winners,
while the sums are in registers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import helper, kernel
from stereogauge.kernels.sgm_plain import DECIDE, DECIDE_BOTH, LANES, MINIMUM, NO_COST, row_plain
from stereogauge.kernels.sgm_vector import publish, row_vector
from stereogauge.kernels.vectors import align_stack
from stereogauge.kernels.winner import left_row, right_row


class Pair(NamedTuple):
    """What a sweep reads.

    `left` and `right` are the bytes of the census codes, one flat array for each byte: `left` (H, W), `right` (H, W +
    padded disparities) with columns reversed, so that codes over growing disparity are contiguous. `outside` is 0 for
    columns of the reversed right row, and the cost of leaving the image after them; `unused` is 0 for disparities in
    the range, a sentinel after them. `guide` is the left image in 8 bits, `large_penalties[|Δ guide|]` is P2;
    `adapted` says whether that table is more than a constant.
    """

    left: tuple[NDArray[np.uint8], ...]
    right: tuple[NDArray[np.uint8], ...]
    outside: NDArray[np.uint8]
    unused: NDArray[Any]
    ndisp: int
    guide: NDArray[np.uint8]
    small_penalty: Any
    large_penalties: NDArray[Any]
    adapted: bool


class Rolling(NamedTuple):
    """The state of a sweep: the slots of each path, all zero before a path begins.

    The path along the row has one slot, the others one a column. The rest is room for one row: P2 (4, W), costs of a
    pixel, and the winners found so far.
    """

    paths: tuple[NDArray[Any], ...]
    penalties: NDArray[Any]
    costs: NDArray[Any]
    left_keys: NDArray[np.uint32]
    right_costs: NDArray[np.uint16]
    right_disparities: NDArray[np.uint16]


@helper
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


@helper
def _begin_paths(paths: Any, ndisp: int, padded: int, west: int, east: int) -> None:
    """Zero where a path begins in a row: along the row, and where a diagonal one enters the image from the side."""
    slots = (0, 0, west, east)
    for i in range(len(paths)):
        if i != 1:
            at = LANES + slots[i] * (padded + LANES)
            paths[i][at - MINIMUM] = 0
            paths[i][at : at + ndisp] = 0


@helper
def _row(
    pair: Any,
    rolling: Any,
    sums: NDArray[np.uint16],
    sums_at: int,
    row: int,
    y: int,
    downward: bool,
    mode: int,
    plain: bool | None,
) -> None:
    """One row; `row` counts in the sweep's direction, `y` from the top."""
    align_stack()
    width = rolling.left_keys.size
    padded = rolling.costs.size
    west, east = (-row) % width, row % width
    _begin_paths(rolling.paths, pair.ndisp, padded, west, (row - 1) % width)
    if plain is None:
        row_vector(pair, rolling, sums, sums_at, y, west, east, downward, width, padded, mode)
    else:
        row_plain(pair, rolling, sums, sums_at, y, west, east, downward, width, padded, mode)


@kernel
def sweep(
    pair: Any,
    rolling: Any,
    sums: NDArray[np.uint16],
    first_row: int,
    downward: bool,
    start: int,
    stop: int,
    mode: int,
    method: int,
    left: Any,
    right: Any,
    plain: bool | None,
) -> None:
    """Rows start…stop, counted in the sweep's direction, of as many paths as `rolling` has.

    `sums` is flat, (rows, width, padded disparities), begins with image row `first_row` and at an address divisible
    by 64. `left` and `right` are the `View`s that winners go to, if `mode` asks for them. `plain` is None for explicit
    vectors: what is None decides at compile time, so that only one form of the inner step is compiled.
    """
    align_stack()
    height, width = pair.guide.shape
    padded = rolling.costs.size
    for row in range(start, stop):
        y = row if downward else height - 1 - row
        if pair.adapted:
            _penalty_row(pair.guide, pair.large_penalties, y, 1 if downward else -1, rolling.penalties)
        if mode == DECIDE_BOTH:
            for place in range(rolling.right_costs.size):
                rolling.right_costs[place] = NO_COST
        sums_at = (y - first_row) * width * padded
        _row(pair, rolling, sums, sums_at, row, y, downward, mode, plain)
        if mode in (DECIDE, DECIDE_BOTH):
            left_row(sums, sums_at, padded, pair.ndisp, method, rolling.left_keys, left, y)
        if mode == DECIDE_BOTH:
            right_row(
                sums, sums_at, padded, pair.ndisp, method, rolling.right_costs, rolling.right_disparities, right, y
            )
    publish()
