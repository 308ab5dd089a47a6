"""Every choice that a score depends on, as one named, hashed, printable object.

A protocol has two parts. The *scoring* choices (what happens to missing estimates, which pixels belong to a region,
constants of a metric) change a number; their hash goes with every score, and scores under different hashes do not
compare. The *selection* (scenes, metrics, regions, aggregation, scene weights, model) says which numbers are wanted
and how they are read; `hash` covers both.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.resources
import json
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from stereogauge.errors import FileError, ProtocolError, unknown_name
from stereogauge.loading import check, convert, entry_types, is_table, number, parse_toml, read_toml, whole
from stereogauge.protocol.parameters import GeometryParameters, RegionParameters, SigmaZParameters

InvalidPolicy = Literal["count", "exclude", "fill"]
NONE = "none"
"""How files and overrides write that a choice has no value."""


@dataclass(frozen=True)
class Protocol:
    """One set of choices; see the module's text. `replace()` makes variants, `load_protocol` reads presets and files.

    invalid: what a missing estimate means (docs/protocols.md). clip_to_range: estimates are clipped to [0, ndisp]
    first, as Middlebury's evaldisp does. max_disparity: pixels whose true disparity is larger are left out of every
    region. border: pixels to leave out along each side; "dataset" takes the scene's own, "hci" the margin of the
    geometry parameters, max(20, 0.01 · width) px at full resolution. peak: the signal range of psnr in px; none takes
    ndisp. nearest_of_four: where the ground truth lies on a grid twice as fine as the image's, the true disparity of a
    pixel is that of its four which is nearest to the estimate, and a pixel with an unknown one is left out, as on the
    Spring benchmark; else it is the one at the even rows and columns. scenes: those of a dataset that are evaluated, in
    this order; none named means all but
    `left_out`.

    >>> lenient = sg.load_protocol("default").replace(invalid="exclude")
    >>> lenient.scoring_hash == sg.load_protocol("default").scoring_hash  # other choices make other scores
    False
    """

    name: str = "default"
    description: str = ""
    # scoring
    invalid: InvalidPolicy = "count"
    clip_to_range: bool = False
    max_disparity: Annotated[float, number("largest true disparity; none: any", "px", most=None)] | None = None
    border: Annotated[int, whole("margin", "px", least=0)] | Literal["dataset", "hci"] = 0
    peak: Annotated[float, number("signal range of psnr; none: ndisp", "px", above=0)] | None = None
    nearest_of_four: bool = False
    region_rules: RegionParameters = field(default_factory=RegionParameters)
    sigma_z: SigmaZParameters = field(default_factory=SigmaZParameters)
    geometry: GeometryParameters = field(default_factory=GeometryParameters)
    # selection
    scenes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("bad@1", "bad@2", "mae", "rms", "quantile@95", "invalid")
    regions: tuple[str, ...] = ("all", "nonocc")
    aggregation: Literal["mean", "pooled", "weighted"] = "mean"
    scene_weights: Mapping[str, float] = field(default_factory=dict)
    model: str = "middlebury"

    SELECTION: typing.ClassVar[tuple[str, ...]] = (
        *("scenes", "left_out", "metrics", "regions", "aggregation", "scene_weights", "model"),
    )

    def __post_init__(self) -> None:
        check(self, "The protocol", ProtocolError)

    def choices(self) -> dict[str, Any]:
        """All choices but name and description, as plain values."""
        plain = dataclasses.asdict(self)
        del plain["name"], plain["description"]
        return plain

    def scoring(self) -> dict[str, Any]:
        """The choices that change a number."""
        return {key: value for key, value in self.choices().items() if key not in self.SELECTION}

    @functools.cached_property
    def hash(self) -> str:
        """Of everything but the name and description."""
        return _digest(self.choices())

    @functools.cached_property
    def scoring_hash(self) -> str:
        """Of the scoring choices alone: what belongs to a single score."""
        return _digest(self.scoring())

    def selected(self, scenes: Sequence[str]) -> list[str]:
        """The scenes of a dataset that are evaluated: those named, else all but those left out.

        Where every one is left out, they were chosen on purpose, and all are evaluated.

        >>> sg.load_protocol("hci").selected(["Piano", "PianoL", "Pipes"])
        ['Piano', 'Pipes']
        """
        for name in self.scenes:
            if name not in scenes:
                raise unknown_name("scene of the protocol", name, scenes)
        kept = [name for name in scenes if name not in self.left_out]
        return list(self.scenes or kept or scenes)

    def replace(self, **changes: Any) -> Protocol:
        """A variant with some choices changed.

        Dotted names reach into the nested ones: `replace(**{"sigma_z.mu": 1e-3})`.
        """
        return self._with(changes, "The protocol")

    def _with(self, changes: Mapping[str, Any], origin: str) -> Protocol:
        result = self
        for key, value in _flattened(changes).items():
            result = _replaced(result, key, key.split("."), value, origin)
        return result

    def to_toml(self) -> str:
        """The whole protocol as a file that `load_protocol` reads back."""
        import tomli_w

        return tomli_w.dumps(_without_none({"name": self.name, "description": self.description, **self.choices()}))


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=list).encode()).hexdigest()[:12]


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _without_none(v) for k, v in value.items() if v is not None}
    return list(value) if isinstance(value, tuple) else value


def _replaced(owner: Any, whole: str, parts: list[str], value: Any, origin: str) -> Any:
    known = entry_types(type(owner))
    if parts[0] not in known:
        raise unknown_name("protocol choice", whole, choice_names())
    kind = known[parts[0]]
    if len(parts) > 1:
        value = _replaced(getattr(owner, parts[0]), whole, parts[1:], value, origin)
    elif value == NONE and type(None) in typing.get_args(kind):
        value = None
    else:
        value = convert(value, kind, origin, ProtocolError, whole)
    return dataclasses.replace(owner, **{parts[0]: value})


def choice_names(cls: type = Protocol, prefix: str = "") -> list[str]:
    """Dotted names of all choices."""
    names = []
    for name, kind in entry_types(cls).items():
        names += choice_names(kind, f"{prefix}{name}.") if is_table(kind) else [prefix + name]
    return names


def preset_names() -> list[str]:
    """The protocols that ship with the package."""
    folder = importlib.resources.files("stereogauge.protocol.presets")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_protocol(source: str | Path | Protocol | None = None) -> Protocol:
    """A preset by name, a protocol from a TOML file, or the protocol itself; None is the preset `default`.

    A file may start from a preset with `extends = "middlebury-v3"` and give only what differs.

    >>> kitti = sg.load_protocol("kitti-2015")
    >>> kitti.invalid, kitti.aggregation
    ('fill', 'pooled')
    """
    if isinstance(source, Protocol):
        return source
    name = str(source or "default")
    if name in preset_names():
        text = (importlib.resources.files("stereogauge.protocol.presets") / f"{name}.toml").read_text(encoding="utf-8")
        return parse_protocol(text, name)
    path = Path(name)
    if path.suffix != ".toml" and not path.exists():
        raise unknown_name("protocol", name, preset_names())
    return _protocol(read_toml(path, "a protocol", ProtocolError), str(path))


def parse_protocol(text: str, origin: str) -> Protocol:
    """The protocol that a TOML text describes; `origin` is what errors call it."""
    return _protocol(parse_toml(text, origin, ProtocolError), origin)


def _protocol(values: dict[str, Any], origin: str) -> Protocol:
    base = load_protocol(values.pop("extends")) if "extends" in values else Protocol()
    return base._with(values, origin)


def _flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and prefix + key != "scene_weights":
            flat |= _flattened(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def parse_override(text: str) -> tuple[str, Any]:
    """`invalid=exclude` or `sigma_z.mu=1e-3` from a command line; the value is TOML where it can be, else text."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ProtocolError(f"An override is written CHOICE=VALUE, for example invalid=exclude; found {text!r}.")
    try:
        return key.strip(), parse_toml(f"value = {value}", text)["value"]
    except FileError:
        return key.strip(), value.strip()
