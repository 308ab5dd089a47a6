"""Any folder as a dataset, described by a short TOML file with path templates.

name = "my-data"
[paths]                                   # {scene} differs between scenes; ground_truth or left is required
ground_truth = "{scene}/disp.png"
left = "{scene}/left.png"
right = "{scene}/right.png"
calibration = "{scene}/calib.txt"         # as Middlebury's
[paths.masks]
nonocc = "{scene}/visible.png"            # 255 = belongs to it
[labels]                                  # classes of the label image [paths] labels = "{scene}/classes.png"
glass = 7                                 # the region label:glass
ground = [1, 2]                           # several values of one class
[ground_truth]
encoding = "middlebury"                   # "depth-m" and "depth-mm" take the calibration
scale = 8                                 # or a table by scene
unknown = [255]                           # stored values that mean unknown
[calibration]
focal = 700.0                             # px
baseline = 0.12                           # metres
[scenes]
order = ["first", "second"]
resolution = 1.0                          # by default the image width / 3000
border = 0
[tags]                                    # for selections such as --scenes tag:weather=rain
camera = "rig 2"                          # of all scenes
weather = { first = "rain", second = ["sun", "wind"] }
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from stereogauge.datasets.calibration import read_middlebury_calibration
from stereogauge.datasets.declaration import FOLDER as FOLDER_ID
from stereogauge.datasets.declaration import MANIFEST, DatasetFamily
from stereogauge.datasets.discovery import folder_layout
from stereogauge.datasets.layout import check_template, has_manifest, in_order, template_pattern, wrong_folder
from stereogauge.datasets.results.files import list_results
from stereogauge.errors import DatasetError, unknown_name
from stereogauge.io.encodings import is_depth
from stereogauge.io.files import DisparityFile, ImageFile, LabelImage, MaskFile
from stereogauge.model import Calibration, Dataset, Scene
from stereogauge.tags import as_tags

FILENAME = MANIFEST
_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "paths": ("ground_truth", "ground_truth_right", "left", "right", "calibration", "labels", "masks"),
    "labels": (),
    "ground_truth": ("encoding", "scale", "offset", "unknown"),
    "calibration": ("focal", "baseline", "doffs", "ndisp"),
    "scenes": ("order", "resolution", "border"),
}
_TEXTS = ("name", "version")
_FREE = ("tags",)
"""Sections whose entries have names of the user's choice."""


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file, or an error that says where it is wrong."""
    try:
        return parse_toml(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError:
        raise DatasetError(f"{path} is not a TOML file: it is not UTF-8 text.") from None
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}.") from None


def parse_toml(text: str, origin: str) -> dict[str, Any]:
    """The content of TOML text, or an error that says where it is wrong."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DatasetError(f"{origin} is not valid TOML: {error}.") from None


def for_scene(value: Any, scene_id: str, key: str, path: Path) -> Any:
    """`value` itself, or its entry for the scene when it is a table by scene."""
    if not isinstance(value, dict):
        return value
    if scene_id not in value:
        raise DatasetError(
            f"{path}: the table {key} has no entry for scene {scene_id!r}; it has: {', '.join(value) or 'none'}."
        )
    return value[scene_id]


def number_for_scene(section: Mapping[str, Any], key: str, scene_id: str, path: Path) -> float | None:
    """A number that may be given once or by scene; None when it is not there."""
    value = for_scene(section.get(key), scene_id, key, path)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DatasetError(f"{path}: {key} should be a number or a table of numbers by scene, found {value!r}.")
    return float(value)


def _checked(path: Path) -> dict[str, Any]:
    content = read_toml(path)
    for key, value in content.items():
        if key not in (*_SECTIONS, *_TEXTS, *_FREE):
            raise unknown_name(f"entry of {path}", key, (*_TEXTS, *_SECTIONS, *_FREE))
        if (key not in _TEXTS) != isinstance(value, dict):
            raise DatasetError(f"{path}: {key} should be {'text' if key in _TEXTS else 'a table'}, found {value!r}.")
        for inner in value if key in _SECTIONS else ():
            if _SECTIONS[key] and inner not in _SECTIONS[key]:
                raise unknown_name(f"entry of [{key}] in {path}", inner, _SECTIONS[key])
    _check_labels(content, path)
    order = content.get("scenes", {}).get("order", [])
    if not isinstance(order, list) or not all(isinstance(entry, str) for entry in order):
        raise DatasetError(f"{path}: order should be a list of scene names, found {order!r}.")
    return content


