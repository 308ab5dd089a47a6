"""Packages that are also verbs: `sg.regions(scene, …)` and `sg.confidence(match, …)` next to
`stereogauge.regions.occlusion`.

The public interface promises functions under names that are packages too; a module may have a class of its own, and
that class may be callable (docs/decisions/callable-packages.md).
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A package that passes a call on to one of its functions; `help` shows that function with its parameters."""

    _target: tuple[str, str]

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function that the package stands for."""
        return self._function(*arguments, **options)

    @property
    def _function(self) -> Callable[..., Any]:
        module, name = self._target
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return function

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)

    def __getattr__(self, name: str) -> Any:
        if name == self.__dict__.get("_target", ("", ""))[1]:
            return self._function
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), self._target[1]]


def make_callable(package: str, module: str, function: str) -> None:
    """Let `package` be called as `module.function`."""
    found = sys.modules[package]
    found.__class__ = CallableModule
    found.__dict__["_target"] = (module, function)
    found.__dict__["__all__"] = [function]
