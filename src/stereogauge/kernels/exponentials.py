"""Exponentials in every lane of a vector, relative error below 2·10⁻⁷.

- 2^x, x = n + f, |f| ≤ ½: a polynomial of degree 5 in f, whose exponent field n is then added to.
- A processor with AVX-512 finds one of 32 numbers in two registers with one instruction. With x = n + j/32 + f,
  |f| ≤ 1/64, a table of 2^(j/32) and a polynomial of degree 2 suffice there; and exp(−q/T) of a whole number q is a
  product of what its digits of base 32 contribute.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from stereogauge.kernels.cost_summary import DIGIT, ENTRIES, LAST_DIGIT, MANTISSA_BITS, SECOND_DIGITS, UNITS
from stereogauge.kernels.vectors import (
    FLOAT,
    INT32,
    cgutils,
    constant,
    has_wide_registers,
    lanewise,
    load,
    number,
    splat,
)

LOOKS_UP = has_wide_registers()
"""Whether tables are looked up in registers."""

POWER_OF_TWO = (1.0, 0.693147, 0.24022242, 0.05550734, 0.00967151, 0.00132648)
"""2^f ≈ Σ cᵢ fⁱ for |f| ≤ ½, largest relative error made smallest, 1 at 0."""

NEAR_ONE = (1.0, 0.69315733, 0.24022676)
"""The same for |f| ≤ 1/64."""

ROUNDS = 1.5 * 2**MANTISSA_BITS
"""Added to a float32 of small magnitude, it rounds it to a whole number, which stands in the lowest bits."""

SMALLEST_EXPONENT = -125.0


class Table:
    """ENTRIES numbers in registers, from `place` of `tables` on."""

    def __init__(self, builder: Any, tables: Any, place: int) -> None:
        self.builder = builder
        vector = ir.VectorType(FLOAT, ENTRIES // 2)
        self.halves = [load(builder, tables, number(place + start), vector) for start in (0, ENTRIES // 2)]

    def entry(self, index: Any) -> Any:
        """The entry whose number is `index` modulo ENTRIES, in every lane."""
        first, second = self.halves
        signature = ir.FunctionType(first.type, [first.type, index.type, first.type])
        function = cgutils.get_or_insert_function(self.builder.module, signature, "llvm.x86.avx512.vpermi2var.ps.512")
        return self.builder.call(function, [first, index, second])


class Digits:
    """exp(−q/T) for whole numbers 0 ≤ q < REACH: one factor per digit of base ENTRIES, the last of them 0 or 1."""

    REACH = 2 * ENTRIES**2

    def __init__(self, builder: Any, tables: Any) -> None:
        self.builder = builder
        self.units, self.seconds = (Table(builder, tables, place) for place in (UNITS, SECOND_DIGITS))
        self.last = splat(builder, builder.load(builder.gep(tables, [number(LAST_DIGIT)])), ENTRIES // 2)

    def weight(self, q: Any) -> Any:
        """exp(−q/T). A q from REACH on counts as q mod REACH/2 + REACH/2."""
        builder = self.builder
        second = builder.lshr(q, constant(q.type, DIGIT))
        product = builder.fmul(self.units.entry(q), self.seconds.entry(second))
        further = builder.icmp_unsigned(">", q, constant(q.type, ENTRIES**2 - 1))
        return builder.select(further, builder.fmul(product, self.last), product)

    def left_out(self, q: Any) -> Any:
        """What `weight` leaves out of q."""
        multiple = self.builder.and_(q, constant(q.type, -(ENTRIES**2)))
        return lanewise(self.builder, "usub.sat", multiple, constant(q.type, ENTRIES**2))


def power_of_two(builder: Any, one: Any, other: Any, roots: Table | None = None) -> tuple[Any, Any]:
    """Two factors of 2^(one·other) in every lane, for −125 ≤ one·other ≤ 0; `roots` is the table of 2^(j/32)."""
    vector = one.type
    whole = ir.VectorType(INT32, vector.count)
    digit = 0 if roots is None else DIGIT
    rounds = constant(vector, ROUNDS / 2**digit)
    rounded = lanewise(builder, "fmuladd", one, other, rounds)
    fraction = lanewise(builder, "fmuladd", one, other, builder.fsub(rounds, rounded))
    steps = builder.bitcast(rounded, whole)
    exponent = builder.shl(steps, constant(whole, MANTISSA_BITS - digit))
    near_one = _polynomial(builder, fraction, POWER_OF_TWO if roots is None else NEAR_ONE)
    if roots is None:
        return builder.bitcast(builder.add(builder.bitcast(near_one, whole), exponent), vector), constant(vector, 1.0)
    root = builder.bitcast(roots.entry(steps), whole)
    return builder.bitcast(builder.add(root, exponent), vector), near_one


def _polynomial(builder: Any, variable: Any, coefficients: tuple[float, ...]) -> Any:
    """Σ cᵢ variableⁱ."""
    value = constant(variable.type, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = lanewise(builder, "fmuladd", value, variable, constant(variable.type, coefficient))
    return value
