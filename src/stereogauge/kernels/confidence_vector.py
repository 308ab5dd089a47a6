"""All sums and minima over the costs of a group of pixels, in explicit vector instructions."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from stereogauge.kernels.alignment import LINE
from stereogauge.kernels.cost_group import CHUNK, LANES, Group, Running
from stereogauge.kernels.cost_summary import NONE, ROOTS, CostSummary, Scales
from stereogauge.kernels.exponentials import LOOKS_UP, SMALLEST_EXPONENT, Digits, Table, power_of_two
from stereogauge.kernels.vectors import (
    FLOAT,
    INT16,
    INT32,
    INT64,
    cgutils,
    constant,
    data,
    intrinsic,
    lanewise,
    largest,
    load,
    number,
    splat,
    store,
    types,
)

SUMMED = 8
"""Pairs of disparities whose terms are summed for themselves: a long sum of float32 rounds less that way."""

SPARE_VECTORS = 2 + CHUNK // 2 + LINE // (4 * LANES)
"""Vectors of the room beside those of the disparities: around them, after the last chunk, for alignment."""


class _Evidence(Group):
    """Emits the code of one group; the arguments are those of `evidence_vector`."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        sums, at, padded, ndisp, room, lowest, winners, self.y, self.x, scales, summary = arguments
        sums, room, lowest, winners = (
            data(context, builder, signature.args[place], array)
            for place, array in ((0, sums), (4, room), (5, lowest), (6, winners))
        )
        row = ir.VectorType(INT16, LANES)
        super().__init__(builder, sums, at, padded, ndisp, room, load(builder, lowest, self.x, row))
        self.winner = load(builder, winners, self.x, row)
        self.scales = dict(zip(Scales._fields, cgutils.unpack_tuple(builder, scales), strict=True))
        tables = signature.args[9].types[Scales._fields.index("tables")]
        self.tables = data(context, builder, tables, self.scales["tables"])
        maps = zip(signature.args[10].types, cgutils.unpack_tuple(builder, summary), strict=True)
        arrays = [context.make_array(array_type)(context, builder, array) for array_type, array in maps]
        self.width = builder.extract_value(arrays[0].shape, 1)
        self.maps = {name: array.data for name, array in zip(CostSummary._fields, arrays, strict=True)}
        self.found: dict[str, Any] = {}
        self.unused = builder.sitofp(self.odd, FLOAT)

    def emit(self) -> None:
        """Everything that `evidence_vector` does."""
        self.turn()
        self._sum_of_close(*self._sums_of_weights())
        self._minima()
        self._write()

    def _zeros(self, count: int) -> list[Running]:
        return [Running(self.builder, constant(self.real, 0.0)) for _ in range(count)]

    def _sums_of_weights(self) -> tuple[Any, Any]:
        """Σ q, Σ exp(−q/T) and Σ q·exp(−q/T); returns where the numbers of near pairs stand, and how many.

        A pair of disparities is near where any q is below `far`. Which ones are is written down without a branch,
        since a processor would not foresee it.
        """
        builder = self.builder
        weights, weighted, block_weights, block_weighted = self._zeros(4)
        total = Running(builder, constant(self.wide, 0))
        near = builder.gep(self.room, [self.place(builder.add(self.pairs, number(CHUNK // 2)))])
        near_count = Running(builder, number(0))
        far = splat(builder, builder.trunc(self.scales["far"], INT16), 2 * LANES)
        digits = Digits(builder, self.tables) if LOOKS_UP else None

        def pass_on() -> None:
            block_weights.pass_on(weights)
            block_weighted.pass_on(weighted)

        with self.blocks(self.pairs, number(SUMMED), pass_on) as index:
            difference = self.differences(index)
            halves = self.halves(difference)
            reals = [builder.sitofp(half, self.real) for half in halves]
            found = [self._weight(q) for q in reals] if digits is None else self._looked_up(digits, difference, halves)
            block_weights.add(builder.fadd(*found))
            for half, q, weight in zip(halves, reals, found, strict=True):
                total.add(half)
                block_weighted.add_product(weight, q)
            count = near_count.value
            builder.store(builder.trunc(index, INT16), builder.gep(near, [count]))
            near_count.set(builder.add(count, builder.zext(self.any_below(difference, far), INT64)))
        self._write_weights(weights.value, weighted.value)
        unused = builder.mul(builder.trunc(self.odd, INT32), ir.Constant(INT32, NONE))
        lowest = builder.mul(builder.zext(self.lowest, self.wide), self.splat(builder.trunc(self.ndisp, INT32)))
        self.found["total"] = builder.add(builder.sub(total.value, self.splat(unused)), lowest)
        return near, near_count.value

    def _write_weights(self, weights: Any, weighted: Any) -> None:
        """The maps of Σ exp(−q/T) and Σ q·exp(−q/T)."""
        builder = self.builder
        unused = builder.fmul(self.unused, self.scales["far_weight"])
        weights = builder.fsub(weights, self.splat(unused))
        weighted = builder.fsub(weighted, self.splat(builder.fmul(unused, ir.Constant(FLOAT, float(NONE)))))
        # Taking the unused ones off again rounds: without a floor, entropies just below 0 would have no logarithm.
        self.found["partition"] = self.larger(weights, 1.0)
        mean = builder.fdiv(weighted, builder.fmul(weights, self.splat(self.scales["temperature"])))
        self.found["excess"] = self.larger(mean, 0.0)

    def _looked_up(self, digits: Digits, difference: Any, halves: tuple[Any, Any]) -> list[Any]:
        """exp(−q/T) of both halves from tables; the rare q that these do not reach, by `_weight` too."""
        builder = self.builder
        found = [Running(builder, digits.weight(half)) for half in halves]
        reached = constant(self.pair, digits.REACH - 1)
        with builder.if_then(self.any_below(reached, difference), likely=False):
            for half, weight in zip(halves, found, strict=True):
                rest = builder.sitofp(digits.left_out(half), self.real)
                weight.set(builder.fmul(weight.value, self._weight(rest)))
        return [weight.value for weight in found]

    def _weight(self, q: Any) -> Any:
        """exp(−q/T)."""
        builder = self.builder
        scaled = self.larger(
            builder.fmul(q, self.splat(builder.fneg(self.scales["temperature_scale"]))), SMALLEST_EXPONENT
        )
        return power_of_two(builder, scaled, constant(self.real, 1.0))[0]

    def _sum_of_close(self, near: Any, count: Any) -> None:
        """Σ exp(−q²/ς²) over the pairs of disparities that are near."""
        builder = self.builder
        close, block = self._zeros(2)
        roots = Table(builder, self.tables, ROOTS) if LOOKS_UP else None
        minus_sigma = self.splat(builder.fneg(self.scales["sigma_scale"]))
        with self.blocks(count, number(SUMMED), lambda: block.pass_on(close)) as index:
            pair = builder.zext(builder.load(builder.gep(near, [index])), INT64)
            for half in self.halves(self.differences(pair)):
                scaled = builder.fmul(builder.sitofp(half, self.real), minus_sigma)
                scaled = self.larger(scaled, -((-SMALLEST_EXPONENT) ** 0.5))
                block.add_product(*power_of_two(builder, scaled, builder.fneg(scaled), roots))
        unused = builder.fmul(self.unused, self.scales["far_close"])
        winner = self.splat(builder.fadd(unused, ir.Constant(FLOAT, 1.0)))
        self.found["perturbation"] = self.larger(builder.fsub(close.value, winner), 0.0)

    def _minima(self) -> None:
        """The smallest A and the smallest local minimum beside the winner, and Σ max(0, ramp − q).

        A cost that equals the one before it belongs to a plateau, whose minimum is told at its end: below the cost
        after it, and below what stood before the plateau. Before the winner's plateau 0 stands for that.
        """
        builder = self.builder
        zero, none = constant(self.pair, 0), largest(self.pair)
        second, second_minimum, before_plateau = (Running(builder, none) for _ in range(3))
        this, before = Running(builder, self.differences(number(0))), Running(builder, none)
        before.set(self.shifted(this.value, none))
        numbers = Running(builder, ir.Constant(self.pair, [0, 1] * LANES))
        winner = self.twice(self.winner)
        rivals, margins = Running(builder, constant(self.wide, 0)), Running(builder, zero)
        ramp = self.smaller(self.scales["ramp"], number(NONE))
        ramps = splat(builder, builder.trunc(ramp, INT16), 2 * LANES)
        visible = self._visible()
        visible_pairs = self.twice(builder.trunc(visible, self.single))

        def pass_on() -> None:
            for half in self.halves(margins.value):
                rivals.add(half)
            margins.set(zero)

        # So many margins fit into 16 bits.
        fitting = builder.sdiv(number(NONE), builder.select(builder.icmp_signed("<", ramp, number(1)), number(1), ramp))
        with self.blocks(self.pairs, fitting, pass_on) as index:
            q, left, following = this.value, before.value, self.differences(builder.add(index, number(1)))
            right = self.shifted(following, q)
            this.set(following)
            before.set(right)
            margin = lanewise(builder, "usub.sat", ramps, q)
            margins.add(builder.select(builder.icmp_unsigned("<", numbers.value, visible_pairs), margin, zero))
            others = builder.icmp_unsigned("!=", numbers.value, winner)
            numbers.add(constant(self.pair, 2))
            second.lower(q, others)
            plateau = builder.and_(others, builder.icmp_unsigned("==", q, left))
            start = builder.select(others, left, zero)
            higher = self._carried(before_plateau, plateau, start)
            ends = builder.and_(others, builder.icmp_unsigned("<", q, right))
            second_minimum.lower(q, builder.and_(ends, builder.icmp_unsigned("<", q, higher)))
        self._write_rivals(rivals.value, ramp, builder.uitofp(visible, self.real))
        for name, least in (("second", second), ("second_minimum", second_minimum)):
            even, odd = (builder.trunc(half, self.single) for half in self.halves(least.value))
            self.found[name] = lanewise(builder, "uadd.sat", lanewise(builder, "umin", even, odd), self.lowest)

    def _carried(self, carried: Running, where: Any, start: Any) -> Any:
        """Per disparity what `carried` was one before it, and `start` except `where`: first even ones, then odd."""
        builder = self.builder
        last = builder.lshr(builder.bitcast(carried.value, self.wide), constant(self.wide, 16))
        even = builder.select(where, builder.bitcast(last, self.pair), start)
        carried.set(builder.select(where, self.shifted(even, carried.value), start))
        return carried.value

    def _visible(self) -> Any:
        """How many disparities of each pixel lie inside the other image: those up to x."""
        builder = self.builder
        ndisp, x = (self.splat(builder.trunc(value, INT32)) for value in (self.ndisp, self.x))
        return lanewise(builder, "umin", builder.add(x, ir.Constant(self.wide, list(range(1, LANES + 1)))), ndisp)

    def _write_rivals(self, rivals: Any, counted: Any, visible: Any) -> None:
        """The mean of max(0, 1 − q/ramp), of which 16 bits could hold `counted`."""
        builder = self.builder
        ramp = self.scales["ramp"]
        rest, whole = (self.splat(builder.sitofp(one, FLOAT)) for one in (builder.sub(ramp, counted), ramp))
        sure = lanewise(builder, "fmuladd", visible, rest, builder.uitofp(rivals, self.real))
        self.found["ambiguity"] = builder.fdiv(sure, builder.fmul(visible, whole))

    def _write(self) -> None:
        """What was found into the maps, without what lies beyond the end of the row."""
        builder = self.builder
        left = builder.sub(self.width, self.x)
        start = builder.add(builder.mul(self.y, self.width), self.x)
        found = [(vector, builder.gep(self.maps[name], [start])) for name, vector in self.found.items()]
        with builder.if_else(builder.icmp_signed(">=", left, number(LANES))) as (whole, partial):
            with whole:
                for vector, place in found:
                    store(builder, vector, place, number(0))
            with partial:
                for vector, place in found:
                    aside = cgutils.alloca_once_value(builder, vector)
                    size = 2 if vector.type.element == INT16 else 4
                    cgutils.raw_memcpy(builder, place, builder.bitcast(aside, place.type), left, size)


@intrinsic
def evidence_vector(
    typing: Any,
    sums: Any,
    at: Any,
    padded: Any,
    ndisp: Any,
    room: Any,
    lowest: Any,
    winners: Any,
    y: Any,
    x: Any,
    scales: Any,
    summary: Any,
) -> Any:
    """Fill `summary` (a `CostSummary`) at row y, columns x … x + LANES − 1 or as far as the row goes, except for
    `minimum`, `below` and `above`.

    Costs of column x begin at sums[`at`], those of the next ones `padded` elements after each other; LANES times
    `ndisp` rounded up to CHUNK are read. `lowest` and `winners` hold A₀ and d₀ from column 0 on for whole groups.
    `room` has space for SPARE_VECTORS and half of `ndisp` vectors of 2·LANES, and `ndisp` elements.
    """
    size = types.int64
    signature = types.void(sums, size, size, size, room, lowest, winners, size, size, scales, summary)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _Evidence(context, builder, signature, arguments).emit()
        return context.get_dummy_value()

    return signature, generate
