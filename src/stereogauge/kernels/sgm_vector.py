"""The inner steps of `sgm_plain` as LLVM vector instructions, behind the same signatures: twice as fast as what LLVM
finds by itself.

Each function emits generic vector operations of `LANES` elements; LLVM splits them for the machine at hand (SSE,
AVX2, AVX-512, NEON).
"""

from __future__ import annotations

from typing import Any

import numba.core.cgutils
import numba.extending
import numba.types
from llvmlite import ir

from stereogauge.kernels.sgm_plain import ADD, FORGET, LANES, WRITE

# Numba's annotations describe neither these helpers nor what becomes of a decorated function.
cgutils: Any = numba.core.cgutils
types: Any = numba.types
intrinsic: Any = numba.extending.intrinsic

CODE_LANES = 16
KEY_LANES = 16
INT16 = ir.IntType(16)
INT32 = ir.IntType(32)
INT64 = ir.IntType(64)


def _number(value: int) -> Any:
    return ir.Constant(INT64, value)


def _splat(builder: Any, scalar: Any, lanes: int) -> Any:
    vector = ir.VectorType(scalar.type, lanes)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(INT32, 0))
    return builder.shuffle_vector(
        first, ir.Constant(vector, ir.Undefined), ir.Constant(ir.VectorType(INT32, lanes), [0] * lanes)
    )


def _lanewise(builder: Any, name: str, *vectors: Any) -> Any:
    vector = vectors[0].type
    signature = ir.FunctionType(vector, [vector] * len(vectors))
    function = cgutils.get_or_insert_function(
        builder.module, signature, f"llvm.{name}.v{vector.count}i{vector.element.width}"
    )
    return builder.call(function, vectors)


def _smallest(builder: Any, vector: Any) -> Any:
    signature = ir.FunctionType(vector.type.element, [vector.type])
    name = f"llvm.vector.reduce.umin.v{vector.type.count}i{vector.type.element.width}"
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), [vector])


def _pointer(builder: Any, base: Any, offset: Any, vector: Any) -> Any:
    return builder.bitcast(builder.gep(base, [offset]), vector.as_pointer())


def _load(builder: Any, base: Any, offset: Any, vector: Any) -> Any:
    return builder.load(_pointer(builder, base, offset, vector), align=1)


def _store(builder: Any, value: Any, base: Any, offset: Any) -> None:
    builder.store(value, _pointer(builder, base, offset, value.type), align=1)


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, array).data


