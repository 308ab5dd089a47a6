"""A cache that keeps the most recently used values, up to a total size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class RecentCache(Generic[Value]):
    """Values by key; the least recently used ones are removed when all sizes add up to more than `limit`.

    Two threads that miss the same value may both make it; the one that is stored last stays.
    """

    def __init__(self, limit: float, size: Callable[[Value], float] = lambda value: 1.0) -> None:
        self._limit = limit
        self._size = size
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._used = 0.0
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of `key`; without one, `make` makes it."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            if key in self._values:
                self._used -= self._size(self._values.pop(key))
            self._values[key] = value
            self._used += self._size(value)
            while self._used > self._limit and len(self._values) > 1:
                self._used -= self._size(self._values.popitem(last=False)[1])
        return value

    def __len__(self) -> int:
        return len(self._values)
