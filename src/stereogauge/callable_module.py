"""Packages that are also verbs: `sg.regions(scene, …)` and `sg.confidence(match, …)` next to
`stereogauge.regions.occlusion`.

The public interface promises functions under names that are packages too; a module may have a class of its own, and
that class may be callable (docs/decisions/callable-packages.md).
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A package that passes a call on to one of its functions."""

    _target: tuple[str, str]

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function that the package stands for."""
        module, name = self._target
        return getattr(importlib.import_module(module), name)(*arguments, **options)


def make_callable(package: str, module: str, function: str) -> None:
    """Let `package` be called as `module.function`."""
    found = sys.modules[package]
    found.__class__ = CallableModule
    found.__dict__["_target"] = (module, function)
