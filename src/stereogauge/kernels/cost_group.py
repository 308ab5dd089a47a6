"""Costs of neighbouring pixels side by side: lane for lane a pixel, two disparities in its 32 bits.

So turned, costs need no sum or minimum across lanes, and the neighbours of a cost stand in its own lane.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir

from stereogauge.kernels.alignment import LINE
from stereogauge.kernels.cost_summary import NONE
from stereogauge.kernels.vectors import (
    FLOAT,
    INT16,
    INT32,
    INT64,
    aligned,
    cgutils,
    constant,
    has_wide_registers,
    joined,
    lanewise,
    largest,
    load,
    number,
    prefetch,
    splat,
    store,
    transposed_quarters,
)

LANES = 16 if has_wide_registers() else 8
"""Pixels of a group."""

CHUNK = 8
"""Disparities that are turned at once: what 128 bits hold of one pixel."""

AHEAD = 3
"""How many groups before its own turn the costs of a group are fetched."""


class Running:
    """A value that changes from step to step, kept in a register."""

    def __init__(self, builder: Any, start: Any) -> None:
        self.builder = builder
        self.place = cgutils.alloca_once_value(builder, start)

    @property
    def value(self) -> Any:
        """What it is now."""
        return self.builder.load(self.place)

    def set(self, value: Any) -> None:
        """Make it `value`."""
        self.builder.store(value, self.place)

    def add(self, vector: Any) -> None:
        """Add a vector to it."""
        plus = self.builder.fadd if vector.type.element == FLOAT else self.builder.add
        self.set(plus(self.value, vector))

    def add_product(self, one: Any, other: Any) -> None:
        """Add a product to it, rounded once where the processor can."""
        self.set(lanewise(self.builder, "fmuladd", one, other, self.value))

    def lower(self, vector: Any, where: Any) -> None:
        """The smaller of it and a vector, in the lanes that `where` names."""
        least = lanewise(self.builder, "umin", self.value, vector)
        self.set(self.builder.select(where, least, self.value))

    def pass_on(self, total: Running) -> None:
        """Add to `total` and begin anew."""
        total.add(self.value)
        self.set(constant(self.value.type, 0))


class Group:
    """Emits the code that turns the costs of LANES pixels; the first costs A(0) lie `padded` elements apart.

    `room` takes the differences q = A − A₀, a vector per pair of disparities, between two vectors of 65535; of an odd
    number of disparities, the last pair ends with q = 65535.
    """

    def __init__(self, builder: Any, sums: Any, at: Any, padded: Any, ndisp: Any, room: Any, lowest: Any) -> None:
        self.builder = builder
        self.sums, self.at, self.padded, self.ndisp, self.lowest = sums, at, padded, ndisp, lowest
        self.room = aligned(builder, room, LINE)
        self.wide, self.real = ir.VectorType(INT32, LANES), ir.VectorType(FLOAT, LANES)
        self.single, self.pair = (ir.VectorType(INT16, count * LANES) for count in (1, 2))
        self.pairs = builder.lshr(builder.add(ndisp, number(1)), number(1))
        self.odd = builder.and_(ndisp, number(1))

    def place(self, index: Any) -> Any:
        """Where differences of a pair of disparities begin."""
        return self.builder.mul(self.builder.add(index, number(1)), number(2 * LANES))

    def differences(self, index: Any) -> Any:
        """Those of a pair of disparities."""
        return load(self.builder, self.room, self.place(index), self.pair)

    def twice(self, vector: Any) -> Any:
        """Each lane of 16 bits two times."""
        lanes = ir.Constant(ir.VectorType(INT32, 2 * LANES), [lane // 2 for lane in range(2 * LANES)])
        return self.builder.shuffle_vector(vector, vector, lanes)

    def halves(self, vector: Any) -> tuple[Any, Any]:
        """The even and the odd disparities of a pair, in 32 bits each."""
        pairs = self.builder.bitcast(vector, self.wide)
        second = self.builder.lshr(pairs, constant(self.wide, 16))
        return self.builder.and_(pairs, constant(self.wide, 0xFFFF)), second

    def shifted(self, these: Any, those: Any) -> Any:
        """The disparities of `these` and, before them, those of `those`, one place further on."""
        pair = [self.builder.bitcast(one, self.wide) for one in (these, those)]
        return self.builder.bitcast(lanewise(self.builder, "fshl", *pair, constant(self.wide, 16)), self.pair)

    def any_below(self, vector: Any, limit: Any) -> Any:
        """Whether any lane is below that of `limit`."""
        builder = self.builder
        if has_wide_registers():
            bits = builder.bitcast(builder.icmp_unsigned("<", vector, limit), ir.IntType(vector.type.count))
        else:
            bits = builder.bitcast(lanewise(builder, "usub.sat", limit, vector), ir.IntType(16 * vector.type.count))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    def smaller(self, one: Any, other: Any) -> Any:
        """The smaller of two whole numbers."""
        return self.builder.select(self.builder.icmp_signed("<", one, other), one, other)

    def larger(self, vector: Any, floor: float) -> Any:
        """At least `floor`."""
        least = constant(self.real, floor)
        return self.builder.select(self.builder.fcmp_ordered(">", vector, least), vector, least)

    @contextlib.contextmanager
    def blocks(self, count: Any, size: Any, pass_on: Callable[[], None]) -> Iterator[Any]:
        """A loop that calls `pass_on` after every `size` steps and at its end; gives the number of the step."""
        builder = self.builder
        with cgutils.for_range_slice(builder, number(0), count, size, intp=INT64) as (start, _):
            steps = self.smaller(builder.sub(count, start), size)
            with cgutils.for_range(builder, steps, intp=INT64) as loop:
                yield builder.add(start, loop.index)
            pass_on()

    def turn(self) -> None:
        """Fill the room."""
        builder = self.builder
        quarter = ir.VectorType(INT32, 4)
        lowest = self.twice(self.lowest)
        chunks = builder.udiv(builder.add(self.ndisp, number(CHUNK - 1)), number(CHUNK))
        starts = [builder.add(self.at, builder.mul(self.padded, number(pixel))) for pixel in range(LANES)]
        store(builder, largest(self.pair), self.room, number(0))
        with cgutils.for_range(builder, chunks, intp=INT64) as loop:
            self._fetch(loop.index)
            d = builder.mul(loop.index, number(CHUNK))
            costs = [load(builder, self.sums, builder.add(start, d), quarter) for start in starts]
            rows = [joined(builder, costs[first::4]) for first in range(4)]
            for place, pair in enumerate(transposed_quarters(builder, rows)):
                index = builder.add(builder.mul(loop.index, number(CHUNK // 2)), number(place))
                difference = builder.sub(builder.bitcast(pair, self.pair), lowest)
                store(builder, difference, self.room, self.place(index))
        store(builder, largest(self.pair), self.room, self.place(self.pairs))
        with builder.if_then(builder.trunc(self.odd, ir.IntType(1))):
            last = builder.sub(self.pairs, number(1))
            hidden = ir.Constant(self.pair, [0, NONE] * LANES)
            store(builder, builder.or_(self.differences(last), hidden), self.room, self.place(last))

    def _fetch(self, chunk: Any) -> None:
        """Ask memory for a part of what a later group reads."""
        builder = self.builder
        later = builder.add(self.at, builder.mul(self.padded, number(AHEAD * LANES)))
        start = builder.add(later, builder.mul(chunk, number(CHUNK * LANES)))
        prefetch(builder, self.sums, start, 2 * CHUNK * LANES)

    def splat(self, scalar: Any) -> Any:
        """`scalar` in the lane of every pixel."""
        return splat(self.builder, scalar, LANES)
