"""What confidence measures need of a pixel's aggregated costs, gathered in one pass over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.confidence_vector import SPARE_VECTORS, evidence_vector
from stereogauge.kernels.cost_group import CHUNK, LANES
from stereogauge.kernels.cost_summary import NONE
from stereogauge.kernels.jit import kernel
from stereogauge.kernels.vectors import align_stack


@kernel
def summary_rows(
    sums: NDArray[np.uint16],
    first_row: int,
    padded: int,
    ndisp: int,
    winners: NDArray[np.uint16],
    scales: Any,
    summary: Any,
    start: int,
    stop: int,
) -> None:
    """Image rows start…stop of a `CostSummary`.

    `sums` is flat (rows, width, padded) and begins with image row `first_row`.
    """
    align_stack()
    width = winners.shape[1]
    columns = (width + LANES - 1) // LANES * LANES
    rounded = (ndisp + CHUNK - 1) // CHUNK * CHUNK
    room = np.empty((SPARE_VECTORS + rounded // 2) * 2 * LANES + rounded, np.uint16)
    lowest = np.zeros(columns, np.uint16)
    chosen = np.zeros(columns, np.uint16)
    copied = np.empty(columns * padded + rounded, np.uint16)
    for y in range(start, stop):
        source = sums
        row_at = (y - first_row) * width * padded
        if row_at + (columns - 1) * padded + rounded > sums.size:
            # Vectors reach beyond a row's costs; here that would leave the array.
            for i in range(min(width * padded, sums.size - row_at)):
                copied[i] = sums[row_at + i]
            source = copied
            row_at = 0
        for following in range(0, columns + LANES, LANES):
            # One group ahead: what is written in small pieces cannot at once be read as a vector.
            for x in range(following, min(following + LANES, width)):
                winner = np.int64(winners[y, x])
                at = row_at + x * padded + winner
                lowest[x] = source[at]
                chosen[x] = winner
                summary.minimum[y, x] = source[at]
                summary.below[y, x] = source[at - 1] if winner > 0 else np.uint16(NONE)
                summary.above[y, x] = source[at + 1] if winner < ndisp - 1 else np.uint16(NONE)
            x = following - LANES
            if x >= 0:
                at = row_at + x * padded
                evidence_vector(source, at, padded, ndisp, room, lowest, chosen, y, x, scales, summary)
