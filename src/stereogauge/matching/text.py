"""Matchers as text, in both directions: `opencv-sgbm:block=5`, `cmd:./run {left} {right} {out}`, `onnx:model.onnx`,
`py:module:function`, or a TOML file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from types import MappingProxyType

from stereogauge.errors import FileError, MatcherError, cause, unknown_name
from stereogauge.matching.declaration import Matcher, Value, matchers
from stereogauge.matching.external import command_matcher
from stereogauge.matching.onnx_matcher import onnx_matcher
from stereogauge.matching.python_worker import python_matcher

TARGETED: Mapping[str, Callable[[str], Matcher]] = MappingProxyType({"onnx": onnx_matcher, "py": python_matcher})
OUTSIDE = ("cmd:", "onnx:", "py:")
"""How texts of matchers begin that name a file or a function of the user's."""


def parse_matcher(text: str) -> tuple[Matcher, dict[str, str]]:
    """The matcher and the parameters that a text names: `sgm`, `opencv-sgbm:block=5,mode=hh`, `cmd:./run {left}
    {right} {out} {ndisp}`, `onnx:model.onnx`, `py:module:function`, or a TOML file with a line `matcher = "…"`, as
    tuning writes it. Parameters follow a model or a function too: `onnx:model.onnx:threads=2`.
    """
    identifier, _, rest = stated_matcher(text).text.strip().partition(":")
    if identifier == "cmd":
        return command_matcher(rest), {}
    if identifier in TARGETED:
        target, parameters = target_and_parameters(rest)
        return TARGETED[identifier](target), parse_parameters(parameters, identifier)
    known = matchers()
    if identifier not in known:
        others = ["cmd:PROGRAM {left} {right} {out}", "onnx:MODEL.onnx", "py:MODULE:FUNCTION"]
        raise unknown_name("matcher", identifier, [*known, *others])
    return known[identifier], parse_parameters(rest, identifier)


def without_parameters(text: str) -> str:
    """The text of a matcher without its parameters; the template of an outside program stays whole."""
    if text.startswith("cmd:"):
        return text
    return target_and_parameters(text)[0] if text.startswith(OUTSIDE) else text.partition(":")[0]


def target_and_parameters(text: str) -> tuple[str, str]:
    """`model.onnx:threads=2` in its two parts."""
    target, colon, parameters = text.strip().rpartition(":")
    return (target, parameters) if colon and "=" in parameters else (text.strip(), "")


@dataclass(frozen=True)
class StatedMatcher:
    """A matcher's text, and the name that its file gives to it; "" where there is none."""

    text: str
    name: str = ""


def stated_matcher(text: str) -> StatedMatcher:
    """What a TOML file states, or the text itself where it names no such file."""
    if text.startswith(OUTSIDE) or not text.strip().endswith(".toml"):
        return StatedMatcher(text)
    path = Path(text.strip())
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as problem:
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


def value_text(value: Value) -> str:
    """A parameter's value as the command line writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def matcher_text(matcher: str, parameters: Mapping[str, Value]) -> str:
    """`opencv-sgbm:block=3,p1=20`; for an outside program its template with the parameters filled in."""
    if matcher.startswith("cmd:"):
        return _filled_template(matcher, parameters)
    identifier = without_parameters(matcher)
    pairs = ",".join(f"{name}={value_text(value)}" for name, value in parameters.items())
    return f"{identifier}:{pairs}" if pairs else identifier


def _filled_template(template: str, parameters: Mapping[str, Value]) -> str:
    parts = []
    for before, name, form, _ in Formatter().parse(template):
        parts.append(before.replace("{", "{{").replace("}", "}}"))
        if name is not None and name in parameters:
            parts.append(format(parameters[name], form) if form else value_text(parameters[name]))
        elif name is not None:
            parts.append(f"{{{name}}}")
    return "".join(parts)
