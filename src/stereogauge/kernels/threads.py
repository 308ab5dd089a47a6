"""Parts of one computation in the threads of this process."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

WORTH_A_THREAD = 200_000
"""Pixels below which handing a part to another thread costs more than it saves."""


def thread_count() -> int:
    """How many threads kernels may use: one in a worker process, whose neighbours have the other processors."""
    return 1 if multiprocessing.parent_process() is not None else os.cpu_count() or 1


def at_once(parts: Sequence[Callable[[], Any]], pixels: int) -> list[Any]:
    """The results of all parts, in order; in threads where there are processors and enough pixels."""
    if thread_count() == 1 or pixels < WORTH_A_THREAD:
        return [part() for part in parts]
    with ThreadPoolExecutor(min(thread_count(), len(parts))) as pool:
        return [future.result() for future in [pool.submit(part) for part in parts]]
