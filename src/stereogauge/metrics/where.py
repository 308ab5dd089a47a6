"""Where a map goes wrong: the blocks that hold most of what separates its score from a perfect one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stereogauge.metrics.costs import Costs

BLOCKS_ACROSS = 24
LEAST_SIDE = 8
MOST_BLOCKS = 12


class Block(NamedTuple):
    """A square of pixels with its upper left corner and the share of all costs that lies in it."""

    x: int
    y: int
    size: int
    share: float


def worst_blocks(costs: Costs, most: int = MOST_BLOCKS) -> list[Block]:
    """The blocks with most of the costs, the worst first; none where every counted pixel is right.

    Costs of both signs (of a bias) are those of the sign that prevails.

    >>> costs = np.zeros((48, 48))
    >>> costs[40:, :8] = 3.0
    >>> worst_blocks(costs)
    [Block(x=0, y=40, size=8, share=1.0)]
    """
    height, width = costs.shape
    side = max(LEAST_SIDE, -(-max(height, width) // BLOCKS_ACROSS))
    rows, columns = -(-height // side), -(-width // side)
    padded = np.zeros((rows * side, columns * side))
    padded[:height, :width] = np.nan_to_num(costs)
    sums = padded.reshape(rows, side, columns, side).sum(axis=(1, 3))
    sums = np.maximum(sums if sums.sum() >= 0 else -sums, 0.0)
    total = sums.sum()
    order = np.argsort(-sums, axis=None, kind="stable")[:most]
    return [
        Block(int(column) * side, int(row) * side, side, float(sums[row, column] / total))
        for row, column in zip(*np.unravel_index(order, sums.shape), strict=True)
        if sums[row, column] > 0
    ]
