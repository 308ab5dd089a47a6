"""`stereogauge warmup`: compile every kernel now."""

from __future__ import annotations

import time

from stereogauge.cli.output import say


def command() -> None:
    """Compile all kernels now instead of at first use; later runs take them from the cache."""
    from stereogauge.kernels.jit import kernel_cache
    from stereogauge.warmup import compile_all

    say("compiling kernels, once …")
    start = time.perf_counter()
    compile_all()
    say(f"compiled in {time.perf_counter() - start:.1f} s into {kernel_cache()}")
