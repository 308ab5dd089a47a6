"""The values in a Python pickle, without running anything that it asks for.

A pickle is a small program, and Python's own reader calls whatever it names. This one follows the program step by step,
keeps calls as plain records and makes none of them. It knows numbers, text, bytes, lists, tuples, dictionaries, and the
records from which NumPy's numbers and arrays are read; a pickle with anything else is refused.
"""

from __future__ import annotations

import math
import pickletools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.io.content import Content

LARGEST_PICKLE = 1 << 26
"""Bytes; an annotation of a scene has some hundred thousand."""
NAMES = {
    "_codecs encode": "bytes",
    "numpy dtype": "type",
    "numpy ndarray": "ndarray",
    **{f"numpy.{core}.multiarray scalar": "number" for core in ("core", "_core")},
    **{f"numpy.{core}.multiarray _reconstruct": "array" for core in ("core", "_core")},
    **{f"numpy.{core}.numeric _frombuffer": "buffer" for core in ("core", "_core")},
}
"""What a pickle may name, and what a record with that name is."""
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
PUTS, GETS = ("PUT", "BINPUT", "LONG_BINPUT"), ("GET", "BINGET", "LONG_BINGET")
VALUES = (
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BYTEARRAY8"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
)
EMPTY = {"EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_DICT": dict}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
SKIPPED = ("PROTO", "FRAME")
NUMBER_TYPES = "biuf"


@dataclass
class Record:
    """A call that the pickle asks for and nobody makes: what is called, with what, and the state set afterwards."""

    name: str
    arguments: tuple[Any, ...] = ()
    state: Any = None


class _Mark:
    """Where a list, tuple or dictionary of the program begins."""


def read_pickle(content: Content) -> Any:
    """The value that a pickle holds, NumPy's numbers and arrays as a `Record`; a `FileError` for anything else."""
    if content.size > LARGEST_PICKLE:
        raise content.error(f"a pickle of {content.size} bytes; at most {LARGEST_PICKLE} are read.")
    try:
        return _Program().run(bytes(content.data))
    except _RefusedError as reason:
        raise content.error(f"the pickle is not read: {reason}.") from None
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError):
        raise content.error("not a Python pickle, or a damaged one.") from None


class _RefusedError(Exception):
    """The pickle holds something other than plain values."""


class _Program:
    """The stack and the memory of a pickle that is being read."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        for operation, argument, _ in pickletools.genops(data):
            if operation.name == "STOP":
                return self.stack[-1]
            self.step(operation.name, argument)
        raise ValueError

    def step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in SKIPPED:
            return
        if name in VALUES:
            stack.append(argument)
        elif name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name == "MEMOIZE":
            self.memory[len(self.memory)] = stack[-1]
        elif name in PUTS:
            self.memory[argument] = stack[-1]
        elif name in GETS:
            stack.append(self.memory[argument])
        elif name == "MARK":
            stack.append(_Mark())
        elif name in EMPTY:
            stack.append(EMPTY[name]())
        elif name in TUPLES:
            stack.append(tuple(self.pop(TUPLES[name])))
        elif name in ("TUPLE", "LIST"):
            values = self.pop_to_mark()
            stack.append(tuple(values) if name == "TUPLE" else values)
        elif name in ("APPEND", "APPENDS"):
            values = self.pop(1) if name == "APPEND" else self.pop_to_mark()
            self.top(list).extend(values)
        elif name in ("SETITEM", "SETITEMS", "DICT"):
            values = self.pop(2) if name == "SETITEM" else self.pop_to_mark()
            if name == "DICT":
                stack.append({})
            self.top(dict).update(zip(map(_key, values[::2]), values[1::2], strict=True))
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            stack.append(Record(_known(" ".join(self.pop(2)) if name == "STACK_GLOBAL" else argument)))
        elif name == "REDUCE":
            called, arguments = self.pop(2)
            if not isinstance(called, Record) or called.arguments or not isinstance(arguments, tuple):
                raise _RefusedError("it calls something that is no name")
            stack.append(Record(called.name, arguments))
        elif name == "BUILD":
            state = self.pop(1)[0]
            self.top(Record).state = state
        elif name in ("POP", "POP_MARK"):
            self.pop(1) if name == "POP" else self.pop_to_mark()
        else:
            raise _RefusedError(f"its step {name} has no place among plain values")

    def top(self, kind: type[Any]) -> Any:
        if not isinstance(self.stack[-1], kind):
            raise TypeError
        return self.stack[-1]

    def pop(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise IndexError
        values = self.stack[-count:]
        del self.stack[-count:]
        return values

    def pop_to_mark(self) -> list[Any]:
        values = []
        while not isinstance(self.stack[-1], _Mark):
            values.append(self.stack.pop())
        self.stack.pop()
        return values[::-1]


def _known(name: str) -> str:
    """What a name means; only those of plain values and of NumPy's numbers are known."""
    if name not in NAMES:
        shown = ".".join(name.split(" "))[:80]
        raise _RefusedError(f"it names {shown}, and only plain values and NumPy's numbers are allowed")
    return NAMES[name]


