"""Numba as kernels are compiled with it; importing this module imports Numba.

Compiled code is cached on disk, in a folder of ours whose name holds a hash of all kernel sources, so that versions of
the package with the same kernels share it: Numba's own cache does not notice a changed callee in another module.
`STEREOGAUGE_CACHE` moves it; a temporary folder serves where nothing is writable.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numba
from numba.core import caching, event
from numba.core.registry import cpu_target

from stereogauge.hashing import source_hash, values_hash
from stereogauge.kernels.shortcuts import Shortcuts, prepare_runtime, trust_in_blas
from stereogauge.paths import cache_folder


@functools.cache
def kernel_cache() -> Path:
    """The folder of compiled kernels for exactly these sources and this Numba."""
    return cache_folder("kernels") / values_hash([numba.__version__, source_hash("kernels")])[:16]


@functools.cache
def kernel_target() -> str:
    """What machine code is for, as a hash: the processor with its instructions, and the version of Python."""
    codegen: Any = cpu_target.target_context.codegen()
    return values_hash([*codegen.magic_tuple(), sys.version])[:16]


class _Folder(caching._CacheLocator):
    """Where Numba finds a kernel's compiled forms: one folder for all, wherever the sources lie and however old."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(kernel_cache())

    def get_source_stamp(self) -> str:
        return kernel_cache().name

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Folder:
        kernel_cache().mkdir(parents=True, exist_ok=True)
        return cls(function)


class _Forms(caching.CompileResultCacheImpl):
    _locator_classes: Any = (_Folder,)

    def reduce(self, compiled: Any) -> Any:
        """What is kept of a compiled form, without the listing of its statements with their types for readers."""
        return compiled._replace(type_annotation="")._reduce()


class _Cache(caching.FunctionCache):
    """Numba's cache in our folder; a kernel that lies in it is loaded without loading what compiling needs."""

    _impl_class = _Forms
    before_compiling: Callable[[], None]

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled form for these types, or None.

        Numba would first load its implementations of every function that can be compiled: 0.3 s.
        """
        prepare_runtime(context)
        cache: Any = super()
        with self._guard_against_spurious_io_errors():
            found = cache._load_overload(signature, context)
        if found is None:
            trust_in_blas()
            self.before_compiling()
        return found


_kernels: dict[Callable[..., Any], bool] = {}
"""Every function of ours that can be compiled, and whether its loops are vectorised."""


def dispatcher(
    function: Callable[..., Any],
    options: Mapping[str, Any],
    before_compiling: Callable[[], None],
    *,
    vectorised: bool = True,
) -> Any:
    """The function as Numba compiles it: for each new combination of types at the first call, then cached on disk.

    `before_compiling` is called where it comes to that, and at once for a function that is not cached.
    """
    _kernels[function] = vectorised
    made: Any = numba.njit(**{**options, "cache": False})(function)
    made._compilation_chain_init_hook = _no_extensions
    made.compile = _with_room(interrupts_later()(made.compile))
    if options["cache"]:
        cache: Any = _Cache
        made._cache = cache(function)
        made._cache.before_compiling = before_compiling
    else:
        before_compiling()
    return made


ROOM = 1 << 16
"""Values on the stack of a function that has room for those of all functions below it."""


def _with_room(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called where Python's stack has room for all that it calls.

    Python keeps the local variables of functions in blocks of 16 kB. It gets one from the system and gives it back for
    every call that does not fit into the last one: a hundred thousand times, 0.5 s, where Numba makes many calls just
    there. A function that needs more itself gets a larger block, whose rest serves the functions below it.
    """

    def call(*arguments: Any) -> Any:
        return function(*arguments)

    call.__code__ = call.__code__.replace(co_stacksize=ROOM)
    return call


@contextlib.contextmanager
def interrupts_later() -> Iterator[None]:
    """Ctrl-C takes effect when the work is done, for one kernel a second at most.

    LLVM hands compiled code over by calling Python. An exception there goes no further: the interrupt would be lost,
    the code, too, and Numba would fail for want of it.
    """
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    came: list[Any] = []
    signal.signal(signal.SIGINT, lambda *interrupt: came.append(interrupt))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if came:
            usual(*came[0])


def _no_extensions() -> None:
    """Numba would ask every installed package whether it extends Numba: 0.02 s for something that no kernel needs."""


class Compiled(NamedTuple):
    """One compilation: the function, the types of its arguments, and its seconds of processor time."""

    function: str
    types: str
    seconds: float


class _Compilations(event.Listener):
    """Times every compilation without what it compiles besides, and lets no garbage be looked for meanwhile.

    A compilation makes a great many objects that stay, and hardly any garbage: looking for it takes a seventh of the
    time. So do later searches, unless what there is by then is left out of them.
    """

    def __init__(self) -> None:
        self.finished: list[Compiled] = []
        self._open: list[float] = []
        self._collecting = False
        self._shortcuts = Shortcuts()

    def on_start(self, event: event.Event) -> None:
        data: Any = event.data
        if not self._open:
            self._collecting = gc.isenabled()
            gc.disable()
            made = data["dispatcher"].py_func
            if made in _kernels:
                self._shortcuts.take(vectorised=_kernels[made])
        self._open.append(-time.thread_time())

    def on_end(self, event: event.Event) -> None:
        seconds = self._open.pop() + time.thread_time()
        if self._open:
            self._open[-1] -= seconds
        else:
            self._shortcuts.leave()
        if not self._open and self._collecting:
            gc.freeze()
            gc.enable()
        data: Any = event.data
        made = data["dispatcher"].py_func
        name = f"{str(made.__module__).removeprefix('stereogauge.kernels.')}.{made.__name__}"
        self.finished.append(Compiled(name, ", ".join(str(one) for one in data["args"]), seconds))


compilations = _Compilations()
events: Any = event  # Numba's annotations do not describe it
events.register("numba:compile", compilations)
