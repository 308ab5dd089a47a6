"""A cache that keeps the most recently used values, up to a number of bytes."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Generic, TypeVar

import numpy as np

Value = TypeVar("Value")
CODE = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)
PLAIN = (str, bytes, bytearray, int, float, complex, bool, type(None))


class RecentCache(Generic[Value]):
    """Values by key; the least recently used ones are removed when all of them hold more than `limit` bytes.

    Keys count too. A value that grows, such as a scene whose regions are made one by one, is measured at each use. What
    several threads miss at the same time is made once; the others wait for it.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    @property
    def used(self) -> int:
        """The bytes that keys and values held when each was last used."""
        return sum(self._sizes.values())

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of `key`; without one, `make` makes it."""
        with self._lock:
            if key in self._values:
                value = self._values[key]
                self._keep(key, value)
                return value
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._values:
                    return self._values[key]
            try:
                value = make()
                with self._lock:
                    self._keep(key, value)
            finally:
                with self._lock:
                    self._making.pop(key, None)
            return value

    def _keep(self, key: Hashable, value: Value) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        self._sizes[key] = held_bytes((key, value))
        used = self.used
        while used > self._limit:
            oldest, _ = self._values.popitem(last=False)
            used -= self._sizes.pop(oldest)

    def __len__(self) -> int:
        return len(self._values)


def held_bytes(value: Any) -> int:
    """The bytes of an object with all that it refers to: arrays, texts and containers; code is not counted.

    >>> held_bytes({"map": np.zeros((100, 100), np.float32)}) // 1000
    40
    """
    total = 0
    seen: set[int] = set()
    pending = [value]
    while pending:
        one = pending.pop()
        if id(one) in seen or isinstance(one, CODE):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            if isinstance(one.base, np.ndarray):
                pending.append(one.base)
            else:
                total += one.nbytes
            continue
        total += sys.getsizeof(one)
        if isinstance(one, PLAIN):
            continue
        if isinstance(one, Mapping):
            pending += [*one.keys(), *one.values()]
        elif isinstance(one, Collection):
            pending += one
        pending += getattr(one, "__dict__", {}).values()
        pending += [getattr(one, name) for name in getattr(one, "__struct_fields__", ())]
    return total
