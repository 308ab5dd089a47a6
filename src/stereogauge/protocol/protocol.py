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
import json
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from stereogauge.errors import FileError, ProtocolError, unknown_name
from stereogauge.loading import check, convert, entry_types, is_table, number, parse_toml, read_toml, whole
from stereogauge.protocol.parameters import (
    DepthParameters,
    ErrorParameters,
    GeometryParameters,
    PixelParameters,
    RegionParameters,
    SigmaZParameters,
)

InvalidPolicy = Literal["count", "exclude", "fill"]
Aggregation = Literal["mean", "pooled", "weighted"]
Aggregations = Aggregation | Mapping[str, Aggregation]
"""How scenes become one number: for all columns, or by column or metric id, `mean` where none is given."""
PRESETS = Path(__file__).with_name("presets")
NONE = "none"
RETIRED: Mapping[str, tuple[str, ...]] = {"geometry": ("plane_angle",)}
"""Choices of protocols in older stores, by table."""
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
    this order; none named means all but `left_out`. aggregation: one way for all columns, or a table of ways by metric
    (`bad@3`) or column (`bad@3:all`), in which what is not named is a mean. source: whose numbers the protocol gives.

    >>> lenient = sg.load_protocol("default").replace(invalid="exclude")
    >>> lenient.scoring_hash == sg.load_protocol("default").scoring_hash  # other choices make other scores
    False
    """

    name: str = "default"
    description: str = ""
    source: str = ""
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
    pixels: PixelParameters = field(default_factory=PixelParameters)
    depth: DepthParameters = field(default_factory=DepthParameters)
    errors: ErrorParameters = field(default_factory=ErrorParameters)
    # selection
    scenes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("bad@1", "bad@2", "mae", "rms", "quantile@95", "invalid")
    regions: tuple[str, ...] = ("all", "nonocc")
    aggregation: Aggregations = "mean"
    scene_weights: Mapping[str, float] = field(default_factory=dict)
    model: str = "middlebury"

    SELECTION: typing.ClassVar[tuple[str, ...]] = (
        *("scenes", "left_out", "metrics", "regions", "aggregation", "scene_weights", "model"),
    )
    ABOUT: typing.ClassVar[tuple[str, ...]] = ("name", "description", "source")

    def __post_init__(self) -> None:
        check(self, "The protocol", ProtocolError)

    def choices(self) -> dict[str, Any]:
        """All choices but name, description and source, as plain values."""
        return {key: value for key, value in dataclasses.asdict(self).items() if key not in self.ABOUT}

    def scoring(self) -> dict[str, Any]:
        """The choices that change a number."""
        return {key: value for key, value in self.choices().items() if key not in self.SELECTION}

    @functools.cached_property
    def hash(self) -> str:
        """Of everything but the name, description and source."""
        return _digest(self.choices())

    @functools.cached_property
    def scoring_hash(self) -> str:
        """Of the scoring choices alone: what belongs to a single score."""
        return _digest(self.scoring())

    def selected(self, scenes: Sequence[str], dataset: str = "") -> list[str]:
        """The scenes of a dataset that are evaluated: those named, else all but those left out.

        An entry `DATASET/SCENE` of `left_out` concerns only that dataset. Where every scene is left out, they were
        chosen on purpose, and all are evaluated.

        >>> sg.load_protocol("hci").selected(["Piano", "PianoL", "Pipes"], "middlebury-v3:Q")
        ['Piano', 'Pipes']
        """
        for name in self.scenes:
            if name not in scenes:
                raise unknown_name("scene of the protocol", name, scenes)
        family = dataset.partition(":")[0]
        kept = [name for name in scenes if not {name, f"{family}/{name}"} & set(self.left_out)]
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

        about = {key: getattr(self, key) for key in self.ABOUT}
        return tomli_w.dumps(_without_none({**about, **self.choices()}))


_NEWER = {
    key: dataclasses.asdict(kind())
    for key, kind in {"pixels": PixelParameters, "depth": DepthParameters, "errors": ErrorParameters}.items()
}
"""Tables that older scores know nothing of: with their defaults they are no part of a hash."""


def _digest(choices: Mapping[str, Any]) -> str:
    values = {key: value for key, value in choices.items() if key not in _NEWER or value != _NEWER[key]}
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
    return sorted(file.stem for file in PRESETS.glob("*.toml"))


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
        return parse_protocol((PRESETS / f"{name}.toml").read_text(encoding="utf-8"), name)
    path = Path(name)
    if path.suffix != ".toml" and not path.exists():
        raise unknown_name("protocol", name, preset_names())
    return _protocol(read_toml(path, "a protocol", ProtocolError), str(path))


def parse_protocol(text: str, origin: str) -> Protocol:
    """The protocol that a TOML text of ours describes, as stores keep it; `origin` is what errors call it.

    Choices that protocols no longer have are skipped: their scores were made under a hash of their own.
    """
    values = parse_toml(text, origin, ProtocolError)
    for table, names in RETIRED.items():
        if isinstance(stated := values.get(table), dict):
            values[table] = {name: value for name, value in stated.items() if name not in names}
    return _protocol(values, origin)


def _protocol(values: dict[str, Any], origin: str) -> Protocol:
    base = load_protocol(values.pop("extends")) if "extends" in values else Protocol()
    return base._with(values, origin)


def _flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and prefix + key not in ("scene_weights", "aggregation"):
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
