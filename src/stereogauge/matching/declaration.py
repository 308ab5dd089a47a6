"""What a matcher is: a function and a declaration of its parameters. The registry of all of them.

The command line, the tuning and the docs read only declarations. A package adds matchers through the
entry-point group `stereogauge.matchers`: each entry names a module, a `Matcher`, or a list of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from stereogauge.errors import MatcherError, unknown_name
from stereogauge.registry import Registry

ENTRY_POINTS = "stereogauge.matchers"

Value: TypeAlias = int | float | bool | str
Kind: TypeAlias = Literal["int", "float", "bool", "choice"]

_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


class MatcherParameter(Struct, frozen=True):
    """One parameter of a matcher.

    Values lie between `low` and `high`, in steps of `step` (for searching; other values are accepted), or among
    `choices`. `above` names a parameter whose value this one must exceed; `only_if` = (parameter, values) says when
    this one has an effect. `tuned` says whether a search varies it by default; `logarithmic` that it should be
    searched by ratio.
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
        found: Value | None
        if self.kind == "bool":
            found = _TRUTH.get(str(value).lower())
        elif self.kind == "choice":
            found = {str(choice): choice for choice in self.choices}.get(str(value))
        else:
            found = self._number(value)
        if found is None:
            raise MatcherError(f"{matcher}: {self.name}={value!r} is not allowed; it must be {self.allowed}.")
        return found

    def _number(self, value: Any) -> int | float | None:
        try:
            number = float(value)
        except (TypeError, ValueError):
            return None
        whole = self.kind == "int"
        if isinstance(value, bool) or not self.low <= number <= self.high or (whole and not number.is_integer()):
            return None
        return int(number) if whole else number

    @property
    def allowed(self) -> str:
        """The allowed values in words."""
        if self.kind == "bool":
            return "true or false"
        if self.kind == "choice":
            return "one of " + ", ".join(str(choice) for choice in self.choices)
        return f"{'a whole number' if self.kind == 'int' else 'a number'} between {self.low:g} and {self.high:g}"


untuned = functools.partial(MatcherParameter, tuned=False)
"""A parameter that a search does not vary by default."""


class Matcher(Struct, frozen=True):
    """A declared matcher.

    `function(left, right, ndisp, **parameters)` takes grey images (H, W) of equal size, or with `colour` the images as
    they are, and returns a `stereogauge.matching.result.MatcherOutput`, a disparity map, or a tuple of left and right
    maps. `open_parameters` allows names that are not declared.

    `prepare(left, right, ndisp, **parameters)`, with the same arguments, is called before the clock starts: it loads
    what the function needs, so that a run time is the time of matching alone. It is called before every
    run and should return at once when all is ready. `memory(height, width, ndisp, **parameters)` tells about how many
    bytes a run takes, so that it can be said beforehand.
    """

    id: str
    name: str
    source: str
    function: Callable[..., Any]
    parameters: tuple[MatcherParameter, ...] = ()
    open_parameters: bool = False
    colour: bool = False
    prepare: Callable[..., None] | None = None
    memory: Callable[..., int] | None = None

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
    return Registry("matcher", Matcher, "stereogauge.matching", ENTRY_POINTS)
