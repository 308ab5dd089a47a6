"""Running a matcher: from the text that names it and two images to timed, post-processed maps."""

from __future__ import annotations

import functools
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.errors import FileError, MatcherError, check_one_size, unknown_name
from stereogauge.io.files import load_image
from stereogauge.loading import read_toml
from stereogauge.matching.declaration import Matcher, Value, matchers
from stereogauge.matching.external import command_matcher, python_matcher
from stereogauge.matching.onnx_matcher import onnx_matcher
from stereogauge.matching.postprocess import POST_PARAMETERS, PostProcessing
from stereogauge.matching.python_worker_main import as_maps
from stereogauge.matching.result import MatcherEvidence, MatcherOutput, MatchResult, grey, output_of_maps
from stereogauge.model import ImageSource, as_disparity
from stereogauge.registry import check_call

TARGETED: Mapping[str, Callable[[str], Matcher]] = MappingProxyType({"onnx": onnx_matcher, "py": python_matcher})
OUTSIDE = ("cmd:", "onnx:", "py:")
"""How texts of matchers begin that name a file or a function of the user's."""


def parse_matcher(text: str) -> tuple[Matcher, dict[str, str]]:
    """The matcher and the parameters that a text names: `sgm`, `opencv-sgbm:block=5,mode=hh`, `cmd:./run {left}
    {right} {out} {ndisp}`, `onnx:model.onnx`, `py:module:function`, or a TOML file with a line `matcher = "…"`, as
    tuning writes it. Parameters follow a model or a function too: `onnx:model.onnx:threads=2`.
    """
    identifier, _, rest = stated_matcher(text)[0].strip().partition(":")
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


def stated_matcher(text: str) -> tuple[str, str]:
    """The matcher's text and name that a TOML file states, or the text itself, without a name, where it is no file."""
    if text.startswith(OUTSIDE) or not text.strip().endswith(".toml"):
        return text, ""
    path = Path(text.strip())
    content = read_toml(path, "a matcher's parameters")
    stated = content.get("matcher")
    if not isinstance(stated, str) or stated.endswith(".toml"):
        raise FileError(f'{path} needs a line matcher = "opencv-sgbm:block=5", as `stereogauge tune` writes it.')
    return stated, str(content.get("name", ""))


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
    if not matcher.startswith("cmd:"):
        identifier = without_parameters(matcher)
        pairs = ",".join(f"{name}={value_text(value)}" for name, value in parameters.items())
        return f"{identifier}:{pairs}" if pairs else identifier
    parts = []
    for before, name, form, _ in Formatter().parse(matcher):
        parts.append(before.replace("{", "{{").replace("}", "}}"))
        if name is not None and name in parameters:
            parts.append(format(parameters[name], form) if form else value_text(parameters[name]))
        elif name is not None:
            parts.append(f"{{{name}}}")
    return "".join(parts)


LARGEST_RANGE = 32768


def match(
    left: ImageSource,
    right: ImageSource,
    matcher: str | Matcher | Callable[..., Any] = "sgm",
    ndisp: int = 64,
    **parameters: Any,
) -> MatchResult:
    """Match a rectified pair: disparity, and what the matcher tells about it.

    `matcher` is an id with optional parameters ("sgm", "opencv-sgbm:block=5"), an outside program ("cmd:./run {left}
    {right} {out} {ndisp}"), a network ("onnx:model.onnx"), a function in a process of its own ("py:module:function"), a
    declared `Matcher`, or any function (left, right, ndisp, **parameters) that returns a left map, a tuple of left and
    right maps, or a dict with `disparity`, `right`, and `confidence` or `sigma`. Disparities 0…ndisp − 1 are searched.
    Images may be arrays or files, grey or colour, 8 or 16 bit; they must have the same size. Besides the matcher's own
    parameters every matcher takes those of post-processing: `lr_check`, `median`, `speckle`, `fill`.

    >>> left = np.random.default_rng(0).integers(0, 255, (40, 60), dtype=np.uint8)
    >>> right = np.roll(left, -5, axis=1)  # everything is 5 px further left
    >>> result = sg.match(left, right, matcher="opencv-bm", ndisp=16, block=5)
    >>> float(np.nanmedian(result.disparity))
    5.0
    """
    return prepare(left, right, matcher, ndisp, **parameters).run()


