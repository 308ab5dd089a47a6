"""Instructions of the pixel-wise pass that Numba has no words for."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from stereogauge.kernels.vectors import (
    DOUBLE,
    FLOAT,
    INT8,
    INT64,
    Keep,
    cgutils,
    constant,
    data,
    intrinsic,
    lanewise,
    load,
    number,
    prefetch,
    splat,
    store,
    types,
)

EIGHT_FLAGS = ir.VectorType(ir.IntType(1), 8)
EIGHT_FLOATS = ir.VectorType(FLOAT, 8)
EIGHT_DOUBLES = ir.VectorType(DOUBLE, 8)
LINE_OF_FLOATS = ir.VectorType(FLOAT, 16)
LINE_OF_DOUBLES = ir.VectorType(DOUBLE, 16)


def _fetch(to_write: bool, keep: Keep) -> Any:
    def asked(typing: Any, values: Any, at: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            base = data(context, builder, signature.args[0], arguments[0])
            prefetch(builder, base, arguments[1], 1, to_write=to_write, keep=keep)
            return context.get_dummy_value()

        return types.void(values, types.int64), emit

    return intrinsic(asked)


fetch, fetch_to_write = _fetch(False, Keep.ONCE), _fetch(True, Keep.NEXT)
"""Ask for the line of the cache that holds an element, and go on without waiting for it.

Maps are read once: were they kept, keys would be gone from the cache before the second pass.
"""


@intrinsic
def depth_line(typing: Any, used: Any, safe: Any, shift: Any, at: Any, depth: Any) -> Any:
    """|Z_D − Z_E| / fB of 16 pixels from `at` on, Z being fB/(disparity + shift)."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        addresses = [data(context, builder, signature.args[k], arguments[k]) for k in (0, 1, 4)]
        pair = [load(builder, address, arguments[3], LINE_OF_FLOATS) for address in addresses[:2]]
        e, d = (builder.fpext(disparity, LINE_OF_DOUBLES) for disparity in pair)
        shifts = splat(builder, arguments[2], LINE_OF_DOUBLES.count)
        product = builder.fmul(builder.fadd(e, shifts), builder.fadd(d, shifts))
        error = builder.fdiv(lanewise(builder, "fabs", builder.fsub(e, d)), product)
        store(builder, error, addresses[2], arguments[3])
        return context.get_dummy_value()

    return types.void(used, safe, types.float64, types.int64, depth), emit


def _add_groups(whole: bool) -> Any:
    def add_groups(
        typing: Any, sums: Any, at: Any, signed: Any, relative: Any, depth: Any, groups: Any, first: Any, last: Any
    ) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            def address(position: int) -> Any:
                return data(context, builder, signature.args[position], arguments[position])

            def chosen(position: int, vector: Any) -> Any:
                value = load(builder, address(position), x, vector)
                return value if whole else builder.select(mask, value, constant(vector, 0.0))

            has_depth = depth != types.none
            places = [builder.add(arguments[1], number(8 * place)) for place in range(4 + has_depth)]
            totals = [cgutils.alloca_once(builder, EIGHT_DOUBLES) for _ in places]
            for total, place in zip(totals, places, strict=True):
                builder.store(load(builder, address(0), place, EIGHT_DOUBLES), total)
            with cgutils.for_range_slice(builder, arguments[6], arguments[7], number(1)) as (i, _):
                group = builder.load(builder.gep(address(5), [i]))
                x = builder.shl(builder.lshr(builder.zext(group, INT64), number(8)), number(3))
                mask = builder.bitcast(builder.trunc(group, INT8), EIGHT_FLAGS)
                error, share = (builder.fpext(chosen(k, EIGHT_FLOATS), EIGHT_DOUBLES) for k in (2, 3))
                terms = [error, lanewise(builder, "fabs", error), builder.fmul(error, error, flags=["contract"]), share]
                if has_depth:
                    terms.append(chosen(4, EIGHT_DOUBLES))
                for total, term in zip(totals, terms, strict=True):
                    builder.store(builder.fadd(builder.load(total), term, flags=["contract"]), total)
            for total, place in zip(totals, places, strict=True):
                store(builder, builder.load(total), address(0), place)
            return context.get_dummy_value()

        word = types.int64
        return types.void(sums, word, signed, relative, depth, groups, word, word), emit

    return intrinsic(add_groups)


add_groups, add_whole_groups = _add_groups(whole=False), _add_groups(whole=True)
"""Add e, |e|, e², the relative error and the depth error, unless it is None, of some groups of eight pixels.

To eight sums each, one per pixel of a group, that follow each other in `sums` from `at` on. A group is its number in
the row · 256 + a bit for each pixel that is added, all of them in whole groups. Sums stay in registers from the first
group to the last. The square of a single-precision number is exact in double precision, so that it does not matter
whether the processor rounds between multiplication and addition.
"""
