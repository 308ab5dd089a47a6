"""Which of many keys are among a few, by looking up their digits in registers."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from stereogauge.kernels.error_bins import AT_ONCE
from stereogauge.kernels.jit import helper
from stereogauge.kernels.pixelwise import PART_BITS, Keys, Places
from stereogauge.kernels.vectors import (
    INT8,
    INT16,
    INT64,
    cgutils,
    constant,
    data,
    features,
    intrinsic,
    load,
    number,
    types,
)

LOOK_UPS = {
    "+avx512bw": (64, "llvm.x86.avx512.pshuf.b.512"),
    "+avx2": (32, "llvm.x86.avx2.pshuf.b"),
    "+ssse3": (16, "llvm.x86.ssse3.pshuf.b.128"),
}
"""Instructions that find one of 16 bytes, repeated in the whole register, for every lane: how many lanes, its name."""


@intrinsic
def lowest_bit(typing: Any, bits: Any) -> Any:
    """The number of the lowest bit that is set; there is one."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), emit


def _by_digits(lanes: int, name: str) -> Any:
    """`among_keys` by an instruction that looks up bytes."""
    tables_of_digits, halves = ir.VectorType(INT8, lanes), ir.VectorType(INT16, lanes)

    def among_keys(typing: Any, row: Any, start: Any, tables: Any, numbers: Any) -> Any:
        """A bit for each of 64 fine keys from `start` on: not set where its key has no number."""

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            keys, tables = (data(context, builder, signature.args[k], arguments[k]) for k in (0, 2))
            signature = ir.FunctionType(tables_of_digits, [tables_of_digits] * 2)
            look_up = cgutils.get_or_insert_function(builder.module, signature, name)
            found = number(0)
            for first in range(0, AT_ONCE, lanes):
                fine = load(builder, keys, builder.add(arguments[1], number(first)), halves)
                buckets = constant(tables_of_digits, -1)
                for place in range(3):
                    digit = builder.lshr(fine, constant(halves, PART_BITS + 4 * place))
                    digit = builder.trunc(builder.and_(digit, constant(halves, 15)), tables_of_digits)
                    table = load(builder, tables, number(AT_ONCE * place), tables_of_digits)
                    buckets = builder.and_(buckets, builder.call(look_up, [table, digit]))
                some = builder.icmp_unsigned("!=", buckets, constant(tables_of_digits, 0))
                bits = builder.zext(builder.bitcast(some, ir.IntType(lanes)), INT64)
                found = builder.or_(found, builder.shl(bits, number(first)))
            return found

        return types.uint64(row, types.int64, tables, numbers), emit

    return intrinsic(among_keys)


@helper
def _one_by_one(row: Keys, start: int, tables: NDArray[np.uint8], numbers: Places) -> np.uint64:
    """`among_keys` on any processor."""
    bits = np.uint64(0)
    for i in range(AT_ONCE):
        bits |= np.uint64(numbers[row[start + i] >> PART_BITS] >= 0) << np.uint64(i)
    return bits


_look_up = next((LOOK_UPS[feature] for feature in LOOK_UPS if feature in features()), None)
among_keys = _by_digits(*_look_up) if _look_up else _one_by_one.made()
