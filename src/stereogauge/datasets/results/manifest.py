"""`results.toml` beside results: how their values are meant, and what is known of the algorithm.

    encoding = "middlebury"        # with scale and offset: d = v / scale + offset
    scale = 16                     # or by scene: scale = { teddy = 4, tsukuba = 16 }
    offset = -1
    unknown = [0, -1]              # stored values that mean that there is no disparity
    flip = "up-down"               # or left-right, both, transpose: how maps must be turned
    crop = [8, 4]                  # column and row from which on a padded map fits the scene
    name = "MyMatcher"             # in an algorithm's own folder
    description = "…"
    link = "https://…"
    colour = "#1f77b4"
    template = "{scene}/out.pfm"   # in the folder that is given to the program
    [tags]                         # for selections such as --algorithms tag:technique=learned
    technique = "learned"
    trained-on = ["KITTI", "SceneFlow"]
    [confidence]                   # how confidence maps are meant
    better = "higher"              # or "lower"; by map: better = { ccnn = "higher", entropy = "lower" }
    kind = "order"                 # or "sigma" (px), "probability" (of a good pixel); also by map
    scale = 65535
    [algorithms.Other]             # in a folder of algorithm folders: any of the above for one of them
    scale = 4

What a folder says counts for the folders in it; the nearest one wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from stereogauge.datasets.native.manifest import parse_toml, read_toml
from stereogauge.datasets.results.files import ResultFiles
from stereogauge.errors import DatasetError, unknown_name
from stereogauge.paths import is_project
from stereogauge.tags import Tags, as_tags

FILENAMES = ("results.toml", "stereogauge.toml")
_TEXTS = ("name", "description", "link", "colour", "encoding", "template", "flip")
_NUMBERS = ("scale", "offset")
_LISTS = ("unknown", "crop")
_TABLES = ("confidence", "algorithms", "tags")
_EMPTY: Mapping[str, Any] = {}
BETTER = ("higher", "lower")
KINDS = ("order", "sigma", "probability")
Choice: TypeAlias = str | Mapping[str, str] | None


@dataclass(frozen=True)
class Decoding:
    """How stored values become disparities; scale and offset may be by scene. None = not said."""

    encoding: str | None = None
    scale: float | Mapping[str, float] | None = None
    offset: float | Mapping[str, float] | None = None
    unknown: Sequence[float] = ()
    flip: str | None = None
    crop: Sequence[int] = ()

    @property
    def given(self) -> bool:
        """Whether anything was said of what stored values mean."""
        return not (self.encoding is None and self.scale is None and self.offset is None)

    def over(self, other: Decoding) -> Decoding:
        """This one where it says something, else `other`; an encoding drops the other's scale and offset."""
        own = self.encoding is not None
        return Decoding(
            self.encoding if own else other.encoding,
            other.scale if self.scale is None and not own else self.scale,
            other.offset if self.offset is None and not own else self.offset,
            self.unknown or other.unknown,
            self.flip or other.flip,
            self.crop or other.crop,
        )

    def number(self, key: str, scene: str, algorithm: str) -> float | None:
        """`scale` or `offset` of one scene."""
        value = getattr(self, key)
        if not isinstance(value, Mapping):
            return None if value is None else float(value)
        if scene not in value:
            raise DatasetError(
                f"The {key} of {algorithm!r} is given by scene, but not for {scene!r}; it has: {', '.join(value)}."
            )
        return float(value[scene])


@dataclass(frozen=True)
class ResultManifest:
    """The content of one `results.toml`."""

    name: str = ""
    description: str = ""
    link: str = ""
    colour: str = ""
    template: str = ""
    decoding: Decoding = field(default_factory=Decoding)
    confidence: Decoding = field(default_factory=Decoding)
    better: Choice = None
    kind: Choice = None
    tags: Tags = field(default_factory=dict)
    algorithms: Mapping[str, ResultManifest] = field(default_factory=dict)

    def over(self, other: ResultManifest) -> ResultManifest:
        """This manifest where it says something, else `other`; the tables of single algorithms are dropped."""
        return ResultManifest(
            name=self.name,
            description=self.description or other.description,
            link=self.link or other.link,
            colour=self.colour or other.colour,
            decoding=self.decoding.over(other.decoding),
            confidence=self.confidence.over(other.confidence),
            better=self.better or other.better,
            tags={**other.tags, **self.tags},
            kind=self.kind or other.kind,
        )


def read_manifest(path: Path) -> ResultManifest:
    """One manifest, wherever it lies."""
    return _manifest(read_toml(path), str(path))


def read_manifests(files: ResultFiles) -> Mapping[str, ResultManifest]:
    """Every manifest by the folder it lies in ("" = the results folder); a dataset's own manifest is not one."""
    found: dict[str, ResultManifest] = {}
    for filename in FILENAMES:
        for name in files.names:
            folder, _, last = name.rpartition("/")
            if last != filename or folder in found:
                continue
            origin = f"{files.root}/{name}"
            content = parse_toml(files.text(name), origin)
            if "paths" not in content and not is_project(content):
                found[folder] = _manifest(content, origin)
    return found


