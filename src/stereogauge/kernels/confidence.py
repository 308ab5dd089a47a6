"""What confidence measures need of a pixel's aggregated costs, gathered in one pass over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.confidence_vector import LANES, evidence_vector
from stereogauge.kernels.cost_summary import NONE
from stereogauge.kernels.jit import helper, kernel


@helper
def _with_plateaus(strict: np.uint16, costs: NDArray[np.uint16], winner: int) -> np.uint16:
    """The smaller of `strict` and the lowest plateau with nothing lower beside it that does not hold the winner."""
    smallest = strict
    start = 0
    for d in range(costs.size):
        cost = costs[d]
        if d > 0 and costs[d - 1] != cost:
            start = d
        ends = d + 1 == costs.size or costs[d + 1] > cost
        falls = start == 0 or costs[start - 1] > cost
        if cost < smallest and ends and falls and not start <= winner <= d:
            smallest = cost
    return smallest


@helper
def _summary_row(
    sums: NDArray[np.uint16],
    row_at: int,
    padded: int,
    ndisp: int,
    winners: NDArray[np.uint16],
    scales: Any,
    fences: NDArray[np.uint16],
    minimum: NDArray[np.uint16],
    below: NDArray[np.uint16],
    above: NDArray[np.uint16],
    second: NDArray[np.uint16],
    second_minimum: NDArray[np.uint16],
    total: NDArray[np.uint32],
    perturbation: NDArray[np.float32],
    partition: NDArray[np.float32],
    excess: NDArray[np.float32],
    ambiguity: NDArray[np.float32],
) -> None:
    """One row, whose costs begin at `row_at`; see `evidence_vector` for `fences` and what is read around them."""
    blocks = fences.size // (2 * LANES)
    rounded = blocks * LANES
    unused = np.float32(rounded - ndisp)
    unused_differences = np.uint32(rounded - ndisp) * np.uint32(NONE)
    ramp = min(scales.ramp, NONE)
    for x in range(winners.size):
        at = row_at + x * padded
        winner = np.int64(winners[x])
        lowest = sums[at + winner]
        visible = min(ndisp, x + 1)
        close, weights, weighted, differences, rivals, other, strict, weak = evidence_vector(
            sums,
            at,
            fences,
            blocks,
            ndisp,
            visible,
            winner,
            lowest,
            scales.sigma_scale,
            scales.temperature_scale,
            np.uint16(scales.far),
            np.uint16(ramp),
        )
        if weak < strict:
            strict = _with_plateaus(strict, sums[at : at + ndisp], winner)
        weights -= unused * scales.far_weight
        weighted -= unused * scales.far_weight * np.float32(NONE)
        minimum[x] = lowest
        below[x] = sums[at + winner - 1] if winner > 0 else np.uint16(NONE)
        above[x] = sums[at + winner + 1] if winner < ndisp - 1 else np.uint16(NONE)
        second[x] = other
        second_minimum[x] = strict
        total[x] = differences - unused_differences + np.uint32(ndisp) * np.uint32(lowest)
        perturbation[x] = max(close - unused * scales.far_close - np.float32(1), np.float32(0))
        # Taking the unused ones off again rounds: without a floor, entropies just below 0 would have no logarithm.
        partition[x] = max(weights, np.float32(1))
        excess[x] = max(weighted / (weights * scales.temperature), np.float32(0))
        ambiguity[x] = np.float32(np.int64(rivals) + visible * (scales.ramp - ramp)) / np.float32(scales.ramp * visible)


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
    width = winners.shape[1]
    rounded = (ndisp + LANES - 1) // LANES * LANES
    fences = np.empty(2 * rounded + 1, np.uint16)
    for i in range(fences.size):
        fences[i] = 0 if 1 <= i <= rounded else NONE
    room = np.empty(width * padded + rounded + 2, np.uint16)
    for y in range(start, stop):
        source = sums
        row_at = (y - first_row) * width * padded
        if row_at == 0 or row_at + (width - 1) * padded + rounded + 1 > sums.size:
            # Vectors reach beyond a pixel's costs; here that would leave the array.
            for i in range(min(width * padded, sums.size - row_at)):
                room[1 + i] = sums[row_at + i]
            source = room
            row_at = 1
        _summary_row(
            source,
            row_at,
            padded,
            ndisp,
            winners[y],
            scales,
            fences,
            summary.minimum[y],
            summary.below[y],
            summary.above[y],
            summary.second[y],
            summary.second_minimum[y],
            summary.total[y],
            summary.perturbation[y],
            summary.partition[y],
            summary.excess[y],
            summary.ambiguity[y],
        )
