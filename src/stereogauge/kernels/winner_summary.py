"""Winners and cost summaries row by row: the costs of a row are read from memory once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.confidence import summary_rows
from stereogauge.kernels.jit import kernel
from stereogauge.kernels.winner import winner_rows


@kernel
def winner_summary_rows(
    sums: NDArray[np.uint16],
    first_row: int,
    padded: int,
    ndisp: int,
    method: int,
    left: Any,
    right: Any,
    both: bool,
    vectorised: bool,
    scales: Any,
    summary: Any,
    start: int,
    stop: int,
) -> None:
    """`winner_rows` and `summary_rows` for image rows start…stop."""
    for y in range(start, stop):
        winner_rows(sums, first_row, padded, ndisp, method, left, right, both, vectorised, y, y + 1)
        summary_rows(sums, first_row, padded, ndisp, left.winners, scales, summary, y, y + 1)
