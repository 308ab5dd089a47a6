"""How kernels are compiled: `@kernel` is Numba's njit with the options that every kernel of ours shares.

- Numba is imported at the first call of a kernel: declarations of metrics and matchers can be read without it.
- Cached on disk (`compiler.py`).
- Releases the GIL, so that row blocks run in plain threads. Never `parallel=True`: its threading layers abort or hang
  under threads and forks (docs/decisions/numba-without-parallel.md).
- Only those fast-math flags that keep NaN and infinity checks.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Number = TypeVar("Number", bound=np.generic)

SAFE_FAST_MATH = {"reassoc", "contract", "arcp", "nsz"}
SHARED: Mapping[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_importing = threading.RLock()


class Kernel:
    """A function that Numba compiles at its first call; it has the attributes of Numba's own object too."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any], *, vectorised: bool) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._options = options
        self._vectorised = vectorised
        self._made: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """What the compiled function returns."""
        return (self._made or self.made())(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.made(), name)

    @property
    def cached(self) -> bool:
        """Whether its compiled form is kept on disk, and so not only as a part of others."""
        return bool(self._options["cache"])

    def made(self) -> Any:
        """Numba's object, made when first asked for."""
        with _importing:
            if self._made is None:
                compiler = importlib.import_module("stereogauge.kernels.compiler")
                self._made = compiler.dispatcher(
                    self._function, self._options, self._make_called, vectorised=self._vectorised
                )
            return self._made

    def _make_called(self) -> None:
        """Put Numba's objects in the places of the kernels that this one calls.

        Numba looks up what a function calls among the names of its module, and must find its own objects there.
        """
        names = self._function.__globals__
        for name in self._function.__code__.co_names:
            if isinstance(names.get(name), Kernel):
                names[name] = names[name].made()


def kernel(
    function: Function | None = None, *, fastmath: bool | set[str] = False, vectorised: bool = True, **options: Any
) -> Any:
    """Compile `function` on first call: cached, GIL released, division as in NumPy.

    `fastmath=True` means `SAFE_FAST_MATH`. A kernel that is not `vectorised` takes a quarter less of LLVM's time: for
    those that few need, or whose loops have too many branches for that.
    """
    if function is None:
        return functools.partial(kernel, fastmath=fastmath, vectorised=vectorised, **options)
    flags = SAFE_FAST_MATH if fastmath is True else fastmath
    return Kernel(function, {**SHARED, "fastmath": flags, **options}, vectorised=vectorised)


helper = functools.partial(kernel, cache=False, no_cpython_wrapper=True)
"""The same for a function that only kernels call: it becomes a part of them and is not kept for itself."""


class Instruction(Kernel):
    """A Numba intrinsic for kernels; the module that holds it, which imports Numba, is imported with the kernel."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def made(self) -> Any:
        """Numba's object."""
        return getattr(importlib.import_module(self._module), self._name)


def kernel_count(without: Sequence[str] = ()) -> int:
    """How many kernels there are, some modules left out; those that become a part of others do not count."""
    package = importlib.import_module("stereogauge.kernels")
    names = [module.name for module in pkgutil.iter_modules(package.__path__) if module.name not in without]
    modules = [importlib.import_module(f"stereogauge.kernels.{name}") for name in names]
    return sum(
        type(one) is Kernel and one.cached and one.__module__ == module.__name__
        for module in modules
        for one in vars(module).values()
    )


def read_only(values: NDArray[Number]) -> NDArray[Number]:
    """The same array as a view that cannot be written to.

    For Numba it is another type: kernels that only read get every map in this form, and are compiled once.
    """
    view = values.view()
    view.flags.writeable = False
    return view
