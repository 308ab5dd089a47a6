"""Shortcuts through Numba's front end: messages, steps, types and variables (`stereogauge.kernels.shortcuts`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numba.core.ir
import numba.core.postproc
import numba.core.transforms
import numba.core.typing.context
import numba.core.typing.typeof
from numba.core import compiler_machinery, cpu, errors, lowering, typeinfer, types
from numba.core.types import functions

from stereogauge.kernels.shortcuts import Part

# Numba's annotations do not describe these.
numba_ir: Any = numba.core.ir
messages: Any = errors
postproc: Any = numba.core.postproc
transforms: Any = numba.core.transforms
typeof: Any = numba.core.typing.typeof
typing_context: Any = numba.core.typing.context


def parts() -> list[Part]:
    """All of them."""
    return [
        *_plain_messages(),
        *_plain_contexts(),
        *_plain_passes(),
        *_remembered_types(),
        *_functions_first_by_name(),
        *_lifetimes_when_asked(),
        *_listed_variables(),
        *_known_registries(),
    ]


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
