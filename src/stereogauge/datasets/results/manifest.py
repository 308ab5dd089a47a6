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
    [about]                        # shown on the algorithm's page
    authors = "A. Author"          # also publication, code, hardware, parameters, or what else is worth knowing
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

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias, TypeVar

from msgspec.structs import replace

from stereogauge.datasets.layout import ResultFiles
from stereogauge.errors import DatasetError
from stereogauge.loading import Declaration, convert, entry, parse_toml, read_toml
from stereogauge.model import Better, ConfidenceKind
from stereogauge.paths import is_project
from stereogauge.tags import as_tags

FILENAMES = ("results.toml", "stereogauge.toml")
Word = TypeVar("Word", bound=str)
T = TypeVar("T")
Number: TypeAlias = float | Mapping[str, float] | None
"""A number of all scenes, or a table of numbers by scene."""
WHAT = "a manifest of results"
NOTHING_SAID: tuple[Any, ...] = (None, "", (), {})


def for_scene(value: T | Mapping[str, T], scene: str, key: str, origin: str) -> T:
    """`value` itself, or its entry for the scene when it is a table by scene."""
    if not isinstance(value, Mapping):
        return value
    if scene not in value:
        raise DatasetError(
            f"{origin}: the table {key} has no entry for scene {scene!r}; it has: {', '.join(value) or 'none'}."
        )
    found: T = value[scene]
    return found


def values_of_scene(entries: Any, scene: str, origin: str) -> dict[str, Any]:
    """The entries `encoding`, `scale` and `offset` for one scene, as a `DisparityFile` takes them."""
    names = ("encoding", "scale", "offset")
    encoding, scale, offset = (for_scene(getattr(entries, name), scene, name, origin) for name in names)
    return {"encoding": encoding, "scale": None if scale is None else float(scale), "offset": float(offset or 0.0)}


class ValueEntries(Declaration, frozen=True):
    """How stored values become numbers; scale and offset may be by scene. None = not said."""

    encoding: str | None = None
    scale: Number = None
    offset: Number = None

    @property
    def given(self) -> bool:
        """Whether anything was said of what stored values mean."""
        return (self.encoding, self.scale, self.offset) != (None, None, None)

    def over(self, other: Self) -> Self:
        """These entries where they say something, else `other`; an encoding drops the other's scale and offset."""
        kept = other if self.encoding is None else replace(other, scale=None, offset=None)
        said = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) not in NOTHING_SAID}
        return replace(kept, **said)


class ResultDecoding(ValueEntries, frozen=True):
    """How stored values become disparities, and how maps must be turned and cut."""

    unknown: Annotated[float | tuple[float, ...], entry("stored values that mean that there is no disparity")] = ()
    flip: Annotated[str, entry("up-down, left-right, both or transpose")] | None = None
    crop: Annotated[tuple[float, ...], entry("[column, row] from which on a padded map fits the scene")] = ()


class ConfidenceEntries(ValueEntries, frozen=True):
    """Table `[confidence]`: how confidence maps are meant, all or by the name of the map."""

    better: Better | Mapping[str, Better] | None = None
    kind: ConfidenceKind | Mapping[str, ConfidenceKind] | None = None

    @property
    def decoding(self) -> ResultDecoding:
        """How stored values become confidences."""
        return ResultDecoding(self.encoding, self.scale, self.offset)


class ResultManifest(ResultDecoding, frozen=True):
    """The content of one `results.toml`, or the table of one algorithm in it."""

    name: str = ""
    description: str = ""
    link: str = ""
    colour: str = ""
    template: str = ""
    confidence: ConfidenceEntries = ConfidenceEntries()
    about: Mapping[str, str] = {}
    tags: Mapping[str, str | tuple[str, ...]] = {}
    algorithms: Mapping[str, ResultManifest] = {}

    @property
    def decoding(self) -> ResultDecoding:
        """How stored values become disparities."""
        unknown = self.unknown if isinstance(self.unknown, tuple) else (self.unknown,)
        return ResultDecoding(self.encoding, self.scale, self.offset, unknown, self.flip, tuple(map(int, self.crop)))

    def over(self, other: Self) -> Self:
        """This manifest where it says something, else `other`; the tables of single algorithms are dropped."""
        return replace(
            super().over(other),
            name=self.name,
            template="",
            confidence=self.confidence.over(other.confidence),
            about={**other.about, **self.about},
            tags={**other.tags, **self.tags},
            algorithms={},
        )


def read_manifest(path: Path) -> ResultManifest:
    """One manifest, wherever it lies."""
    return _manifest(read_toml(path, WHAT, DatasetError), str(path))


def read_manifests(files: ResultFiles) -> dict[str, ResultManifest]:
    """Every manifest by the folder it lies in ("" = the results folder); a dataset's own manifest is not one."""
    found: dict[str, ResultManifest] = {}
    for filename in FILENAMES:
        for name in files.names:
            folder, _, last = name.rpartition("/")
            if last != filename or folder in found:
                continue
            origin = f"{files.root}/{name}"
            content = parse_toml(files.text(name), origin, DatasetError)
            if _of_results(content):
                found[folder] = _manifest(content, origin)
    return found


def _of_results(content: Mapping[str, Any]) -> bool:
    """Whether a manifest is one of results: others describe a dataset or a project."""
    return "paths" not in content and not is_project(content)


def manifest_of(algorithm: str, manifests: Mapping[str, ResultManifest]) -> ResultManifest:
    """What all manifests together say of one algorithm; a name is that of its own folder or table."""
    chosen, parts = ResultManifest(), algorithm.split("/") if algorithm else []
    for depth in range(len(parts) + 1):
        above, below = "/".join(parts[:depth]), "/".join(parts[depth:])
        if above not in manifests:
            continue
        own = manifests[above]
        chosen = replace(own.over(chosen), name=chosen.name if below else own.name)
        if below in own.algorithms:
            chosen = own.algorithms[below].over(chosen)
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


def manifest_beside(folder: Path) -> ResultManifest:
    """What the manifests in `folder` and the three folders above say of the results in it; the nearest one wins."""
    places = [folder, *folder.parents][:4]
    found: dict[str, ResultManifest] = {}
    for place in places:
        file = next((place / name for name in FILENAMES if (place / name).is_file()), None)
        if file is not None and _of_results(content := read_toml(file, WHAT, DatasetError)):
            found[place.relative_to(places[-1]).as_posix().removeprefix(".")] = _manifest(content, str(file))
    return manifest_of(folder.relative_to(places[-1]).as_posix().removeprefix("."), found)
