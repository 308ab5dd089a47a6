"""All sums and minima over the costs of one pixel in one pass of vector instructions.

Exponentials are polynomials: a processor without AVX-512 looks table entries up one by one, and a polynomial in
registers is several times as fast there. 2^−t with t = n + f, |f| ≤ ½: a polynomial of degree 5 in f, whose exponent
field n is then added to; relative error below 2·10⁻⁷.
"""

from __future__ import annotations

from typing import Any

import numba.extending
import numba.types
from llvmlite import ir

from stereogauge.kernels.vectors import (
    FLOAT,
    INT16,
    INT32,
    INT64,
    cgutils,
    constant,
    data,
    has_wide_registers,
    lanewise,
    largest,
    load,
    number,
    part,
    reduced,
    splat,
)

types: Any = numba.types
intrinsic: Any = numba.extending.intrinsic

LANES = 32 if has_wide_registers() else 16
POWER_OF_TWO = (1.0, 0.693147, 0.24022242, 0.05550734, 0.00967151, 0.00132648)
"""2^f ≈ Σ cᵢ fⁱ for |f| ≤ ½, largest relative error made smallest, 1 at 0."""

SMALLEST_EXPONENT = -125.0
ROUNDS = 1.5 * 2**23
"""Added to a float32 of small magnitude, it rounds it to a whole number, which stands in the lowest bits."""

MANTISSA_BITS = 23


def _power_of_two(builder: Any, exponent: Any) -> Any:
    """2^x in every lane, for x ≤ 0; the smallest normal numbers below 2^−125."""
    vector = exponent.type
    whole = ir.VectorType(INT32, vector.count)
    lowest = constant(vector, SMALLEST_EXPONENT)
    x = builder.select(builder.fcmp_ordered(">", exponent, lowest), exponent, lowest)
    shifted = builder.fadd(x, constant(vector, ROUNDS))
    fraction = builder.fsub(x, builder.fsub(shifted, constant(vector, ROUNDS)))
    value = constant(vector, POWER_OF_TWO[-1])
    for coefficient in POWER_OF_TWO[-2::-1]:
        value = lanewise(builder, "fmuladd", value, fraction, constant(vector, coefficient))
    steps = builder.shl(builder.bitcast(shifted, whole), constant(whole, MANTISSA_BITS))
    return builder.bitcast(builder.add(builder.bitcast(value, whole), steps), vector)


