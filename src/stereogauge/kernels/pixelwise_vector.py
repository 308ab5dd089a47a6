"""Instructions of the pixel-wise pass that Numba has no words for."""

from __future__ import annotations

from typing import Any

import numba.extending
import numba.types
from llvmlite import ir

from stereogauge.kernels.vectors import FLOAT, INT32, data, load, store

types: Any = numba.types
intrinsic: Any = numba.extending.intrinsic

FOUR_FLOATS = ir.VectorType(FLOAT, 4)
FOUR_WORDS = ir.VectorType(INT32, 4)
FOUR_DOUBLES = ir.VectorType(ir.DoubleType(), 4)


@intrinsic
def bits_of(typing: Any, value: Any) -> Any:
    """The bits of a single-precision number."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], INT32)

    return types.uint32(types.float32), emit


@intrinsic
def add_errors(typing: Any, sums: Any, at: Any, error: Any, relative: Any) -> Any:
    """Add e, |e|, e² and the relative error to the four doubles from `at` on, in one vector.

    The square of a single-precision number is exact in double precision, so that it does not matter whether the
    processor rounds between multiplication and addition.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = data(context, builder, signature.args[0], arguments[0])
        single = ir.Constant(FOUR_FLOATS, ir.Undefined)
        for lane, argument in enumerate((2, 2, 2, 3)):
            single = builder.insert_element(single, arguments[argument], ir.Constant(INT32, lane))
        unsigned = ir.Constant(FOUR_WORDS, [-1, 0x7FFFFFFF, -1, -1])
        single = builder.bitcast(builder.and_(builder.bitcast(single, FOUR_WORDS), unsigned), FOUR_FLOATS)
        double = builder.fpext(single, FOUR_DOUBLES)
        ones = ir.Constant(FOUR_DOUBLES, [1.0] * 4)
        factor = builder.shuffle_vector(ones, double, ir.Constant(FOUR_WORDS, [0, 1, 6, 3]))
        product = builder.fmul(double, factor, flags=["contract"])
        total = builder.fadd(load(builder, base, arguments[1], FOUR_DOUBLES), product, flags=["contract"])
        store(builder, total, base, arguments[1])
        return context.get_dummy_value()

    return types.void(sums, types.int64, types.float32, types.float32), emit
