"""Sweeps of semi-global matching over an image: path costs in rolling rows, their sums in one volume.

A sweep visits rows from the top (or, reversed in both axes, from the bottom) and carries up to four paths: along the
row, from the previous row, and from its two diagonal neighbours. Two opposite sweeps make 4, 5 or 8 paths. Each path
keeps one slot a column and updates it in place; diagonal paths are addressed by (column ∓ row) mod width, which stays
constant along a diagonal. Matching costs are computed afresh in each sweep from the census codes, which is cheaper
than storing them. The sweep that completes a row's sums also finds its winners, while the sums are in registers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import helper, kernel
from stereogauge.kernels.sgm_plain import DECIDE, DECIDE_BOTH, NO_COST, pixel_plain
from stereogauge.kernels.sgm_vector import pixel_vector, publish
from stereogauge.kernels.vectors import align_stack
from stereogauge.kernels.winner import left_row, right_row

BEGIN = 0


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
    """The state of a sweep: for each path its slots and the smallest cost in each of them.

    Slot 0 holds zeros, the costs before a path begins. The path along the row has two more, the others one a column.
    The rest is room for one row: P2 (4, W), costs of a pixel, and the winners found so far.
    """

    paths: tuple[NDArray[Any], ...]
    minima: tuple[NDArray[Any], ...]
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
    large = rolling.penalties
    # Columns that come from the right reach a right pixel's smaller disparities last.
    later = np.uint16(0 if downward else 1)
    along = BEGIN
    west = (-row) % width
    east = row % width
    for column in range(width):
        x = column if downward else width - 1 - column
        targets = (1 + (column & 1), 1 + column, 1 + west, 1 + east)
        sources = (
            along,
            BEGIN if row == 0 else targets[1],
            BEGIN if row == 0 or column == 0 else targets[2],
            BEGIN if row == 0 or column == width - 1 else targets[3],
        )
        jumps = (large[0, x], large[1, x], large[2, x], large[3, x])
        pixel = y * width + x
        there = width - 1 - x
        right_at = y * (width + padded) + there
        at = sums_at + x * padded
        if plain is None:
            key = pixel_vector(
                pair, rolling, pixel, right_at, there, sources, targets, jumps, sums, at, later, padded, mode
            )
        else:
            key = pixel_plain(pair, rolling, pixel, right_at, there, sources, targets, jumps, sums, at, later, mode)
        rolling.left_keys[x] = key
        along = targets[0]
        west = 0 if west == width - 1 else west + 1
        east = 0 if east == width - 1 else east + 1


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
