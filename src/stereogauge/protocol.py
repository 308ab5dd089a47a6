"""Every choice that a score depends on, as one named, hashed, printable object.

A protocol has two parts. The *scoring* choices (what happens to missing estimates, which pixels belong to a region,
constants of a metric) change a number; their hash goes with every score, and scores under different hashes do not
compare. The *selection* (scenes, metrics, regions, aggregation, scene weights, model) says which numbers are wanted
and how they are read; `hash` covers both.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import typing
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from stereogauge.errors import FileError, ProtocolError, unknown_name
from stereogauge.loading import check, convert, entry, entry_types, is_table, number, parse_toml, read_toml, whole

Rule = Literal["auto", "dataset", "middlebury-v2", "bidirectional", "z-buffer"]
EITHER_UNIT = "m, 1/px"
METRES, PER_PIXEL = "m", "1/px"
MIXED_UNIT = "m on some scenes, 1/px on others"


class ProtocolTable(Struct, frozen=True):
    """Base of the tables of a protocol, which are checked when they are made; `TABLE` is the table's name in errors."""

    TABLE: ClassVar[str]

    def __post_init__(self) -> None:
        check(self, self.TABLE, ProtocolError)


class RegionParameters(ProtocolTable, frozen=True):
    """How regions are made: table `[region_rules]`.

    The rule "auto" takes the dataset's own mask where there is one, else both views' ground truth, else a z-buffer of
    the left one's. The discontinuity gap and radius hold at 450 px image width and grow with it (the gap never below
    1 px); both are ignored by the rule "middlebury-v2", whose numbers are fixed. Without near and far, the limits of
    `mid` are the scene's own terciles.
    """

    TABLE = "region_rules"

    rule: Annotated[Rule, entry("which occlusion and discontinuity rule")] = "auto"
    consistency: Annotated[float, number("largest disagreement of both views at a visible pixel", "px", least=0)] = 1.0
    discontinuity_gap: Annotated[float, number("smallest step of disparity at a discontinuity", "px", least=0)] = 2.0
    discontinuity_radius: Annotated[float, number("half width of the band around it", "px", least=0)] = 4.0
    texture_threshold: Annotated[
        float, number("mean squared horizontal gradient below which there is no texture", "grey levels²/px²", least=0)
    ] = 4.0
    near: Annotated[float, number("depth up to which a pixel is near", "m", least=0)] | None = None
    far: Annotated[float, number("depth from which a pixel is far", "m", least=0)] | None = None


class SigmaZParameters(ProtocolTable, frozen=True):
    """How the Sigma-Z-Error is computed: table `[sigma_z]`.

    With `metric`, the error is in metres on scenes with a calibration; otherwise f·B = 1 and the unit is 1/px. With
    `literal`, a missing estimate counts as disparity 0 and contributes about f·B/mu, as printed in the paper; otherwise
    estimates that are missing or not in front of the cameras cost the worst depth error inside the scene's range. The
    invalid policy `exclude` leaves them out in either form.
    """

    TABLE = "sigma_z"

    mu: Annotated[float, number("added to keep the depth of a vanishing disparity finite", "px", least=0)] = 1e-6
    metric: Annotated[bool, entry("whether calibrations are used")] = True
    literal: Annotated[bool, entry("whether missing estimates count as disparity 0")] = False

    def unit(self, *, calibrated: bool) -> str:
        """The unit of the error on a scene with or without a calibration."""
        return METRES if self.metric and calibrated else PER_PIXEL


class PixelParameters(ProtocolTable, frozen=True):
    """Which pixels and scenes count beyond those with ground truth: table `[pixels]`.

    A pixel whose true disparity is not above `above` or not below `below` belongs to no region. `window` is the part
    of the image that is evaluated, as shares (top, bottom, left, right) of its height and width, cut off to whole
    pixels. A scene with ground truth on less than `least_known` of its pixels, or of which less than `least_kept` of
    the known pixels remain, has nothing to measure.
    """

    TABLE = "pixels"

    above: Annotated[float, number("true disparities must be larger; none: any", "px")] | None = None
    below: Annotated[float, number("true disparities must be smaller; none: any", "px")] | None = None
    window: Annotated[
        tuple[Annotated[float, number("share of the size", least=0, most=1)], ...],
        entry("top, bottom, left and right end of the evaluated part as shares of the size; none: all of it"),
    ] = ()
    least_known: Annotated[float, number("smallest share of pixels with ground truth", least=0, most=1)] = 0.0
    least_kept: Annotated[float, number("smallest share of them that is evaluated", least=0, most=1)] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.window) not in (0, 4):
            raise ProtocolError(
                f"pixels.window has 4 numbers, the top, bottom, left and right end as shares; found {len(self.window)}."
            )