@intrinsic
def hamming_vector(typing: Any, code: Any, others: Any, others_at: Any, costs: Any, costs_at: Any, count: Any) -> Any:
    """`hamming_plain`; `count` is rounded down to a multiple of CODE_LANES."""
    signature = types.void(types.uint64, others, types.int64, costs, types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code, others, others_at, costs, costs_at, count = arguments
        codes = ir.VectorType(INT64, CODE_LANES)
        element = ir.VectorType(ir.IntType(signature.args[3].dtype.bitwidth), CODE_LANES)
        others = _data(context, builder, signature.args[1], others)
        costs = _data(context, builder, signature.args[3], costs)
        here = _splat(builder, code, CODE_LANES)
        with cgutils.for_range(builder, builder.udiv(count, _number(CODE_LANES)), intp=INT64) as loop:
            at = builder.mul(loop.index, _number(CODE_LANES))
            there = _load(builder, others, builder.add(others_at, at), codes)
            differing = _lanewise(builder, "ctpop", builder.xor(here, there))
            _store(builder, builder.trunc(differing, element), costs, builder.add(costs_at, at))
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def aggregate_vector(
    typing: Any,
    costs: Any,
    costs_at: Any,
    paths: Any,
    minima: Any,
    slot_size: Any,
    sources: Any,
    targets: Any,
    small_penalty: Any,
    large_penalties: Any,
    sums: Any,
    sums_at: Any,
    padded_count: Any,
    mode: Any,
) -> Any:
    """`aggregate_plain`; `padded_count` is a multiple of LANES."""
    width = types.int64
    slots = types.UniTuple(width, len(sources))
    penalties = types.UniTuple(paths.dtype, len(sources))
    signature = types.void(
        costs, width, paths, minima, width, slots, slots, paths.dtype, penalties, sums, width, width, width
    )

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (costs, costs_at, paths, minima, slot_size, sources, targets) = arguments[:7]
        (small_penalty, large_penalties, sums, sums_at, padded_count, mode) = arguments[7:]
        count = len(signature.args[5])
        element = ir.IntType(signature.args[2].dtype.bitwidth)
        vector = ir.VectorType(element, LANES)
        sum_vector = ir.VectorType(INT16, LANES)
        costs = _data(context, builder, signature.args[0], costs)
        paths = _data(context, builder, signature.args[2], paths)
        minima = _data(context, builder, signature.args[3], minima)
        sums = _data(context, builder, signature.args[9], sums)

        def slot_start(slot: Any) -> Any:
            return builder.add(builder.mul(slot, slot_size), _number(LANES))

        source_slots = [builder.extract_value(sources, i) for i in range(count)]
        target_slots = [builder.extract_value(targets, i) for i in range(count)]
        read_at = [slot_start(slot) for slot in source_slots]
        write_at = [slot_start(slot) for slot in target_slots]
        step = _splat(builder, small_penalty, LANES)
        previous = [builder.load(builder.gep(minima, [slot])) for slot in source_slots]
        jumps = [builder.add(previous[i], builder.extract_value(large_penalties, i)) for i in range(count)]
        base = [_splat(builder, minimum, LANES) for minimum in previous]
        jump = [_splat(builder, value, LANES) for value in jumps]
        lowest = [cgutils.alloca_once(builder, vector) for _ in range(count)]
        before = [cgutils.alloca_once(builder, vector) for _ in range(count)]

        def sweep(mode: int) -> None:
            with cgutils.for_range(builder, builder.udiv(padded_count, _number(LANES)), intp=INT64) as loop:
                at = builder.mul(loop.index, _number(LANES))
                cost = _load(builder, costs, builder.add(costs_at, at), vector)
                total = None
                for i in range(count):
                    start = builder.add(read_at[i], at)
                    here = _load(builder, paths, start, vector)
                    after = _load(builder, paths, builder.add(start, _number(1)), vector)
                    left = builder.load(before[i])
                    # The next block's d − 1 lanes are read before this block is overwritten: source and target may be
                    # one slot.
                    builder.store(_load(builder, paths, builder.add(start, _number(LANES - 1)), vector), before[i])
                    stepped = _lanewise(builder, "uadd.sat", _lanewise(builder, "umin", left, after), step)
                    best = _lanewise(builder, "umin", _lanewise(builder, "umin", here, jump[i]), stepped)
                    path = _lanewise(builder, "uadd.sat", builder.sub(best, base[i]), cost)
                    _store(builder, path, paths, builder.add(write_at[i], at))
                    builder.store(_lanewise(builder, "umin", builder.load(lowest[i]), path), lowest[i])
                    wide = path if element.width == 16 else builder.zext(path, sum_vector)
                    total = wide if total is None else builder.add(total, wide)
                if mode == FORGET:
                    return
                there = builder.add(sums_at, at)
                if mode == ADD:
                    total = builder.add(total, _load(builder, sums, there, sum_vector))
                _store(builder, total, sums, there)

        for i in range(count):
            builder.store(ir.Constant(vector, [2**element.width - 1] * LANES), lowest[i])
            builder.store(_load(builder, paths, builder.sub(read_at[i], _number(1)), vector), before[i])
        for each in (FORGET, WRITE, ADD):
            with builder.if_then(builder.icmp_signed("==", mode, _number(each))):
                sweep(each)
        for i in range(count):
            smallest = _smallest(builder, builder.load(lowest[i]))
            builder.store(smallest, builder.gep(minima, [target_slots[i]]))
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def winner_vector(typing: Any, sums: Any, sums_at: Any, keys: Any, keys_at: Any, padded_count: Any, both: Any) -> Any:
    """`winner_plain`; `padded_count` is a multiple of LANES."""
    signature = types.uint32(sums, types.int64, keys, types.int64, types.int64, types.boolean)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, sums_at, keys, keys_at, padded_count, both = arguments
        sum_vector = ir.VectorType(INT16, KEY_LANES)
        key_vector = ir.VectorType(INT32, KEY_LANES)
        sums = _data(context, builder, signature.args[0], sums)
        keys = _data(context, builder, signature.args[2], keys)
        best = cgutils.alloca_once(builder, key_vector)
        index = cgutils.alloca_once(builder, key_vector)
        builder.store(ir.Constant(key_vector, [0xFFFFFFFF] * KEY_LANES), best)
        builder.store(ir.Constant(key_vector, list(range(KEY_LANES))), index)

        def scan(both: bool) -> None:
            with cgutils.for_range(builder, builder.udiv(padded_count, _number(KEY_LANES)), intp=INT64) as loop:
                at = builder.mul(loop.index, _number(KEY_LANES))
                cost = builder.zext(_load(builder, sums, builder.add(sums_at, at), sum_vector), key_vector)
                disparity = builder.load(index)
                key = builder.or_(builder.shl(cost, ir.Constant(key_vector, [16] * KEY_LANES)), disparity)
                builder.store(builder.add(disparity, ir.Constant(key_vector, [KEY_LANES] * KEY_LANES)), index)
                builder.store(_lanewise(builder, "umin", builder.load(best), key), best)
                if both:
                    there = builder.add(keys_at, at)
                    other = _load(builder, keys, there, key_vector)
                    _store(builder, _lanewise(builder, "umin", other, key), keys, there)

        with builder.if_else(builder.trunc(both, ir.IntType(1))) as (then, otherwise):
            with then:
                scan(True)
            with otherwise:
                scan(False)
        return _smallest(builder, builder.load(best))

    return signature, generate
