"""What confidence measures need of a pixel's aggregated costs, gathered in one pass over them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import kernel

BLOCK = 32
NONE = 65535


class CostSummary(NamedTuple):
    """Per pixel (H, W), A the aggregated costs, d₀ the winner; 65535 stands for "there is none".

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
        """Maps to be filled."""
        shape = (height, width)
        whole = [np.empty(shape, np.uint16) for _ in range(5)]
        real = [np.empty(shape, np.float32) for _ in range(4)]
        return cls(whole[0], whole[1], whole[2], whole[3], whole[4], np.empty(shape, np.uint32), *real)


class Scales(NamedTuple):
    """What turns a cost difference q = A(d) − A₀ into evidence.

    `chances[q]` holds exp(−q²/ς²) and exp(−q/T) for q = 0…65535, two float32 in one number: differences are whole
    numbers, so one look-up replaces two exp. `ramp` is the difference from which a disparity is no rival any more.
    """

    chances: NDArray[np.uint64]
    temperature: np.float32
    ramp: int

    @classmethod
    def of(cls, sigma: float, temperature: float, ramp: float) -> Scales:
        """The table for ς and T."""
        difference = np.arange(NONE + 1, dtype=np.float64)
        both = (np.exp(-((difference / sigma) ** 2)), np.exp(-difference / temperature))
        high, low = (values.astype(np.float32).view(np.uint32).astype(np.uint64) for values in both)
        return cls(high << np.uint64(32) | low, np.float32(temperature), round(ramp))


@kernel
def _perturbation(chances: np.uint64) -> np.float32:
    value: np.float32 = np.uint32(chances >> np.uint64(32)).view(np.float32)
    return value


@kernel
def _weight(chances: np.uint64) -> np.float32:
    value: np.float32 = np.uint32(chances).view(np.float32)
    return value


@kernel(fastmath=True)
def _sums(
    costs: NDArray[np.uint16], ndisp: int, lowest: np.uint16, chances: NDArray[np.uint64], ramp: int
) -> tuple[np.float32, np.float32, np.float32, np.uint32, np.uint32]:
    """Σ exp(−q²/ς²), Σ exp(−q/T), Σ q·exp(−q/T), Σ q and Σ max(0, ramp − q) over the cost differences q of a pixel.

    The loop runs over whole blocks; what the sentinels after the first `ndisp` have added is taken off again.
    """
    perturbation = np.float32(0)
    partition = np.float32(0)
    weighted = np.float32(0)
    differences = np.uint32(0)
    rivals = np.uint32(0)
    for d in range(costs.size):
        # In 16 bits: an index that is known to be small lets LLVM gather with 32-bit indices.
        difference = np.uint16(costs[d] - lowest)
        weight = _weight(chances[difference])
        perturbation += _perturbation(chances[difference])
        partition += weight
        weighted += weight * np.float32(np.int32(difference))
        differences += np.uint32(difference)
        rivals += np.uint32(ramp) - min(np.uint32(difference), np.uint32(ramp))
    sentinels = np.float32(costs.size - ndisp)
    difference = np.uint16(NONE - lowest)
    weight = sentinels * _weight(chances[difference])
    return (
        perturbation - sentinels * _perturbation(chances[difference]),
        partition - weight,
        weighted - weight * np.float32(difference),
        differences - np.uint32(costs.size - ndisp) * np.uint32(difference),
        rivals,
    )


@kernel
def _other_costs(
    before: NDArray[np.uint16], costs: NDArray[np.uint16], after: NDArray[np.uint16], winner: int
) -> tuple[np.uint16, np.uint16, np.uint16]:
    """The smallest of: other costs, other strict local minima, right ends of plateaus that do not rise before them."""
    second = np.uint16(NONE)
    strict = np.uint16(NONE)
    flat = np.uint16(NONE)
    for d in range(costs.size):
        cost = costs[d] if np.uint16(d) != np.uint16(winner) else np.uint16(NONE)
        second = min(second, cost)
        ends = cost < after[d]
        strict = min(strict, cost if ends & (cost < before[d]) else np.uint16(NONE))
        flat = min(flat, cost if ends & (cost == before[d]) else np.uint16(NONE))
    return second, strict, flat


@kernel
def _rivals(costs: NDArray[np.uint16], lowest: np.uint16, ramp: int) -> np.uint32:
    """Σ max(0, ramp − (A(d) − A₀)): every disparity counts by how little it costs more than the winner."""
    highest = np.uint32(lowest) + np.uint32(ramp)
    total = np.uint32(0)
    for d in range(costs.size):
        total += highest - min(np.uint32(costs[d]), highest)
    return total


@kernel
def _with_plateaus(
    strict: np.uint16, before: NDArray[np.uint16], costs: NDArray[np.uint16], after: NDArray[np.uint16], winner: int
) -> np.uint16:
    """The smaller of `strict` and the lowest plateau with nothing lower beside it that does not hold the winner."""
    smallest = strict
    for d in range(costs.size):
        cost = costs[d]
        if cost < smallest and cost == before[d] and cost < after[d]:
            start = d
            while before[start] == cost:
                start -= 1
            if before[start] > cost and not start <= winner <= d:
                smallest = cost
    return smallest


@kernel
def _summary_row(
    sums: NDArray[np.uint16],
    row_at: int,
    padded: int,
    ndisp: int,
    winners: NDArray[np.uint16],
    chances: NDArray[np.uint64],
    temperature: np.float32,
    ramp: int,
    buffer: NDArray[np.uint16],
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
    """One row. A pixel's costs are copied between sentinels into whole blocks: loops over them have no remainder and
    need no bounds.
    """
    rounded = buffer.size - 2 * BLOCK
    before = buffer[BLOCK - 1 : BLOCK - 1 + rounded]
    costs = buffer[BLOCK : BLOCK + rounded]
    after = buffer[BLOCK + 1 : BLOCK + 1 + rounded]
    for x in range(winners.size):
        source = sums[row_at + x * padded : row_at + x * padded + ndisp]
        for d in range(ndisp):
            costs[d] = source[d]
        winner = np.int64(winners[x])
        lowest = costs[winner]
        close, weights, weighted, differences, rivals = _sums(costs, ndisp, lowest, chances, ramp)
        other, strict, flat = _other_costs(before, costs, after, winner)
        if flat < strict:
            strict = _with_plateaus(strict, before, costs, after, winner)
        minimum[x] = lowest
        below[x] = before[winner]
        above[x] = after[winner]
        second[x] = other
        second_minimum[x] = strict
        total[x] = differences + np.uint32(ndisp) * np.uint32(lowest)
        perturbation[x] = max(close - np.float32(1), np.float32(0))
        # Taking the sentinels off again rounds: without a floor, entropies just below 0 would have no logarithm.
        partition[x] = max(weights, np.float32(1))
        excess[x] = max(weighted / (weights * temperature), np.float32(0))
        visible = min(ndisp, x + 1)
        if visible < ndisp:
            rivals = _rivals(costs[:visible], lowest, ramp)
        ambiguity[x] = np.float32(rivals) / np.float32(ramp * visible)


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
    rounded = (ndisp + BLOCK - 1) // BLOCK * BLOCK
    buffer = np.full(rounded + 2 * BLOCK, np.uint16(NONE), np.uint16)
    for y in range(start, stop):
        _summary_row(
            sums,
            (y - first_row) * width * padded,
            padded,
            ndisp,
            winners[y],
            scales.chances,
            scales.temperature,
            scales.ramp,
            buffer,
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
