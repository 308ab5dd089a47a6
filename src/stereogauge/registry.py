"""How declared things are found: our own modules first, then plug-ins.

Metrics, regions, matchers, confidence measures, datasets and ranking models are all collected here. A plug-in is an
entry point of an installed package, which names a module, one declared object, or a list of them; or a Python file that
`--plugin` or the environment variable STEREOGAUGE_PLUGINS names. Plug-ins are imported when a name is requested that is
not ours, or when all names are listed. An installed package that cannot be imported, or that declares a name that is
taken, costs one warning and nothing else; a file that was named must work.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import math
import os
import pkgutil
import sys
import warnings
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from msgspec import Struct

from stereogauge.errors import FileError, StereogaugeError, UnknownNameError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PLUGIN_FILES = "STEREOGAUGE_PLUGINS"
"""The environment variable that names plug-in files, separated as PATH is; worker processes inherit it."""
LONGEST_ARGUMENTS = 300
"""Characters in which the arguments of a metric or measure may be written."""

_plugin_sources: set[str] = set()
"""The files of all plug-ins that were imported."""


class PluginWarning(UserWarning):
    """An installed plug-in, or a part of it, that is skipped, with the reason."""


class Declared(Protocol):
    """Anything with an id."""

    @property
    def id(self) -> str:
        """The name that users write."""
        ...


Item = TypeVar("Item", bound=Declared)


class Registry(Mapping[str, Item], Generic[Item]):
    """All objects of type `declared` in the modules of `package` and behind the entry points of `group`, by id.

    Plug-ins are imported only when they are needed. `kind` is what errors call such an object.
    """

    def __init__(self, kind: str, declared: type[Item], package: str, group: str) -> None:
        self._kind, self._declared, self._group = kind, declared, group
        self.ours: dict[str, Item] = {}
        self._given: dict[str, Item] = {}
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
            for item in self._items(importlib.import_module(module.name)):
                if self.ours.setdefault(item.id, item) is not item:
                    raise StereogaugeError(f"{module.name} declares the {kind} {item.id!r}, which exists already.")

    def __getitem__(self, name: str) -> Item:
        if plugin_files():
            self._from_files  # noqa: B018 - a file that declares a name of ours is refused, not ignored
        known = self.ours if name in self.ours else self._given
        return known[name] if name in known else self._plugged[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.ours, **self._given, **self._plugged})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def add(self, item: Item) -> None:
        """Add something that a call brought along; a later one of the same id replaces it, as in a notebook."""
        if item.id in self.ours:
            raise StereogaugeError(
                f"The {self._kind} {item.id!r} exists already; give yours another name, for example my-{item.id}."
            )
        self._given[item.id] = item

    @functools.cached_property
    def _from_files(self) -> dict[str, Item]:
        """What the named files declare."""
        found: dict[str, Item] = {}
        for path in plugin_files():
            for item in self._items(_file_module(path)):
                if item.id in self.ours:
                    raise StereogaugeError(
                        f"{path} declares the {self._kind} {item.id!r}, which exists already; give it another name, "
                        f"for example my-{item.id}."
                    )
                found[item.id] = item
        return found

    @functools.cached_property
    def _plugged(self) -> dict[str, Item]:
        from importlib import metadata

        found = dict(self._from_files)
        for entry in metadata.entry_points(group=self._group):
            loaded = _loaded(entry)
            items = self._items(loaded)
            if not items and loaded != ():
                _warn(entry, f"declares no {self._kind} in {entry.value}, which its entry point names; it is skipped")
            for item in items:
                other = self.ours.get(item.id) or found.get(item.id)
                if other is None:
                    found[item.id] = item
                elif other is not item:
                    _warn(entry, f"declares the {self._kind} {item.id!r}, which exists already; it is skipped")
        return found

    def _items(self, found: Any) -> list[Item]:
        """The declared objects behind a module, an object or a list."""
        if isinstance(found, ModuleType):
            found = list(vars(found).values())
        several = found if isinstance(found, list | tuple) else [found]
        return [item for item in several if isinstance(item, self._declared)]


def plugin_files() -> list[Path]:
    """The files that the environment variable names."""
    return [Path(text) for text in os.environ.get(PLUGIN_FILES, "").split(os.pathsep) if text]


def plugin_function(name: str) -> Callable[..., Any] | None:
    """The plain function of a plug-in file that is called `name`, with hyphens or underscores; None without one."""
    for path in plugin_files():
        module = _file_module(path)
        function: Any = getattr(module, name.replace("-", "_"), None)
        if callable(function) and getattr(function, "__module__", None) == module.__name__:
            found: Callable[..., Any] = function
            return found
    return None


def _loaded(entry: EntryPoint) -> Any:
    """What an entry point names; nothing where its package fails."""
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output may be a JSON document
            found = entry.load()
        _plugin_sources.add(str(getattr(sys.modules.get(entry.module), "__file__", "")))
        return found
    except (Exception, SystemExit) as problem:
        _warn(entry, f"cannot be loaded ({type(problem).__name__}: {problem}) and is skipped")
        return ()


def _warn(entry: EntryPoint, what: str) -> None:
    package = entry.dist.name if entry.dist is not None else entry.value.partition(":")[0]
    # The text does not name the group, so that a package with six entry points gives one warning.
    warnings.warn(f"the plug-in package {package} {what}.", PluginWarning, stacklevel=2)


OURS = __name__.partition(".")[0] + "."
SMALLEST_HASH = 2**30
"""Versions from here on are hashes of code, below twice that: databases keep them in 32 bits with a sign."""


def code_version(function: Any, declared: int) -> int:
    """The version of a declared function: as declared where it is ours, else a hash of its file and that number.

    A plug-in may change without a new version; no stored score may outlive the code that made it.
    """
    file = getattr(sys.modules.get(_module_of(function)), "__file__", None)
    return declared if is_ours(function) or file is None else _file_version(file, declared)


def as_version(number: int) -> int:
    """A declared version as it is, a hash or a sum with one within its range."""
    return number if number < SMALLEST_HASH else SMALLEST_HASH + number % SMALLEST_HASH


def is_ours(function: Any) -> bool:
    """Whether a function comes with Stereogauge and not with a plug-in."""
    return _module_of(function).startswith(OURS)


def check_call(
    subject: str,
    function: Any,
    given: Sequence[str],
    named: Collection[str] = (),
    error: Callable[[str], StereogaugeError] = StereogaugeError,
) -> None:
    """Refuse a function that cannot be called with arguments `given` in this order and others by name.

    >>> check_call("The metric mine", lambda estimate: 0.0, ("estimate", "truth"))
    Traceback (most recent call last):
    stereogauge.errors.StereogaugeError: The metric mine is called with estimate, truth and does not take them: too ...
    """
    import inspect

    try:
        inspect.signature(function).bind(*given, **dict.fromkeys(named))
    except TypeError as problem:
        called = ", ".join((*given, *named))
        raise error(f"{subject} is called with {called} and does not take them: {problem}.") from None
    except ValueError:  # some compiled functions have no signature
        pass


def _module_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__module__", None) or type(function).__module__


@functools.cache
def _file_version(file: str, declared: int) -> int:
    try:
        return as_version(SMALLEST_HASH + zlib.crc32(Path(file).read_bytes(), declared))
    except OSError:  # code that was imported from an archive
        return declared


@functools.cache
def _file_module(path: Path) -> ModuleType:
    """The module that a file makes; imported once, under a name that tells two files of one name apart."""
    full = path.expanduser().resolve()
    name = f"stereogauge_plugin_{full.stem}_{hashlib.sha256(str(full).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, full)
    if spec is None or spec.loader is None or not full.is_file():
        raise FileError(f"{path}: there is no such Python file; --plugin takes a file that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _plugin_sources.add(str(full))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as problem:
        del sys.modules[name]
        place = plugin_place(problem) or path
        raise FileError(f"{place}: the plug-in cannot be loaded ({type(problem).__name__}: {problem}).") from problem
    return module


def plugin_place(problem: BaseException) -> str:
    """File and line of the plug-in that an error passed through last; "" where it passed through none."""
    found, trace = "", problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in _plugin_sources:
            found = f"{trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return found


class Parameter(Struct, frozen=True):
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
    if len(arguments) > LONGEST_ARGUMENTS:
        raise UnknownNameError(
            f"At most {LONGEST_ARGUMENTS} characters may follow @ in a {kind.lower()}; found {len(arguments)}."
        )
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
            required = sum(one.default is None for one in parameters)
            raise UnknownNameError(
                f"{kind} {name!r} needs its {parameter.name}: write {name}@{','.join(['VALUE'] * required)}, for "
                f"example {name}@{','.join('1' * required)}."
            )
        complete.append(parameter.default)
    for parameter, value in zip(parameters, complete, strict=True):
        if not parameter.low <= value <= parameter.high:
            raise UnknownNameError(
                f"{name}@{value:g}: {parameter.name} must lie between {parameter.low:g} and {parameter.high:g}."
            )
    return tuple(complete)
