"""Aggregation of census costs along paths: the whole volume when it fits into memory, block by block when it does
not.

Both ways hand the same sums, bit for bit, to a consumer of rows. Streaming keeps the state of the upward paths at
every block boundary (one pass), then recomputes block by block from the top: block size √(1.5·height) balances the
two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels import sgm_sweep
from stereogauge.kernels.sgm_plain import ADD, FORGET, LANES, WRITE
from stereogauge.kernels.sgm_sweep import FIRST_SLOT, ZERO_SLOT, Pair, Rolling

CACHE_BYTES = 2**20

Sums: TypeAlias = NDArray[np.uint16]
Consumer: TypeAlias = Callable[[Sums, int, int, int], None]
"""consume(sums, first_row, start, stop): image rows start…stop of the flat `sums`, which begin with `first_row`, are
complete.
"""


@dataclass(frozen=True)
class Sweep:
    """One direction: its kernel, and how many of its paths come from the previous row."""

    kernel: Callable[..., None]
    vertical_paths: int


FOUR, TWO, ONE = Sweep(sgm_sweep.sweep_four, 3), Sweep(sgm_sweep.sweep_two, 1), Sweep(sgm_sweep.sweep_one, 0)
SWEEPS = {8: (FOUR, FOUR), 5: (FOUR, ONE), 4: (TWO, TWO)}


def padded_disparities(ndisp: int) -> int:
    """The number of disparities in the volume: a multiple of the vector length."""
    return -(-ndisp // LANES) * LANES


@dataclass(frozen=True)
class Plan:
    """How a pair is aggregated, and the bytes that takes: `block` rows at a time, or the whole height."""

    height: int
    width: int
    ndisp: int
    block: int
    threads: int
    item_size: int
    vertical_paths: int

    @property
    def streaming(self) -> bool:
        """Whether the volume is never held whole."""
        return self.block < self.height

    @property
    def bytes(self) -> int:
        """What the volume or its blocks, the path states and the census codes take together."""
        padded = padded_disparities(self.ndisp)
        state = (FIRST_SLOT + self.vertical_paths * self.width + 1) * (padded + LANES) * self.item_size
        codes = 8 * self.height * (2 * self.width + padded)
        if not self.streaming:
            return 2 * self.height * self.width * padded + 2 * state + codes
        buffers = min(self.threads, 2) * 2 * self.block * self.width * padded
        return buffers + (math.ceil(self.height / self.block) + 2) * state + codes


def streaming_block(height: int) -> int:
    """The number of rows that makes buffers and saved states together smallest."""
    return min(height, max(4, round(math.sqrt(1.5 * height))))


def new_state(pair: Pair, sweep: Sweep) -> Rolling:
    """The state of a sweep before its first row."""
    width = pair.left.shape[1]
    padded = padded_disparities(pair.ndisp)
    dtype = pair.large_penalties.dtype
    sentinel = np.iinfo(dtype).max
    slots = FIRST_SLOT + sweep.vertical_paths * width
    paths = np.full(slots * (padded + LANES) + LANES, sentinel, dtype)
    zero = ZERO_SLOT * (padded + LANES) + LANES
    paths[zero : zero + pair.ndisp] = 0
    penalties = np.full((1 + sweep.vertical_paths, width), pair.large_penalties[0], dtype)
    return Rolling(paths, np.zeros(slots, dtype), np.full(width * padded, sentinel, dtype), penalties)


def aggregate_volume(pair: Pair, paths: int, sums: Sums, consume: Consumer, executor: Executor | None) -> None:
    """Fill `sums`, flat (H, W, padded disparities), and hand its rows to `consume` while they are in the processor's
    cache.

    With an executor the two sweeps run at the same time: each writes the half it reaches first, they meet, and each
    adds to the other half.
    """
    height = pair.left.shape[0]
    down, up = SWEEPS[paths]
    down_state, up_state = new_state(pair, down), new_state(pair, up)

    def finish(sweep: Sweep, state: Rolling, downward: bool, start: int) -> None:
        for first, last in _chunks(pair, start, height):
            sweep.kernel(pair, state, sums, 0, downward, first, last, ADD)
            rows = (first, last) if downward else (height - last, height - first)
            consume(sums, 0, *rows)

    if executor is None:
        down.kernel(pair, down_state, sums, 0, True, 0, height, WRITE)
        finish(up, up_state, False, 0)
        return
    middle = (height + 1) // 2
    wait(
        [
            executor.submit(down.kernel, pair, down_state, sums, 0, True, 0, middle, WRITE),
            executor.submit(up.kernel, pair, up_state, sums, 0, False, 0, height - middle, WRITE),
        ]
    )
    wait(
        [
            executor.submit(finish, down, down_state, True, middle),
            executor.submit(finish, up, up_state, False, height - middle),
        ]
    )


def _chunks(pair: Pair, start: int, stop: int) -> list[tuple[int, int]]:
    """Rows start…stop in pieces whose sums fit into a processor's own cache."""
    row_bytes = 2 * pair.left.shape[1] * padded_disparities(pair.ndisp)
    size = max(1, CACHE_BYTES // row_bytes)
    return [(first, min(stop, first + size)) for first in range(start, stop, size)]


def aggregate_stream(pair: Pair, paths: int, block: int, consume: Consumer, executor: Executor | None) -> None:
    """Hand the sums to `consume` block by block from the top, without ever holding the volume.

    With an executor, the upward paths of the next block are recomputed while the current one is finished.
    """
    height, width = pair.left.shape
    padded = padded_disparities(pair.ndisp)
    down, up = SWEEPS[paths]
    blocks = [(start, min(height, start + block)) for start in range(0, height, block)]
    saved = _upward_states(pair, up, blocks)
    buffers = [np.empty(block * width * padded, np.uint16) for _ in range(1 if executor is None else 2)]
    down_state = new_state(pair, down)

    def write_upward(number: int) -> None:
        start, stop = blocks[number]
        rows = (height - stop, height - start)
        up.kernel(pair, saved.pop(), buffers[number % len(buffers)], start, False, *rows, WRITE)

    upcoming: Future[None] | None = None
    for number, (start, stop) in enumerate(blocks):
        if upcoming is None:
            write_upward(number)
        else:
            upcoming.result()
        upcoming = executor.submit(write_upward, number + 1) if executor and number + 1 < len(blocks) else None
        sums = buffers[number % len(buffers)]
        for first, last in _chunks(pair, start, stop):
            down.kernel(pair, down_state, sums, start, True, first, last, ADD)
            consume(sums, start, first, last)


def _upward_states(pair: Pair, up: Sweep, blocks: Sequence[tuple[int, int]]) -> list[Rolling]:
    """The upward sweep's state before each block, the top block's last."""
    height = pair.left.shape[0]
    state = new_state(pair, up)
    nothing = np.empty(1, np.uint16)
    saved = []
    for start, stop in reversed(blocks):
        saved.append(Rolling(state.paths.copy(), state.minima.copy(), state.costs, state.penalties))
        if start > 0 and up.vertical_paths:
            up.kernel(pair, state, nothing, 0, False, height - stop, height - start, FORGET)
    return saved


def wait(futures: Sequence[Future[Any]]) -> None:
    """Wait for all, raising the first exception."""
    for future in futures:
        future.result()
