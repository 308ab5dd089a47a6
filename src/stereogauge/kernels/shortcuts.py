"""Shortcuts through Numba: the same code with less work (docs/decisions/first-minute.md has the seconds of each).

Each replaces an inner part of Numba while one of our kernels is compiled; Numba compiles one function at a time, behind
a lock. Inner parts change from version to version, so other versions than the one named here are taken as they are.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import llvmlite.binding.ffi
import numba
import numba._dynfunc
import numba.core.ir
import numba.core.runtime.nrt
import numba.core.typing.context
from numba.core import codegen, compiler_machinery, cpu, errors, lowering, typeinfer
from numba.core.targetconfig import ConfigStack
from numba.core.types import functions

# Numba's annotations do not describe these.
llvm: Any = llvmlite.binding
nrt: Any = numba.core.runtime.nrt
numba_ir: Any = numba.core.ir
typing_context: Any = numba.core.typing.context

WRITTEN_FOR = (0, 68)

Part = tuple[Any, str, Any]
"""An object of Numba's, the name of one of its attributes, and what stands there meanwhile."""


class Shortcuts:
    """What is replaced while one of our kernels is compiled; for the functions of others Numba stays as it is."""

    def __init__(self) -> None:
        self._theirs: list[Part] = []

    def take(self) -> None:
        """Put our parts in the place of Numba's."""
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
    return [
        *_plain_messages(),
        *_remembered_types(),
        *_listed_variables(),
        *_known_registries(),
        *_no_timers(),
        *_no_wrappers_for_c(),
        *_optimised_once(),
    ]


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


class _NoColours:
    """Every colour of Numba's scheme, leaving a text as it is."""

    def __getattr__(self, name: str) -> Callable[[str], str]:
        return str


def _plain_messages() -> list[Part]:
    """Messages without colours.

    Numba writes one for every type that an operation turns out not to be for, and throws most of them away; colouring
    them takes a tenth of the compilation where the package `colorama` is installed.
    """
    plain = _NoColours()
    return [
        (errors, "_termcolor_inst", plain),
        *((module, "_termcolor", plain) for module in (functions, typeinfer, numba_ir, compiler_machinery)),
    ]


def _remembered_types() -> list[Part]:
    """What an operation such as `int64 + int64` gives is looked up once, and not at every place where it stands.

    Left out are functions that Numba compiles for the purpose: those depend on the caller's options too.
    """
    function: Any = functions.BaseFunction
    resolve = function.get_call_type
    found: dict[Any, Any] = {}

    def get_call_type(self: Any, context: Any, arguments: Any, named: Any) -> Any:
        key = id(self), id(context), arguments, tuple(named.items())
        if key in found:
            return found[key][0]
        signature = resolve(self, context, arguments, named)
        if self._impl_keys.get(signature.args) is self.typing_key:
            found[key] = signature, self, context  # kept, so that their identities stay theirs
        return signature

    return [(function, "get_call_type", get_call_type)]


def _listed_variables() -> list[Part]:
    """The variables of a statement, listed by the type of each of its parts instead of by one question after another.

    Numba asks for them hundreds of thousands of times.
    """
    instruction: Any = numba_ir.Inst
    kinds: dict[type, type | None] = {}

    def kind_of(value: Any) -> type | None:
        of = (numba_ir.Var, instruction, list, tuple, dict)
        return next((one for one in of if isinstance(value, one)), None)

    def collect(value: Any, found: list[Any]) -> None:
        own = type(value)
        if own not in kinds:
            kinds[own] = kind_of(value)
        kind = kinds[own]
        if kind is None:
            return
        if kind is numba_ir.Var:
            found.append(value)
        elif kind is instruction:
            found.extend(value.list_vars())
        else:
            for one in value.values() if kind is dict else value:
                collect(one, found)

    def list_variables(self: Any, value: Any) -> list[Any]:
        found: list[Any] = []
        collect(value, found)
        return found

    return [(instruction, "_rec_list_vars", list_variables)]


def _known_registries() -> list[Part]:
    """Numba's own declarations are looked through once, and not for every function that a kernel calls."""
    name = "load_additional_registries"
    return [(context, name, _at_first(getattr(context, name))) for context in (cpu.CPUContext, typing_context.Context)]


def _at_first(load: Callable[[Any], None]) -> Callable[[Any], None]:
    loaded: set[int] = set()

    def load_once(self: Any) -> None:
        if id(self) not in loaded:
            load(self)
            loaded.add(id(self))

    return load_once


def _no_wrappers_for_c() -> list[Part]:
    """Functions of Numba's that kernels call get no form for callers in C, as kernels do not."""
    lower: Any = lowering.Lower
    return [(lower, "create_cfunc_wrapper", lambda self: None)]


def _no_timers() -> list[Part]:
    """Calls of LLVM without noting when each began and ended."""
    lock: Any = llvmlite.binding.ffi.lib._lock
    return [(lock, "_cblist", [])]


def _optimised_once() -> list[Part]:
    """A kernel is optimised by LLVM as a whole, once.

    Numba first runs a part of the same passes over each function, and another part over the whole.
    """
    library: Any = codegen.CPUCodeLibrary

    def lay_out(self: Any, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def optimise(self: Any) -> None:
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    return [(library, "_optimize_functions", lay_out), *_only_linked_helpers(optimise)]


def _only_linked_helpers(optimise: Callable[[Any], None]) -> list[Part]:
    """Functions that only kernels call are neither optimised nor made into machine code by themselves.

    They become parts of kernels, and are optimised there. Their environments (what an exception needs) are set where
    the kernel gets its machine code.
    """
    context: Any = cpu.CPUContext
    library: Any = codegen.CPUCodeLibrary
    stack: Any = ConfigStack
    executable, finalise = context.get_executable, library._finalize_final_module

    def is_helper(one: Any) -> bool:
        return hasattr(one, "_environment")

    def environments(one: Any) -> dict[str, Any]:
        found = dict([one._environment]) if is_helper(one) else {}
        for linked in getattr(one, "_linking_libraries", ()):
            found |= environments(linked)
        return found

    def get_executable(self: Any, one: Any, description: Any, environment: Any) -> Any:
        options = stack.top_or_none()
        if options is not None and options.no_cpython_wrapper:
            one._environment = self.get_env_name(description), environment
            one._ensure_finalized()
            name = description.qualname.split(".")[-1]
            return numba._dynfunc.make_function(description.lookup_module(), name, "", 0, environment, (one,))
        made = executable(self, one, description, environment)
        for name, theirs in environments(one).items():
            if one.codegen._engine.is_symbol_defined(name):
                one.codegen.set_env(name, theirs)
        return made

    def optimise_kernel(self: Any) -> None:
        if not is_helper(self):
            optimise(self)

    def finalise_kernel(self: Any) -> None:
        if not is_helper(self):
            finalise(self)
        else:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

    return [
        (context, "get_executable", get_executable),
        (library, "_optimize_final_module", optimise_kernel),
        (library, "_finalize_final_module", finalise_kernel),
    ]
