"""What a matcher is: a function and a declaration of its parameters. The registry of all of them.

The command line, the tuning and the docs read nothing but declarations. A package adds matchers through the
entry-point group `stereogauge.matchers`: each entry names a module, a `Matcher`, or a list of them.
"""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from stereogauge.errors import FileError, MatcherError, cause, unknown_name
from stereogauge.registry import collect

ENTRY_POINTS = "stereogauge.matchers"
PACKAGE = "stereogauge.matching"

Value: TypeAlias = int | float | bool | str
Kind: TypeAlias = Literal["int", "float", "bool", "choice"]

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True)
class MatcherParameter:
    """One knob of a matcher.

    Values lie between `low` and `high`, in steps of `step` (for searching; other values are accepted), or among
    `choices`. `above` names a parameter whose value this one must exceed; `only_if` = (parameter, values) says when
    this one has an effect. `tuned` says whether a search varies it unless told otherwise; `logarithmic` that it
    should be searched by ratio.
    """

    name: str
    kind: Kind
    default: Value
    description: str = ""
    low: float = -math.inf
    high: float = math.inf
    step: float | None = None
    choices: tuple[Value, ...] = ()
    above: str | None = None
    only_if: tuple[str, tuple[Value, ...]] | None = None
    tuned: bool = True
    logarithmic: bool = False

    def checked(self, value: Any, matcher: str) -> Value:
        """`value` as this parameter's type, from a number or its text; a `MatcherError` when it is not allowed."""
        try:
            converted = self._converted(value)
        except (TypeError, ValueError):
            raise MatcherError(f"{matcher}: {self.name}={value!r} is not allowed; it must be {self.allowed}.") from None
        return converted

    def _converted(self, value: Any) -> Value:
        if self.kind == "bool":
            return _boolean(value)
        if self.kind == "choice":
            return _choice(value, self.choices)
        number = float(value)
        whole = self.kind == "int"
        if isinstance(value, bool) or not self.low <= number <= self.high or (whole and number != int(number)):
            raise ValueError(value)
        return int(number) if whole else number

    @property
    def allowed(self) -> str:
        """The allowed values in words."""
        if self.kind == "bool":
            return "true or false"
        if self.kind == "choice":
            return "one of " + ", ".join(str(choice) for choice in self.choices)
        return f"{'a whole number' if self.kind == 'int' else 'a number'} between {self.low:g} and {self.high:g}"


def _choice(value: Any, choices: tuple[Value, ...]) -> Value:
    by_text = {str(choice): choice for choice in choices}
    if str(value) not in by_text:
        raise ValueError(value)
    return by_text[str(value)]


def _boolean(value: Any) -> bool:
    text = str(value).lower()
    if text not in _TRUE | _FALSE:
        raise ValueError(value)
    return text in _TRUE


@dataclass(frozen=True)
class Matcher:
    """A declared matcher.

    `function(left, right, ndisp, **parameters)` takes grey images (H, W) of equal size, or with `colour` the images as
    they are, and returns a `stereogauge.matching.result.MatcherOutput`, a disparity map, or a tuple of left and right
    maps. `open_parameters` allows names that are not declared.
    """

    id: str
    name: str
    source: str
    function: Callable[..., Any]
    parameters: tuple[MatcherParameter, ...] = ()
    open_parameters: bool = False
    colour: bool = False

    @property
    def description(self) -> str:
        """The function's docstring."""
        return (self.function.__doc__ or "").strip()

    def parameter(self, name: str) -> MatcherParameter:
        """The declared parameter called `name`."""
        known = {parameter.name: parameter for parameter in self.parameters}
        if name not in known:
            raise unknown_name(f"parameter of {self.id}", name, known)
        return known[name]

    def complete(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """All parameters with their values: those given, checked, and the defaults of the rest."""
        values: dict[str, Value] = {parameter.name: parameter.default for parameter in self.parameters}
        for name, value in given.items():
            if self.open_parameters and name not in values:
                values[name] = value
                continue
            values[name] = self.parameter(name).checked(value, self.id)
        for parameter in self.parameters:
            if parameter.above is not None and not float(values[parameter.name]) > float(values[parameter.above]):
                raise MatcherError(
                    f"{self.id}: {parameter.name}={values[parameter.name]} must be greater than "
                    f"{parameter.above}={values[parameter.above]}."
                )
        return values


@functools.cache
def matchers() -> Mapping[str, Matcher]:
    """Every matcher by id: ours, then those of installed packages."""
    return collect("matcher", Matcher, "stereogauge.matching", ENTRY_POINTS)


def parse_matcher(text: str) -> tuple[Matcher, dict[str, str]]:
    """The matcher and the parameters that a text names: `sgm`, `opencv-sgbm:block=5,mode=hh`, `cmd:./run {left}
    {right} {out} {ndisp}`, or a TOML file with a line `matcher = "…"`, as tuning writes it.
    """
    identifier, _, rest = stated_matcher(text).text.strip().partition(":")
    if identifier == "cmd":
        from stereogauge.matching.external import command_matcher

        return command_matcher(rest), {}
    known = matchers()
    if identifier not in known:
        raise unknown_name("matcher", identifier, [*known, "cmd:PROGRAM {left} {right} {out}"])
    return known[identifier], parse_parameters(rest, identifier)


@dataclass(frozen=True)
class StatedMatcher:
    """A matcher's text, and the name that its file gives to it; "" where there is none."""

    text: str
    name: str = ""


def stated_matcher(text: str) -> StatedMatcher:
    """What a TOML file states, or the text itself where it names no such file."""
    if text.startswith("cmd:") or not text.strip().endswith(".toml"):
        return StatedMatcher(text)
    path = Path(text.strip())
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise FileError(f"{path}: cannot be read as a matcher's parameters ({cause(problem)}).") from None
    stated = content.get("matcher")
    if not isinstance(stated, str) or stated.endswith(".toml"):
        raise FileError(f'{path} needs a line matcher = "opencv-sgbm:block=5", as `stereogauge tune` writes it.')
    return StatedMatcher(stated, str(content.get("name", "")))


def parse_parameters(text: str, matcher: str) -> dict[str, str]:
    """The pairs in `name=value,name=value`."""
    parameters: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise MatcherError(f"{matcher}: {part!r} is not a parameter; write name=value, separated by commas.")
        parameters[name.strip()] = value.strip()
    return parameters
