"""A cache that keeps the most recently used values, up to a total size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class RecentCache(Generic[Value]):
    """Values by key; the least recently used ones are removed when all sizes add up to more than `limit`.

    What several threads miss at the same time is made once; the others wait for it.
    """

    def __init__(self, limit: float, size: Callable[[Value], float] = lambda value: 1.0) -> None:
        self._limit = limit
        self._size = size
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._used = 0.0
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of `key`; without one, `make` makes it."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._values:
                    return self._values[key]
            try:
                value = make()
                self._keep(key, value)
            finally:
                with self._lock:
                    self._making.pop(key, None)
            return value

    def _keep(self, key: Hashable, value: Value) -> None:
        with self._lock:
            if key in self._values:
                self._used -= self._size(self._values.pop(key))
            self._values[key] = value
            self._used += self._size(value)
            while self._used > self._limit and len(self._values) > 1:
                self._used -= self._size(self._values.popitem(last=False)[1])

    def __len__(self) -> int:
        return len(self._values)
