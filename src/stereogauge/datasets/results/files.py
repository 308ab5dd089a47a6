"""The files of a results folder or of a zip, and which algorithm and scene each belongs to, from its name alone.

A zip is never unpacked: its files are read in place, through addresses of the form `zip://NAME::ARCHIVE`.

Recognised without configuration: Middlebury v3 submissions (`SCENE/disp0ALG.pfm`, `timeALG.txt`), KITTI's
(`disp_0/000000_10.png`, `data/…`), Spring's (`0003/disp1_left/disp1_left_0001.dsp5`), and one folder per algorithm with
one file per scene (`ALG/SCENE.png`), also several such folders. Anything else needs a path template.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from stereogauge.datasets.archives import Limits, member_names
from stereogauge.datasets.layout import MAP_SUFFIXES, check_template, is_junk, map_name, template_pattern
from stereogauge.errors import DatasetError, FileError
from stereogauge.io.content import fetch
from stereogauge.io.remote import RemotePath, is_in_object_store, local_copy, place

ZIP_LIMITS = Limits(entries=200_000, size=64 << 30)
LARGEST_TEXT = 1 << 20


@dataclass(frozen=True)
class ResultFiles:
    """`names` are relative, with forward slashes, sorted; `title` is what the folder or zip is called."""

    root: Path
    title: str
    names: tuple[str, ...]
    zipped: bool = False

    def path(self, name: str) -> str | Path:
        """Where `name` can be read; text rather than a `Path` where that is possible, since there may be many files."""
        if self.zipped:
            return f"zip://{name}::{self.root.resolve().as_posix()}"
        return self.root / name if self._folder is None else self._folder + name

    @functools.cached_property
    def _folder(self) -> str | None:
        """The folder, to put before a name; None in an object store, whose paths know the sizes of their files."""
        return None if is_in_object_store(self.root) else os.path.join(self.root, "")

    def text(self, name: str) -> str:
        """The content of a small text file."""
        content = fetch(self.path(name), largest=LARGEST_TEXT)
        if content.size > LARGEST_TEXT:
            raise FileError(
                f"{content.name} has {content.size} bytes; a text beside results has at most {LARGEST_TEXT}."
            )
        try:
            return bytes(content.data).decode("utf-8")
        except UnicodeDecodeError:
            raise FileError(f"{content.name} is not UTF-8 text.") from None


def list_results(path: str | os.PathLike[str]) -> ResultFiles:
    """The files below a folder or in a zip; hidden ones and links to folders are left out."""
    root = place(path)
    if root.is_dir():
        return ResultFiles(root, root.resolve().name, tuple(sorted(n for n in _below(root) if not is_junk(n))))
    if not root.exists():
        raise DatasetError(f"The results {root} do not exist.")
    if root.suffix.lower() != ".zip":
        raise DatasetError(f"{root} is neither a folder of results nor a .zip of one.")
    archive = local_copy(root, str(root)) if is_in_object_store(root) else root
    names = member_names(archive, ZIP_LIMITS)
    return ResultFiles(root, root.stem, tuple(sorted(name for name in names if not is_junk(name))), zipped=True)


def _below(root: os.PathLike[str]) -> Iterator[str]:
    """Relative names of all files; one path object per folder, since there may be many thousand files."""
    if isinstance(root, RemotePath):
        yield from root.names_below()
        return
    for folder, _, names in os.walk(root):
        relative = Path(folder).relative_to(root).as_posix()
        prefix = "" if relative == "." else f"{relative}/"
        yield from (prefix + name for name in names)


# Folders that only hold what their parent is about, then those with something else than the left view's disparity.
LEFT_FOLDERS = frozenset(
    {"disp_0", "disp1_left", "data", "left", "disparity", "disparities", "disp", "results", "training"}
    | {f"training{size}" for size in "qhf"}
    | {f"test{size}" for size in "qhf"}
)
RIGHT_FOLDERS = frozenset({"right", "disp1_right"})
CONFIDENCE_FOLDERS = frozenset({"confidence"})
OTHER_FOLDERS = frozenset({"disp_1", "flow"})
FIELDS = ("algorithm", "site", "scene")


class Recognised(NamedTuple):
    """`kind`: map, right, confidence or time; `algorithm`: "" for the folder itself; `part` tells confidences apart."""

    name: str
    algorithm: str
    scene: str
    kind: str = "map"
    part: str = ""


def scene_names(ids: Iterable[str]) -> Mapping[str, str]:
    """How scenes may be written in file names, in lower case: their ids, and KITTI's frames also without `_10`."""
    known: dict[str, str] = {}
    for scene in ids:
        known.setdefault(scene.lower(), scene)
        known.setdefault(scene.lower().removesuffix("_10"), scene)
    return known


