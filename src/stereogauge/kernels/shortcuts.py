"""Shortcuts through Numba: the same code with less work (docs/decisions/first-minute.md has the seconds of each).

Each replaces an inner part of Numba while one of our kernels is compiled; Numba compiles one function at a time, behind
a lock. Inner parts change from version to version, so other versions than the one named here are taken as they are.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import llvmlite.binding.ffi
import numba
import numba._dynfunc
import numba.core.base
import numba.core.ir
import numba.core.postproc
import numba.core.runtime.nrt
import numba.core.transforms
import numba.core.typing.context
import numba.core.typing.typeof
from numba.core import codegen, compiler_machinery, cpu, errors, lowering, typeinfer, types
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack
from numba.core.types import functions

# Numba's annotations do not describe these.
llvm: Any = llvmlite.binding
nrt: Any = numba.core.runtime.nrt
numba_ir: Any = numba.core.ir
messages: Any = errors
postproc: Any = numba.core.postproc
transforms: Any = numba.core.transforms
typeof: Any = numba.core.typing.typeof
typing_context: Any = numba.core.typing.context

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
    return [
        *_plain_messages(),
        *_remembered_types(),
        *_functions_first_by_name(),
        *_lifetimes_when_asked(),
        *_listed_variables(),
        *_known_registries(),
        *_counted_references(),
        *_plain_contexts(),
        *_plain_passes(),
        *_known_parameters(),
        *_known_sizes(),
        *_common_instructions(),
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


def _functions_first_by_name() -> list[Part]:
    """The type of a function is looked up without an error, with its message, that it is no plain value."""
    context: Any = typing_context.BaseContext
    resolve, purpose = context.resolve_value_type, typeof._TypeofContext(typeof.Purpose.constant)

    def resolve_value_type(self: Any, value: Any) -> Any:
        found = typeof.typeof_impl(value, purpose)
        if found is None and not isinstance(value, types.ExternalFunction):
            found = self._get_global_type(value)
        return resolve(self, value) if found is None else found

    return [(context, "resolve_value_type", resolve_value_type)]


def _lifetimes_when_asked() -> list[Part]:
    """Where variables come to life and die is found where statements for that are put in, and not after every step.

    Only generators need it elsewhere, and no kernel is one.
    """
    processor: Any = postproc.PostProcessor
    run_all = processor.run

    def run(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        function = self.func_ir
        if function.is_generator:
            run_all(self, emit_dels, extend_lifetimes)
            return
        function.blocks = transforms.canonicalize_cfg(function.blocks)
        function.variable_lifetime = postproc.VariableLifetime(function.blocks)
        function.generator_info = None
        if emit_dels:
            self._insert_var_dels(extend_lifetimes=extend_lifetimes)

    return [(processor, "run", run)]


def _listed_variables() -> list[Part]:
    """The variables of a statement, listed by the type of each of its parts instead of by one question after another.

    Numba asks for them hundreds of thousands of times.
    """
    instruction: Any = numba_ir.Inst
    kinds: dict[type, type | None] = {}

    def kind_of(value: Any) -> type | None:
        of = (numba_ir.Var, instruction, list, tuple, dict)
        return next((one for one in of if isinstance(value, one)), None)

    def collect(values: Any, found: list[Any]) -> None:
        for value in values:
            own = type(value)
            if own not in kinds:
                kinds[own] = kind_of(value)
            kind = kinds[own]
            if kind is numba_ir.Var:
                found.append(value)
            elif kind is instruction:
                found.extend(value.list_vars())
            elif kind is not None:
                collect(value.values() if kind is dict else value, found)

    def list_variables(self: Any, value: Any) -> list[Any]:
        found: list[Any] = []
        collect((value,), found)
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


class _Explained:
    """What Numba was doing, said in the errors that are raised meanwhile."""

    def __init__(self, text: str, *arguments: Any, **named: Any) -> None:
        self._said = text, arguments, named
        place = named.get("loc")
        if place is not None and not place.filename.startswith(messages._numba_path):
            messages.loc_info.update(named)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, errors.NumbaError):
            problem.add_context(messages._format_msg(*self._said))


def _plain_contexts() -> list[Part]:
    """Errors are explained by an object instead of a generator, and warnings are not held back: 50 000 statements."""
    fixer = messages.WarningsFixer
    nothing = contextlib.nullcontext()
    return [
        *((module, "new_error_context", _Explained) for module in (errors, lowering, typeinfer)),
        (fixer, "catch_warnings", lambda self, filename=None, lineno=None: nothing),
    ]


def _plain_passes() -> list[Part]:
    """Steps of a compilation are neither timed nor announced with all options, and not checked for what none leaves."""
    manager: Any = compiler_machinery.PassManager

    def run_pass(self: Any, index: int, one: Any, state: Any) -> None:
        one.analysis = self._analysis
        with _Explained("Pass {name}", name=one.name()):
            one.run_initialization(state)
            one.run_pass(state)
            one.run_finalizer(state)

    return [(manager, "_runPass", run_pass)]


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


def _optimised_once() -> list[Part]:
    """A kernel is optimised by LLVM as a whole, once; less where its loops are not to be vectorised.

    Numba first runs a part of the same passes over each function, and another part over the whole.
    """
    library: Any = codegen.CPUCodeLibrary

    def lay_out(self: Any, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def optimise(self: Any) -> None:
        less = {} if Shortcuts.vectorised else {"opt": 1, "loop_vectorize": False, "slp_vectorize": False}
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
