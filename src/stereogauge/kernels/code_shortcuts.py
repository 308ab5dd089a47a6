"""Shortcuts through what Numba makes of typed code: LLVM's text and machine code (`stereogauge.kernels.shortcuts`)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import llvmlite.binding.ffi
import numba._dynfunc
import numba.core.base
from numba.core import codegen, cpu, lowering
from numba.core.targetconfig import ConfigStack

from stereogauge.kernels.shortcuts import Part


def parts(vectorised: Callable[[], bool]) -> list[Part]:
    """All of them; `vectorised` tells whether loops of the kernel that is being compiled are vectorised."""
    return [
        *_counted_references(),
        *_known_parameters(),
        *_known_sizes(),
        *_common_instructions(),
        *_no_timers(),
        *_no_wrappers_for_c(),
        *_optimised_once(vectorised),
    ]


def _counted_references() -> list[Part]:
    """References are counted only where a variable holds some.

    Numba takes every variable apart to look for them, writes code for each of its parts, and clears each variable that
    is not used any more so that nothing is freed twice: a fifth of all instructions, which LLVM takes out again.
    """
    runtime: Any = importlib.import_module("numba.core.runtime.context")  # a kernel from the cache needs it not
    memory = runtime.NRTContext
    lower: Any = lowering.Lower
    store, delete = lower.storevar, lower.delvar
    known: dict[Any, bool] = {}

    def counts(context: Any, kind: Any) -> bool:
        if kind not in known:
            known[kind] = context.data_model_manager[kind].contains_nrt_meminfo()
        return known[kind]

    def get_meminfos(self: Any, builder: Any, kind: Any, value: Any) -> list[Any]:
        if not counts(self._context, kind):
            return []
        model = self._context.data_model_manager[kind]
        found = [(kind, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
        for member, part in model.traverse(builder):
            if counts(self._context, member):
                found += get_meminfos(self, builder, member, part(value))
        return found

    def storevar(self: Any, value: Any, name: str, argidx: int | None = None) -> None:
        kind = self.typeof(name)
        if argidx is not None or name in self._singly_assigned_vars or counts(self.context, kind):
            store(self, value, name, argidx)
            return
        self._alloca_var(name, kind)
        self.builder.store(value, self.getvar(name))

    def delvar(self: Any, name: str) -> None:
        kind = self.typeof(name)
        if counts(self.context, kind):
            delete(self, name)
        elif name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)
            self._alloca_var(name, kind)

    return [(memory, "get_meminfos", get_meminfos), (lower, "storevar", storevar), (lower, "delvar", delvar)]


def _no_wrappers_for_c() -> list[Part]:
    """Functions of Numba's that kernels call get no form for callers in C, as kernels do not."""
    lower: Any = lowering.Lower
    return [(lower, "create_cfunc_wrapper", lambda self: None)]


def _known_parameters() -> list[Part]:
    """Whether an implementation takes the place in the source is looked up once, and not at every use."""
    base: Any = numba.core.base
    look = base._has_loc
    known: dict[int, tuple[bool, Any]] = {}

    def has_place(function: Any) -> bool:
        if id(function) not in known:
            known[id(function)] = look(function), function  # kept, so that its identity stays its own
        return known[id(function)][0]

    return [(base, "_has_loc", has_place)]


def _known_sizes() -> list[Part]:
    """The bytes of a type are asked of LLVM once, and not at every place: it takes a module that is parsed."""
    context: Any = numba.core.base.BaseContext
    ask = context.get_abi_sizeof
    known: dict[tuple[int, str], int] = {}

    def get_abi_sizeof(self: Any, kind: Any) -> int:
        key = id(self.target_data), str(kind)
        if key not in known:
            known[key] = ask(self, kind)
        return known[key]

    return [(context, "get_abi_sizeof", get_abi_sizeof)]


def _common_instructions() -> list[Part]:
    """Two thirds of all instructions, of five kinds, are written for LLVM in one step each instead of in six."""
    instructions: Any = importlib.import_module("llvmlite.ir.instructions")
    values: Any = importlib.import_module("llvmlite.ir.values")

    def load(one: Any) -> str:
        (place,) = one.operands
        return f"{one.get_reference()} = load {one.type}, {place.type} {place.get_reference()}"

    def store(one: Any) -> str:
        value, place = one.operands
        return f"store {value.type} {value.get_reference()}, {place.type} {place.get_reference()}"

    def extract(one: Any) -> str:
        whole, where = one.aggregate, ", ".join(map(str, one.indices))
        return f"{one.get_reference()} = extractvalue {whole.type} {whole.get_reference()}, {where}"

    def insert(one: Any) -> str:
        whole, value, where = one.aggregate, one.value, ", ".join(map(str, one.indices))
        into = f"{whole.type} {whole.get_reference()}"
        return f"{one.get_reference()} = insertvalue {into}, {value.type} {value.get_reference()}, {where}"

    def address(one: Any) -> str:
        pointer, where = one.pointer, ", ".join([f"{index.type} {index.get_reference()}" for index in one.indices])
        of = f"{one.source_etype}, {pointer.type} {pointer.get_reference()}, {where}"
        return f"{one.get_reference()} = getelementptr {'inbounds ' * one.inbounds}{of}"

    written: dict[type, Callable[[Any], str]] = {
        instructions.LoadInstr: load,
        instructions.StoreInstr: store,
        instructions.ExtractValue: extract,
        instructions.InsertValue: insert,
        instructions.GEPInstr: address,
    }

    def describe(self: Any, lines: list[str]) -> None:
        lines.append(f"{self._format_name()}:\n")
        for one in self.instructions:
            special = one.metadata or getattr(one, "align", None) is not None
            write = str if special else written.get(type(one), str)
            lines.append(f"  {write(one)}\n")

    return [(values.Block, "descr", describe)]


def _no_timers() -> list[Part]:
    """Calls of LLVM without noting when each began and ended."""
    lock: Any = llvmlite.binding.ffi.lib._lock
    return [(lock, "_cblist", [])]


def _optimised_once(vectorised: Callable[[], bool]) -> list[Part]:
    """A kernel is optimised by LLVM as a whole, once; less where its loops are not to be vectorised.

    Numba first runs a part of the same passes over each function, and another part over the whole.
    """
    library: Any = codegen.CPUCodeLibrary

    def lay_out(self: Any, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def optimise(self: Any) -> None:
        less = {} if vectorised() else {"opt": 1, "loop_vectorize": False, "slp_vectorize": False}
        passes, builder = self._codegen._module_pass_manager(**less)
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
