"""What a small TOML file says about a network in ONNX form: its inputs, their preparation, its outputs.

The file lies beside the model and has its name (`raft.toml` beside `raft.onnx`), or names the model (`model = "…"`).
Everything has a default, so that a model with two image inputs and one output needs no file.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from stereogauge.errors import FileError, MatcherError, cause, unknown_name

Anchor = Literal["top-left", "bottom-left", "centre"]


@dataclass(frozen=True)
class NetworkInput:
    """How images become the network's inputs: value = (pixel · scale − mean) / std per channel, pixels 0 … 255.

    `left`, `right`: names of the inputs, by default the first two. `ndisp`: an input for the number of disparities.
    `layout`: by default as the shape of the input says. `channels`: 1 or 3, by default as the shape says. `multiple`:
    images are continued by their edge, or by zeros, to multiples of so many pixels; `anchor`: where they lie then.
    """

    left: str = ""
    right: str = ""
    ndisp: str = ""
    layout: Literal["NCHW", "NHWC", ""] = ""
    channels: Literal[1, 3, 0] = 0
    order: Literal["RGB", "BGR"] = "RGB"
    scale: float = 1.0
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    multiple: int = 1
    padding: Literal["edge", "zero"] = "edge"
    anchor: Anchor = "top-left"


@dataclass(frozen=True)
class NetworkOutput:
    """What the outputs are: d = value · scale + offset, in px, NaN and infinity unknown.

    `disparity`: name of the output, by default the first. `right`: the right view's map. `confidence`: higher is surer;
    `sigma`: lower is surer. At most one of the two.
    """

    disparity: str = ""
    right: str = ""
    confidence: str = ""
    sigma: str = ""
    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class NetworkDescription:
    """One network: the model's file, its name and source for tables, inputs, outputs, and where it runs."""

    model: Path
    name: str = ""
    source: str = ""
    providers: tuple[str, ...] = ("CPUExecutionProvider",)
    input: NetworkInput = field(default_factory=NetworkInput)
    output: NetworkOutput = field(default_factory=NetworkOutput)


def network_description(path: Path) -> NetworkDescription:
    """The description of a model, from `path` itself if it is a TOML file, else from the one beside the model."""
    stated = path if path.suffix == ".toml" else path.with_suffix(".toml")
    content = _toml(stated) if stated == path or stated.is_file() else {}
    model = path if stated != path else path.parent / str(content.get("model", path.with_suffix(".onnx").name))
    if not model.is_file():
        raise FileError(f"{model}: there is no such model; write onnx:MODEL.onnx, or onnx:FILE.toml that names one.")
    parts = {
        "input": _part(NetworkInput, content.pop("input", {}), stated, "input"),
        "output": _part(NetworkOutput, content.pop("output", {}), stated, "output"),
    }
    content.pop("model", None)
    found: NetworkDescription = _part(NetworkDescription, {**content, **parts, "model": model}, stated, "")
    if found.output.confidence and found.output.sigma:
        raise MatcherError(f"{stated}: [output] names both confidence and sigma; name the one to use.")
    if len(found.input.mean) not in (0, 1, 3) or len(found.input.std) not in (0, 1, 3) or 0 in found.input.std:
        raise MatcherError(f"{stated}: mean and std of [input] have one or three numbers, and std no 0.")
    if found.input.multiple < 1:
        raise MatcherError(f"{stated}: multiple of [input] is a number of pixels, at least 1.")
    return found


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise FileError(f"{path}: cannot be read as the description of a network ({cause(problem)}).") from None


def _part(kind: Any, values: Any, path: Path, table: str) -> Any:
    """One table of the file as its dataclass, each value checked."""
    if not isinstance(values, dict):
        raise MatcherError(f"{path}: [{table}] must be a table.")
    hints = typing.get_type_hints(kind)
    checked = {}
    for name, value in values.items():
        if name not in hints:
            place = f"key of [{table}] in {path}" if table else f"key of {path}"
            raise unknown_name(place, name, [f.name for f in dataclasses.fields(kind)])
        checked[name] = _checked(value, hints[name], f"{path}: {name}")
    return kind(**checked)


def _checked(value: Any, hint: Any, name: str) -> Any:
    if typing.get_origin(hint) is Literal:
        allowed = [choice for choice in typing.get_args(hint) if choice]
        if value not in allowed:
            raise MatcherError(f"{name} = {value!r} is not allowed; it must be one of {', '.join(map(str, allowed))}.")
        return value
    if typing.get_origin(hint) is tuple:
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(_checked(item, typing.get_args(hint)[0], name) for item in items)
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    if hint is float or not isinstance(value, hint) or isinstance(value, bool):
        wanted = {float: "a number", int: "a whole number", str: "a text"}.get(hint, hint.__name__)
        raise MatcherError(f"{name} = {value!r} is not allowed; it must be {wanted}.")
    return value
