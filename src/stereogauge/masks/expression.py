"""Regions that are put together from others: `planar&textureless`, `all-sky`, `disc-background&mask:road`.

A part is a declared region, with its numbers where it has parameters (`depth@2,30`), a mask that comes with the scene
(`road` or `mask:road`), or a class of its label image (`label:glass`). The operators are those of Python's sets, and
bind as they do there: `-` (without) first, then `&` (and), then `|` (or); parentheses change the order. Since names
hold hyphens, the longest known name counts: `disc-background-sky` is the background at discontinuities without sky.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from stereogauge.errors import UnknownNameError, unknown_name
from stereogauge.masks.declaration import Region, declared_regions
from stereogauge.registry import as_version, bound_arguments, code_version, read_arguments, with_arguments
from stereogauge.text import NUMBER_PATTERN

MASK = "mask:"
LABEL = "label:"
WHOLE_SCENE = "scene"
"""The region of metrics that are not about pixels, such as run time."""
Operator = Literal["-", "&", "|"]
WORDS: dict[Operator, str] = {"-": "without", "&": "and", "|": "or"}
BINDING: dict[Operator, int] = {"|": 1, "&": 2, "-": 3}
PLAIN = 4
LONGEST, DEEPEST = 300, 20
NUMBERS = re.compile(rf"{NUMBER_PATTERN}(?:,{NUMBER_PATTERN})*")


def _declared(name: str) -> Region | None:
    """The declared region of this name; plug-ins are not imported to learn that the whole scene is none."""
    return None if name == WHOLE_SCENE else declared_regions().get(name)


class Part(Struct, frozen=True):
    """One named set of pixels. A name that is no declared region is that of a mask of the scene."""

    name: str
    arguments: tuple[float, ...] = ()
    binding = PLAIN

    def __str__(self) -> str:
        return with_arguments(self.name, self.arguments)

    @property
    def words(self) -> str:
        """The part for a reader."""
        declared = _declared(self.name)
        if declared is None:
            kind, colon, name = self.name.partition(":")
            return f"{kind} {name}" if colon else f"mask {self.name}"
        numbers = [
            f"{parameter.name} {value:g} {parameter.unit}".strip()
            for parameter, value in zip(declared.parameters, self.arguments, strict=True)
        ]
        name = declared.name[:1].lower() + declared.name[1:]
        return f"{name} ({', '.join(numbers)})" if numbers else name

    @property
    def parts(self) -> tuple[Part, ...]:
        """Itself."""
        return (self,)

    @property
    def own_mask(self) -> str | None:
        """The name of the scene's mask that it means; None for a declared region."""
        return self.name.removeprefix(MASK) if _declared(self.name) is None else None


class Combination(Struct, frozen=True):
    """Two sets of pixels under an operator."""

    first: Expression
    operator: Operator
    second: Expression

    @property
    def binding(self) -> int:
        """How strongly its operator binds."""
        return BINDING[self.operator]

    def __str__(self) -> str:
        first = str(self.first) if self.first.binding >= self.binding else f"({self.first})"
        second = str(self.second) if self.second.binding > self.binding else f"({self.second})"
        return f"{first}{self.operator}{second}"

    @property
    def words(self) -> str:
        """The set for a reader: "planar surfaces and textureless"."""
        first = self.first.words if self.first.binding in (PLAIN, self.binding) else f"({self.first.words})"
        second = self.second.words if self.second.binding == PLAIN else f"({self.second.words})"
        return f"{first} {WORDS[self.operator]} {second}"

    @property
    def parts(self) -> tuple[Part, ...]:
        """The named sets that it is made of."""
        return (*self.first.parts, *self.second.parts)


Expression = Part | Combination


@functools.lru_cache(maxsize=4096)
def _parsed(text: str, own: frozenset[str]) -> Expression:
    return _Reader(text, own).whole()


def parse_region(text: str, own: Iterable[str] = ()) -> Expression:
    """The expression that `text` writes; `own` are the masks of the scene, whose names may hold hyphens too.

    A name that is neither declared nor in `own` stays in the expression as that of a mask: `check_region` refuses it.

    >>> expression = parse_region("planar & textureless - sky")
    >>> str(expression), [part.name for part in expression.parts]
    ('planar&textureless-sky', ['planar', 'textureless', 'sky'])
    >>> expression.words
    'planar surfaces and (textureless without mask sky)'
    """
    return _parsed(text, frozenset(own))


def region_id(text: str) -> str:
    """The region as columns and tables name it: without blanks and needless parentheses.

    >>> region_id("( disc-background & mask:road )"), region_id("depth@2.0,30")
    ('disc-background&mask:road', 'depth@2,30')
    """
    return str(parse_region(text))