def _check_labels(content: Mapping[str, Any], path: Path) -> None:
    """A label image has classes, classes have a label image, and their values are whole numbers."""
    classes, image = content.get("labels"), content.get("paths", {}).get("labels")
    if (classes is None) != (image is None):
        raise DatasetError(
            f"{path}: a label image is labels = '{{scene}}/classes.png' under [paths] together with a table [labels] "
            f"of class names and values such as glass = 7; found only the {'path' if classes is None else 'table'}."
        )
    for name, value in (classes or {}).items():
        values = value if isinstance(value, list) and value else [value]
        if not all(isinstance(one, int) and not isinstance(one, bool) for one in values):
            raise DatasetError(
                f"{path}: the class {name} of [labels] should be a whole number or a list of them, found {value!r}."
            )


def _labels(scene_id: str, files: Mapping[str, Mapping[str, Path]], content: Mapping[str, Any]) -> LabelImage | None:
    found = files.get("labels", {}).get(scene_id)
    if found is None:
        return None
    classes = content.get("labels", {})
    return LabelImage(found, {n: tuple(value) if isinstance(value, list) else value for n, value in classes.items()})


def _templates(paths: Mapping[str, Any], path: Path) -> dict[str, str]:
    """The path templates by part; those of masks are called "mask NAME"."""
    masks = paths.get("masks", {})
    if not isinstance(masks, dict):
        raise DatasetError(f"{path}: masks should be a table such as nonocc = '{{scene}}/nonocc.png', found {masks!r}.")
    templates = {key: value for key, value in paths.items() if key != "masks"}
    templates |= {f"mask {name}": value for name, value in masks.items()}
    for key, template in templates.items():
        if not isinstance(template, str):
            raise DatasetError(f"{path}: the path of {key} should be text such as '{{scene}}.png', found {template!r}.")
        check_template(template, str(path), ("scene",))
    if not ("ground_truth" in templates or "left" in templates):
        raise DatasetError(f"{path} needs a template ground_truth or left under [paths], as '{{scene}}/disp.pfm'.")
    return templates


def matching(root: Path, template: str) -> dict[str, Path]:
    """The files below `root` that a template with `{scene}` matches, by scene."""
    pattern = template_pattern(template)
    if "{scene}" not in template:
        return {root.name: root / template} if (root / template).is_file() else {}
    found = {}
    for path in root.glob(template.replace("{scene}", "*")):
        match = pattern.fullmatch(path.relative_to(root).as_posix())
        if match and path.is_file():
            found[match.group("scene")] = path
    return found


def _scene(
    scene_id: str, files: Mapping[str, Mapping[str, Path]], content: Mapping[str, Any], path: Path, dataset: str
) -> Scene:
    truth_options = content.get("ground_truth", {})
    encoding = for_scene(truth_options.get("encoding"), scene_id, "encoding", path)
    scale = number_for_scene(truth_options, "scale", scene_id, path)
    offset = number_for_scene(truth_options, "offset", scene_id, path) or 0.0
    calibration = _calibration(scene_id, files, content, path)

    def disparity(part: str) -> DisparityFile | None:
        found = files.get(part, {}).get(scene_id)
        if found is None:
            return None
        return DisparityFile(
            found,
            encoding=encoding,
            scale=scale,
            offset=offset,
            unknown=_unknown(truth_options.get("unknown", []), path),
            calibration=calibration if is_depth(encoding) else None,
        )

    def picture(part: str) -> ImageFile | None:
        found = files.get(part, {}).get(scene_id)
        return None if found is None else ImageFile(found)

    options = content.get("scenes", {})
    return Scene(
        scene_id,
        gt=disparity("ground_truth"),
        gt_right=disparity("ground_truth_right"),
        left=picture("left"),
        right=picture("right"),
        calibration=calibration,
        masks={
            part.removeprefix("mask "): MaskFile(found[scene_id], value=255)
            for part, found in files.items()
            if part.startswith("mask ") and scene_id in found
        },
        labels=_labels(scene_id, files, content),
        dataset=dataset,
        resolution=number_for_scene(options, "resolution", scene_id, path),
        border=int(number_for_scene(options, "border", scene_id, path) or 0),
        metadata={} if scale is None else {"scale": scale},
        tags=_tags(content.get("tags", {}), scene_id, path),
    )


