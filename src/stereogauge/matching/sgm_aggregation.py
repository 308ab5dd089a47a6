"""Aggregation of census costs along paths: the whole volume when it fits into memory, block by block when it does
not.

Two opposite sweeps meet in the middle, so that two threads can share the work: each sweep first goes over its own half
of the rows, then completes the other half, where it finds the winners. With a volume, the first half of a sweep is
written into it. Without, a sweep leaves its state behind at every block boundary, and the block is recomputed from
there when the other sweep arrives. Both ways give the same sums, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.library import aligned
from stereogauge.kernels.sgm import DECIDE, DECIDE_BOTH, FORGET, LANES, WRITE, Pair, Paths, Row, View, sweep
from stereogauge.kernels.threads import in_threads

CACHE_BYTES = 2**20
SWEEPS = {8: (4, 4), 5: (4, 1), 4: (2, 2)}
"""Numbers of paths of the downward and the upward sweep."""

Sums: TypeAlias = NDArray[np.uint16]
Rows: TypeAlias = tuple[int, int]
Inspector: TypeAlias = Callable[[Sums, int, Rows], None]
"""inspect(sums, first_row, rows): those image rows of `sums`, which begin with `first_row`, are complete."""


class Decision(NamedTuple):
    """How winners are refined and where they go; `right` is None where only the left view is requested.

    `keep` says whether the sums are read again after the winners have been found.
    """

    method: int
    left: View
    right: View | None
    keep: bool


def padded_disparities(ndisp: int) -> int:
    """The number of disparities in the volume: a multiple of the vector length."""
    return -(-ndisp // LANES) * LANES


def new_sums(rows: int, width: int, ndisp: int) -> Sums:
    """Memory for sums (rows, width, padded disparities) with arbitrary content."""
    padded = padded_disparities(ndisp)
    return aligned(rows * width * padded, np.uint16).reshape(rows, width, padded)


@dataclass(frozen=True)
class AggregationPlan:
    """How a pair is aggregated, and the bytes that takes: `block` rows at a time, or the whole height."""

    height: int
    width: int
    ndisp: int
    block: int
    threads: int
    item_size: int
    code_bytes: int
    paths: int

    @property
    def streaming(self) -> bool:
        """Whether the volume is never held whole."""
        return self.block < self.height

    @property
    def bytes(self) -> int:
        """What the volume or its blocks, the path states and the census codes take together."""
        padded = padded_disparities(self.ndisp)
        vertical = max(SWEEPS[self.paths]) - 1
        state = (vertical * self.width + 1) * padded * self.item_size
        codes = self.code_bytes * self.height * (2 * self.width + padded)
        row = 2 * self.width * padded
        if not self.streaming:
            return self.height * row + 2 * (state + row) + codes
        buffers = min(self.threads, 2) * self.block * row
        return buffers + 2 * row + (math.ceil(self.height / self.block) + 3) * state + codes


def streaming_block(height: int) -> int:
    """The number of rows that makes buffers and saved states together smallest."""
    return min(height, max(4, round(math.sqrt(1.5 * height))))


class Direction:
    """One sweep and the costs of its paths."""

    def __init__(self, pair: Pair, paths: int, downward: bool, decision: Decision) -> None:
        self.pair = pair
        self.downward = downward
        self.decision = decision
        self.paths = Paths.new(pair, paths)
        self.row = Row.new(pair, decision.keep)

    def run(self, rows: Rows, mode: int, sums: Sums, first_row: int, state: tuple[Paths, Row] | None = None) -> None:
        """Sweep over image rows, from where the paths are or from another state."""
        paths, row = state or (self.paths, self.row)
        method, left, right, _ = self.decision
        sweep(self.pair, paths, row, sums, first_row, rows, self.downward, mode, method, left, right)

    def in_order(self, pieces: Sequence[Rows]) -> Sequence[Rows]:
        """Pieces of the image in the order in which this sweep meets them."""
        return pieces if self.downward else pieces[::-1]

    def leave_states(self, blocks: Sequence[Rows]) -> list[Paths]:
        """Sweep over blocks without their sums; the paths before each of them."""
        nothing = new_sums(0, self.pair.guide.shape[1], self.pair.ndisp)
        saved = []
        for rows in self.in_order(blocks):
            saved.append(self.paths.copy())
            if len(self.paths.others):
                self.run(rows, FORGET, nothing, 0)
        return saved


def aggregate(
    pair: Pair,
    plan: AggregationPlan,
    volume: Sums | None,
    decision: Decision,
    inspect: Inspector | None,
) -> None:
    """Find the winners of a pair; with a `volume`, fill it with the sums.

    `inspect` is shown the sums of every row while they are in the processor's cache.
    """
    height = plan.height
    middle = (height + 1) // 2
    halves = (_pieces((0, middle), plan.block), _pieces((middle, height), plan.block))
    down, up = (
        Direction(pair, paths, downward, decision)
        for paths, downward in zip(SWEEPS[plan.paths], (True, False), strict=True)
    )

    def begin(own: Direction, blocks: Sequence[Rows]) -> list[Paths]:
        if volume is None:
            return own.leave_states(blocks)
        for rows in own.in_order(blocks):
            own.run(rows, WRITE, volume, 0)
        return []

    def complete(own: Direction, other: Direction, blocks: Sequence[Rows], saved: list[Paths]) -> None:
        buffer = new_sums(plan.block, plan.width, plan.ndisp) if volume is None else volume
        row = Row.new(pair, keep=True)
        for rows in own.in_order(blocks):
            first_row = rows[0] if volume is None else 0
            if volume is None:
                other.run(rows, WRITE, buffer, first_row, (saved.pop(), row))
            for piece in own.in_order(_pieces(rows, _cached_rows(plan) if inspect else plan.height)):
                own.run(piece, DECIDE if decision.right is None else DECIDE_BOTH, buffer, first_row)
                if inspect:
                    inspect(buffer, first_row, piece)

    beginnings = (lambda: begin(down, halves[0]), lambda: begin(up, halves[1]))
    left_by_down, left_by_up = in_threads(beginnings, plan.threads)
    endings = (
        lambda: complete(up, down, halves[0], left_by_down),
        lambda: complete(down, up, halves[1], left_by_up),
    )
    in_threads(endings, plan.threads)


def _pieces(rows: Rows, size: int) -> list[Rows]:
    return [(start, min(rows[1], start + size)) for start in range(*rows, size)]


def _cached_rows(plan: AggregationPlan) -> int:
    """The number of rows whose sums fit into a processor's own cache."""
    return max(1, CACHE_BYTES // (2 * plan.width * padded_disparities(plan.ndisp)))
