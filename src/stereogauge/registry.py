"""How declared things are found: our own modules first, then the entry points of installed packages.

Metrics, regions, matchers, confidence measures, datasets and ranking models are all collected here. An entry point
names a module, one declared object, or a list of them.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterable
from types import ModuleType
from typing import Any, Protocol, TypeVar

from stereogauge.errors import StereogaugeError


class Declared(Protocol):
    """Anything with an id."""

    @property
    def id(self) -> str:
        """The name that users write."""
        ...


Item = TypeVar("Item", bound=Declared)


def _items(found: Any) -> Iterable[object]:
    if isinstance(found, ModuleType):
        return vars(found).values()
    return found if isinstance(found, list | tuple) else [found]


def collect(kind: str, declared: type[Item], package: str, group: str) -> dict[str, Item]:
    """All objects of type `declared` in the modules of `package` and behind the entry points of `group`, by id."""
    known: dict[str, Item] = {}

    def add(found: Any, origin: str) -> None:
        for item in _items(found):
            if not isinstance(item, declared):
                continue
            if known.get(item.id, item) is not item:
                raise StereogaugeError(f"{origin} declares the {kind} {item.id!r}, which exists already.")
            known[item.id] = item

    for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        add(importlib.import_module(module.name), module.name)
    for entry in importlib.metadata.entry_points(group=group):
        add(entry.load(), f"The package behind entry point {entry.name!r}")
    return known