def _tags(section: Mapping[str, Any], scene_id: str, path: Path) -> dict[str, tuple[str, ...]]:
    """The tags of all scenes and those that a table gives to this one; a scene may be without."""
    given = {name: value.get(scene_id) if isinstance(value, dict) else value for name, value in section.items()}
    return as_tags({name: value for name, value in given.items() if value is not None}, str(path))


def _unknown(value: Any, path: Path) -> tuple[float, ...]:
    values = value if isinstance(value, list) else [value]
    if any(isinstance(entry, bool) or not isinstance(entry, int | float) for entry in values):
        raise DatasetError(f"{path}: unknown should be a list of stored values such as [0, -1], found {value!r}.")
    return tuple(float(entry) for entry in values)


def _calibration(
    scene_id: str, files: Mapping[str, Mapping[str, Path]], content: Mapping[str, Any], path: Path
) -> Calibration:
    """The scene's own calibration file, over which the manifest's single values go."""
    own = files.get("calibration", {}).get(scene_id)
    read = Calibration() if own is None else read_middlebury_calibration(own)
    section = content.get("calibration", {})
    given: dict[str, Any] = {key: number_for_scene(section, key, scene_id, path) for key in section}
    if "ndisp" in given:
        given["ndisp"] = int(given["ndisp"])
    return replace(read, **given)


def found_layout(root: Path) -> dict[str, Any] | None:
    """What the manifest of a folder without one would say, by the names of its files; None where it has one."""
    if not root.is_dir() or has_manifest(root, FILENAME):
        return None
    return folder_layout(root, list_results(root).names)


def load(root: Path, variant: str, **options: Any) -> Dataset:
    """The dataset that `root`/stereogauge.toml, or the manifest `root` itself, describes; paths start there.

    Without a manifest the layout is found by the names of the files. `options` go before what it says of ground truth.
    """
    path = root if root.is_file() else root / FILENAME
    found_content = found_layout(root)
    if found_content is None and not (root.is_file() or has_manifest(root, FILENAME)):
        raise wrong_folder("folder", root, f"the manifest {FILENAME}, or maps such as SCENE.pfm")
    content = found_content or _checked(path)
    given = {key: value for key, value in options.items() if value is not None}
    content = {**content, "ground_truth": {**content.get("ground_truth", {}), **given}}
    folder = path.parent
    templates = _templates(content.get("paths", {}), path)
    files = {part: matching(folder, template) for part, template in templates.items()}
    found = files.get("ground_truth") or files.get("left") or {}
    order = content.get("scenes", {}).get("order", [])
    absent = [name for name in order if name not in found]
    if not found or absent:
        wanted = templates.get("ground_truth") or templates["left"]
        raise wrong_folder("folder", folder, f"{wanted} ({', '.join(absent) or 'any scene'}), as {path.name} says")
    for tag, value in content.get("tags", {}).items():
        strange = [scene for scene in (value if isinstance(value, dict) else ()) if scene not in found]
        if strange:
            raise unknown_name(f"scene under the tag {tag} in {path}", strange[0], found)
    name = str(content.get("name") or folder.resolve().name)
    scenes = [_scene(scene_id, files, content, path, name) for scene_id in (order or in_order(found, ()))]
    return Dataset(name, scenes, version=str(content.get("version", "")), root=folder)


FOLDER = DatasetFamily(
    id=FOLDER_ID,
    name="Any folder with a manifest",
    layout=(
        f"a manifest {FILENAME} with path templates such as ground_truth = '{{scene}}/disp.pfm'; see the "
        f"documentation of datasets"
    ),
    terms="your own data",
    citation="your own data",
    obtain=f"`stereogauge datasets init FOLDER` writes {FILENAME} into your folder.",
    load=load,
    options={"encoding": "of the ground truth", "scale": "stored value per pixel of the ground truth"},
)
