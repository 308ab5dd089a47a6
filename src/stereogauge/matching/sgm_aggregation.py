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
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.alignment import on_a_line
from stereogauge.kernels.sgm_plain import DECIDE, DECIDE_BOTH, FORGET, LANES, MINIMUM, WRITE
from stereogauge.kernels.sgm_sweep import Pair, Rolling, sweep
from stereogauge.kernels.threads import in_threads
from stereogauge.kernels.winner import View

CACHE_BYTES = 2**20
SWEEPS = {8: (4, 4), 5: (4, 1), 4: (2, 2)}
"""Numbers of paths of the downward and the upward sweep."""

Sums: TypeAlias = NDArray[np.uint16]
Rows: TypeAlias = tuple[int, int]
Inspector: TypeAlias = Callable[[Sums, int, Rows], None]
"""inspect(sums, first_row, rows): those image rows of the flat `sums`, which begin with `first_row`, are complete."""


class Decision(NamedTuple):
    """How winners are refined and where they go; `right` is None where only the left view is asked for.

    `vectorised` chooses the form of the inner step.
    """

    method: int
    left: View
    right: View | None
    vectorised: bool = True


def padded_disparities(ndisp: int) -> int:
    """The number of disparities in the volume: a multiple of the vector length."""
    return -(-ndisp // LANES) * LANES


def new_sums(rows: int, width: int, ndisp: int) -> Sums:
    """Room for sums, flat, with arbitrary content, at an address that a sweep can write to around the cache."""
    return on_a_line(rows * width * padded_disparities(ndisp), np.uint16)


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
        state = (vertical * self.width + 1) * (padded + LANES) * self.item_size
        codes = self.code_bytes * self.height * (2 * self.width + padded)
        if not self.streaming:
            return 2 * self.height * self.width * padded + 2 * state + codes
        buffers = min(self.threads, 2) * 2 * self.block * self.width * padded
        return buffers + (math.ceil(self.height / self.block) + 3) * state + codes


def streaming_block(height: int) -> int:
    """The number of rows that makes buffers and saved states together smallest."""
    return min(height, max(4, round(math.sqrt(1.5 * height))))


def new_state(pair: Pair, paths: int) -> Rolling:
    """The state of a sweep before its first row."""
    width = pair.guide.shape[1]
    padded = pair.unused.size
    dtype = pair.large_penalties.dtype
    slots = [1] + [width] * (paths - 1)
    return Rolling(
        paths=tuple(_new_slots(count, pair.ndisp, padded, dtype) for count in slots),
        penalties=np.full((4, width), pair.large_penalties[0], dtype),
        costs=np.empty(padded, dtype),
        left_keys=np.empty(width, np.uint32),
        right_costs=np.empty(width + padded, np.uint16),
        right_disparities=np.empty(width + padded, np.uint16),
    )


def _new_slots(count: int, ndisp: int, padded: int, dtype: Any) -> NDArray[Any]:
    # The end is read in steps of two vectors.
    slots = on_a_line(count * (padded + LANES) + 3 * LANES, dtype, LANES)
    slots[:] = np.iinfo(dtype).max
    each = slots[: count * (padded + LANES)].reshape(count, padded + LANES)
    each[:, LANES : LANES + ndisp] = 0
    each[:, LANES - MINIMUM] = 0
    return slots


def _copy_of(slots: NDArray[Any]) -> NDArray[Any]:
    copy = on_a_line(slots.size, slots.dtype, LANES)
    copy[:] = slots
    return copy


class Direction:
    """One sweep and its running state."""

    def __init__(self, pair: Pair, paths: int, downward: bool, decision: Decision) -> None:
        self.pair = pair
        self.downward = downward
        self.decision = decision
        self.state = new_state(pair, paths)
        self.height = pair.guide.shape[0]

    def run(self, rows: Rows, mode: int, sums: Sums, first_row: int, state: Rolling | None = None) -> None:
        """Go over image rows, from the running state or another one."""
        start, stop = rows if self.downward else (self.height - rows[1], self.height - rows[0])
        method, left, right, vectorised = self.decision
        views = (left, right or left)
        plain = None if vectorised else True
        sweep(self.pair, state or self.state, sums, first_row, self.downward, start, stop, mode, method, *views, plain)

    def in_order(self, pieces: Sequence[Rows]) -> Sequence[Rows]:
        """Pieces of the image in the order in which this sweep meets them."""
        return pieces if self.downward else pieces[::-1]

    def leave_states(self, blocks: Sequence[Rows]) -> list[Rolling]:
        """Go over blocks without their sums; the state before each of them."""
        room = new_state(self.pair, 1)
        nothing = new_sums(0, 0, 0)
        saved = []
        for rows in self.in_order(blocks):
            paths = tuple(_copy_of(array) for array in self.state.paths)
            saved.append(Rolling(paths, *room[1:]))
            if len(paths) > 1:
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

    def begin(own: Direction, blocks: Sequence[Rows]) -> list[Rolling]:
        if volume is None:
            return own.leave_states(blocks)
        for rows in own.in_order(blocks):
            own.run(rows, WRITE, volume, 0)
        return []

    def complete(own: Direction, other: Direction, blocks: Sequence[Rows], saved: list[Rolling]) -> None:
        buffer = new_sums(plan.block, plan.width, plan.ndisp) if volume is None else volume
        for rows in own.in_order(blocks):
            first_row = rows[0] if volume is None else 0
            if volume is None:
                other.run(rows, WRITE, buffer, first_row, saved.pop())
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
