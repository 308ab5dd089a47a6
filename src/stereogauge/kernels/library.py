"""Every call of the native library: arguments are checked against a declaration, then passed as pointers and sizes.

A kernel is declared once, with its arguments in the order of the C++ function:

    image = (np.float32, "height", "width")
    fill_rows = native("fill_rows", map=Reads(*image), filled=Writes(*image))
    fill_rows(map, filled)

A wrong type, shape, layout or a read-only result is a `TypeError` or `ValueError` before anything runs. Names in shapes
are sizes: they must agree among all arrays, and the C++ function takes each once, as int64_t, after the arguments, in
the order in which they first appear. Values that are places in another array are checked in C++ on the way: such a
function returns false or a negative number, which its `refusal` turns into a `ValueError`. The library tells the C++
types of each function (`KERNEL` in native/kernel.h); a declaration that differs from them is refused at its first call.
The interpreter's lock is released during a call.

The library holds every kernel once per processor level and uses the best one that the processor has;
`STEREOGAUGE_NATIVE_LEVEL` chooses another one, `STEREOGAUGE_NATIVE_LIBRARY` another file.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import CodeType
from typing import Any, Literal, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import DTypeLike, NDArray

from stereogauge.errors import MissingLibrary

FOLDER = Path(__file__).resolve().parent.parent / "native"
NAMES = ("libstereogauge.so", "libstereogauge.dylib", "stereogauge.dll")
LEVELS = ("v2", "v3", "v4", "v4b")
"""Levels of x86-64 from the oldest processors to the newest; a processor runs all levels up to its own."""

Scalar: TypeAlias = Literal["vi8", "vf8", "vf4", "vb1", "vi4"]
INTEGER: Scalar = "vi8"
REAL: Scalar = "vf8"
SINGLE: Scalar = "vf4"
FLAG: Scalar = "vb1"
_C_TYPES: dict[str, Any] = {
    "vi8": ctypes.c_int64,
    "vf8": ctypes.c_double,
    "vf4": ctypes.c_float,
    "vb1": ctypes.c_bool,
    "vi4": ctypes.c_int32,
    "v--": None,
}

Form: TypeAlias = tuple[np.dtype[Any], tuple[int, ...], int]
"""Type, shape and flags of an array; arrays of one form fit a declaration alike."""
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
"""The flags of an array that matter here, as NumPy numbers them."""
MOST_FORMS = 256
"""Combinations of forms that a function remembers to have checked."""


class Array(Struct, frozen=True):
    """An array argument: its type or types, and its shape.

    With several types, there is one C++ function for each, whose name ends in the type ("_u8", "_f32"). A type may be
    the name of an argument before it: the same type as that one. Each part of the shape is a number, the name of a
    size, an expression of such names ("width + 1"), or one after ">=" where an array may be longer.
    """

    types: tuple[np.dtype[Any], ...]
    same_as: str
    shape: tuple[int | str, ...]
    written: bool
    optional: bool
    align: int


def _array(
    types: DTypeLike | tuple[DTypeLike, ...] | str,
    *shape: int | str,
    written: bool,
    optional: bool = False,
    align: int = 1,
) -> Array:
    named = types if isinstance(types, str) else ""
    listed = () if named else types if isinstance(types, tuple) else (types,)
    return Array(tuple(np.dtype(one) for one in listed), named, shape, written, optional, align)


Reads = functools.partial(_array, written=False)
Writes = functools.partial(_array, written=True)


def native(
    name: str, *, returns: Scalar | Literal["v--"] = "v--", refusal: str = "", **arguments: Array | Scalar
) -> Function:
    """Declare a function of the library; see the module. `refusal` may name arguments and sizes in braces."""
    return Function(name, arguments, returns, refusal)


class Function:
    """A declared function of the library: checks its arguments and calls it."""

    def __init__(self, name: str, arguments: dict[str, Array | Scalar], returns: str, refusal: str) -> None:
        self.name = name
        self.arguments = arguments
        self._returns = returns
        self._refusal = refusal
        self._sizes = _size_names(arguments)
        self._checks = [
            (place, argument, [_part(part) for part in argument.shape])
            for place, argument in enumerate(arguments.values())
            if isinstance(argument, Array)
        ]
        self._places = {name: place for place, name in enumerate(arguments)}
        self._variants = [place for place, argument, _ in self._checks if len(argument.types) > 1]
        self._functions: dict[tuple[str, str], Callable[..., Any]] = {}
        self._known: dict[tuple[Any, ...], tuple[Callable[..., Any], list[int]]] = {}

    def __call__(self, *values: Any) -> Any:
        """Check the arguments and call the function; returns its number, if it has one."""
        if len(values) != len(self.arguments):
            raise TypeError(f"{self.name} takes {len(self.arguments)} arguments, not {len(values)}.")
        function, passed, sizes = self._checked(values)
        return self._accepted(function(*passed, *sizes), values, sizes)

    def bind(self, *arrays: Any) -> Callable[..., Any]:
        """Check the arrays, which come before all numbers, once; returns a function of the numbers alone.

        For calls that repeat with the same arrays: checking twenty of them takes as long as a row of an image.
        """
        numbers = len(self.arguments) - len(arrays)
        function, passed, sizes = self._checked((*arrays, *(0 for _ in range(numbers))))
        pointers = passed[: len(arrays)]

        def call(*values: Any, kept: tuple[Any, ...] = arrays) -> Any:
            if len(values) != numbers:
                raise TypeError(f"{self.name} takes {numbers} numbers after its arrays, not {len(values)}.")
            return self._accepted(function(*pointers, *values, *sizes), (*kept, *values), sizes)

        return call

    def _accepted(self, found: Any, values: tuple[Any, ...], sizes: list[int]) -> Any:
        """What the function returned, unless it refused a value of its arguments."""
        if self._refusal and (found is False or found < 0):
            named = zip((*self.arguments, *self._sizes), (*values, *sizes), strict=True)
            raise ValueError(f"{self.name}: {self._refusal.format(**dict(named))}")
        return found

    def _checked(self, values: tuple[Any, ...]) -> tuple[Callable[..., Any], list[Any], list[int]]:
        """The C function for these arguments, what is passed to it in their places, and the sizes after them."""
        passed = list(values)
        forms: list[Form | None] = []
        for place, declared, _ in self._checks:
            value = values[place]
            if value is None and declared.optional:
                forms.append(None)
                continue
            if not isinstance(value, np.ndarray):
                raise TypeError(f"{self._title(place)} must be a NumPy array, not {type(value).__name__}.")
            passed[place] = address = value.ctypes.data
            forms.append((value.dtype, value.shape, value.flags.num))
            if declared.align > 1 and address % declared.align and value.size:
                raise self._wrong(place, f"it is not aligned to {declared.align} bytes")
        known = self._known.get((level(), *forms))
        if known is None:
            if len(self._known) >= MOST_FORMS:
                self._known.clear()
            known = self._known[(level(), *forms)] = self._fitting(forms)
        return known[0], passed, known[1]

    def _fitting(self, forms: Sequence[Form | None]) -> tuple[Callable[..., Any], list[int]]:
        """The C function for arrays of these forms, and their sizes; an error where they do not fit the declaration."""
        kinds = {place: form[0] for (place, _, _), form in zip(self._checks, forms, strict=True) if form is not None}
        sizes: dict[str, int] = {}
        rest: list[tuple[int, int, int, CodeType, bool]] = []
        for (place, declared, parts), form in zip(self._checks, forms, strict=True):
            if form is None:
                continue
            self._check(place, declared, form, kinds)
            for axis, ((kind, what, least), length) in enumerate(zip(parts, form[1], strict=True)):
                if kind == "name" and not least:
                    if sizes.setdefault(what, length) != length:
                        raise self._wrong(place, f"axis {axis} is {length} long, not {what} = {sizes[what]}")
                elif kind == "number":
                    if length < what or (length != what and not least):
                        raise self._wrong(place, f"axis {axis} is {length} long, not {what}")
                else:
                    rest.append((place, axis, length, what, least))
        for place, axis, length, code, least in rest:
            expected = eval(code, {"__builtins__": {}}, sizes)
            if length < expected or (length != expected and not least):
                raise self._wrong(place, f"axis {axis} is {length} long, not {code.co_filename} = {expected}")
        suffix = "".join(f"_{_code(kinds[place], 8)}" for place in self._variants)
        function = self._functions.get((level(), suffix)) or self._load(suffix, kinds)
        return function, [sizes.get(name, 0) for name in self._sizes]

    def _check(self, place: int, declared: Array, form: Form, kinds: Mapping[int, np.dtype[Any]]) -> None:
        """Refuse a form that is not that of the declared array, whatever its sizes."""
        kind, shape, flags = form
        allowed = (kinds[self._places[declared.same_as]],) if declared.same_as else declared.types
        if kind not in allowed:
            names = " or ".join(str(one) for one in allowed)
            raise TypeError(f"{self._title(place)} must be an array of {names}, not {kind}.")
        if len(shape) != len(declared.shape):
            raise self._wrong(place, f"it has {len(shape)} dimensions, not {len(declared.shape)}")
        if not flags & CONTIGUOUS:
            raise self._wrong(place, "it is not contiguous")
        if not flags & ALIGNED:
            raise self._wrong(place, f"it is not aligned to {kind.itemsize} bytes")
        if declared.written and not flags & WRITEABLE:
            raise self._wrong(place, "it is read-only, and the function writes to it")

    def _load(self, suffix: str, kinds: Mapping[int, np.dtype[Any]]) -> Callable[..., Any]:
        """The C function for these types, once its C++ types have been compared with the declaration."""
        codes = [self._returns]
        for place, declared in enumerate(self.arguments.values()):
            codes.append(self._array_code(declared, place, kinds) if isinstance(declared, Array) else declared)
        codes += ["vi8"] * len(self._sizes)
        exported = f"{self.name}{suffix}"
        tell = _exported(f"{exported}_signature")
        tell.restype = ctypes.c_char_p
        found = tell().decode()
        if found != "".join(codes):
            raise TypeError(f"{exported} is declared as {' '.join(codes)}, and the library has {_spaced(found)}.")
        function: Any = _exported(exported)
        function.argtypes = [_C_TYPES.get(code, ctypes.c_void_p) for code in codes[1:]]
        function.restype = _C_TYPES[self._returns]
        return self._functions.setdefault((level(), suffix), function)

    def _array_code(self, declared: Array, place: int, kinds: Mapping[int, np.dtype[Any]]) -> str:
        like = self._places[declared.same_as] if declared.same_as else place
        kind = declared.types[0] if len(declared.types) == 1 else kinds[like]
        return ("w" if declared.written else "r") + _code(kind, 1)

    def _title(self, place: int) -> str:
        return f"{self.name}: {list(self.arguments)[place]}"

    def _wrong(self, place: int, what: str) -> ValueError:
        return ValueError(f"{self._title(place)} does not fit: {what}.")


def aligned(count: int, kind: DTypeLike, line: int = 64) -> NDArray[Any]:
    """An uninitialised array of `count` values, aligned to a line of the cache."""
    bytes_needed = count * np.dtype(kind).itemsize
    room = np.empty(bytes_needed + line, np.uint8)
    start = -room.ctypes.data % line
    return room[start : start + bytes_needed].view(kind)


@functools.cache
def library() -> ctypes.CDLL:
    """The shared object: the one that was installed with the package, or the one that the environment names."""
    named = os.environ.get("STEREOGAUGE_NATIVE_LIBRARY")
    if not named:
        _build_in_source_tree()
    candidates = [Path(named)] if named else [FOLDER / name for name in NAMES]
    for path in candidates:
        if path.is_file():
            return ctypes.CDLL(str(path))
    raise MissingLibrary(
        f"Stereogauge's native library was not found as {' or '.join(map(str, candidates))}: install the package again "
        "(pip install stereogauge), or in a source tree run python hatch_build.py."
    )


@functools.cache
def level() -> str:
    """The processor level in use: the best one of this processor, or `STEREOGAUGE_NATIVE_LEVEL`."""
    chosen = os.environ.get("STEREOGAUGE_NATIVE_LEVEL", "")
    if chosen and chosen not in available_levels():
        allowed = ", ".join(available_levels())
        raise ValueError(f"STEREOGAUGE_NATIVE_LEVEL is {chosen!r}; this processor has {allowed}.")
    return chosen or available_levels()[-1]


@functools.cache
def available_levels() -> tuple[str, ...]:
    """The levels in the library that this processor can run, the best one last."""
    best, held = _text("level"), _text("levels").split()
    below = LEVELS[: LEVELS.index(best) + 1] if best in LEVELS else (best,)
    return tuple(level for level in below if level in held)


def compiler() -> str:
    """The compiler that built the library."""
    return _text("compiler")


def _text(name: str) -> str:
    function = getattr(library(), name)
    function.restype = ctypes.c_char_p
    return str(function().decode())


def _exported(name: str) -> Any:
    return getattr(library(), f"{name}_{level()}")


def _build_in_source_tree() -> None:
    """In a source tree, build the library again when one of its sources is newer than it."""
    script = FOLDER.parents[2] / "hatch_build.py"
    if not script.is_file():
        return
    built = [path.stat().st_mtime for path in (FOLDER / name for name in NAMES) if path.exists()]
    sources = [*FOLDER.glob("*.cpp"), *FOLDER.glob("*.h")]
    if built and max(built) >= max(source.stat().st_mtime for source in sources):
        return
    if not os.access(FOLDER, os.W_OK):
        raise MissingLibrary(
            f"The native library in {FOLDER} must be built again, and this user may not write there: run python "
            f"{script} as the owner of the folder, or install the package (pip install {script.parent})."
        )
    specification = importlib.util.spec_from_file_location("stereogauge_hatch_build", script)
    if specification is None or specification.loader is None:
        return
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    try:
        module.Build().into(FOLDER)
    except module.BuildError as error:
        raise MissingLibrary(str(error)) from None


def _code(kind: np.dtype[Any], unit: int) -> str:
    """ "f4" or, in bits, "f32" for a type."""
    return f"{kind.kind}{kind.itemsize * unit}"


def _spaced(codes: str) -> str:
    return " ".join(codes[start : start + 3] for start in range(0, len(codes), 3))


def _size_names(arguments: dict[str, Array | Scalar]) -> tuple[str, ...]:
    """The names of sizes, in the order in which they first appear."""
    shapes = [argument.shape for argument in arguments.values() if isinstance(argument, Array)]
    return tuple(
        dict.fromkeys(part for shape in shapes for part in shape if isinstance(part, str) and part.isidentifier())
    )


def _part(part: int | str) -> tuple[str, Any, bool]:
    """What an axis must be: its kind (number, name or expression), the number, name or code, if it may be longer."""
    if isinstance(part, int):
        return "number", part, False
    least, text = part.startswith(">="), part.removeprefix(">=").strip()
    if text.isidentifier() and not least:
        return "name", text, False
    return "expression", compile(text, text, "eval"), least