def manifest_of(algorithm: str, manifests: Mapping[str, ResultManifest]) -> ResultManifest:
    """What all manifests together say of one algorithm."""
    top = manifests.get("", ResultManifest())
    chosen = top.algorithms.get(algorithm, ResultManifest()).over(top)
    chosen = replace(chosen, name=top.algorithms[algorithm].name if algorithm in top.algorithms else "")
    if not algorithm:
        return replace(chosen, name=top.name)
    folder = ""
    for part in algorithm.split("/"):
        folder = f"{folder}/{part}" if folder else part
        if folder in manifests:
            chosen = replace(
                manifests[folder].over(chosen), name=manifests[folder].name if folder == algorithm else chosen.name
            )
    return chosen


def _manifest(content: Mapping[str, Any], origin: str) -> ResultManifest:
    for key, value in content.items():
        allowed = (*_TEXTS, *_NUMBERS, *_LISTS, *_TABLES)
        if key not in allowed:
            raise unknown_name(f"entry of {origin}", key, allowed)
        if key in _TEXTS and not isinstance(value, str):
            raise DatasetError(f"{origin}: {key} should be text, found {value!r}.")
        if key in _TABLES and not isinstance(value, dict):
            raise DatasetError(f"{origin}: {key} should be a table, found {value!r}.")
    return ResultManifest(
        **{key: content.get(key, "") for key in ("name", "description", "link", "colour", "template")},
        decoding=_decoding(content, origin),
        confidence=_decoding(content.get("confidence", _EMPTY), origin),
        better=_choice(content.get("confidence", _EMPTY), "better", BETTER, origin),
        kind=_choice(content.get("confidence", _EMPTY), "kind", KINDS, origin),
        tags=as_tags(content.get("tags", _EMPTY), origin),
        algorithms={name: _manifest(inner, origin) for name, inner in content.get("algorithms", _EMPTY).items()},
    )


def _choice(content: Mapping[str, Any], key: str, allowed: tuple[str, ...], origin: str) -> Choice:
    """One of the allowed words, or one for each confidence map by name."""
    known = ("better", "kind", "encoding", *_NUMBERS)
    for entry in content:
        if entry not in known:
            raise unknown_name(f"entry of [confidence] in {origin}", entry, known)
    value: Choice = content.get(key)
    for word in value.values() if isinstance(value, Mapping) else (value,):
        if word is not None and word not in allowed:
            words = " or ".join(f'"{one}"' for one in allowed)
            raise DatasetError(f"{origin}: {key} is {words} under [confidence]; found {word!r}.")
    return value


def of_map(choice: Choice, name: str) -> str | None:
    """What a manifest says of the confidence map called `name`."""
    return choice.get(name) if isinstance(choice, Mapping) else choice


def manifest_beside(folder: Path, levels: int = 3) -> ResultManifest:
    """What the manifests in `folder` and the folders above it say of the results in it; the nearest one wins."""
    places = [folder, *folder.parents][: levels + 1]
    chosen = ResultManifest()
    for place in reversed(places):
        file = next((place / name for name in FILENAMES if (place / name).is_file()), None)
        content = {} if file is None else read_toml(file)
        if file is not None and "paths" not in content and not is_project(content):
            own = _manifest(content, str(file))
            chosen = own.over(chosen)
            algorithm = folder.relative_to(place).as_posix()
            if algorithm in own.algorithms:
                chosen = own.algorithms[algorithm].over(chosen)
    return chosen


def _decoding(content: Mapping[str, Any], origin: str) -> Decoding:
    encoding = content.get("encoding")
    scale, offset = (_number(content.get(key), key, origin) for key in _NUMBERS)
    unknown, crop = (_list(content.get(key, []), key, origin) for key in _LISTS)
    if len(crop) not in (0, 2):
        raise DatasetError(f"{origin}: crop should be [column, row], found {crop!r}.")
    return Decoding(encoding, scale, offset, tuple(map(float, unknown)), content.get("flip"), tuple(map(int, crop)))


def _list(value: Any, key: str, origin: str) -> list[float]:
    values: list[Any] = value if isinstance(value, list) else [value]
    if any(isinstance(entry, bool) or not isinstance(entry, int | float) for entry in values):
        raise DatasetError(f"{origin}: {key} should be a list of numbers, found {value!r}.")
    return values


def _number(value: Any, key: str, origin: str) -> float | Mapping[str, float] | None:
    if value is None:
        return None
    values = value.values() if isinstance(value, dict) else [value]
    if any(isinstance(entry, bool) or not isinstance(entry, int | float) for entry in values):
        raise DatasetError(f"{origin}: {key} should be a number or a table of numbers by scene, found {value!r}.")
    return dict(value) if isinstance(value, dict) else float(value)
