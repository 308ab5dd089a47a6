"""What a family of datasets declares about itself, and how a dataset is loaded by name.

A family is one object: its id, how its folder must look, terms, citation, where to get it, and the function that lists
a folder as scenes. Help, the catalogue and the downloads all read it. Other packages add theirs through the entry-point
group `stereogauge.datasets`.
"""

from __future__ import annotations

import functools
import math
import os
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from msgspec import Struct

from stereogauge.datasets.layout import has_manifest, subfolders, wrong_folder
from stereogauge.datasets.scene_layout import SceneFolders, SceneLayout
from stereogauge.errors import (
    DatasetError,
    MatcherError,
    NotApplicable,
    StereogaugeError,
    StereogaugeWarning,
    unknown_name,
)
from stereogauge.io.remote import is_in_object_store, place
from stereogauge.model import Dataset, Scene
from stereogauge.registry import Registry, check_call

PACKAGE = "stereogauge.datasets.native"
ENTRY_POINTS = "stereogauge.datasets"
FOLDER, MANIFEST = "folder", "stereogauge.toml"
"""The family of folders of one's own, and the file that describes one."""
TRIED = 20
"""Folders in the one that was named in which a dataset is looked for, to say where it is."""

Loader = Callable[..., Dataset]


class Archive(Struct, frozen=True):
    """One official file to download.

    `target` is where it goes below the dataset's folder: the folder that a zip or tar is unpacked into, or, when
    `unpack` is false, the file itself. `size` in bytes and `sha256` are None where they are not published.
    """

    url: str
    target: str = ""
    unpack: bool = True
    size: int | None = None
    sha256: str | None = None

    @property
    def filename(self) -> str:
        """The last part of the address."""
        return self.url.rsplit("/", 1)[-1]


class DatasetFamily(Struct, frozen=True, eq=False):
    """One dataset, possibly in several variants (resolutions, colour or grey, passes).

    `scenes` declares how scenes are found in a folder. Where that is not enough, `load(root, variant, **options)` lists
    the folder and returns the dataset without reading maps or images; `variant` is "" when the user named none.
    `default` is the variant that is meant then ("" is none), and a dataset is called ID:VARIANT of any other; with
    `any_variant` it is the first with scenes, and always named. `archives` are by variant and empty where the terms
    require a registration or a person's consent. `ndisp` is how many disparities are searched in a scene that states no
    range, and `threshold` the error in px above which the dataset's own evaluation calls a pixel bad.
    """

    id: str
    name: str
    layout: str
    terms: str
    citation: str
    obtain: str
    load: Loader | None = None
    scenes: SceneFolders | SceneLayout | None = None
    variants: Mapping[str, str] = {}
    options: Mapping[str, str] = {}
    archives: Mapping[str, tuple[Archive, ...]] = {}
    homepage: str = ""
    needs_root: bool = True
    default: str = ""
    any_variant: bool = False
    ndisp: int | None = None
    threshold: float = 1.0

    def open(self, root: Path | None, variant: str = "", **options: Any) -> Dataset:
        """The dataset in the folder `root`."""
        if self.load is not None:
            check_call(
                f"The loader {getattr(self.load, '__name__', 'load')} of the dataset {self.id!r} must take the folder, "
                "the variant and the declared options; it",
                self.load,
                ("root", "variant"),
                options,
            )
            loaded = self.load(root, variant, **options)
            if not isinstance(loaded, Dataset):
                raise StereogaugeError(
                    f"The loader of the dataset {self.id!r} returned {type(loaded).__name__}; it returns a Dataset, as "
                    "sg.Dataset(name, scenes)."
                )
            return loaded
        if self.scenes is None or root is None:
            raise StereogaugeError(f"The dataset family {self.id!r} declares neither `scenes` nor `load`.")
        folders = self.scenes if isinstance(self.scenes, SceneFolders) else SceneFolders(self.scenes)
        tried = [variant] if variant else list(self.variants) if self.any_variant else [self.default]
        titles = {one: self._title(one) for one in tried}
        found, scenes = folders.scenes(root, titles, folders.checked(self.id, options))
        if not scenes:
            given = "".join(f", with {name} {value}" for name, value in options.items())
            raise wrong_folder(titles[variant] if variant else self.id, root, self.layout + given)
        others = [one for one in tried if one != found and (root / one).is_dir()]
        if others:
            warnings.warn(
                f"{root} holds {', '.join([found, *others])}: {titles[found]} was taken; write {titles[others[0]]} for "
                "another size.",
                StereogaugeWarning,
                stacklevel=2,
            )
        return Dataset(titles[found], scenes, version=found, root=root)

    def _title(self, variant: str) -> str:
        named = variant and (self.any_variant or variant != self.default)
        return f"{self.id}:{variant}" if named else self.id


@functools.cache
def families() -> Registry[DatasetFamily]:
    """Every known family by id, ours first."""
    return Registry("dataset", DatasetFamily, PACKAGE, ENTRY_POINTS)


def stated_range(scene: Scene) -> int | None:
    """The number of disparities to search: that of the scene's calibration, else its dataset's; None if unknown."""
    family = _declared(scene.dataset)
    return scene.calibration.ndisp or (family.ndisp if family else None)


