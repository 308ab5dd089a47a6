"""The one loader of files that users write: TOML or plain values, checked against a declaration of their entries.

A new kind of file is a `Declaration`, a class with one typed field per entry:

    class Camera(Declaration, frozen=True):
        focal: Annotated[float, number("focal length", "px", above=0)]
        precision: Annotated[float, number("precision of matching", "px", above=0)] = 0.25

    class Requirements(Declaration, frozen=True):
        camera: Camera
        name: str = ""
        labels: Mapping[str, int | tuple[int, ...]] = {}
        rule: Literal["auto", "dataset"] = "auto"

    wanted = load(Path("requirements.toml"), Requirements, "requirements")

A field without a default is required, a field whose type is a `Declaration` is a table, a `Mapping` is a table with
names of the user's choice, and `float` takes whole numbers too. `number`, `whole` and `entry` add help, unit and limits
to a type. `check` does for a declaration that is built in Python what `convert` does for a file.
Conditions that involve several entries are checked by the caller after loading.

Every refusal is one sentence that names the file, the entry by its dotted key, what was found and what is allowed.
msgspec decides what fits a type; this module only words the refusal.
"""

from __future__ import annotations

import functools
import itertools
import sys
import tomllib
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from stereogauge.errors import FileError, StereogaugeError, cause, unknown_name

T = TypeVar("T")
Key = tuple[str, ...]
Raise = Callable[[str], StereogaugeError]
"""The kind of error that a refusal is."""
LARGEST = sys.float_info.max
UNIONS = (typing.Union, types.UnionType)
LISTS = (list, tuple, Sequence)


class Declaration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the entries of a file, or of a table in one; entries that are not declared are refused."""


def number(
    description: str,
    unit: str = "",
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = LARGEST,
) -> msgspec.Meta:
    """Help, unit and limits of a `float`: greater than `above` or at least `least`, and at most `most`.

    It is finite, or may be infinite where `most` is None.
    """
    if above is not None:
        return msgspec.Meta(gt=above, le=most, description=description, extra={"unit": unit})
    return msgspec.Meta(ge=-LARGEST if least is None else least, le=most, description=description, extra={"unit": unit})


def whole(description: str, unit: str = "", *, least: int | None = None, most: int | None = None) -> msgspec.Meta:
    """Help, unit and limits of an `int`, both included."""
    return msgspec.Meta(ge=least, le=most, description=description, extra={"unit": unit})


def entry(description: str) -> msgspec.Meta:
    """Help of an entry of any other type."""
    return msgspec.Meta(description=description)


def load(path: Path, kind: type[T], what: str, error: Raise = FileError) -> T:
    """The content of a TOML file as `kind`; `what` is the name of such a file in errors."""
    return convert(read_toml(path, what, error), kind, str(path), error)


def read_toml(path: Path, what: str, error: Raise = FileError) -> dict[str, Any]:
    """The tables of a TOML file; `what` says in errors what the file should be."""
    try:
        return parse_toml(path.read_text(encoding="utf-8-sig"), str(path), error)
    except UnicodeDecodeError:
        raise error(f"{path} cannot be read as {what}: it is not UTF-8 text.") from None
    except OSError as problem:
        raise error(f"{path} cannot be read as {what}: {cause(problem)}.") from None


def parse_toml(text: str, origin: str, error: Raise = FileError) -> dict[str, Any]:
    """The tables of a TOML text; `origin` names it in errors, which state line and column."""
    try:
        tables = tomllib.loads(text)
        msgspec.msgpack.encode(tables)  # which has no larger integers than TOML, unlike tomllib
    except OverflowError:
        raise error(f"{origin} is not valid TOML: an integer has more than 64 bits.") from None
    except (ValueError, RecursionError) as problem:  # ValueError: also an integer of thousands of digits
        raise error(f"{origin} is not valid TOML: {str(problem).partition(';')[0]}.") from None
    return tables


def convert(content: Any, kind: type[T] | Any, origin: str, error: Raise = StereogaugeError, key: str = "") -> T:
    """Plain values (of TOML, JSON or Python) as the type `kind`.

    `origin` names the file or call, and `key` the entry that `content` belongs to where it is not the whole file.

    >>> convert("much", float, "own.toml", key="weights.rms")
    Traceback (most recent call last):
    stereogauge.errors.StereogaugeError: own.toml: weights.rms must be a number; found 'much'.
    """
    plain = _plain(content)
    try:
        return typing.cast(T, msgspec.convert(plain, kind))
    except (msgspec.ValidationError, RecursionError):
        raise _refusal(kind, plain, origin, error, tuple(filter(None, key.split(".")))) from None


def _plain(value: Any) -> Any:
    """A value in which NumPy's numbers are Python's, which are the ones that msgspec knows."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.item() if getattr(value, "shape", None) == () else value


def check(instance: Any, origin: str, error: Raise = StereogaugeError) -> None:
    """Refuse a value of a declaration that its own types do not allow."""
    kind: Any = type(instance)
    convert({name: getattr(instance, name) for name in entry_types(kind)}, _entries(kind), origin, error)


