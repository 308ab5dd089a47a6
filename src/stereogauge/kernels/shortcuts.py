"""Shortcuts through Numba: the same code with less work (docs/decisions/first-minute.md has the seconds of each).

Each replaces an inner part of Numba while one of our kernels is compiled; Numba compiles one function at a time, behind
a lock. Inner parts change from version to version, so other versions than the one named here are taken as they are.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import llvmlite.binding
import numba
import numba.core.runtime.nrt
from numba.core.registry import cpu_target

# Numba's annotations do not describe these.
llvm: Any = llvmlite.binding
nrt: Any = numba.core.runtime.nrt

WRITTEN_FOR = (0, 68)

Part = tuple[Any, str, Any]
"""An object of Numba's, the name of one of its attributes, and what stands there meanwhile."""


class Shortcuts:
    """What is replaced while one of our kernels is compiled; for the functions of others Numba stays as it is."""

    vectorised = True
    """Whether loops of the kernel that is being compiled are vectorised."""

    def __init__(self) -> None:
        self._theirs: list[Part] = []

    def take(self, *, vectorised: bool) -> None:
        """Put our parts in the place of Numba's."""
        Shortcuts.vectorised = vectorised
        ours = _parts()
        self._theirs = [(owner, name, getattr(owner, name)) for owner, name, _ in ours]
        _put(ours)

    def leave(self) -> None:
        """Put Numba's own parts back."""
        _put(self._theirs)
        self._theirs = []


def _put(parts: list[Part]) -> None:
    for owner, name, value in parts:
        setattr(owner, name, value)


@functools.cache
def _parts() -> list[Part]:
    if numba.version_info.short != WRITTEN_FOR:
        return []
    # Kernels from the cache need none of these.
    front_end: Any = importlib.import_module("stereogauge.kernels.front_end_shortcuts")
    code: Any = importlib.import_module("stereogauge.kernels.code_shortcuts")
    return [*front_end.parts(), *code.parts(lambda: Shortcuts.vectorised)]


@functools.cache
def prepare_runtime(context: Any) -> None:
    """Let LLVM find what compiled kernels call of Numba's memory management.

    Numba would also compile the part of it that it puts into kernels, 0.02 s: those of the cache have it already, and
    for others it is compiled when they are.
    """
    if numba.version_info.short != WRITTEN_FOR:
        nrt.rtsys.initialize(context)
        return
    helpers: Any = nrt._nrt.c_helpers
    for name, address in helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def load_implementations() -> None:
    """Let Numba load its implementations of every function that can be compiled, as before the first compilation."""
    trust_in_blas()
    cpu_target.target_context.refresh()


@functools.cache
def trust_in_blas() -> None:
    """Let Numba load its array functions without importing SciPy's linear algebra, 0.2 s of every start.

    Numba imports it only to learn whether it is there; it is, SciPy being one of our dependencies. Where a function
    needs BLAS, Numba looks again.
    """
    linalg: Any = importlib.import_module("numba.np.linalg")
    look = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        arrays: Any = importlib.import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = look
    arrays.ensure_blas = look
