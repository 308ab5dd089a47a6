"""Winners of the two views and their sub-pixel refinement."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import helper

WHOLE, PARABOLA, V_FIT = 0, 1, 2


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


@helper
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


@helper
def left_row(
    sums: NDArray[np.uint16],
    row_at: int,
    padded: int,
    ndisp: int,
    method: int,
    keys: NDArray[np.uint32],
    view: Any,
    y: int,
) -> None:
    """Row y of the left `View`, from each pixel's key (A(x, d) ≪ 16) | d of its lowest cost."""
    winners, disparity, minimum = view.winners[y], view.disparity[y], view.minimum[y]
    for x in range(keys.size):
        d = np.int64(keys[x] & np.uint32(0xFFFF))
        lowest = np.int64(keys[x] >> np.uint32(16))
        at = row_at + x * padded + d
        offset = np.float32(0)
        if 0 < d < ndisp - 1:
            offset = refine(np.int64(sums[at - 1]), lowest, np.int64(sums[at + 1]), method)
        winners[x] = d
        minimum[x] = lowest
        disparity[x] = np.float32(d) + offset


@helper
def right_row(
    sums: NDArray[np.uint16],
    row_at: int,
    padded: int,
    ndisp: int,
    method: int,
    costs: NDArray[np.uint16],
    disparities: NDArray[np.uint16],
    view: Any,
    y: int,
) -> None:
    """Row y of the right `View`: for each right pixel the lowest A(x + d, d) and its d, given from right to left."""
    winners, disparity, minimum = view.winners[y], view.disparity[y], view.minimum[y]
    width = winners.size
    for x in range(width):
        d = np.int64(disparities[width - 1 - x])
        lowest = np.int64(costs[width - 1 - x])
        offset = np.float32(0)
        if 0 < d < ndisp - 1 and x + d + 1 < width:
            at = row_at + (x + d) * padded + d
            offset = refine(np.int64(sums[at - padded - 1]), lowest, np.int64(sums[at + padded + 1]), method)
        winners[x] = d
        minimum[x] = lowest
        disparity[x] = np.float32(d) + offset
