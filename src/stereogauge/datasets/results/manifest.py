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
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

from msgspec.structs import replace

from stereogauge.datasets.results.files import ResultFiles
from stereogauge.errors import DatasetError
from stereogauge.loading import Declaration, convert, entry, parse_toml, read_toml
from stereogauge.model import Better, ConfidenceKind
from stereogauge.paths import is_project
from stereogauge.tags import as_tags

FILENAMES = ("results.toml", "stereogauge.toml")
Word = TypeVar("Word", bound=str)
Number: TypeAlias = float | Mapping[str, float] | None
"""A number of all scenes, or a table of numbers by scene."""
WHAT = "a manifest of results"


@dataclass(frozen=True)
class ResultDecoding:
    """How stored values become disparities; scale and offset may be by scene. None = not said."""

    encoding: str | None = None
    scale: Number = None
    offset: Number = None
    unknown: Sequence[float] = ()
    flip: str | None = None
    crop: Sequence[int] = ()

    @property
    def given(self) -> bool:
        """Whether anything was said of what stored values mean."""
        return not (self.encoding is None and self.scale is None and self.offset is None)

    def over(self, other: ResultDecoding) -> ResultDecoding:
        """This one where it says something, else `other`; an encoding drops the other's scale and offset."""
        own = self.encoding is not None
        return ResultDecoding(
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


class ConfidenceEntries(Declaration, frozen=True):
    """Table `[confidence]`: how confidence maps are meant, all or by the name of the map."""

    better: Better | Mapping[str, Better] | None = None
    kind: ConfidenceKind | Mapping[str, ConfidenceKind] | None = None
    encoding: str | None = None
    scale: Number = None
    offset: Number = None

    @property
    def decoding(self) -> ResultDecoding:
        """How stored values become confidences."""
        return ResultDecoding(self.encoding, self.scale, self.offset)

    def over(self, other: ConfidenceEntries) -> ConfidenceEntries:
        """These entries where they say something, else `other`."""
        values = self.decoding.over(other.decoding)
        return ConfidenceEntries(
            self.better or other.better, self.kind or other.kind, values.encoding, values.scale, values.offset
        )


class ResultManifest(Declaration, frozen=True):
    """The content of one `results.toml`, or the table of one algorithm in it."""

    name: str = ""
    description: str = ""
    link: str = ""
    colour: str = ""
    template: str = ""
    encoding: str | None = None
    scale: Number = None
    offset: Number = None
    unknown: Annotated[float | tuple[float, ...], entry("stored values that mean that there is no disparity")] = ()
    flip: Annotated[str, entry("up-down, left-right, both or transpose")] | None = None
    crop: Annotated[tuple[float, ...], entry("[column, row] from which on a padded map fits the scene")] = ()
    confidence: ConfidenceEntries = ConfidenceEntries()
    tags: Mapping[str, str | tuple[str, ...]] = {}
    algorithms: Mapping[str, ResultManifest] = {}

    @property
    def decoding(self) -> ResultDecoding:
        """How stored values become disparities."""
        unknown = self.unknown if isinstance(self.unknown, tuple) else (self.unknown,)
        return ResultDecoding(self.encoding, self.scale, self.offset, unknown, self.flip, tuple(map(int, self.crop)))

    def over(self, other: ResultManifest) -> ResultManifest:
        """This manifest where it says something, else `other`; the tables of single algorithms are dropped."""
        values = self.decoding.over(other.decoding)
        return ResultManifest(
            name=self.name,
            description=self.description or other.description,
            link=self.link or other.link,
            colour=self.colour or other.colour,
            encoding=values.encoding,
            scale=values.scale,
            offset=values.offset,
            unknown=tuple(values.unknown),
            flip=values.flip,
            crop=tuple(values.crop),
            confidence=self.confidence.over(other.confidence),
            tags={**other.tags, **self.tags},
        )


def read_manifest(path: Path) -> ResultManifest:
    """One manifest, wherever it lies."""
    return _manifest(read_toml(path, WHAT, DatasetError), str(path))


def read_manifests(files: ResultFiles) -> Mapping[str, ResultManifest]:
    """Every manifest by the folder it lies in ("" = the results folder); a dataset's own manifest is not one."""
    found: dict[str, ResultManifest] = {}
    for filename in FILENAMES:
        for name in files.names:
            folder, _, last = name.rpartition("/")
            if last != filename or folder in found:
                continue
            origin = f"{files.root}/{name}"
            content = parse_toml(files.text(name), origin, DatasetError)
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
    manifest: ResultManifest = convert(content, ResultManifest, origin, DatasetError)
    for stated in (manifest, *manifest.algorithms.values()):
        as_tags(stated.tags, origin)
        if len(stated.crop) not in (0, 2):
            raise DatasetError(f"{origin}: crop must be [column, row]; found {list(stated.crop)}.")
    return manifest


def of_map(choice: Word | Mapping[str, Word] | None, name: str) -> Word | None:
    """What a manifest says of the confidence map called `name`."""
    return choice.get(name) if isinstance(choice, Mapping) else choice


def manifest_beside(folder: Path, levels: int = 3) -> ResultManifest:
    """What the manifests in `folder` and the folders above it say of the results in it; the nearest one wins."""
    places = [folder, *folder.parents][: levels + 1]
    chosen = ResultManifest()
    for place in reversed(places):
        file = next((place / name for name in FILENAMES if (place / name).is_file()), None)
        content = {} if file is None else read_toml(file, WHAT, DatasetError)
        if file is not None and "paths" not in content and not is_project(content):
            own = _manifest(content, str(file))
            chosen = own.over(chosen)
            algorithm = folder.relative_to(place).as_posix()
            if algorithm in own.algorithms:
                chosen = own.algorithms[algorithm].over(chosen)
    return chosen