class DepthParameters(ProtocolTable, frozen=True):
    """Which depths are measured and how: table `[depth]`.

    A pixel whose true depth is not between `least` and `most` belongs to no region; estimated depths are clipped to
    them. `alignment` fits the estimate to the ground truth of a scene first: `median` multiplies its depths by the
    ratio of the median depths, `scale-shift` replaces its disparities d by s·d + t with the least squared error.
    """

    TABLE = "depth"

    least: Annotated[float, number("smallest depth", "m", least=0)] = 0.0
    most: Annotated[float, number("largest depth; none: any", "m", above=0)] | None = None
    alignment: Annotated[Literal["none", "median", "scale-shift"], entry("how estimates are fitted first")] = "none"


ROUNDING = 1e-6


class ErrorParameters(ProtocolTable, frozen=True):
    """How errors are judged: table `[errors]`.

    An error is bad where it is above a threshold, or with `>=` where it is the threshold or above. An error that
    differs from a threshold by no more than `rounding` equals it. `quantiles` takes one of n errors in order of size:
    `linear` interpolates between two of them, `floor` takes the one at position ⌊n·q⌋, counted from 0. With
    `within_width`, an estimate whose size is larger than the image width is a missing one.
    """

    TABLE = "errors"

    comparison: Annotated[Literal[">", ">="], entry("how a bad error compares with a threshold")] = ">"
    rounding: Annotated[float, number("largest difference of equal values", "px", least=0)] = ROUNDING
    quantiles: Annotated[Literal["linear", "floor"], entry("which value a quantile is")] = "linear"
    within_width: Annotated[bool, entry("whether estimates beyond the image width are missing")] = False

    @property
    def usual(self) -> bool:
        """Whether errors are compared as the pass over the pixels that all metrics share compares them."""
        return self.comparison == ">" and self.rounding == ROUNDING


def common_unit(units: Collection[str]) -> str:
    """The one unit of several scenes; says so where they differ, and names both where a scene's unit is not known."""
    if not units or "" in units:
        return EITHER_UNIT
    return next(iter(units)) if len(set(units)) == 1 else MIXED_UNIT


class ScaledGeometry(Struct, frozen=True):
    """Geometry parameters in pixels of one scene: lengths are whole pixels, thresholds are disparities."""

    discontinuity_gradient: float
    band_length: int
    plane_smoothing: float
    plane_tolerance: float
    fine_gradient: float
    fine_width: int
    fine_surround: int
    fine_tolerance: float