def _key(value: Any) -> Any:
    """A key of a dictionary: a number or text, or a tuple of those. Deeper ones could take forever to compare."""
    parts = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(part, int | float | str) for part in parts):
        plain = tuple(number_of(part) if isinstance(part, Record) else part for part in parts)
        if not all(isinstance(part, int | float | str) for part in plain):
            raise _RefusedError("a key of a dictionary is neither a number nor text")
        return plain if isinstance(value, tuple) else plain[0]
    return value


def number_of(value: Any) -> float | int | bool:
    """A number, whether Python's or NumPy's; a `ValueError` for everything else."""
    if isinstance(value, int | float):
        return value
    if isinstance(value, Record) and value.name == "number" and len(value.arguments) == 2:
        found = np.frombuffer(_bytes_of(value.arguments[1]), _type_of(value.arguments[0]))
        if found.size == 1:
            number: float | int | bool = found[0].item()
            return number
    raise ValueError("not a number")


def numbers_of(value: Any) -> list[float | int | bool]:
    """The numbers of a list, a tuple or an array of NumPy's; a `ValueError` for everything else."""
    if isinstance(value, list | tuple):
        return [number_of(part) for part in value]
    if isinstance(value, Record) and value.name in ("array", "buffer"):
        numbers: list[float | int | bool] = _array_of(value).reshape(-1).tolist()
        return numbers
    raise ValueError("not a list of numbers")


def _array_of(record: Record) -> NDArray[Any]:
    if record.name == "array" and isinstance(record.state, tuple) and len(record.state) == 5:
        _, shape, kind, _, raw = record.state
    elif record.name == "buffer" and len(record.arguments) == 4:
        raw, kind, shape, _ = record.arguments
    else:
        raise ValueError("not an array")
    found = np.frombuffer(_bytes_of(raw), _type_of(kind))
    if found.size != math.prod(shape):
        raise ValueError("an array of another size than it says")
    return found


def _type_of(record: Any) -> np.dtype[Any]:
    """NumPy's type of numbers that a record describes."""
    if not isinstance(record, Record) or record.name != "type" or not isinstance(record.arguments[0], str):
        raise ValueError("not a type of numbers")
    order = record.state[1] if isinstance(record.state, tuple) and len(record.state) > 1 else "="
    text = record.arguments[0]
    if text[:1] not in NUMBER_TYPES or text[1:] not in ("1", "2", "4", "8") or order not in ("<", ">", "|", "="):
        raise ValueError("not a type of numbers")
    return np.dtype(f"{order}{text}")


def _bytes_of(value: Any) -> bytes:
    """Bytes, also as pickles of the older kinds write them: as text of Latin letters."""
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, Record) and value.name == "bytes" and value.arguments[1:] == ("latin1",):
        return str(value.arguments[0]).encode("latin1")
    raise ValueError("not bytes")