def _halves(builder: Any, vector: Any) -> tuple[Any, Any]:
    """The lanes of an even and of an odd number, in 32 bits each."""
    wide = ir.VectorType(INT32, vector.type.count // 2)
    pairs = builder.bitcast(vector, wide)
    return builder.and_(pairs, constant(wide, 0xFFFF)), builder.lshr(pairs, constant(wide, 16))


def _sum(builder: Any, vector: Any) -> Any:
    """The sum of all lanes, pairwise."""
    while vector.type.count > 1:
        half = vector.type.count // 2
        vector = builder.fadd(part(builder, vector, 0, half), part(builder, vector, half, half))
    return builder.extract_element(vector, ir.Constant(INT32, 0))


class _Running:
    """A value that changes from block to block, kept in a register."""

    def __init__(self, builder: Any, start: Any) -> None:
        self.builder = builder
        self.place = cgutils.alloca_once_value(builder, start)

    @property
    def value(self) -> Any:
        return self.builder.load(self.place)

    def set(self, vector: Any) -> None:
        self.builder.store(vector, self.place)

    def add(self, vector: Any) -> None:
        plus = self.builder.fadd if vector.type.element == FLOAT else self.builder.add
        self.set(plus(self.value, vector))

    def lower(self, vector: Any) -> None:
        self.set(lanewise(self.builder, "umin", self.value, vector))


class _Pixel:
    """Emits the code of one pixel; the arguments are those of `evidence_vector`."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.builder = builder
        (sums, self.at, fences, self.blocks, ndisp, visible, winner, lowest) = arguments[:8]
        (sigma_scale, temperature_scale, far, ramp) = arguments[8:]
        self.vector = ir.VectorType(INT16, LANES)
        self.real, self.wide = ir.VectorType(FLOAT, LANES // 2), ir.VectorType(INT32, LANES // 2)
        self.sums = data(context, builder, signature.args[0], sums)
        self.fences = data(context, builder, signature.args[2], fences)
        rounded = builder.mul(self.blocks, number(LANES))
        self.after_range = builder.add(builder.sub(rounded, ndisp), number(1))
        self.after_visible = builder.add(builder.sub(rounded, visible), number(1))
        self.lowest, self.ramp, self.far, self.winner = (
            splat(builder, one, LANES) for one in (lowest, ramp, far, builder.trunc(winner, INT16))
        )
        self.sigma_scale, self.minus_sigma, self.minus_temperature = (
            splat(builder, one, LANES // 2)
            for one in (sigma_scale, builder.fneg(sigma_scale), builder.fneg(temperature_scale))
        )

    def emit(self) -> list[Any]:
        """What `evidence_vector` returns."""
        # One loop for each: together they would need more registers than there are.
        return [*self._sums(), *self._minima()]

    def _blocks(self) -> Any:
        return cgutils.for_range(self.builder, self.blocks, intp=INT64)

    def _costs(self, d: Any, step: int) -> Any:
        """A(d + step) for a block from d on; 65535 outside the range."""
        builder = self.builder
        beyond = builder.add(d, number(step))
        fence = d if step < 0 else builder.add(self.after_range, beyond)
        there = load(builder, self.sums, builder.add(self.at, beyond), self.vector)
        return builder.or_(there, load(builder, self.fences, fence, self.vector))

    def _differences(self, d: Any, hidden_from: Any) -> Any:
        """A(d) − A₀, and 65535 from where `hidden_from` says."""
        builder = self.builder
        costs = load(builder, self.sums, builder.add(self.at, d), self.vector)
        hidden = load(builder, self.fences, builder.add(hidden_from, d), self.vector)
        return builder.or_(builder.sub(costs, self.lowest), hidden)

    def _sums(self) -> list[Any]:
        builder = self.builder
        close, weights, weighted = (_Running(builder, constant(self.real, 0.0)) for _ in range(3))
        differences, rivals = (_Running(builder, constant(self.wide, 0)) for _ in range(2))
        with self._blocks() as loop:
            d = builder.mul(loop.index, number(LANES))
            margin = lanewise(builder, "usub.sat", self.ramp, self._differences(d, self.after_visible))
            for half in _halves(builder, margin):
                rivals.add(half)
            difference = self._differences(d, self.after_range)
            halves = _halves(builder, difference)
            reals = [builder.sitofp(half, self.real) for half in halves]
            for half, q in zip(halves, reals, strict=True):
                differences.add(half)
                weight = _power_of_two(builder, builder.fmul(q, self.minus_temperature))
                weights.add(weight)
                weighted.set(lanewise(builder, "fmuladd", weight, q, weighted.value))
            near = builder.bitcast(lanewise(builder, "usub.sat", self.far, difference), ir.IntType(16 * LANES))
            with builder.if_then(builder.icmp_unsigned("!=", near, ir.Constant(near.type, 0))):
                for q in reals:
                    exponent = builder.fmul(builder.fmul(q, self.minus_sigma), builder.fmul(q, self.sigma_scale))
                    close.add(_power_of_two(builder, exponent))
        reals = [_sum(builder, one.value) for one in (close, weights, weighted)]
        return reals + [reduced(builder, "add", one.value) for one in (differences, rivals)]

    def _minima(self) -> list[Any]:
        builder = self.builder
        none = largest(self.vector)
        second, strict, weak = (_Running(builder, none) for _ in range(3))
        with self._blocks() as loop:
            d = builder.mul(loop.index, number(LANES))
            before, after = self._costs(d, -1), self._costs(d, 1)
            numbers = builder.add(
                splat(builder, builder.trunc(d, INT16), LANES), ir.Constant(self.vector, list(range(LANES)))
            )
            other = builder.select(builder.icmp_unsigned("==", numbers, self.winner), none, self._costs(d, 0))
            second.lower(other)
            beside = lanewise(builder, "umin", before, after)
            strict.lower(builder.select(builder.icmp_unsigned("<", other, beside), other, none))
            ends = builder.icmp_unsigned("<", other, after)
            level = builder.icmp_unsigned("<=", other, before)
            weak.lower(builder.select(builder.and_(ends, level), other, none))
        return [reduced(builder, "umin", one.value) for one in (second, strict, weak)]


@intrinsic
def evidence_vector(
    typing: Any,
    sums: Any,
    at: Any,
    fences: Any,
    blocks: Any,
    ndisp: Any,
    visible: Any,
    winner: Any,
    lowest: Any,
    sigma_scale: Any,
    temperature_scale: Any,
    far: Any,
    ramp: Any,
) -> Any:
    """Over the costs A = sums[at : at + ndisp] of a pixel, with q = A − `lowest`: Σ 2^−(q·`sigma_scale`)²,
    Σ 2^−(q·`temperature_scale`), Σ q·2^−(q·`temperature_scale`), Σ q, Σ max(0, `ramp` − q) over the first `visible`
    ones; and, the winner's left out, the smallest A, the smallest strict local minimum, and the smallest A that is not
    above the one before it and below the one after it.

    `blocks`·LANES costs are read, and one more on each side. Those after the last disparity count with q = 65535,
    except among the rivals; a block in which every q is at least `far` adds nothing to the first sum. `fences` is
    65535, then `blocks`·LANES zeros, then as many times 65535.
    """
    size = types.int64
    whole, real = types.uint16, types.float32
    result = types.Tuple((real, real, real, types.uint32, types.uint32, whole, whole, whole))
    signature = result(sums, size, fences, size, size, size, size, whole, real, real, whole, whole)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_tuple(builder, signature.return_type, _Pixel(context, builder, signature, arguments).emit())

    return signature, generate