@functools.cache
def _entries(kind: Any) -> type[msgspec.Struct]:
    """The entries of a declaration as a type of their own, which msgspec reads once."""
    return msgspec.defstruct("Entries", list(entry_types(kind).items()))


@functools.cache
def entry_types(kind: Any) -> Mapping[str, Any]:
    """The declared types of the entries of a declaration, by name."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return {name: hints[name] for name in kind.__struct_fields__}


def is_table(kind: Any) -> bool:
    """Whether a type has declared entries."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _refusal(kind: Any, value: Any, origin: str, error: Raise, key: Key) -> StereogaugeError:
    """The error for the innermost part of a value that does not fit its type."""
    for option in options_of(kind):
        if is_table(option) and isinstance(value, Mapping):
            known = entry_types(option)
            strange = next((name for name in value if name not in known), None)
            if strange is not None:
                names = [_dotted((*key, name)) for name in known]
                return unknown_name(f"entry of {origin}", _dotted((*key, str(strange))), names)
            required = (field.name for field in msgspec.structs.fields(option) if field.required)
            missing = next((name for name in required if name not in value), None)
            if missing is not None:
                return error(f"{origin} needs {_dotted((*key, missing))}, {described(known[missing])}.")
        for name, inner_kind, inner in _parts(option, value):
            if not _fits(inner, inner_kind):
                return _refusal(inner_kind, inner, origin, error, (*key, name))
    subject, found = f"{origin}: {_dotted(key)}" if key else origin, repr(value)
    shown = found if len(found) <= 80 else f"{found[:79]}…"
    return error(f"{subject} must be {described(kind)}; found {shown}.")


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


def options_of(kind: Any) -> Sequence[Any]:
    """The alternatives of a type, without what annotates them."""
    plain = typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind
    if typing.get_origin(plain) in UNIONS:
        return [inner for option in typing.get_args(plain) for inner in options_of(option)]
    return [plain]


def _parts(kind: Any, value: Any) -> Iterator[tuple[str, Any, Any]]:
    """Name, type and value of what a table or list holds, where the value is one at all."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if is_table(kind) and isinstance(value, Mapping):
        yield from ((name, inner_kind, value[name]) for name, inner_kind in entry_types(kind).items() if name in value)
    elif _is_mapping(origin) and isinstance(value, Mapping):
        yield from ((str(name), inner[1], part) for name, part in value.items())
    elif origin in LISTS and isinstance(value, list | tuple):
        kinds = inner if _has_fixed_length(kind) else itertools.repeat(inner[0])
        parts = enumerate(zip(kinds, value, strict=False), 1)
        yield from ((str(place), inner_kind, part) for place, (inner_kind, part) in parts)


def _is_mapping(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _has_fixed_length(kind: Any) -> bool:
    return typing.get_origin(kind) is tuple and Ellipsis not in typing.get_args(kind)


def _dotted(key: Key) -> str:
    return ".".join(f'"{part}"' if "." in part or " " in part else part for part in key)


def described(kind: Any) -> str:
    """What a type allows, in words.

    >>> described(typing.Annotated[float, number("focal length", "px", above=0)])
    'a number greater than 0 in px (focal length)'
    >>> described(float | Mapping[str, float] | None), described(Literal["higher", "lower"])
    ("a number or a table of numbers", "'higher' or 'lower'")
    """
    if typing.get_origin(kind) is typing.Annotated:
        plain, meta = typing.get_args(kind)[:2]
        unit = (meta.extra or {}).get("unit", "")
        return f"{described(plain)}{_limits(meta)}{unit and f' in {unit}'} ({meta.description})"
    if typing.get_origin(kind) in UNIONS:
        return " or ".join(described(option) for option in typing.get_args(kind) if option is not type(None))
    return _word(kind)


_WORDS: Mapping[Any, str] = {
    float: "a number",
    int: "a whole number",
    str: "text",
    bool: "true or false",
    Path: "a path",
}


def _word(kind: Any) -> str:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        shown = list(map(repr, inner))
        return " or ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
    if is_table(kind):
        return f"a table with {', '.join(entry_types(kind))}"
    if _is_mapping(origin):
        return f"a table of {_plural(inner[1])}"
    if origin in LISTS:
        length = f"{len(inner)} " if _has_fixed_length(kind) else ""
        return f"a list of {length}{_plural(inner[0])}"
    return _WORDS.get(kind, "a value")


def _plural(kind: Any) -> str:
    """The words for several values of a type: `numbers`, `texts or lists of texts`."""
    plurals = []
    for option in options_of(kind):
        word = _word(option).removeprefix("a ")
        first, of, rest = word.partition(" ")
        plurals.append(f"{first}s{of}{rest}" if first in ("list", "table") else f"{word}s")
    return " or ".join(plurals)


def _limits(meta: msgspec.Meta) -> str:
    low, high = meta.ge, meta.le
    if meta.gt is not None:
        return f" greater than {meta.gt:g}"
    has_low, has_high = low is not None and low > -LARGEST, high is not None and high < LARGEST
    if has_low and has_high:
        return f" from {low:g} to {high:g}"
    if has_low or has_high:
        return f" of at least {low:g}" if has_low else f" of at most {high:g}"
    return ""
