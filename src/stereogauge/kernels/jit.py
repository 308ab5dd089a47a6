"""How kernels are compiled: `@kernel` is Numba's njit with the options that every kernel of ours shares.

- Cached on disk, in a folder of ours whose name holds a hash of all kernel sources: Numba's own cache does not notice a
  changed callee in another module. `STEREOGAUGE_CACHE` moves it; a temporary folder serves where nothing is writable.
- Releases the GIL, so that row blocks run in plain threads. Never `parallel=True`: its threading layers abort or hang
  under threads and forks (docs/decisions/numba-without-parallel.md).
- Only those fast-math flags that keep NaN and infinity checks.
"""

from __future__ import annotations

import functools
import gc
import importlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numba
import numba.np.linalg
from numba.core import config, errors, event

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


def _plain_messages() -> None:
    """Let Numba write its messages without colours.

    It writes one for every type that an operation turns out not to be for, and throws most of them away; colouring
    them takes a tenth of the compilation where the package `colorama` is installed.
    """
    messages: Any = errors
    if hasattr(messages, "_termcolor_inst"):
        messages._termcolor_inst = _NoColours()


class _NoColours:
    """Every colour of Numba's scheme, leaving a text as it is."""

    def __getattr__(self, name: str) -> Callable[[str], str]:
        return str


_trust_in_blas()
_plain_messages()


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
    chosen = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    try:
        return numba.njit(fastmath=flags, **chosen)(function)
    finally:
        settings.CACHE_DIR = theirs


helper = functools.partial(kernel, cache=False, no_cpython_wrapper=True)
"""The same for a function that only kernels call: it becomes a part of them, and is neither kept nor wrapped for itself."""


def read_only(values: Any) -> Any:
    """The same array as a view that cannot be written to.

    For Numba it is another type: kernels that only read get every map in this form, and are compiled once.
    """
    view = values.view()
    view.flags.writeable = False
    return view


class Compiled(NamedTuple):
    """One compilation: the function, the types of its arguments, and its seconds of processor time."""

    function: str
    signature: str
    seconds: float


class _Compilations(event.Listener):
    """Times every compilation without what it compiles besides, and lets no garbage be looked for meanwhile.

    A compilation makes a great many objects and hardly any garbage: looking for it takes a seventh of the time.
    """

    def __init__(self) -> None:
        self.finished: list[Compiled] = []
        self._open: list[float] = []
        self._collecting = False

    def on_start(self, event: event.Event) -> None:
        if not self._open:
            self._collecting = gc.isenabled()
            gc.disable()
        self._open.append(-time.thread_time())

    def on_end(self, event: event.Event) -> None:
        seconds = self._open.pop() + time.thread_time()
        if self._open:
            self._open[-1] -= seconds
        elif self._collecting:
            gc.enable()
        data: Any = event.data
        made: Any = data["dispatcher"].py_func
        types = ", ".join(str(one) for one in data["args"])
        self.finished.append(
            Compiled(f"{made.__module__.removeprefix('stereogauge.kernels.')}.{made.__name__}", types, seconds)
        )


compilations = _Compilations()
event.register("numba:compile", compilations)
