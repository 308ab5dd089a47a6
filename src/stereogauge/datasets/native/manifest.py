"""Any folder as a dataset, described by a short TOML file with path templates.

name = "my-data"
[paths]                                   # {scene} differs between scenes, {site} between folders of them
ground_truth = "{scene}/disp.png"
left = "{scene}/left.png"
right = "{scene}/right.png"
calibration = "{scene}/calib.txt"         # or OpenCV YAML/XML, ROS camera_info, Kalibr, JSON; see own-data
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
film = false                              # whether scenes, in their order, are the frames of one film
[tags]                                    # for selections such as --scenes tag:weather=rain
camera = "rig 2"                          # of all scenes
weather = { first = "rain", second = ["sun", "wind"] }
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec.structs import asdict, replace

from stereogauge.datasets.calibration import calibration_of, read_calibration
from stereogauge.datasets.declaration import FOLDER as FOLDER_ID
from stereogauge.datasets.declaration import MANIFEST, DatasetFamily
from stereogauge.datasets.layout import (
    check_template,
    folder_layout,
    has_manifest,
    in_order,
    list_results,
    wrong_folder,
)
from stereogauge.datasets.results.manifest import Number, for_scene, values_of_scene
from stereogauge.datasets.scene_layout import FoundScene, SceneLayout
from stereogauge.errors import DatasetError, unknown_name
from stereogauge.io.encodings import is_depth
from stereogauge.io.files import DisparityFile, LabelFile, MaskFile
from stereogauge.loading import Declaration, convert, entry, read_toml
from stereogauge.model import Calibration, Dataset, Scene, link_frames
from stereogauge.tags import as_tags

FILENAME = MANIFEST
Tag: TypeAlias = str | tuple[str, ...]


class PathEntries(Declaration, frozen=True):
    """Table `[paths]`: where files lie; `{scene}` differs between scenes."""

    ground_truth: str = ""
    ground_truth_right: str = ""
    left: str = ""
    right: str = ""
    calibration: Annotated[str, entry("calibration files of a form that is known")] = ""
    labels: Annotated[str, entry("label images, whose classes [labels] names")] = ""
    masks: Annotated[Mapping[str, str], entry("masks by the region that they are, 255 = belongs to it")] = {}

    def check(self, origin: str) -> None:
        """Refuse templates that leave the folder, and a manifest without ground truth and images."""
        parts = [getattr(self, name) for name in self.__struct_fields__ if name != "masks"]
        for template in filter(None, (*parts, *self.masks.values())):
            check_template(template, origin, ("site", "scene"))
        if not (self.ground_truth or self.left):
            raise DatasetError(
                f"{origin} needs a template ground_truth or left under [paths], as '{{scene}}/disp.pfm'."
            )


class TruthEntries(Declaration, frozen=True):
    """Table `[ground_truth]`: what stored values mean."""

    encoding: str | Mapping[str, str] | None = None
    scale: Number = None
    offset: Number = None
    unknown: Annotated[float | tuple[float, ...], entry("stored values that mean unknown, such as [0, -1]")] = ()


class CalibrationEntries(Declaration, frozen=True):
    """Table `[calibration]`: values of all scenes or by scene, over those of calibration files."""

    focal: Annotated[Number, entry("focal length in px")] = None
    baseline: Annotated[Number, entry("distance of the cameras in m")] = None
    doffs: Annotated[Number, entry("difference of the principal points in px")] = None
    ndisp: Annotated[int | Mapping[str, int] | None, entry("number of disparities")] = None


class Scenes(Declaration, frozen=True):
    """Table `[scenes]`."""

    order: Annotated[tuple[str, ...], entry("names of scenes")] = ()
    resolution: Annotated[Number, entry("size relative to full; default: image width / 3000")] = None
    border: Annotated[Number, entry("margin in px that is not evaluated")] = None
    film: Annotated[bool, entry("whether scenes, in their order, are the frames of one film")] = False


class Manifest(Declaration, frozen=True):
    """The whole file."""

    paths: PathEntries = PathEntries()
    name: str = ""
    version: str = ""
    labels: Annotated[Mapping[str, int | tuple[int, ...]], entry("classes of the label image by name")] | None = None
    ground_truth: TruthEntries = TruthEntries()
    calibration: CalibrationEntries = CalibrationEntries()
    scenes: Scenes = Scenes()
    tags: Mapping[str, Tag | Mapping[str, Tag]] = {}


def _scene_id(place: FoundScene) -> str:
    """`SCENE`, or `SITE-SCENE` where folders of several sites hold scenes."""
    return "-".join(filter(None, (place.fields.get("site", ""), place.fields["scene"])))


def _layout(manifest: Manifest, origin: str) -> SceneLayout:
    """What a manifest declares, as a family of datasets would."""
    paths, truth, options = manifest.paths, manifest.ground_truth, manifest.scenes
    unknown = truth.unknown if isinstance(truth.unknown, tuple) else (truth.unknown,)

    def decode(file: DisparityFile, place: FoundScene, calibration: Calibration | None) -> DisparityFile:
        values = values_of_scene(truth, _scene_id(place), origin)
        return replace(file, **values, calibration=calibration if is_depth(values["encoding"]) else None)

    def details(place: FoundScene) -> dict[str, Any]:
        scene = _scene_id(place)
        scale = for_scene(truth.scale, scene, "scale", origin)
        stated = manifest.tags.items()  # of all scenes, or of those in a table
        tags = {name: value.get(scene) if isinstance(value, Mapping) else value for name, value in stated}
        return {
            "resolution": for_scene(options.resolution, scene, "resolution", origin),
            "border": int(for_scene(options.border, scene, "border", origin) or 0),
            "metadata": {} if scale is None else {"scale": scale},
            "tags": as_tags({name: value for name, value in tags.items() if value is not None}, origin),
        }

    return SceneLayout(
        id="{site}/{scene}" if "{site}" in paths.ground_truth + paths.left else "{scene}",
        truth=DisparityFile(paths.ground_truth, unknown=unknown),
        truth_right=DisparityFile(paths.ground_truth_right, unknown=unknown),
        left=paths.left,
        right=paths.right,
        masks={
            **{name: MaskFile(template) for name, template in paths.masks.items()},
            **{f"label:{name}": LabelFile(paths.labels, value) for name, value in (manifest.labels or {}).items()},
        },
        calibration=lambda place: _calibration(place, manifest, origin),
        decode=decode,
        details=details,
    )


def _calibration(place: FoundScene, manifest: Manifest, origin: str) -> Calibration:
    """The scene's own calibration file, over which the manifest's single values go."""
    own, entries = place.find(manifest.paths.calibration), manifest.calibration
    read = Calibration() if own is None else read_calibration(own)
    names = entries.__struct_fields__
    stated = {key: for_scene(getattr(entries, key), _scene_id(place), key, origin) for key in names}
    given = {key: value for key, value in stated.items() if value is not None}
    return calibration_of(Path(origin), **{**asdict(read), **given})


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
    content = found_content or read_toml(path, "a manifest", DatasetError)
    manifest: Manifest = convert(content, Manifest, str(path), DatasetError)
    if (manifest.labels is None) != (not manifest.paths.labels):
        raise DatasetError(
            f"{path}: a label image is labels = '{{scene}}/classes.png' under [paths] together with a table [labels] "
            f"of class names and values such as glass = 7; found only the "
            f"{'path' if manifest.labels is None else 'table'}."
        )
    stated = {key: value for key, value in options.items() if value is not None}
    manifest = msgspec.structs.replace(manifest, ground_truth=msgspec.structs.replace(manifest.ground_truth, **stated))
    folder = path.parent
    manifest.paths.check(str(path))
    name = manifest.name or folder.resolve().name
    layout, found = _layout(manifest, str(path)), dict[str, Scene]()
    for template in filter(None, (manifest.paths.ground_truth, manifest.paths.left)):
        given = {} if "{scene}" in template else {"scene": folder.name}
        if not found:
            found = {scene.id: scene for scene in replace(layout, each=template).scenes(folder, folder, name, given)}
    order = manifest.scenes.order
    absent = [scene for scene in order if scene not in found]
    if not found or absent:
        wanted = manifest.paths.ground_truth or manifest.paths.left
        raise wrong_folder("folder", folder, f"{wanted} ({', '.join(absent) or 'any scene'}), as {path.name} says")
    for tag, value in manifest.tags.items():
        strange = [scene for scene in (value if isinstance(value, Mapping) else ()) if scene not in found]
        if strange:
            raise unknown_name(f"scene under the tag {tag} in {path}", strange[0], found)
    scenes = [found[scene] for scene in order or in_order(found, ())]
    if manifest.scenes.film:
        link_frames((name, number, scene) for number, scene in enumerate(scenes))
    return Dataset(name, scenes, version=manifest.version, root=folder)


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
    options={
        "encoding": "of the ground truth",
        "scale": "stored value per pixel of the ground truth",
        "unknown": "stored values of the ground truth that mean unknown",
    },
)
