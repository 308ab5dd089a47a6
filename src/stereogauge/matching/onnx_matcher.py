"""A network in ONNX form as a matcher: `onnx:model.onnx`, run by ONNX Runtime and timed without loading."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.errors import FileError, MatcherError, MissingDependency
from stereogauge.loading import Declaration, load, number, whole
from stereogauge.matching.declaration import Matcher, untuned
from stereogauge.matching.result import MatcherOutput, eight_bit, grey

T = TypeVar("T")
Anchor = Literal["top-left", "bottom-left", "centre"]


class NetworkInput(Declaration, frozen=True):
    """How images become the network's inputs: value = (pixel · scale − mean) / std per channel, pixels 0 … 255.

    `left`, `right`: names of the inputs, by default the first two. `ndisp`: an input for the number of disparities.
    `layout`: by default as the shape of the input says. `channels`: 1 or 3, by default as the shape says. `multiple`:
    images are continued by their edge, or by zeros, to multiples of this number of px; `anchor`: where they lie then.
    """

    left: str = ""
    right: str = ""
    ndisp: str = ""
    layout: Literal["NCHW", "NHWC", ""] = ""
    channels: Literal[1, 3, 0] = 0
    order: Literal["RGB", "BGR"] = "RGB"
    scale: Annotated[float, number("factor of pixels")] = 1.0
    mean: float | tuple[float, ...] = ()
    std: float | tuple[float, ...] = ()
    multiple: Annotated[int, whole("multiple of the image size", "px", least=1)] = 1
    padding: Literal["edge", "zero"] = "edge"
    anchor: Anchor = "top-left"


class NetworkOutput(Declaration, frozen=True):
    """What the outputs are: d = value · scale + offset, in px, NaN and infinity unknown.

    `disparity`: name of the output, by default the first. `right`: the right view's map. `confidence`: higher is more
    confident; `sigma`: lower is more confident. At most one of the two.
    """

    disparity: str = ""
    right: str = ""
    confidence: str = ""
    sigma: str = ""
    scale: Annotated[float, number("factor of values")] = 1.0
    offset: Annotated[float, number("added to values", "px")] = 0.0


class NetworkFile(Declaration, frozen=True):
    """One network, as its file describes it: the model, its name and source for tables, and where it runs."""

    model: str = ""
    name: str = ""
    source: str = ""
    providers: str | tuple[str, ...] = ("CPUExecutionProvider",)
    input: NetworkInput = NetworkInput()
    output: NetworkOutput = NetworkOutput()

    @property
    def path(self) -> Path:
        """The model's file."""
        return Path(self.model)


def network_description(path: Path) -> NetworkFile:
    """The description of a model, from `path` itself if it is a TOML file, else from the one beside the model."""
    file = path if path.suffix == ".toml" else path.with_suffix(".toml")
    there = file == path or file.is_file()
    stated = load(file, NetworkFile, "the description of a network", MatcherError) if there else NetworkFile()
    model = path if file != path else path.parent / (stated.model or path.with_suffix(".onnx").name)
    if not model.is_file():
        raise FileError(f"{model}: there is no such model; write onnx:MODEL.onnx, or onnx:FILE.toml that names one.")
    if stated.output.confidence and stated.output.sigma:
        raise MatcherError(f"{file}: [output] names both confidence and sigma; name the one to use.")
    mean, std = _several(stated.input.mean), _several(stated.input.std)
    if len(mean) not in (0, 1, 3) or len(std) not in (0, 1, 3) or 0 in std:
        raise MatcherError(f"{file}: mean and std of [input] have one or three numbers, and std no 0.")
    return replace(stated, model=str(model), providers=_several(stated.providers))


def _several(value: T | tuple[T, ...]) -> tuple[T, ...]:
    return value if isinstance(value, tuple) else (value,)


PARAMETERS = (untuned("threads", "int", 0, "threads, 0 = as ONNX Runtime decides", low=0, high=1024),)
IMAGE_AXES = 4