def interest_parts(text: str) -> tuple[str, ...]:
    """The names that every pixel of the region belongs to: the operands of its outermost &.

    >>> interest_parts("planar&textureless"), interest_parts("planar|disc")
    (('planar', 'textureless'), ('planar|disc',))
    """
    expression = parse_region(text)
    if isinstance(expression, Combination) and expression.operator == "&":
        return (*interest_parts(str(expression.first)), *interest_parts(str(expression.second)))
    return (str(expression),)


def check_region(text: str, own: Iterable[str] = ()) -> Expression:
    """The expression, or the error that names the part that is unknown."""
    masks = tuple(own)
    expression = parse_region(text, masks)
    for part in expression.parts:
        if part.own_mask is not None and part.own_mask not in masks:
            what = "region" if expression == part else f"part of the region {text!r}:"
            raise unknown_name(what, part.name, _offered(part, masks))
    return expression


def _offered(part: Part, masks: tuple[str, ...]) -> set[str]:
    """The names among which an unknown one may have been meant."""
    if part.name.startswith(MASK):
        return {MASK + name for name in masks if not name.startswith(LABEL)}
    if part.name.startswith(LABEL):
        return {name for name in masks if name.startswith(LABEL)}
    return {*declared_regions(), *masks}


def region_version(text: str) -> int:
    """Changes with the version of any declared region in it; 0 for masks of the scene, whose content is hashed."""
    found = [_declared(part.name) for part in parse_region(text).parts]
    versions = [code_version(declared.compute, declared.version) for declared in found if declared is not None]
    return as_version(sum(versions))


class _Reader:
    """Reads one text from left to right."""

    def __init__(self, text: str, own: frozenset[str]) -> None:
        self.text = text
        self.own = own
        self.rest = text.strip()

    def whole(self) -> Expression:
        if len(self.rest) > LONGEST or self.rest.count("(") > DEEPEST:
            raise UnknownNameError(
                f"A region is written in at most {LONGEST} characters with at most {DEEPEST} parentheses; "
                f"found {len(self.rest)} characters."
            )
        if self.rest in self.own or not set(self.rest) & set("-&|()@"):
            return self._part(self.rest)
        expression = self._operands("|")
        if self.rest:
            raise UnknownNameError(f"Region {self.text!r}: there is a ')' without its '('.")
        return expression

    def _operands(self, operator: Operator) -> Expression:
        """Operands between operators that bind as strongly as `operator`."""
        stronger: dict[Operator, Operator] = {"|": "&", "&": "-"}
        expression = self._operands(stronger[operator]) if operator in stronger else self._operand()
        while self.rest.startswith(operator):
            self.rest = self.rest[1:].lstrip()
            second = self._operands(stronger[operator]) if operator in stronger else self._operand()
            expression = Combination(expression, operator, second)
        return expression

    def _operand(self) -> Expression:
        if self.rest.startswith("("):
            self.rest = self.rest[1:].lstrip()
            inner = self._operands("|")
            if not self.rest.startswith(")"):
                raise UnknownNameError(f"Region {self.text!r}: there is a '(' without its ')'.")
            self.rest = self.rest[1:].lstrip()
            return inner
        ends = [place for place, letter in enumerate(self.rest) if letter in "&|()"]
        chunk = self.rest[: ends[0]] if ends else self.rest
        length = self._length(chunk)
        name = chunk[:length].strip()
        self.rest = self.rest[length:].lstrip()
        return self._part(name)

    def _part(self, name: str) -> Part:
        if not name or name in (MASK, LABEL):
            where = f"before {self.rest[:1]!r}" if self.rest and not name else "at the end"
            raise UnknownNameError(f"Region {self.text!r}: the name of a region is missing {where}.")
        family, at, numbers = name.partition("@")
        declared = _declared(family)
        if declared is None:
            return Part(name)
        given = read_arguments("Region", name, numbers) if at else ()
        return Part(family, bound_arguments("Region", family, declared.parameters, given))

    def _length(self, chunk: str) -> int:
        """How much of the text the longest known name takes; up to a hyphen before a known one where none is known."""
        ends = [place for place, letter in enumerate(chunk) if letter == "-"] + [len(chunk)]
        for end in reversed(ends):
            if self._known(chunk[:end]):
                return end
        for end in ends[:-1]:
            if any(self._known(chunk[end + 1 : later]) for later in ends if later > end):
                return end
        return len(chunk)

    def _known(self, text: str) -> bool:
        name = text.strip()
        family, at, numbers = name.partition("@")
        if at:
            return _declared(family) is not None and NUMBERS.fullmatch(numbers) is not None
        return _declared(name) is not None or name in self.own or name.removeprefix(MASK) in self.own
