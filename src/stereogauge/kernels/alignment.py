"""Arrays that begin at a line of the cache: vectors that cross lines take up to a quarter longer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LINE = 64
"""Bytes of a line of the cache."""


def on_a_line(count: int, kind: Any, place: int = 0) -> NDArray[Any]:
    """Room for `count` numbers with arbitrary content, the one at `place` at the beginning of a line of the cache.

    Where NumPy's own arrays begin is chance, so that equal runs would differ in time.
    """
    room = np.empty(count + LINE, kind)
    start = -(room.__array_interface__["data"][0] + place * room.itemsize) % LINE // room.itemsize
    return room[start : start + count]
