"""The weights of an application. Profiles are named weights, as TOML: five come with the package, a user writes more.

A profile weighs properties, then the metrics inside each of them:

    name = "Warehouse robot"
    purpose = "a warehouse robot"
    description = "Thin shelf edges matter, planes less."
    [properties]
    accuracy = 1
    "fine structures" = 2
    [accuracy]
    "bad@4:nonocc" = 1
    ["fine structures"]
    "f-missing" = 2
    "f-por" = 1

or metrics alone, in a table `[weights]`. Weights are relative: within their table they are divided by their sum.
`image_width = 750` states for which images thresholds in px, such as that of `bad@4`, are meant.

Weights may also be the proportions of an application's images instead of those of the benchmark's (Honauer et al., The
HCI Stereo Metrics, 2015, section 5): pixel-wise scores are measured on exclusive parts of the scenes (`part-fine`,
`part-planar`, …), and a proportion becomes the weight of the part's column.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct, field

from stereogauge.errors import FileError, StereogaugeError, one_of
from stereogauge.loading import convert, number, parse_toml, read_toml
from stereogauge.masks.declaration import declared_regions
from stereogauge.masks.geometric import PARTS
from stereogauge.metrics.registry import parse_column
from stereogauge.scores.cube import ScoreCube
from stereogauge.text import listed, lower_first

Weights = Mapping[str, Annotated[float, number("relative weight", least=0)]]
ImageWidth = Annotated[float, number("width of the images that thresholds in px are meant for", least=0)]
PROFILES = Path(__file__).with_name("profiles")
ACCURACY = "accuracy"
PROPERTIES = {"disc": "discontinuities", "planar": "planes", "fine": "fine structures"}
"""What metrics bound to these pixel sets measure; all others measure accuracy."""
BETWEEN_WEIGHTS = re.compile(r",(?!\s*[\d.]+[=,&|()-])")
"""Commas between weights, not those between the numbers of a name: `bad@1:depth@2,30=1,d-fat=2`."""
PART_NAMES: Mapping[str, tuple[str, ...]] = {
    "disc": ("part-background", "part-foreground"),
    **{part.removeprefix("part-"): (part,) for part in PARTS},
}
"""What a user may call the parts; `disc` means both sides of the edges, half of its proportion each."""


class Profile(Struct, frozen=True):
    """Named weights ≥ 0 that sum to 1, by metric (`d-fat`) or by column (`bad@1:nonocc`).

    `purpose_words` completes the sentence "For …, take …" where the name in small letters does not. `stand_ins` names,
    for a metric that a sparse ground truth does not allow, those that take its weight there, the first choice first.
    `image_width` is that of the images, in px, for which thresholds in px are meant; 0 where it is not stated.
    `standing_in` names the metrics that have taken the weight of others, and these.
    """

    id: str
    name: str
    description: str
    weights: Mapping[str, float]
    purpose_words: str = ""
    stand_ins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    image_width: float = 0.0
    standing_in: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def thresholds(self) -> tuple[str, ...]:
        """The weighted metrics with a threshold in px.

        >>> Profile("mine", "Mine", "", {"bad@4": 0.5, "rms": 0.25, "quantile@95": 0.25}).thresholds
        ('bad@4',)
        """
        parameters = {
            term: parse_column(term)[0].metric.parameters for term, weight in self.weights.items() if weight > 0
        }
        return tuple(term for term, own in parameters.items() if any(one.unit == "px" for one in own))

    @property
    def purpose(self) -> str:
        """What the profile is for, as part of a sentence: `driver assistance`."""
        return self.purpose_words or lower_first(self.name)

    @property
    def summary(self) -> str:
        """The description, and what is weighed how much: the properties with their metrics in words.

        >>> Profile("mine", "Mine", "", {"d-fat": 0.5, "d-thin": 0.25, "rms": 0.25}).summary
        'Weighs discontinuities 75 % (foreground fattening, foreground thinning) and accuracy 25 % (root mean squared \
error). On a sparse ground truth nothing stands in for d-fat and d-thin.'
        """
        shares: dict[str, float] = {}
        metrics: dict[str, dict[str, None]] = {}
        replaced: dict[tuple[str, ...], list[str]] = {}  # what needs a dense ground truth, by what stands in for it
        for term, weight in self.weights.items():
            if weight > 0:
                kind = property_of(term)
                shares[kind] = shares.get(kind, 0.0) + weight
                metrics.setdefault(kind, {})[lower_first(parse_column(term)[0].metric.name)] = None
                if kind != ACCURACY:
                    replaced.setdefault(self.stand_ins.get(term, ()), []).append(term)
        order = sorted(shares, key=lambda kind: -shares[kind])
        parts = [f"{kind} {100 * shares[kind]:.0f} % ({', '.join(metrics[kind])})" for kind in order]
        sentences = [self.description, f"Weighs {listed(parts, len(parts))}."]
        if replaced and not self.standing_in:
            alone = replaced.pop((), [])
            without = listed(alone, len(alone)) if alone else ""
            pairs = []
            for names, terms in replaced.items():
                either = " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
                pairs.append(f"{either} for {listed(terms, len(terms))}")
            pairs += [f"nothing for {without}"] if pairs and without else []
            found = f"these stand in: {'; '.join(pairs)}" if pairs else f"nothing stands in for {without}"
            sentences.append(f"On a sparse ground truth {found}.")
        if self.image_width and self.thresholds:
            sentences.append(f"Thresholds in px are for images about {self.image_width:g} px wide.")
        return " ".join(filter(None, sentences))


def checked_weights(weights: Mapping[str, float], owner: str, table: str = "") -> dict[str, float]:
    """Weights under canonical ids, divided by their sum; `owner` and `table` name them in errors."""
    canonical: dict[str, float] = {}
    checked: Weights = convert(weights, Weights, owner, key=table)
    for text, weight in checked.items():
        metric, region = parse_column(text)
        name = metric.id if region is None else f"{metric.id}:{region}"
        if name in canonical:
            raise StereogaugeError(f"{owner} weights {name!r} twice; write it once.")
        canonical[name] = weight
    total = sum(canonical.values())
    if total <= 0:
        raise StereogaugeError(f"{owner}: at least one weight must be greater than 0; found {dict(weights)}.")
    return {name: weight / total for name, weight in canonical.items()}


@functools.cache
def shipped_profiles() -> tuple[str, ...]:
    """Names of the profiles that come with the package."""
    return tuple(sorted(file.stem for file in PROFILES.glob("*.toml")))


def load_profile(name: str | Path | Profile) -> Profile:
    """A shipped profile by its name or a word that only its name holds, or a user's by the path of its TOML file."""
    if isinstance(name, Profile):
        return name
    path = Path(name)
    if path.suffix == ".toml":
        if not path.is_file():
            raise FileError(
                f"No profile at {path}; shipped ones are named without ending: {', '.join(shipped_profiles())}."
            )
        return _profile(read_toml(path, "a profile"), path.stem, str(path))
    if str(name) not in shipped_profiles():
        meant = [shipped for shipped in shipped_profiles() if str(name) in shipped.split("-")]
        return _shipped(meant[0] if len(meant) == 1 else one_of("profile", str(name), shipped_profiles()))
    return _shipped(str(name))