class PreparedMatch(Struct, frozen=True):
    """A match that is ready to run: images read, parameters checked, code loaded."""

    matcher: Matcher
    images: tuple[NDArray[Any], NDArray[Any]]
    greys: tuple[NDArray[Any], NDArray[Any]]
    ndisp: int
    parameters: Mapping[str, Value]
    post: PostProcessing

    @property
    def memory(self) -> int | None:
        """About how many bytes the run will take; None where the matcher does not declare it."""
        if self.matcher.memory is None:
            return None
        height, width = self.greys[0].shape
        return self.matcher.memory(height, width, self.ndisp, **self.parameters)

    def run(self) -> MatchResult:
        """Match and post-process, and time both."""
        declared, post = self.matcher, self.post
        wall, processor = time.perf_counter(), time.process_time()
        returned = declared.function(*self.images, self.ndisp, **self.parameters)
        matched = time.perf_counter()
        output = _as_output(returned, declared.id, self.greys[0].shape)
        raw = as_disparity(output.disparity, f"disparity map of {declared.id}")
        other = output.right_disparity
        disparity, right_disparity, classes = post.apply(raw, other, self.ndisp, declared.id)
        seconds = time.perf_counter() - matched + (matched - wall if output.seconds is None else output.seconds)
        cpu_seconds = time.process_time() - processor if output.cpu_seconds is None else output.cpu_seconds
        return MatchResult(
            matcher=declared.id,
            ndisp=self.ndisp,
            parameters={**self.parameters, **post.chosen},
            left=self.greys[0],
            right=self.greys[1],
            disparity=disparity,
            raw=raw,
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            right_disparity=right_disparity,
            right_raw=None if other is None else as_disparity(other, f"right disparity map of {declared.id}"),
            classes=classes,
            processor=processor_name(),
            **{name: getattr(output, name) for name in MatcherEvidence.__struct_fields__},
        )


def prepare(
    left: ImageSource,
    right: ImageSource,
    matcher: str | Matcher | Callable[..., Any] = "sgm",
    ndisp: int = 64,
    **parameters: Any,
) -> PreparedMatch:
    """Everything that `match` does before the clock starts."""
    declared, from_text = as_matcher(matcher)
    complete, post = settled(declared, {**from_text, **parameters})
    if not isinstance(ndisp, int | np.integer) or isinstance(ndisp, bool) or not 1 <= ndisp <= LARGEST_RANGE:
        raise MatcherError(f"ndisp must be a whole number between 1 and {LARGEST_RANGE}; found {ndisp!r}.")
    if not isinstance(matcher, str | Matcher):
        given = ("left", "right", "ndisp")
        check_call(f"The matcher {declared.id}", declared.function, given, complete, MatcherError)
    images = load_image(left), load_image(right)
    check_one_size("The left image", images[0].shape[:2], "the right one", images[1].shape[:2])
    greys = grey(images[0], "left"), grey(images[1], "right")
    inputs = images if declared.colour else greys
    if declared.prepare is not None:
        declared.prepare(*inputs, int(ndisp), **complete)
    return PreparedMatch(declared, inputs, greys, int(ndisp), complete, post)


@functools.cache
def processor_name() -> str:
    """The processor's name as the system tells it, for example "Intel(R) Xeon(R) Gold 6248"."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or platform.machine()


def settled(declared: Matcher, given: Mapping[str, Any]) -> tuple[dict[str, Value], PostProcessing]:
    """The matcher's own parameters, checked and completed, and the requested post-processing."""
    matching = {name: value for name, value in given.items() if name not in POST_PARAMETERS}
    post = {name: value for name, value in given.items() if name in POST_PARAMETERS}
    return declared.complete(matching), PostProcessing.of(post, declared.id)


def as_matcher(matcher: str | Matcher | Callable[..., Any]) -> tuple[Matcher, Mapping[str, Value]]:
    """The declaration of whatever names a matcher, and the parameters in its text."""
    if isinstance(matcher, str):
        return parse_matcher(matcher)
    if isinstance(matcher, Matcher):
        return matcher, {}
    if not callable(matcher):
        raise MatcherError(f"A matcher is an id, a Matcher or a function; found {type(matcher).__name__}.")
    named = matcher.func if isinstance(matcher, functools.partial) else matcher
    name = getattr(named, "__name__", type(named).__name__)
    return Matcher(id=name, name=name, source="", function=matcher, open_parameters=True, colour=True), {}


def _as_output(returned: Any, name: str, shape: tuple[int, ...]) -> MatcherOutput:
    output: MatcherOutput
    if isinstance(returned, MatcherOutput):
        output = returned
    else:
        try:
            output = output_of_maps(as_maps(returned))
        except (TypeError, ValueError) as problem:
            raise MatcherError(
                f"Matcher {name} must return a disparity map, a tuple of left and right maps, or a dict of maps; "
                f"{problem}."
            ) from None
    maps: dict[str, Any] = {part: getattr(output, part) for part in ("disparity", "right_disparity", "confidence")}
    for part, values in maps.items():
        # Axes of length 1, as networks add them, are removed.
        if values is not None and values.squeeze().shape != shape and values.shape != shape:
            raise MatcherError(f"Matcher {name} returned a map of shape {values.shape}; the images have shape {shape}.")
        maps[part] = values if values is None else values.reshape(shape)
    return msgspec.structs.replace(output, **maps)
