"""Winner-takes-all on aggregated costs, for both views in one pass, with sub-pixel refinement."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import kernel
from stereogauge.kernels.sgm_plain import winner_plain
from stereogauge.kernels.sgm_vector import winner_vector

WHOLE, PARABOLA, V_FIT = 0, 1, 2
NO_KEY = 0xFFFFFFFF


class View(NamedTuple):
    """The winners of one view (H, W): whole disparity, refined disparity, and the winner's aggregated cost."""

    winners: NDArray[np.uint16]
    disparity: NDArray[np.float32]
    minimum: NDArray[np.uint16]

    @classmethod
    def empty(cls, height: int, width: int) -> View:
        """Maps to be filled."""
        shape = (height, width)
        return cls(np.empty(shape, np.uint16), np.empty(shape, np.float32), np.empty(shape, np.uint16))

    def mirrored(self) -> View:
        """The same maps with columns reversed."""
        return View(
            np.ascontiguousarray(self.winners[:, ::-1]),
            np.ascontiguousarray(self.disparity[:, ::-1]),
            np.ascontiguousarray(self.minimum[:, ::-1]),
        )


@kernel
def refine(below: int, lowest: int, above: int, method: int) -> np.float32:
    """The offset of the minimum from the winner, in [−½, ½]; 0 where the three costs do not bend.

    Parabola through the three costs: (A₋ − A₊) / (2 (A₋ − 2A₀ + A₊)). V-fit, two lines of opposite slope: (A₋ − A₊) /
    (2 (max(A₋, A₊) − A₀)).
    """
    if method == PARABOLA:
        bend = below - 2 * lowest + above
    elif method == V_FIT:
        bend = max(below, above) - lowest
    else:
        bend = 0
    return np.float32(below - above) / np.float32(2 * bend) if bend > 0 else np.float32(0)


@kernel
def _left_row(
    sums: NDArray[np.uint16],
    row_at: int,
    padded: int,
    ndisp: int,
    method: int,
    winners: NDArray[np.uint16],
    disparity: NDArray[np.float32],
    minimum: NDArray[np.uint16],
    keys: NDArray[np.uint32],
    both: bool,
    vectorised: bool,
) -> None:
    """For each left pixel the disparity of lowest A(x, d).

    With `both`, keys of the right pixels are gathered on the way.

    Columns are visited in four interleaved quarters: neighbours would wait for each other's stores.
    """
    width = winners.size
    quarter = (width + 3) // 4
    for i in range(quarter):
        for j in range(4):
            x = i + j * quarter
            if x >= width:
                continue
            at = row_at + x * padded
            if vectorised:
                key = winner_vector(sums, at, keys, width - 1 - x, padded, both)
            else:
                key = winner_plain(sums, at, keys, width - 1 - x, padded, both)
            d = np.int64(key & np.uint32(0xFFFF))
            lowest = np.int64(key >> np.uint32(16))
            offset = np.float32(0)
            if 0 < d < ndisp - 1:
                offset = refine(np.int64(sums[at + d - 1]), lowest, np.int64(sums[at + d + 1]), method)
            winners[x] = d
            minimum[x] = lowest
            disparity[x] = np.float32(d) + offset


@kernel
def _right_row(
    sums: NDArray[np.uint16],
    row_at: int,
    padded: int,
    ndisp: int,
    method: int,
    winners: NDArray[np.uint16],
    disparity: NDArray[np.float32],
    minimum: NDArray[np.uint16],
    keys: NDArray[np.uint32],
) -> None:
    """For each right pixel the disparity of lowest A(x + d, d), from the keys that the left row has gathered."""
    width = winners.size
    for x in range(width):
        key = keys[width - 1 - x]
        d = np.int64(key & np.uint32(0xFFFF))
        lowest = np.int64(key >> np.uint32(16))
        offset = np.float32(0)
        if 0 < d < ndisp - 1 and x + d + 1 < width:
            at = row_at + (x + d) * padded + d
            offset = refine(np.int64(sums[at - padded - 1]), lowest, np.int64(sums[at + padded + 1]), method)
        winners[x] = d
        minimum[x] = lowest
        disparity[x] = np.float32(d) + offset


@kernel
def winner_rows(
    sums: NDArray[np.uint16],
    first_row: int,
    padded: int,
    ndisp: int,
    method: int,
    left: Any,
    right: Any,
    both: bool,
    vectorised: bool,
    start: int,
    stop: int,
) -> None:
    """Image rows start…stop of the `View`s `left` and, with `both`, `right`.

    `sums` begins with image row `first_row`.

    Ties go to the smaller disparity. The right pixel of (x, d) has number x − d: stored backwards, the keys of one
    left pixel are contiguous.
    """
    width = left.winners.shape[1]
    keys = np.empty(width + padded, np.uint32)
    for y in range(start, stop):
        row_at = (y - first_row) * width * padded
        if both:
            keys[:] = np.uint32(NO_KEY)
        _left_row(
            sums,
            row_at,
            padded,
            ndisp,
            method,
            left.winners[y],
            left.disparity[y],
            left.minimum[y],
            keys,
            both,
            vectorised,
        )
        if both:
            maps = (right.winners[y], right.disparity[y], right.minimum[y])
            _right_row(sums, row_at, padded, ndisp, method, maps[0], maps[1], maps[2], keys)
