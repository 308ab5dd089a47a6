"""`sgm_plain.row_plain` as LLVM vector instructions: costs, paths, sums and winners of a pixel without leaving the
registers, several times as fast as what LLVM finds by itself.

Each mode has a loop over the row of its own: what differs between modes would cost every pixel a third of its time.
Vectors are generic; LLVM splits them for the machine at hand (SSE, AVX2, AVX-512, NEON). Disparities are taken `WIDE`
at a time, and a last `LANES` where the range asks for them.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir

from stereogauge.kernels.sgm_plain import DECIDE, DECIDE_BOTH, FORGET, LANES, MINIMUM, WRITE
from stereogauge.kernels.vectors import (
    INT8,
    INT16,
    INT32,
    INT64,
    cgutils,
    constant,
    data,
    has_wide_registers,
    intrinsic,
    lanewise,
    largest,
    load,
    number,
    part,
    pointer,
    prefetch,
    reduced,
    splat,
    store,
    types,
)

WIDE = 2 * LANES if has_wide_registers() else LANES
AHEAD = 1024
"""How many sums ahead memory is asked for: the processor does not foresee a sweep that goes backwards."""

SUM_BITS = 10
"""Where path costs are bytes, the sum of four fits into this many bits. The first sweep writes the matching cost, at
most 62, into the other six, so that the second one need not compute it again.
"""


def _smaller_half(builder: Any, vector: Any) -> Any:
    """`LANES` lanes, each the minimum of those that a wide vector has for it."""
    if vector.type.count == LANES:
        return vector
    return lanewise(builder, "umin", part(builder, vector, 0, LANES), part(builder, vector, LANES, LANES))


def _keys(builder: Any, sums: Any, disparities: Any) -> Any:
    """(A ≪ 16) | d in every lane."""
    wide = ir.VectorType(INT32, sums.type.count)
    shifted = builder.shl(builder.zext(sums, wide), ir.Constant(wide, [16] * wide.count))
    return builder.or_(shifted, builder.zext(disparities, wide))


class _Fields:
    """Access by name to the arrays in a named tuple."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        self.context, self.builder, self.kind, self.value = context, builder, kind, value

    def _at(self, name: str) -> tuple[Any, Any]:
        index = self.kind.fields.index(name)
        return self.kind[index], self.builder.extract_value(self.value, index)

    def number(self, name: str) -> Any:
        return self._at(name)[1]

    def data(self, name: str) -> Any:
        return data(self.context, self.builder, *self._at(name))

    def each_data(self, name: str) -> list[Any]:
        kind, arrays = self._at(name)
        return [
            data(self.context, self.builder, kind[i], self.builder.extract_value(arrays, i)) for i in range(len(kind))
        ]