def search_range(scene: Scene, given: int | None = None, *, by_truth: bool = False) -> int:
    """The number of disparities to search: as given, else as the scene's calibration or its dataset states.

    Where neither does, `by_truth` takes the ceiling of the largest true disparity plus one, which favours the matcher:
    a result shown with it says so. Otherwise the scene is refused.
    """
    stated = given if given is not None else stated_range(scene)
    if stated is not None:
        return int(stated)
    if not by_truth:
        raise MatcherError(f"Scene {scene.id!r} does not say how many disparities to search; give --ndisp.")
    known = scene.gt[np.isfinite(scene.gt)]
    if not known.size:
        raise NotApplicable(f"The ground truth of scene {scene.id!r} holds no value.")
    return max(1, math.ceil(float(known.max())) + 1)


def dataset_threshold(dataset: str) -> float:
    """The error in px above which a dataset's own evaluation calls a pixel bad; 1 where it is unknown."""
    family = _declared(dataset)
    return family.threshold if family else 1.0


def _declared(dataset: str) -> DatasetFamily | None:
    return families().get(dataset.partition(":")[0]) if dataset else None


def family_of(name: str) -> tuple[DatasetFamily, str]:
    """The family and the variant that `name` (ID or ID:VARIANT) means."""
    identifier, _, variant = name.partition(":")
    known = families()
    if identifier not in known:
        raise unknown_name("dataset", identifier, known)
    family = known[identifier]
    if variant and variant not in family.variants:
        raise unknown_name(f"variant of dataset {identifier}", variant, family.variants)
    return family, variant


def load_dataset(name: str, root: str | os.PathLike[str] | None = None, **options: Any) -> Dataset:
    """The dataset `name` (ID or ID:VARIANT) in the folder `root`, as an ordered collection of scenes.

    `root` may be a folder of an object store, `s3://BUCKET/FOLDER`.

    Only the folder is listed and its small calibration files are read; images and maps are read at their first use.
    `options` are those that the family declares, for example `truth="noc"` for KITTI.

    >>> data = sg.load_dataset("synthetic:planes", size=(48, 64), scenes=2)
    >>> [scene.id for scene in data]
    ['planes-0', 'planes-1']
    >>> data["planes-1"].gt.shape
    (48, 64)
    """
    family, variant = family_of(name)
    unknown = [option for option in options if option not in family.options]
    if unknown:
        raise unknown_name(f"option of dataset {family.id}", unknown[0], family.options)
    if not family.needs_root:
        return family.open(None if root is None else Path(root), variant, **options)
    if root is None:
        raise DatasetError(f"The dataset {name!r} needs the folder that holds it: {family.obtain}")
    folder = place(root)
    if not folder.exists():
        raise DatasetError(f"The folder {folder} of dataset {name!r} does not exist.")
    try:
        return family.open(folder, variant, **options)
    except DatasetError as error:
        inner = next((one for one in subfolders(folder)[:TRIED] if _finds_scenes(family, one, variant, options)), None)
        if inner is not None:
            raise DatasetError(f"{error} {inner} is laid out so: give that folder.") from None
        other = _better_family(family, folder)
        if other is None:
            raise
        raise DatasetError(f"{error} It looks like {other}: load it by that name.") from None


def open_dataset(text: str, **options: Any) -> Dataset:
    """The dataset of `NAME`, `NAME:ROOT` or `NAME:VARIANT:ROOT`, as the command line writes it, or of a folder.

    A folder may have a manifest, the layout of a known dataset, or file names that show its layout.
    """
    identifier, _, rest = text.partition(":")
    if identifier not in families() and (is_in_object_store(text) or Path(text).expanduser().exists()):
        folder = place(text)
        own = folder.is_file() or has_manifest(folder, MANIFEST)
        other = None if own or options else _better_family(families()[FOLDER], folder)
        return load_dataset(other or FOLDER, folder, **options)
    family, _ = family_of(identifier)
    if not family.needs_root:
        return load_dataset(text, **options)
    variant, _, root = rest.partition(":")
    # A drive of Windows looks like a variant of one letter.
    if variant in family.variants and not (os.name == "nt" and re.match(r"[A-Za-z]:[\\/]", rest)):
        return load_dataset(f"{identifier}:{variant}", root or None, **options)
    return load_dataset(identifier, rest or None, **options)


def _better_family(wrong: DatasetFamily, folder: Path) -> str | None:
    """Another family of ours that finds scenes with ground truth in this folder, if there is one.

    Families of plug-ins are used by name only: their `load` may accept any folder.
    """
    for family in families().ours.values():
        described = family.id != FOLDER or has_manifest(folder, MANIFEST)
        if family is not wrong and family.needs_root and described and _finds_scenes(family, folder):
            return family.id
    return None


def _finds_scenes(
    family: DatasetFamily, folder: Path, variant: str = "", options: Mapping[str, Any] = MappingProxyType({})
) -> bool:
    """Whether the family lists this folder and the first ground truth is really there."""
    try:
        first = next(iter(family.open(folder, variant, **options)), None)
        return first is not None and first.has("gt") and first.gt.size > 0
    except Exception:  # whatever a folder of another layout leads to
        return False