@functools.cache
def _shipped(name: str) -> Profile:
    text = (PROFILES / f"{name}.toml").read_text(encoding="utf-8")
    return _profile(parse_toml(text, f"{name}.toml"), name, f"Profile {name!r}")


def _profile(content: Mapping[str, Any], identifier: str, owner: str) -> Profile:
    """The profile that the tables of a file state; `owner` names it in errors."""
    if "properties" not in content and not isinstance(content.get("weights"), Mapping):
        raise FileError(
            f"{owner} needs a table [weights] with one number per metric, or [properties] and a table of metrics for "
            f"each of them; found the entries {sorted(content)}."
        )
    by_property = "properties" in content
    texts: dict[str, str] = {
        key: convert(content.get(key, ""), str, owner, FileError, key) for key in ("name", "description", "purpose")
    }
    return Profile(
        id=identifier,
        name=texts["name"] or identifier,
        description=texts["description"],
        weights=checked_weights(_property_weights(content, owner) if by_property else content["weights"], owner),
        purpose_words=texts["purpose"],
        stand_ins=convert(content.get("stand-ins", {}), dict[str, tuple[str, ...]], owner, FileError, "stand-ins"),
        image_width=convert(content.get("image_width", 0.0), ImageWidth, owner, FileError, "image_width"),
    )


def _property_weights(content: Mapping[str, Any], owner: str) -> dict[str, float]:
    """The weight of each metric: that of its property, times its share inside it."""
    properties: Weights = convert(content["properties"], Weights, owner, key="properties")
    weights: dict[str, float] = {}
    for name, weight in properties.items():
        if not content.get(name):
            raise FileError(f"{owner} weighs the property {name!r} and needs a table [{name}] with its metrics.")
        for metric, part in checked_weights(content[name], owner, name).items():
            if metric in weights:
                raise StereogaugeError(f"{owner} weights {metric!r} under two properties; write it under one.")
            weights[metric] = weight * part
    return weights


