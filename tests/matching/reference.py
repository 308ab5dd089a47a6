"""Semi-global matching written as its formulas read: slow, and sharing no code with the package."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

DIRECTIONS = {
    4: [(0, 1), (0, -1), (1, 0), (-1, 0)],
    5: [(0, 1), (0, -1), (1, 0), (1, 1), (1, -1)],
    8: [(0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)],
}


def census_costs(left: NDArray[Any], right: NDArray[Any], ndisp: int, width: int, height: int) -> NDArray[np.int64]:
    """C(y, x, d): neighbours whose comparison with the centre differs between (x, y) and (x − d, y).

    All of them where x − d < 0.
    """
    bits = [_comparisons(image, width // 2, height // 2) for image in (left, right)]
    rows, columns = left.shape
    costs = np.full((rows, columns, ndisp), width * height - 1, np.int64)
    for d in range(min(ndisp, columns)):
        costs[:, d:, d] = (bits[0][:, d:] != bits[1][:, : columns - d]).sum(axis=2)
    return costs


def _comparisons(image: NDArray[Any], radius_x: int, radius_y: int) -> NDArray[np.bool_]:
    rows, columns = image.shape
    found = []
    for dy in range(-radius_y, radius_y + 1):
        for dx in range(-radius_x, radius_x + 1):
            if (dy, dx) != (0, 0):
                y = np.clip(np.arange(rows) + dy, 0, rows - 1)
                x = np.clip(np.arange(columns) + dx, 0, columns - 1)
                found.append(image[np.ix_(y, x)] < image)
    return np.stack(found, axis=2)


def aggregate(
    costs: NDArray[np.int64], p1: int, p2: int, paths: int, guide: NDArray[Any] | None = None
) -> NDArray[np.int64]:
    """Σ L_r with L_r(p, d) = C + min(L'(d), L'(d ± 1) + P1, min L' + P2) − min L'.

    With a guide P2 is max(P1 + 1, P2 // |Δ guide|).
    """
    return sum((_path(costs, p1, p2, direction, guide) for direction in DIRECTIONS[paths]), np.zeros_like(costs))


def _path(
    costs: NDArray[np.int64], p1: int, p2: int, direction: tuple[int, int], guide: NDArray[Any] | None
) -> NDArray[np.int64]:
    rows, columns, _ = costs.shape
    dy, dx = direction
    result = np.zeros_like(costs)
    for y in range(rows) if dy >= 0 else range(rows - 1, -1, -1):
        for x in range(columns) if dx >= 0 else range(columns - 1, -1, -1):
            before = (y - dy, x - dx)
            if not (0 <= before[0] < rows and 0 <= before[1] < columns):
                result[y, x] = costs[y, x]
                continue
            previous = result[before]
            jump = p2
            if guide is not None:
                jump = max(p1 + 1, p2 // max(1, abs(int(guide[y, x]) - int(guide[before]))))
            around = np.pad(previous, 1, constant_values=10**9)
            steps = np.minimum(around[:-2], around[2:]) + p1
            best = np.minimum(np.minimum(previous, steps), previous.min() + jump)
            result[y, x] = costs[y, x] + best - previous.min()
    return result


def right_costs(sums: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same sums seen from the right view: A(x + d, d), and a huge value where x + d leaves the image."""
    rows, columns, ndisp = sums.shape
    result = np.full((rows, columns, ndisp), 10**9, np.int64)
    for d in range(min(ndisp, columns)):
        result[:, : columns - d, d] = sums[:, d:, d]
    return result


def refined(sums: NDArray[np.int64], method: str) -> NDArray[np.float64]:
    """Winners with their sub-pixel offset; none at the ends of the range, nor where a neighbour does not exist."""
    rows, columns, ndisp = sums.shape
    winners = sums.argmin(axis=2).astype(np.float64)
    for y in range(rows):
        for x in range(columns):
            d = int(winners[y, x])
            if method == "none" or not 0 < d < ndisp - 1 or sums[y, x, d + 1] >= 10**9:
                continue
            below, lowest, above = (int(value) for value in sums[y, x, d - 1 : d + 2])
            bend = below - 2 * lowest + above if method == "parabola" else max(below, above) - lowest
            winners[y, x] += (below - above) / (2 * bend) if bend > 0 else 0
    return winners