def recognise(name: str, scenes: Mapping[str, str]) -> Recognised | None:
    """What the file `name` is, or None."""
    folder = name.rpartition("/")[0]
    return _submission(name, folder, scenes) or _one_file_a_scene(name, folder, scenes)


def _submission(name: str, folder: str, scenes: Mapping[str, str]) -> Recognised | None:
    """Middlebury v3: disp0ALG.pfm, disp1ALG.pfm (right view), timeALG.txt; without ALG the folder above names it."""
    above, _, own = folder.rpartition("/")
    scene = scenes.get(own.lower())
    if scene is None:
        scene, above = _with_site(above, own, scenes)
    if scene is None:
        return None
    path = PurePosixPath(name)
    found = re.fullmatch(r"disp([01])(.*)", path.stem)
    if found and path.suffix.lower() == ".pfm" and found.group(2) != "GT":
        kind = "map" if found.group(1) == "0" else "right"
        return Recognised(name, found.group(2) or _naming(_parts(above)), scene, kind)
    found = re.fullmatch(r"time(.*)", path.stem)
    if found and path.suffix.lower() == ".txt":
        return Recognised(name, found.group(1) or _naming(_parts(above)), scene, "time")
    return None


def _one_file_a_scene(name: str, folder: str, scenes: Mapping[str, str]) -> Recognised | None:
    stem, suffix = map_name(name)
    scene = scenes.get(stem.lower())
    if scene is None and folder:
        repeated = folder.rpartition("/")[2] + "_"  # Spring's files begin with the name of their folder
        known = (_with_site(folder, own, scenes) for own in (stem, stem.removeprefix(repeated)))
        scene, folder = next((found for found in known if found[0] is not None), (None, folder))
    meaning = _meaning(folder) if scene is not None and suffix in MAP_SUFFIXES else None
    return None if scene is None or meaning is None else Recognised(name, meaning[0], scene, *meaning[1:])


def _with_site(folder: str, own: str, scenes: Mapping[str, str]) -> tuple[str | None, str]:
    """The scene `SITE-OWN`, and its folder without the site's: scenes of several sites lie in a folder each."""
    parts = _parts(folder)
    site = len(parts) - 1
    while site >= 0 and parts[site].lower() in LEFT_FOLDERS | RIGHT_FOLDERS:
        site -= 1
    scene = scenes.get(f"{parts[site]}-{own}".lower()) if site >= 0 else None
    return scene, "/".join((*parts[:site], *parts[site + 1 :])) if site >= 0 else ""


@functools.lru_cache(1024)
def _meaning(folder: str) -> tuple[str, str, str] | None:
    """Algorithm, kind and part of the maps in a folder; None where they are something else. Many files share one."""
    parts = _parts(folder)
    lower = [part.lower() for part in parts]
    if not OTHER_FOLDERS.isdisjoint(lower):
        return None
    at = next((index for index, part in enumerate(lower) if part in CONFIDENCE_FOLDERS), None)
    if at is not None:
        return _naming(parts[:at]), "confidence", "/".join(parts[at + 1 :])
    return _naming(parts), "map" if RIGHT_FOLDERS.isdisjoint(lower) else "right", ""


def _parts(folder: str) -> list[str]:
    return [part for part in folder.split("/") if part not in ("", ".")]


def _naming(folders: Sequence[str]) -> str:
    return "/".join(folder for folder in folders if folder.lower() not in LEFT_FOLDERS | RIGHT_FOLDERS)


def recognise_by(template: str, name: str, scenes: Mapping[str, str]) -> Recognised | None:
    """What the file `name` is under a path template such as `{algorithm}/{scene}/disparity.pfm`.

    Without `{algorithm}` the folders that the template begins with name it, as in the layouts that are known.
    """
    found = template_pattern(template).fullmatch(name)
    fields = found.groupdict() if found is not None else {}
    scene = scenes.get("-".join(filter(None, (fields.get("site"), fields.get("scene")))).lower())
    if scene is None:
        return None
    folders = _parts(template.partition("{")[0].rpartition("/")[0])
    return Recognised(name, fields.get("algorithm") or _naming(folders), scene)


def check_results_template(template: str, origin: str) -> None:
    """Refuse a template without `{scene}` or with unknown fields."""
    check_template(template, origin, FIELDS)
    if "{scene}" not in template:
        raise DatasetError(
            f"{origin}: the path template {template!r} needs {{scene}}, as in '{{algorithm}}/{{scene}}.png'."
        )
