"""Which algorithm and scene a result file belongs to, from its name alone.

Recognised without configuration: Middlebury v3 submissions (`SCENE/disp0ALG.pfm`, `timeALG.txt`), KITTI's
(`disp_0/000000_10.png`, `data/…`), and one folder per algorithm with one file per scene (`ALG/SCENE.png`), also several
such folders. Anything else needs a path template.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from stereogauge.datasets.layout import MAP_SUFFIXES, check_template, map_name, template_pattern
from stereogauge.errors import DatasetError

# Folders that only hold what their parent is about, then those with something else than the left view's disparity.
LEFT_FOLDERS = frozenset(
    {"disp_0", "data", "left", "disparity", "disparities", "disp", "results", "training"}
    | {f"training{size}" for size in "qhf"}
    | {f"test{size}" for size in "qhf"}
)
RIGHT_FOLDERS = frozenset({"right"})
CONFIDENCE_FOLDERS = frozenset({"confidence"})
OTHER_FOLDERS = frozenset({"disp_1", "flow"})
FIELDS = ("algorithm", "scene")


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
    meaning = _meaning(folder) if scene is not None and suffix in MAP_SUFFIXES else None
    return None if scene is None or meaning is None else Recognised(name, meaning[0], scene, *meaning[1:])


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
    """What the file `name` is under a path template such as `{algorithm}/{scene}/disparity.pfm`."""
    found = template_pattern(template).fullmatch(name)
    scene = scenes.get(found.group("scene").lower()) if found else None
    if found is None or scene is None:
        return None
    return Recognised(name, found.groupdict().get("algorithm") or "", scene)


def check_results_template(template: str, origin: str) -> None:
    """Refuse a template without `{scene}` or with unknown fields."""
    check_template(template, origin, FIELDS)
    if "{scene}" not in template:
        raise DatasetError(
            f"{origin}: the path template {template!r} needs {{scene}}, as in '{{algorithm}}/{{scene}}.png'."
        )
