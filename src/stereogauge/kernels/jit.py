"""How kernels are compiled: `@kernel` is Numba's njit with the options that every kernel of ours shares.

- Cached on disk, in a folder of ours whose name holds a hash of all kernel sources: Numba's own cache does not notice a
  changed callee in another module. `STEREOGAUGE_CACHE` moves it; a temporary folder serves where nothing is writable.
- Releases the GIL, so that row blocks run in plain threads. Never `parallel=True`: its threading layers abort or hang
  under threads and forks (docs/decisions/numba-without-parallel.md).
- Only those fast-math flags that keep NaN and infinity checks.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.np.linalg
from numba.core import config

from stereogauge.hashing import source_hash, values_hash
from stereogauge.paths import cache_folder

Function = TypeVar("Function", bound=Callable[..., Any])

SAFE_FAST_MATH = {"reassoc", "contract", "arcp", "nsz"}


def _trust_in_blas() -> None:
    """Let Numba load its array functions without importing SciPy's linear algebra, 0.2 s of every start.

    Numba imports it only to learn whether it is there; it is, SciPy being one of our dependencies. Where a function
    needs BLAS, Numba looks again.
    """
    linalg: Any = numba.np.linalg
    look = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        arrays: Any = importlib.import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = look
    arrays.ensure_blas = look


_trust_in_blas()


@functools.cache
def kernel_cache() -> Path:
    """The folder of compiled kernels for exactly these sources and this Numba."""
    return cache_folder("kernels") / values_hash([numba.__version__, source_hash("kernels")])[:16]


def kernel(function: Function | None = None, *, fastmath: bool | set[str] = False, **options: Any) -> Any:
    """Compile `function` on first call: cached, GIL released, division as in NumPy.

    `fastmath=True` means `SAFE_FAST_MATH`.
    """
    if function is None:
        return functools.partial(kernel, fastmath=fastmath, **options)
    flags = SAFE_FAST_MATH if fastmath is True else fastmath
    settings: Any = config
    theirs = settings.CACHE_DIR
    settings.CACHE_DIR = str(kernel_cache())
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=flags, **options)(function)
    finally:
        settings.CACHE_DIR = theirs
