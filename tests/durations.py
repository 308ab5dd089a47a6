"""Times as ratios: what a call takes beside another one of the same process, so that a slow machine changes neither."""

from __future__ import annotations

import time
from collections.abc import Callable


def least_time(call: Callable[[], object], rounds: int = 3) -> float:
    """The least time of this thread that a call takes, in seconds; other programs on the machine do not count."""
    taken = []
    for _ in range(rounds):
        begin = time.thread_time()
        call()
        taken.append(time.thread_time() - begin)
    return min(taken)
