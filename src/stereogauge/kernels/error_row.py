"""Errors and keys of one row, several pixels at once.

LLVM vectorises the same written as loops, but with more instructions, and takes longer to compile it
(docs/decisions/pixelwise-pass.md).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from stereogauge.kernels import pixelwise as kernels
from stereogauge.kernels.vectors import (
    FLOAT,
    INT16,
    INT32,
    cgutils,
    constant,
    data,
    has_wide_registers,
    intrinsic,
    lanewise,
    load,
    number,
    splat,
    store,
    types,
)

LANES = 16 if has_wide_registers() else 8
FLOATS = ir.VectorType(FLOAT, LANES)
WORDS = ir.VectorType(INT32, LANES)
HALVES = ir.VectorType(INT16, LANES)


@intrinsic
def error_row(
    typing: Any,
    estimate: Any,
    truth: Any,
    slots: Any,
    behind: Any,
    near: Any,
    far: Any,
    middle: Any,
    charge: Any,
    signed: Any,
    relative: Any,
    depth: Any,
    used: Any,
    safe: Any,
    entries: Any,
    keys: Any,
    width: Any,
) -> Any:
    """What the pixels of a row are added and counted by; returns what is special about the row.

    `signed`: e; `relative`: |e|/|D|; both 0 where a map is unknown, the latter also where D = 0. `keys`: the fine key;
    `entries`: the place in the histogram (slot, key). Unless `depth` is None, `used` and `safe`: the disparities that
    depth errors are measured between (`_pair`). `ZERO_TRUTH_BIT` is returned where a true disparity is 0, `BEHIND_BIT`
    where one of the maps has a disparity that is not above `behind`. The row is at least `LINE` pixels long; the last
    of them are gone through once more where its length is no multiple of a vector's.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def address(position: int) -> Any:
            return data(context, builder, signature.args[position], arguments[position])

        def put(position: int, value: Any) -> None:
            store(builder, value, address(position), x)

        has_depth = depth != types.none
        behind, near, far, middle, charged = (splat(builder, arguments[k], LANES) for k in range(3, 8))
        zero = constant(FLOATS, 0.0)
        smallest = [cgutils.alloca_once_value(builder, constant(FLOATS, float("inf"))) for _ in range(2)]
        length, last = arguments[15], builder.sub(arguments[15], number(LANES))
        with cgutils.for_range_slice(builder, number(0), length, number(LANES)) as (start, _):
            x = builder.select(builder.icmp_signed("<", start, last), start, last)
            e, d = (load(builder, address(k), x, FLOATS) for k in (0, 1))
            magnitude = lanewise(builder, "fabs", d)
            for place, value in zip(smallest, (magnitude, _smaller(builder, e, d)), strict=True):
                builder.store(_smaller(builder, value, builder.load(place)), place)
            known, both = (builder.fcmp_ordered("ord", one, d) for one in (d, e))
            error = builder.select(both, builder.fsub(e, d), zero)
            size = lanewise(builder, "fabs", error)
            share = builder.fdiv(size, magnitude)
            fine, beyond = _place_among_bins(builder, size, magnitude)
            key = builder.add(builder.lshr(fine, constant(WORDS, kernels.PART_BITS)), beyond)
            missing = builder.sext(known, WORDS)
            key, fine = (
                builder.select(both, one, builder.add(missing, constant(WORDS, unknown)))
                for one, unknown in ((key, kernels.IGNORED_KEY), (fine, kernels.FINE_IGNORED))
            )
            slot = builder.zext(load(builder, address(2), x, ir.VectorType(address(2).type.pointee, LANES)), WORDS)
            put(8, error)
            put(9, builder.select(builder.fcmp_ordered(">", magnitude, zero), share, zero))
            put(13, builder.add(key, builder.mul(slot, constant(WORDS, kernels.KEYS))))
            put(14, builder.trunc(fine, HALVES))
            if has_depth:
                pair = _pair(builder, e, d, behind, near, far, middle, charged)
                put(11, pair[0])
                put(12, pair[1])
        found = number(0)
        bits = (kernels.ZERO_TRUTH_BIT, kernels.BEHIND_BIT)
        for place, edge, bit in zip(smallest, (zero, behind), bits, strict=True):
            some = _any(builder, "<=", builder.load(place), edge)
            found = builder.or_(found, builder.select(some, number(bit), number(0)))
        return found

    word, single = types.int64, types.float32
    scale = (single, single, single, single, types.boolean)
    return word(estimate, truth, slots, *scale, signed, relative, depth, used, safe, entries, keys, word), emit


def _place_among_bins(builder: Any, size: Any, magnitude: Any) -> tuple[Any, Any]:
    """The part of a bin that holds an error of that size, and what D1 adds to the key of the bin."""
    guarded = builder.fsub(size, constant(FLOATS, float(kernels.GUARD)))
    clipped = _larger(builder, guarded, constant(FLOATS, float(kernels.SMALLEST)))
    clipped = _smaller(builder, clipped, constant(FLOATS, float(kernels.LARGEST)))
    position = builder.sub(builder.bitcast(clipped, WORDS), constant(WORDS, int(kernels.FIRST_BITS)))
    # |e| > 3 and 20 |e| > D at once: 60 = 20 · 3 is exact, and so is the comparison with it.
    allowed = _larger(builder, magnitude, constant(FLOATS, float(kernels.D1_SHARE * kernels.D1_PIXELS)))
    shares = builder.fmul(guarded, constant(FLOATS, float(kernels.D1_SHARE)))
    d1 = builder.fcmp_ordered(">", shares, allowed)
    return (
        builder.lshr(position, constant(WORDS, kernels.BIN_SHIFT - kernels.PART_BITS)),
        builder.select(d1, constant(WORDS, kernels.BINS), constant(WORDS, 0)),
    )


def _pair(builder: Any, e: Any, d: Any, behind: Any, near: Any, far: Any, middle: Any, charged: Any) -> tuple[Any, Any]:
    """The disparities between which a depth error is measured, all of them in front of the cameras.

    An estimate that is missing or not in front of the cameras is replaced by `near` or `far`, the ends of the scene's
    range, whichever lies farther in depth, or by the truth unless it is `charged`. Both are equal where the truth is
    unknown or not in front of the cameras. Points are in front of the cameras above `behind`, and `middle` is the
    disparity of the mean of both ends' depths.
    """
    estimated, true = (builder.fcmp_ordered(">", one, behind) for one in (e, d))
    worst = builder.select(builder.fcmp_ordered("<=", d, middle), near, far)
    safe = builder.select(true, d, near)
    given = builder.select(estimated, e, worst)
    return builder.select(builder.and_(true, builder.or_(estimated, charged)), given, safe), safe


def _smaller(builder: Any, one: Any, other: Any) -> Any:
    """The smaller number in every lane; `other` where one of them is NaN."""
    return builder.select(builder.fcmp_ordered("<", one, other), one, other)


def _larger(builder: Any, one: Any, other: Any) -> Any:
    """The larger number in every lane; `other` where one of them is NaN."""
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)


def _any(builder: Any, sign: str, one: Any, other: Any) -> Any:
    """Whether `one` compares so with `other` in any lane."""
    lanes = builder.bitcast(builder.fcmp_ordered(sign, one, other), ir.IntType(LANES))
    return builder.icmp_unsigned("!=", lanes, ir.Constant(lanes.type, 0))