class _Row:
    """Emits the code of one row; the arguments are those of `row_plain`."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.builder = builder
        pair = _Fields(context, builder, signature.args[0], arguments[0])
        rolling = _Fields(context, builder, signature.args[1], arguments[1])
        self.sums = data(context, builder, signature.args[2], arguments[2])
        (self.row_at, self.y, west, east, self.downward, self.width, self.padded, _) = arguments[3:]
        self.ahead = builder.select(self.downward, number(AHEAD), number(-AHEAD))
        self.later = builder.select(self.downward, ir.Constant(INT16, 0), ir.Constant(INT16, 1))
        self.left, self.right = pair.each_data("left"), pair.each_data("right")
        self.outside, self.unused = pair.data("outside"), pair.data("unused")
        self.keys, self.penalties = rolling.data("left_keys"), rolling.data("penalties")
        self.right_costs, self.right_disparities = rolling.data("right_costs"), rolling.data("right_disparities")
        self.paths = rolling.each_data("paths")
        self.small_penalty = pair.number("small_penalty")
        self.element = self.small_penalty.type
        self.packed = self.element.width == 8
        self.slot = builder.add(self.padded, number(LANES))
        starts = [number(LANES), *(self._place(slot) for slot in (number(0), west, east))]
        every = range(len(self.paths))
        self.places = [cgutils.alloca_once(builder, INT64) for _ in every]
        self.before = [cgutils.alloca_once(builder, ir.VectorType(self.element, WIDE)) for _ in every]
        for place, start in zip(self.places, starts, strict=False):
            builder.store(start, place)

    def _place(self, slot: Any) -> Any:
        return self.builder.add(self.builder.mul(slot, self.slot), number(LANES))

    def emit(self, mode: int) -> None:
        """All pixels of the row."""
        builder = self.builder
        last = builder.sub(self.width, number(1))
        end = self._place(self.width)
        with cgutils.for_range(builder, self.width, intp=INT64) as loop:
            column = builder.select(self.downward, loop.index, builder.sub(last, loop.index))
            self._go_to(column, builder.sub(last, column))
            key = self._pixel(mode)
            if mode in (DECIDE, DECIDE_BOTH):
                builder.store(key, builder.gep(self.keys, [column]))
            for place in self.places[1:]:
                following = builder.add(builder.load(place), self.slot)
                around = builder.icmp_signed("==", following, end)
                builder.store(builder.select(around, number(LANES), following), place)

    def _go_to(self, x: Any, from_the_right: Any) -> None:
        """What the pixel in column x needs of its own."""
        builder = self.builder
        pixel = builder.add(builder.mul(self.y, self.width), x)
        self.codes = [builder.load(builder.gep(bytes_, [pixel])) for bytes_ in self.left]
        self.column = from_the_right
        self.right_at = builder.add(builder.mul(self.y, builder.add(self.width, self.padded)), from_the_right)
        self.sums_at = builder.add(self.row_at, builder.mul(x, self.padded))
        self.at = [builder.load(place) for place in self.places]
        self.minimum = [
            builder.gep(path, [builder.sub(at, number(MINIMUM))]) for path, at in zip(self.paths, self.at, strict=True)
        ]
        self.base = [builder.load(minimum) for minimum in self.minimum]
        rows = [builder.add(x, builder.mul(number(i), self.width)) for i in range(len(self.paths))]
        self.large = [builder.load(builder.gep(self.penalties, [row])) for row in rows]

    def _pixel(self, mode: int) -> Any:
        """All disparities of the pixel; the key of the winner, or 0 where none is asked for."""
        builder = self.builder
        numbers = range(1 if mode == FORGET else 0, len(self.paths))
        wide, wide_sums = ir.VectorType(self.element, WIDE), ir.VectorType(INT16, WIDE)
        lowest = {i: cgutils.alloca_once_value(builder, largest(wide)) for i in numbers}
        best, best_at = (cgutils.alloca_once_value(builder, largest(wide_sums)) for _ in range(2))
        for i in numbers:
            first = load(builder, self.paths[i], builder.sub(self.at[i], number(1)), wide)
            builder.store(first, self.before[i])
        with cgutils.for_range(builder, builder.udiv(self.padded, number(WIDE)), intp=INT64) as loop:
            at = builder.mul(loop.index, number(WIDE))
            paths, sums, disparities = self._block(mode, numbers, at, WIDE)
            for i in numbers:
                builder.store(lanewise(builder, "umin", builder.load(lowest[i]), paths[i]), lowest[i])
            if mode in (DECIDE, DECIDE_BOTH):
                lower = builder.icmp_unsigned("<", sums, builder.load(best))
                builder.store(builder.select(lower, sums, builder.load(best)), best)
                builder.store(builder.select(lower, disparities, builder.load(best_at)), best_at)
        minima = {
            i: cgutils.alloca_once_value(builder, _smaller_half(builder, builder.load(lowest[i]))) for i in numbers
        }
        key = cgutils.alloca_once_value(
            builder, _smaller_half(builder, _keys(builder, builder.load(best), builder.load(best_at)))
        )
        if WIDE > LANES:
            rest = builder.and_(self.padded, number(LANES))
            with builder.if_then(builder.icmp_signed("!=", rest, number(0))):
                paths, sums, disparities = self._block(mode, numbers, builder.sub(self.padded, rest), LANES)
                for i in numbers:
                    builder.store(lanewise(builder, "umin", builder.load(minima[i]), paths[i]), minima[i])
                if mode in (DECIDE, DECIDE_BOTH):
                    keys = _keys(builder, sums, disparities)
                    builder.store(lanewise(builder, "umin", builder.load(key), keys), key)
        for i in numbers:
            builder.store(reduced(builder, "umin", builder.load(minima[i])), self.minimum[i])
        return reduced(builder, "umin", builder.load(key)) if mode in (DECIDE, DECIDE_BOTH) else ir.Constant(INT32, 0)

    def _block(self, mode: int, numbers: range, at: Any, lanes: int) -> tuple[dict[int, Any], Any, Any]:
        """Path costs, their sums and the disparities of the `lanes` disparities from `at` on."""
        builder = self.builder
        sum_vector = ir.VectorType(INT16, lanes)
        there = builder.add(self.sums_at, at)
        written = load(builder, self.sums, there, sum_vector) if mode in (DECIDE, DECIDE_BOTH) else None
        if mode in (DECIDE, DECIDE_BOTH):
            prefetch(builder, self.sums, builder.add(there, self.ahead), 2 * lanes, to_write=True)
        cost, written = self._cost_and_sums(at, lanes, written)
        paths = {i: self._path(i, cost, at, lanes) for i in numbers}
        disparities = builder.add(
            splat(builder, builder.trunc(at, INT16), lanes), ir.Constant(sum_vector, list(range(lanes)))
        )
        if mode == FORGET:
            return paths, None, disparities
        wide = [path if self.element.width == 16 else builder.zext(path, sum_vector) for path in paths.values()]
        sums = functools.reduce(builder.add, wide)
        if mode == WRITE:
            if self.packed:
                above = builder.shl(builder.zext(cost, sum_vector), constant(sum_vector, SUM_BITS))
                sums = builder.or_(sums, above)
            # Around the cache: a volume is too large for it, and the line need not be read first.
            stored = builder.store(sums, pointer(builder, self.sums, there, sum_vector), align=2 * LANES)
            stored.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(INT32, 1)]))
            return paths, None, disparities
        sums = builder.add(sums, written)
        store(builder, sums, self.sums, there)
        if mode == DECIDE_BOTH:
            self._right_winners(sums, disparities, at)
        return paths, sums, disparities

    def _cost_and_sums(self, at: Any, lanes: int, written: Any) -> tuple[Any, Any]:
        """Costs, and what the other sweep's sums are where it has `written` some: unpacked, or as they are."""
        builder = self.builder
        if written is None or not self.packed:
            return self._cost(at, lanes), written
        vector = ir.VectorType(self.element, lanes)
        cost = builder.trunc(builder.lshr(written, constant(written.type, SUM_BITS)), vector)
        cost = lanewise(builder, "umax", cost, load(builder, self.unused, at, vector))
        return cost, builder.and_(written, constant(written.type, 2**SUM_BITS - 1))

    def _cost(self, at: Any, lanes: int) -> Any:
        builder = self.builder
        byte_vector, vector = ir.VectorType(INT8, lanes), ir.VectorType(self.element, lanes)
        there = builder.add(self.right_at, at)
        differing = [
            lanewise(
                builder, "ctpop", builder.xor(splat(builder, code, lanes), load(builder, right, there, byte_vector))
            )
            for code, right in zip(self.codes, self.right, strict=True)
        ]
        cost = functools.reduce(builder.add, differing)
        outside = load(builder, self.outside, builder.add(self.column, at), byte_vector)
        cost = lanewise(builder, "umax", cost, outside)
        cost = cost if self.element.width == 8 else builder.zext(cost, vector)
        return lanewise(builder, "umax", cost, load(builder, self.unused, at, vector))

    def _path(self, i: int, cost: Any, at: Any, lanes: int) -> Any:
        builder = self.builder
        vector = ir.VectorType(self.element, lanes)
        start = builder.add(self.at[i], at)
        here = load(builder, self.paths[i], start, vector)
        after = load(builder, self.paths[i], builder.add(start, number(1)), vector)
        before = builder.load(self.before[i])
        if lanes < WIDE:
            before = part(builder, before, 0, LANES)
        else:
            # The next block's d − 1 lanes are read before this block is overwritten.
            following = load(builder, self.paths[i], builder.add(start, number(lanes - 1)), vector)
            builder.store(following, self.before[i])
        stepped = lanewise(
            builder, "uadd.sat", lanewise(builder, "umin", before, after), splat(builder, self.small_penalty, lanes)
        )
        above = builder.sub(lanewise(builder, "umin", here, stepped), splat(builder, self.base[i], lanes))
        change = lanewise(builder, "umin", above, splat(builder, self.large[i], lanes))
        path = lanewise(builder, "uadd.sat", change, cost)
        store(builder, path, self.paths[i], start)
        return path

    def _right_winners(self, sums: Any, disparities: Any, at: Any) -> None:
        builder = self.builder
        there = builder.add(self.column, at)
        costs = load(builder, self.right_costs, there, sums.type)
        found = load(builder, self.right_disparities, there, sums.type)
        bound = builder.add(costs, splat(builder, self.later, sums.type.count))
        lower = builder.icmp_unsigned("<", sums, bound)
        store(builder, builder.select(lower, sums, costs), self.right_costs, there)
        store(builder, builder.select(lower, disparities, found), self.right_disparities, there)


@intrinsic
def row_vector(
    typing: Any,
    pair: Any,
    rolling: Any,
    sums: Any,
    sums_at: Any,
    y: Any,
    west: Any,
    east: Any,
    downward: Any,
    width: Any,
    padded: Any,
    mode: Any,
) -> Any:
    """`row_plain`; in mode WRITE the address of `sums[sums_at]` is divisible by 64."""
    whole = types.int64
    signature = types.void(pair, rolling, sums, whole, whole, whole, whole, types.boolean, whole, whole, whole)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = _Row(context, builder, signature, arguments)
        for mode in (FORGET, WRITE, DECIDE, DECIDE_BOTH):
            with builder.if_then(builder.icmp_signed("==", arguments[-1], number(mode))):
                row.emit(mode)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def publish(typing: Any) -> Any:
    """Make stores around the cache visible to other threads."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate
