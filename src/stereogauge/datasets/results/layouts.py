"""Which algorithm and scene a result file belongs to, from its name alone.

Recognised without configuration: Middlebury v3 submissions (`SCENE/disp0ALG.pfm`, `timeALG.txt`), KITTI's
(`disp_0/000000_10.png`, `data/…`), and one folder per algorithm with one file per scene (`ALG/SCENE.png`), also several
such folders. Anything else needs a path template.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

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


@dataclass(frozen=True)
class Recognised:
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
    path = PurePosixPath(name)
    return _submission(path, scenes) or _one_file_a_scene(path, scenes)


def _submission(path: PurePosixPath, scenes: Mapping[str, str]) -> Recognised | None:
    """Middlebury v3: disp0ALG.pfm, disp1ALG.pfm (right view), timeALG.txt; without ALG the folder above names it."""
    scene = scenes.get(path.parent.name.lower())
    if scene is None:
        return None
    above = "/".join(_naming(path.parent.parent.parts))
    found = re.fullmatch(r"disp([01])(.*)", path.stem)
    if found and path.suffix.lower() == ".pfm" and found.group(2) != "GT":
        return Recognised(str(path), found.group(2) or above, scene, "map" if found.group(1) == "0" else "right")
    found = re.fullmatch(r"time(.*)", path.stem)
    if found and path.suffix.lower() == ".txt":
        return Recognised(str(path), found.group(1) or above, scene, "time")
    return None


def _one_file_a_scene(path: PurePosixPath, scenes: Mapping[str, str]) -> Recognised | None:
    stem, suffix = map_name(path)
    scene = scenes.get(stem.lower())
    folders = [folder.lower() for folder in path.parent.parts]
    if scene is None or suffix not in MAP_SUFFIXES or OTHER_FOLDERS & set(folders):
        return None
    at = next((index for index, folder in enumerate(folders) if folder in CONFIDENCE_FOLDERS), None)
    if at is not None:
        algorithm, part = "/".join(_naming(path.parent.parts[:at])), "/".join(path.parent.parts[at + 1 :])
        return Recognised(str(path), algorithm, scene, "confidence", part)
    kind = "right" if RIGHT_FOLDERS & set(folders) else "map"
    return Recognised(str(path), "/".join(_naming(path.parent.parts)), scene, kind)


def _naming(folders: tuple[str, ...]) -> list[str]:
    return [folder for folder in folders if folder.lower() not in LEFT_FOLDERS | RIGHT_FOLDERS]


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