class GeometryParameters(ProtocolTable, frozen=True):
    """How discontinuities, planes and fine structures are found: table `[geometry]`; the defaults are the paper's.

    Lengths (px) and disparity thresholds hold at the dataset's full resolution, s = 1. `at(s)` scales those marked
    "× s" for one scene, each to at least its floor; `plane_tolerance` is half a step more where the ground truth is
    quantised. Source: Honauer, Maier-Hein, Kondermann, "The HCI Stereo Metrics", ICCV 2015.
    """

    TABLE = "geometry"

    border: Annotated[float, number("margin that no set enters, × s", "px", least=0)] = 20.0
    border_share: Annotated[float, number("the margin as a share of the width, if larger", least=0, most=1)] = 0.01
    least_coverage: Annotated[
        float, number("share of known ground truth below which sets that need neighbours are refused", least=0, most=1)
    ] = 0.5
    discontinuity_gradient: Annotated[
        float, number("c_d, central-difference gradient of a discontinuity, × s", "px per px", above=0)
    ] = 8.0
    band_length: Annotated[float, number("width of the bands beside a discontinuity, × s", "px", above=0)] = 20.0
    band_length_floor: Annotated[int, whole("least width of the bands", "px", least=0)] = 3
    band_median: Annotated[
        Literal[1, 3, 5], entry("side in px of the median window over the bands' labels, not scaled; 1 changes nothing")
    ] = 5
    plane_smoothing: Annotated[float, number("σ of the Gaussian over gradient vectors, × s", "px", least=0)] = 6.0
    plane_smoothing_floor: Annotated[float, number("least σ", "px", least=0)] = 2.0
    plane_direction_change: Annotated[
        float, number("change of gradient direction below which a pixel may be planar", "rad per px", least=0)
    ] = 0.5
    plane_share: Annotated[float, number("smallest plane as a share of all pixels", least=0, most=1)] = 0.01
    plane_part_share: Annotated[
        float, number("smallest connected part of a plane's inliers as a share of all pixels", least=0, most=1)
    ] = 0.0025
    plane_tolerance: Annotated[float, number("largest distance of an inlier, × s", "px", least=0)] = 0.5
    plane_tolerance_floor: Annotated[float, number("least tolerance", "px", least=0)] = 0.1
    plane_iterations: Annotated[int, whole("random triples tried for one plane", least=1)] = 200
    plane_seed: Annotated[int, whole("seed of the random triples", least=0)] = 0
    fine_gradient: Annotated[
        float,
        number(
            "rise and fall over one pixel at the rims of a fine structure, × s, at least the tolerance", "px", above=0
        ),
    ] = 4.0
    fine_width: Annotated[float, number("largest width of a fine structure on a row, × s", "px", least=0)] = 48.0
    fine_width_floor: Annotated[int, whole("least such width", "px", least=0)] = 4
    fine_widening: Annotated[
        float, number("multiple of that width up to which rows of a mostly thin structure belong to it", least=1)
    ] = 1.5
    fine_thin_share: Annotated[
        float, number("share of its rows on which a structure with wider rows must be thin", least=0, most=1)
    ] = 0.5
    fine_share: Annotated[float, number("smallest structure as a share of all pixels", least=0, most=1)] = 0.0005
    fine_found_share: Annotated[
        float,
        number("share of a structure's pixels that makes it found, and a part of it substantial", above=0, most=1),
    ] = 0.2
    fine_surround: Annotated[float, number("reach of the background beside a structure, × s", "px", least=0)] = 10.0
    fine_surround_floor: Annotated[int, whole("least reach", "px", least=0)] = 2
    fine_tolerance: Annotated[
        float, number("largest disparity error of a found structure pixel, × s", "px", least=0)
    ] = 4.0
    fine_tolerance_floor: Annotated[float, number("least such error", "px", least=0)] = 1.0

    def border_width(self, width: int, resolution: float) -> int:
        """The margin in px of an image `width` px wide: max(20, 0.01 · full width) · s."""
        return round(max(self.border * resolution, self.border_share * width))

    def at(self, resolution: float) -> ScaledGeometry:
        """The values for a scene of that resolution relative to the dataset's full one (½ = half width and height)."""
        if not (math.isfinite(resolution) and resolution > 0):
            raise ProtocolError(f"A scene's resolution is a positive number (1 = full size); found {resolution}.")
        fine_tolerance = max(self.fine_tolerance_floor, self.fine_tolerance * resolution)
        return ScaledGeometry(
            discontinuity_gradient=self.discontinuity_gradient * resolution,
            band_length=max(self.band_length_floor, round(self.band_length * resolution)),
            plane_smoothing=max(self.plane_smoothing_floor, self.plane_smoothing * resolution),
            plane_tolerance=max(self.plane_tolerance_floor, self.plane_tolerance * resolution),
            # A structure no higher than the tolerance would be found where the map shows its background.
            fine_gradient=max(fine_tolerance, self.fine_gradient * resolution),
            fine_width=max(self.fine_width_floor, round(self.fine_width * resolution)),
            fine_surround=max(self.fine_surround_floor, round(self.fine_surround * resolution)),
            fine_tolerance=fine_tolerance,
        )


InvalidPolicy = Literal["count", "exclude", "fill"]
Aggregation = Literal["mean", "pooled", "weighted"]
Aggregations = Aggregation | Mapping[str, Aggregation]
"""How scenes become one number: for all columns, or by column or metric id, `mean` where none is given."""
PRESETS = Path(__file__).with_name("presets")
NONE = "none"
"""How files and overrides write that a choice has no value."""
RETIRED: Mapping[str, tuple[str, ...]] = {"geometry": ("plane_angle",)}
"""Choices of protocols in older stores, by table."""


class Protocol(Struct, frozen=True, dict=True):
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

    SELECTION: ClassVar[tuple[str, ...]] = (
        *("scenes", "left_out", "metrics", "regions", "aggregation", "scene_weights", "model"),
    )
    ABOUT: ClassVar[tuple[str, ...]] = ("name", "description", "source")

    def __post_init__(self) -> None:
        check(self, "The protocol", ProtocolError)

    def choices(self) -> dict[str, Any]:
        """All choices but name, description and source, as plain values."""
        return {key: value for key, value in _plain(self).items() if key not in self.ABOUT}

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


def _plain(protocol: Protocol) -> dict[str, Any]:
    """The choices by name, the nested ones too."""
    return {key: asdict(value) if is_table(type(value)) else value for key, value in asdict(protocol).items()}


_NEWER = {
    key: asdict(kind())
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
    known = entry_types(owner.__class__)
    if parts[0] not in known:
        raise unknown_name("protocol choice", whole, choice_names())
    kind = known[parts[0]]
    if len(parts) > 1:
        value = _replaced(getattr(owner, parts[0]), whole, parts[1:], value, origin)
    elif value == NONE and type(None) in typing.get_args(kind):
        value = None
    else:
        value = convert(value, kind, origin, ProtocolError, whole)
    return replace(owner, **{parts[0]: value})


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