def onnx_matcher(target: str) -> Matcher:
    """The matcher that runs the model `target`, an ONNX file or the TOML file that describes one."""
    description = network_description(Path(target).expanduser())
    changed = description.path.stat().st_mtime_ns

    def run(left: NDArray[Any], right: NDArray[Any], ndisp: int, *, threads: int) -> MatcherOutput:
        return _network(description, changed, threads).match(left, right, ndisp)

    def prepare(left: NDArray[Any], right: NDArray[Any], ndisp: int, *, threads: int) -> None:
        network = _network(description, changed, threads)
        if left.shape not in network.warm:
            network.match(left, right, ndisp)
            network.warm.add(left.shape)

    run.__doc__ = f"Runs the network {description.path.name}."
    name = description.name or description.path.stem
    return Matcher(
        id=f"onnx:{name}",
        name=name,
        source=description.source or str(description.path),
        function=run,
        parameters=PARAMETERS,
        colour=True,
        prepare=prepare,
    )


@functools.lru_cache(maxsize=4)
def _network(description: NetworkFile, changed: int, threads: int) -> Network:
    """The loaded model; `changed` is the time of its file, so that a new one is loaded again."""
    return Network(description, threads)


class Network:
    """A loaded model; `warm` are the image sizes that it has seen."""

    def __init__(self, description: NetworkFile, threads: int) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise MissingDependency("onnxruntime", "onnx", "A network in ONNX form") from None
        self.warm: set[tuple[int, ...]] = set()
        self._described, self._file = description, description.path
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self._threads = threads
        try:
            self._session = onnxruntime.InferenceSession(str(self._file), options, providers=[*description.providers])
        except Exception as problem:  # the runtime's own errors have no common base that it exports
            raise MatcherError(
                f"{self._file}: ONNX Runtime cannot load it ({' '.join(str(problem).split())})."
            ) from None
        self._inputs = {one.name: one for one in self._session.get_inputs()}
        self._outputs = [one.name for one in self._session.get_outputs()]
        images = [one.name for one in self._inputs.values() if len(one.shape) == IMAGE_AXES]
        stated = description.input
        if len(images) < 2 and not (stated.left and stated.right):
            raise MatcherError(f"{self._file} has {len(images)} image inputs; a stereo network has two.")
        self._left = self._known(stated.left or images[0], list(self._inputs), "input")
        self._right = self._known(stated.right or images[1], list(self._inputs), "input")

    def _known(self, name: str, known: list[str], what: str) -> str:
        if name not in known:
            raise MatcherError(f"{self._file} has no {what} called {name!r}; it has {', '.join(known)}.")
        return name

    def match(self, left: NDArray[Any], right: NDArray[Any], ndisp: int) -> MatcherOutput:
        """Run the network on a pair."""
        stated, output = self._described.input, self._described.output
        shape = left.shape[0], left.shape[1]
        padded = self._padded(shape)
        # One range for both, so that equal brightness stays equal.
        lowest, highest = float(min(left.min(), right.min())), float(max(left.max(), right.max()))
        fed: dict[str, Any] = {}
        for name, image in ((self._left, left), (self._right, right)):
            fed[name] = _as_input(eight_bit(image, lowest, highest), stated, self._inputs[name], padded)
        if stated.ndisp:
            wanted = self._inputs[self._known(stated.ndisp, list(self._inputs), "input")]
            fed[stated.ndisp] = np.full([1] * len(wanted.shape), ndisp, _type(wanted.type))
        names = [output.disparity or self._outputs[0], output.right, output.confidence or output.sigma]
        asked = [self._known(name, self._outputs, "output") for name in names if name]
        try:
            found = dict(zip(asked, self._session.run(asked, fed), strict=True))
        except Exception as problem:
            raise MatcherError(f"{self._file.name} failed: {' '.join(str(problem).split())}") from None
        maps = [None if not name else self._map(found[name], shape, name) for name in names]
        scaled = [None if one is None else one * np.float32(output.scale) + np.float32(output.offset) for one in maps]
        assert scaled[0] is not None
        return MatcherOutput(
            disparity=scaled[0],
            right_disparity=scaled[1],
            confidence=maps[2],
            confidence_better="lower" if output.sigma else "higher",
            threads=self._threads or None,
        )

    def _padded(self, shape: tuple[int, int]) -> tuple[int, int]:
        """The size to which images are continued: the model's own where it has one, else the next multiples."""
        wanted = self._inputs[self._left].shape
        axes = (1, 2) if _channels_last(self._described.input, wanted) else (2, 3)
        stated = [wanted[axis] for axis in axes]
        fixed = [size if isinstance(size, int) and size > 0 else 0 for size in stated]
        if any(own and own < size for own, size in zip(fixed, shape, strict=True)):
            own = " × ".join(str(size or "any") for size in reversed(fixed))
            raise MatcherError(
                f"{self._file.name} takes images of {own} pixels, and these have {shape[1]} × {shape[0]}; export the "
                "model with dynamic height and width, or for this size."
            )
        multiple = self._described.input.multiple
        height, width = (own or -(-size // multiple) * multiple for own, size in zip(fixed, shape, strict=True))
        return height, width

    def _map(self, values: Any, shape: tuple[int, int], name: str) -> NDArray[np.float32]:
        """A map of the image's size from an output of the padded size."""
        array = np.squeeze(np.asarray(values))
        padded = self._padded(shape)
        if array.shape != padded:
            raise MatcherError(
                f"The output {name!r} of {self._file.name} has shape {np.shape(values)}; a map of "
                f"{padded[1]} × {padded[0]} pixels is needed."
            )
        top, left = _corner(shape, padded, self._described.input.anchor)
        return np.ascontiguousarray(array[top : top + shape[0], left : left + shape[1]], dtype=np.float32)


def _channels_last(stated: NetworkInput, shape: Sequence[Any]) -> bool:
    return stated.layout == "NHWC" or (not stated.layout and shape[-1] in (1, 3) and shape[1] not in (1, 3))


def _as_input(pixels: NDArray[np.uint8], stated: NetworkInput, wanted: Any, padded: tuple[int, int]) -> NDArray[Any]:
    """One image as the network's input: channels, scale, mean and deviation, padding, layout, type."""
    last = _channels_last(stated, wanted.shape)
    channels = stated.channels or wanted.shape[-1 if last else 1]
    if channels == 1:
        pixels = grey(pixels, "input")[:, :, np.newaxis]
    else:
        pixels = np.repeat(pixels[:, :, np.newaxis], 3, axis=2) if pixels.ndim == 2 else pixels[:, :, :3]
        pixels = pixels[:, :, ::-1] if stated.order == "BGR" else pixels
    values = pixels.astype(np.float32) * np.float32(stated.scale)
    if stated.mean:
        values -= np.asarray(stated.mean, np.float32)
    if stated.std:
        values /= np.asarray(stated.std, np.float32)
    height, width = values.shape[:2]
    top, left = _corner((height, width), padded, stated.anchor)
    more = padded[0] - height, padded[1] - width
    around = ((top, more[0] - top), (left, more[1] - left), (0, 0))
    values = np.pad(values, around, mode="edge") if stated.padding == "edge" else np.pad(values, around)
    arranged = values[np.newaxis] if last else values.transpose(2, 0, 1)[np.newaxis]
    return np.ascontiguousarray(arranged, dtype=_type(wanted.type))


def _corner(shape: tuple[int, int], padded: tuple[int, int], anchor: Anchor) -> tuple[int, int]:
    """Row and column at which the image begins inside the padded one."""
    more = [whole - size for whole, size in zip(padded, shape, strict=True)]
    if anchor == "centre":
        return more[0] // 2, more[1] // 2
    return (more[0] if anchor == "bottom-left" else 0), 0


def _type(text: str) -> Any:
    """The NumPy type of a tensor type as ONNX Runtime writes it, such as `tensor(float16)`."""
    name = text.removeprefix("tensor(").removesuffix(")")
    return np.dtype({"float": "float32", "double": "float64"}.get(name, name))
