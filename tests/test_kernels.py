"""How kernels are compiled and kept."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stereogauge.kernels import compiler
from stereogauge.kernels.jit import helper, kernel


@helper
def _checked(value: float) -> float:
    if value < 0:
        raise ValueError("below 0")
    return value


@kernel(cache=False)
def _doubled(values: np.ndarray) -> None:
    for i in range(values.size):
        values[i] = 2 * _checked(values[i])


def test_an_error_of_a_helper_reaches_the_caller_of_its_kernel() -> None:
    values = np.array([1.0, 2.0])
    _doubled(values)
    assert values.tolist() == [2, 4]
    with pytest.raises(ValueError, match="below 0"):
        _doubled(np.array([-1.0]))


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where tests run in processes that leave it to others."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.mark.usefixtures("interrupts")
def test_ctrl_c_waits_until_a_kernel_is_compiled() -> None:
    # LLVM calls Python with the compiled code, and what is raised there would be lost.
    from numba.extending import intrinsic

    @intrinsic
    def interrupted(typing: Any, value: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            signal.raise_signal(signal.SIGINT)
            return arguments[0]

        return value(value), emit

    @kernel(cache=False)
    def unchanged(value: float) -> float:
        return float(interrupted(value))

    with pytest.raises(KeyboardInterrupt):
        unchanged(2.0)
    assert len(unchanged.signatures) == 1
    assert unchanged(2.0) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_compilation_is_timed_whatever_module_its_function_is_from() -> None:
    import numba

    names: dict[str, object] = {}
    exec("def one():\n    return 1", names)
    assert numba.njit(names["one"])() == 1  # type: ignore[call-overload]
    assert compiler.compilations.finished[-1].function.endswith("one")


def test_shortcuts_through_numba_are_for_our_kernels_only(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba
    from numba.core import codegen

    from stereogauge.kernels.shortcuts import WRITTEN_FOR

    version: Any = numba
    if version.version_info.short != WRITTEN_FOR:
        pytest.skip(f"shortcuts are written for Numba {WRITTEN_FOR}, found {numba.__version__}")

    def parts() -> list[str]:
        library = codegen.CPUCodeLibrary
        names = ("_optimize_functions", "_optimize_final_module", "_finalize_final_module")
        return [getattr(library, name).__module__ for name in names]

    seen: dict[str, list[str]] = {}
    start = compiler.compilations.on_start

    def noting(event: Any) -> None:
        start(event)
        seen[event.data["dispatcher"].py_func.__name__] = parts()

    monkeypatch.setattr(compiler.compilations, "on_start", noting)

    @kernel(cache=False)
    def ours(values: np.ndarray) -> float:
        return values[0]

    def theirs(values: np.ndarray) -> float:
        return float(values[np.argmax(values)])

    assert ours(np.ones(2)) == 1
    compiled = numba.njit(theirs)
    assert compiled(np.array([1.0, 3.0])) == 3
    with pytest.raises(ValueError, match="empty"):
        compiled(np.zeros(0))
    assert set(seen["ours"]) == {"stereogauge.kernels.code_shortcuts"}
    assert set(seen["theirs"]) == set(parts()) == {"numba.core.codegen"}
