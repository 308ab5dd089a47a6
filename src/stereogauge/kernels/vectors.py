"""LLVM vector instructions for kernels whose inner step LLVM does not vectorise well by itself.

Vectors are generic; LLVM splits them for the machine at hand (SSE, AVX2, AVX-512, NEON).
"""

from __future__ import annotations

import enum
from typing import Any

import numba.core.cgutils
import numba.core.codegen
import numba.core.config
import numba.extending
import numba.types
from llvmlite import ir

from stereogauge.kernels.alignment import LINE

# Numba's annotations do not describe these helpers.
cgutils: Any = numba.core.cgutils
codegen: Any = numba.core.codegen
config: Any = numba.core.config
types: Any = numba.types
intrinsic: Any = numba.extending.intrinsic

INT8 = ir.IntType(8)
INT16 = ir.IntType(16)
INT32 = ir.IntType(32)
INT64 = ir.IntType(64)
FLOAT = ir.FloatType()
DOUBLE = ir.DoubleType()


def features() -> str:
    """The instructions of the processor that Numba compiles for."""
    return str(config.CPU_FEATURES if config.CPU_FEATURES is not None else codegen.get_host_cpu_features())


def has_wide_registers() -> bool:
    """Whether the processor that Numba compiles for holds 64 bytes in a register."""
    return "+avx512bw" in features()


def number(value: int) -> Any:
    """A 64-bit constant."""
    return ir.Constant(INT64, value)


def constant(vector: Any, value: Any) -> Any:
    """The same constant in every lane."""
    return ir.Constant(vector, [value] * vector.count)


def largest(vector: Any) -> Any:
    """The largest unsigned number in every lane."""
    return constant(vector, 2**vector.element.width - 1)


def splat(builder: Any, scalar: Any, lanes: int) -> Any:
    """`scalar` in every lane."""
    vector = ir.VectorType(scalar.type, lanes)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(INT32, 0))
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), constant(ir.VectorType(INT32, lanes), 0))


def lanewise(builder: Any, name: str, *vectors: Any) -> Any:
    """An LLVM intrinsic that takes and gives vectors of one type."""
    vector = vectors[0].type
    letter = {FLOAT: "f32", DOUBLE: "f64"}.get(vector.element) or f"i{vector.element.width}"
    signature = ir.FunctionType(vector, [vector] * len(vectors))
    function = cgutils.get_or_insert_function(builder.module, signature, f"llvm.{name}.v{vector.count}{letter}")
    return builder.call(function, vectors)


def reduced(builder: Any, name: str, vector: Any) -> Any:
    """All lanes of a vector of whole numbers as one: their smallest ("umin") or their sum ("add")."""
    signature = ir.FunctionType(vector.type.element, [vector.type])
    full_name = f"llvm.vector.reduce.{name}.v{vector.type.count}i{vector.type.element.width}"
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, full_name), [vector])


def part(builder: Any, vector: Any, first: int, lanes: int) -> Any:
    """`lanes` lanes of a vector, from lane `first` on."""
    chosen = ir.Constant(ir.VectorType(INT32, lanes), list(range(first, first + lanes)))
    return builder.shuffle_vector(vector, vector, chosen)


def pointer(builder: Any, base: Any, offset: Any, vector: Any) -> Any:
    """Where a vector begins, `offset` elements after `base`."""
    return builder.bitcast(builder.gep(base, [offset]), vector.as_pointer())


def load(builder: Any, base: Any, offset: Any, vector: Any) -> Any:
    """A vector from any address."""
    return builder.load(pointer(builder, base, offset, vector), align=1)


def store(builder: Any, value: Any, base: Any, offset: Any) -> None:
    """A vector to any address."""
    builder.store(value, pointer(builder, base, offset, value.type), align=1)


class Keep(enum.IntEnum):
    """How long memory that was asked for is of use: LLVM's numbers."""

    ONCE = 0
    """It must not drive out of the caches what is used again."""
    NEXT = 2
    """In the second level of the cache."""
    NOW = 3
    """In the first level."""


def prefetch(builder: Any, base: Any, offset: Any, size: int, *, to_write: bool = False, keep: Keep = Keep.NOW) -> None:
    """Ask memory for the lines of the cache with `size` bytes from there on; beyond an array that does nothing."""
    byte = INT8.as_pointer()
    signature = ir.FunctionType(ir.VoidType(), [byte, INT32, INT32, INT32])
    function = cgutils.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
    use, caches, as_data = (ir.Constant(INT32, int(code)) for code in (to_write, keep, True))
    first = builder.bitcast(builder.gep(base, [offset]), byte)
    for start in range(0, size, LINE):
        builder.call(function, [builder.gep(first, [number(start)]), use, caches, as_data])


def data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """The address of an array's first element."""
    return context.make_array(array_type)(context, builder, array).data


def aligned(builder: Any, base: Any, size: int) -> Any:
    """The first address from `base` on that is a multiple of `size` bytes."""
    address = builder.add(builder.ptrtoint(base, INT64), number(size - 1))
    return builder.inttoptr(builder.and_(address, number(-size)), base.type)


def joined(builder: Any, vectors: list[Any]) -> Any:
    """One vector of all lanes of several of the same type; their number is a power of two."""
    while len(vectors) > 1:
        count = 2 * vectors[0].type.count
        lanes = ir.Constant(ir.VectorType(INT32, count), list(range(count)))
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [builder.shuffle_vector(one, other, lanes) for one, other in pairs]
    return vectors[0]


def transposed_quarters(builder: Any, rows: list[Any]) -> list[Any]:
    """Four vectors whose lanes are taken as 4 × 4 matrices side by side, each of which is transposed."""

    def paired(one: Any, other: Any, lanes: tuple[int, ...]) -> Any:
        count = one.type.count
        chosen = [start + lane % 4 + (count if lane >= 4 else 0) for start in range(0, count, 4) for lane in lanes]
        return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(INT32, count), chosen))

    found = []
    for half in ((0, 4, 1, 5), (2, 6, 3, 7)):
        upper, lower = (paired(rows[i], rows[i + 1], half) for i in (0, 2))
        found += [paired(upper, lower, lanes) for lanes in ((0, 1, 4, 5), (2, 3, 6, 7))]
    return found


@intrinsic
def align_stack(typing: Any) -> Any:
    """Let the function that calls this begin its part of the stack at a line of the cache.

    Vectors that do not fit into registers stand on the stack. Where that begins is chance for each process: in one of
    ten they crossed pages, and the matcher took more than twice as long.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.function.attributes.alignstack = LINE
        builder.function.attributes.add("nonlazybind")  # llvmlite writes the former only beside another one
        return context.get_dummy_value()

    return types.void(), emit