def property_of(term: str) -> str:
    """The property that a metric or column measures: it follows from the pixel set that it is bound to.

    >>> [property_of(term) for term in ("bad@1:nonocc", "d-fat", "p-off", "f-missing")]
    ['accuracy', 'discontinuities', 'planes', 'fine structures']
    """
    region = parse_column(term)[0].metric.region or ""
    return PROPERTIES.get(region.partition("-")[0], ACCURACY)


def metric_words(term: str, *, with_id: bool = True) -> str:
    """A metric or column in words, its id in brackets: `foreground fattening (d-fat)`.

    >>> metric_words("d-fat"), metric_words("bad@4:nonocc")
    ('foreground fattening (d-fat)', 'bad pixels, not occluded (bad@4:nonocc)')
    """
    bound, region = parse_column(term)
    name = lower_first(bound.metric.name)
    declared = declared_regions().get(region) if region else None
    where = "" if declared is None or bound.metric.region else f", {lower_first(declared.name)}"
    return f"{name}{where} ({term})" if with_id else name + where


def parse_weights(texts: Iterable[str] | None) -> dict[str, float] | None:
    """Weights from texts such as `d-fat=2`, repeated or separated by commas; None where there are none.

    >>> parse_weights(["d-fat=2,rms=1", "bad@1:depth@2,30=1"])
    {'d-fat': 2.0, 'rms': 1.0, 'bad@1:depth@2,30': 1.0}
    """
    return _numbers_by_name(texts or (), "A weight is written METRIC=NUMBER, for example d-fat=2") or None


def _numbers_by_name(texts: Iterable[str], form: str) -> dict[str, float]:
    """The numbers of texts such as `a=1,b=2`; `form` says in errors how one is written."""
    found: dict[str, float] = {}
    for part in (part for text in texts for part in BETWEEN_WEIGHTS.split(text)):
        name, _, amount = part.rpartition("=")
        try:
            found[name.strip()] = float(amount)
        except ValueError:
            raise StereogaugeError(f"{form}; found {part!r}.") from None
    return found


def stated_weights(weights: Weights | None, profile: str | Path | Profile | None) -> dict[str, float] | None:
    """The weights that a user stated, divided by their sum; None where there are none."""
    if weights is not None and profile is not None:
        raise StereogaugeError(f"Give weights or a profile, not both; found weights and the profile {str(profile)!r}.")
    if weights is not None:
        return checked_weights(weights, "The weights")
    return None if profile is None else dict(load_profile(profile).weights)


def checked_proportions(proportions: Mapping[str, float] | str) -> dict[str, float]:
    """Proportions such as `fine=0.3,disc=0.2,planar=0.3,other=0.2`, divided by their sum.

    >>> checked_proportions("fine=1,planar=3")
    {'fine': 0.25, 'planar': 0.75}
    """
    form = "A proportion is written PART=NUMBER, for example fine=0.3"
    stated = _numbers_by_name([proportions], form) if isinstance(proportions, str) else proportions
    for name, amount in stated.items():
        one_of("part of a scene", name, PART_NAMES)
        if not amount >= 0:
            raise StereogaugeError(f"{form}; found {name}={amount:g}.")
    total = sum(stated.values())
    if total <= 0:
        raise StereogaugeError(f"At least one proportion must be greater than 0; found {proportions!r}.")
    return {name: value / total for name, value in stated.items()}


def proportion_weights(cube: ScoreCube, proportions: Mapping[str, float] | str) -> dict[str, float]:
    """The weight of every column of a part: the part's proportion, shared by the metrics that are stored on parts."""
    shares = checked_proportions(proportions)
    wanted = {
        part: share / len(PART_NAMES[name]) for name, share in shares.items() for part in PART_NAMES[name] if share > 0
    }
    stored = [column for column in cube.columns if column.region in wanted]
    lacking = [part for part in wanted if part not in {column.region for column in stored}]
    if lacking:
        raise StereogaugeError(
            f"Nothing is measured on {', '.join(lacking)}; evaluate pixel-wise metrics with --regions "
            f"{','.join(PARTS)} first."
        )
    counts = {part: sum(column.region == part for column in stored) for part in wanted}
    return {str(column): wanted[column.region] / counts[column.region] for column in stored}


def composed_weights(
    cube: ScoreCube,
    proportions: Mapping[str, float] | str | None,
    weights: Mapping[str, float] | None = None,
    profile: str | Path | None = None,
) -> Mapping[str, float] | None:
    """The weights that proportions make, or the stated ones where there are no proportions."""
    if proportions is None:
        return weights
    if weights is not None or profile is not None:
        other = "weights" if profile is None else f"the profile {str(profile)!r}"
        raise StereogaugeError(f"Proportions take the place of weights and of a profile; found {other} beside them.")
    return proportion_weights(cube, proportions)
