"""How declared things are found: our own modules first, then the entry points of installed packages.

Metrics, regions, matchers, confidence measures, datasets and ranking models are all collected here. An entry point
names a module, one declared object, or a list of them.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import pkgutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol, TypeVar

from stereogauge.errors import StereogaugeError, UnknownNameError


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


@dataclass(frozen=True)
class Parameter:
    """One number in the id of a metric or region: `bad@1` has the parameter threshold = 1.

    `default` None means that it must be given.
    """

    name: str
    unit: str = ""
    description: str = ""
    low: float = -math.inf
    high: float = math.inf
    default: float | None = None


def with_arguments(name: str, arguments: Sequence[float]) -> str:
    """The id with its numbers: `depth@2,30`."""
    return name + ("@" + ",".join(f"{argument:.12g}" for argument in arguments) if arguments else "")


def read_arguments(kind: str, text: str, arguments: str) -> tuple[float, ...]:
    """The numbers of `arguments`, which follow the @ of `text`."""
    try:
        return tuple(float(argument) for argument in arguments.split(","))
    except ValueError:
        raise UnknownNameError(f"{kind} {text!r}: what follows @ must be a number; found {arguments!r}.") from None


def bound_arguments(
    kind: str, name: str, parameters: Sequence[Parameter], arguments: Sequence[float]
) -> tuple[float, ...]:
    """The arguments with the defaults of those that were not given; refuses what the parameters do not allow."""
    if len(arguments) > len(parameters):
        raise UnknownNameError(f"{kind} {name!r} takes {len(parameters)} parameter(s); found {len(arguments)}.")
    complete = list(arguments)
    for parameter in parameters[len(arguments) :]:
        if parameter.default is None:
            raise UnknownNameError(
                f"{kind} {name!r} needs its {parameter.name}: write {name}@VALUE, for example {name}@1."
            )
        complete.append(parameter.default)
    for parameter, value in zip(parameters, complete, strict=True):
        if not parameter.low <= value <= parameter.high:
            raise UnknownNameError(
                f"{name}@{value:g}: {parameter.name} must lie between {parameter.low:g} and {parameter.high:g}."
            )
    return tuple(complete)
