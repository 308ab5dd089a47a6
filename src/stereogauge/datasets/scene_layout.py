"""Scenes declared by path templates: what the families of datasets have in common.

A family says where the files of a scene are, as templates below a folder, and how they are encoded:

    SceneLayout(
        id="{sequence}-{frame}",
        truth=DisparityFile("disparities/{sequence}/{frame}.png", encoding="sintel"),
        left="{variant}_left/{sequence}/{frame}.*",
        right="{variant}_right/{sequence}/{frame}.*",
        masks={"nonocc": MaskFile("occlusions/{sequence}/{frame}.png", value=0)},
    )

`{field}` matches within one part of a path, `{field**}/` any number of folders (also none), and `.*` at the end of an
image means any usual suffix; any suffix may be written in capital letters. Of several templates in a tuple the first
that is a file counts.
"""

from __future__ import annotations

import glob
import itertools
import os
import re
from collections.abc import Callable, Container, Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from stereogauge.datasets.layout import file_at, image, in_order, is_junk, paths_like, subfolders, template_pattern
from stereogauge.errors import DatasetError
from stereogauge.io.files import DisparityFile, FileMask, ImageFile
from stereogauge.model import Calibration, Scene, link_frames

Fields: TypeAlias = Mapping[str, str]
Templates: TypeAlias = str | tuple[str, ...]
Value = TypeVar("Value")
Argument = TypeVar("Argument", bound=Hashable)
ANY_SUFFIX = ".*"
DEPTH = "inverse"
PARENT, PARENT_ITSELF = "../", ".."


class FoundScene(Struct, frozen=True, eq=False):
    """One scene that was found: the folder that its templates start from, the folder that the user named, the fields.

    `dataset` is the name of the dataset that the scene belongs to.
    """

    base: Path
    root: Path
    fields: Fields
    dataset: str
    cache: dict[Any, Any] = {}

    def once(self, read: Callable[[Argument], Value], argument: Argument) -> Value:
        """`read(argument)`, computed once for all scenes of a dataset, which may share a file."""
        if argument not in self.cache:
            self.cache[argument] = read(argument)
        found: Value = self.cache[argument]
        return found

    def find(self, *templates: str) -> Path | None:
        """The first of the templates that is a file."""
        for template in filter(None, templates):
            text = template.replace("**}", "}").format(**self.fields).lstrip("/").replace("//", "/")
            path = (self.base.parent if text.startswith(PARENT) else self.base) / text.removeprefix(PARENT)
            any_image = text.endswith(ANY_SUFFIX)
            found = image(path.parent, path.name.removesuffix(ANY_SUFFIX)) if any_image else file_at(path)
            if found is not None:
                return found
        return None


class SceneLayout(Struct, frozen=True):
    """Where the files of a scene are and how they are encoded; a path in any of the declared files is a template.

    `each` names the files that scenes are found by, the ground truth unless it is given; `needs` the parts without
    which there is no scene. Where `pairs` is true, one image without the other is an error. The scale of a map in the
    encoding `inverse` is given in units of depth per metre; f·B of the calibration is multiplied to it. `decode`
    completes a map with what belongs to the scene, such as its scale. `derive` adds fields to those of the path, or
    returns None where the file belongs to no scene. `details` gives further arguments of `Scene`. With `film`, scenes
    that differ only in the field `frame`, which ends with a number, are the frames of a film.
    """

    id: str = "{scene}"
    truth: DisparityFile | tuple[DisparityFile, ...] = ()
    truth_right: DisparityFile | tuple[DisparityFile, ...] = ()
    truth_fine: DisparityFile | tuple[DisparityFile, ...] = ()
    left: Templates = ()
    right: Templates = ()
    views: Mapping[float, str] = {}
    masks: Mapping[str, FileMask | tuple[FileMask, ...]] = {}
    calibration: Calibration | Callable[[FoundScene], Calibration] | None = None
    decode: Callable[[DisparityFile, FoundScene, Calibration | None], DisparityFile] | None = None
    each: Templates = ()
    derive: Callable[[FoundScene], Fields | None] | None = None
    details: Callable[[FoundScene], Mapping[str, Any]] | None = None
    needs: tuple[str, ...] = ()
    pairs: bool | Callable[[FoundScene], bool] = False
    film: bool = False

    def scenes(self, base: Path, root: Path, dataset: str, given: Fields) -> list[Scene]:
        """The scenes below `base`; the fields in `given` have these values in every template."""
        found: dict[str, Scene] = {}
        frames: list[tuple[str, int, Scene]] = []
        cache: dict[Any, Any] = {}
        for fields in self._matches(base, given):
            place = FoundScene(base, root, fields, dataset, cache)
            more = self.derive(place) if self.derive is not None else {}
            if more is None:
                continue
            place = replace(place, fields={**fields, **more})
            name = "-".join(filter(None, self.id.format(**place.fields).split("/"))).strip("-")
            if name not in found and (scene := self._scene(name, place)) is not None:
                found[name] = scene
                number = re.search(r"\d+$", place.fields.get("frame", "")) if self.film else None
                if number is not None:
                    film = self.id.format(**{**place.fields, "frame": ""}).strip("-/")
                    frames.append((film or dataset, int(number[0]), scene))
        link_frames(frames)
        return list(found.values())

    def _matches(self, base: Path, given: Fields) -> Iterator[Fields]:
        for template in _several(self.each) or tuple(str(file.path) for file in _several(self.truth)):
            pattern = _pattern(template, given)
            for path in paths_like(base, _glob(template, given)):
                name = path.relative_to(base).as_posix()
                match = None if is_junk(name) else pattern.fullmatch(name)
                if match and path.is_file():
                    yield {**given, **{name: value or "" for name, value in match.groupdict().items()}}

    def _scene(self, name: str, place: FoundScene) -> Scene | None:
        left, right = (place.find(*_several(templates)) for templates in (self.left, self.right))
        maps = {"gt": self.truth, "gt_right": self.truth_right, "gt_fine": self.truth_fine}
        parts: dict[str, Any] = {
            **{part: _at_place(declared, place) for part, declared in maps.items()},
            "left": None if left is None else ImageFile(left),
            "right": None if right is None else ImageFile(right),
        }
        missing = [part for part in ("left", "right") if parts[part] is None]
        if len(missing) == 1 and (self.pairs(place) if callable(self.pairs) else self.pairs):
            path = place.base / _several(getattr(self, missing[0]))[0].format(**place.fields)
            raise DatasetError(
                f"{path.parent} lacks {path.name}; put it there, or move the folder away to skip the scene."
            )
        if any(parts[part] is None for part in self.needs):
            return None
        calibration = self.calibration(place) if callable(self.calibration) else self.calibration
        views = {position: place.find(template) for position, template in self.views.items()}
        arguments: dict[str, Any] = {
            **parts,
            **{part: self._map(parts[part], place, calibration) for part in maps if parts[part] is not None},
            "calibration": calibration,
            "masks": {name: made for name, mask in self.masks.items() if (made := _at_place(mask, place)) is not None},
            "views": {position: ImageFile(path) for position, path in views.items() if path is not None},
            **(self.details(place) if self.details is not None else {}),
        }
        return Scene(name, dataset=place.dataset, **arguments)

    def _map(self, file: DisparityFile, place: FoundScene, calibration: Calibration | None) -> DisparityFile:
        masks = tuple(path for mask in file.masks if (path := place.find(str(mask))) is not None)
        if file.encoding == DEPTH and calibration is not None and calibration.focal_baseline is not None:
            file = replace(file, scale=calibration.focal_baseline * (file.scale or 1.0))
        file = replace(file, masks=masks)
        return file if self.decode is None else self.decode(file, place, calibration)


def calibration_in(template: str, read: Callable[[Path], Calibration]) -> Callable[[FoundScene], Calibration]:
    """What `read` finds in the calibration file of a scene, which scenes may share; unknown where there is none."""

    def calibration(place: FoundScene) -> Calibration:
        path = place.find(template)
        return Calibration() if path is None else place.once(read, path)

    return calibration


def without_truth(layout: SceneLayout, each: str, split: str = "test") -> SceneLayout:
    """The same scenes of the part `split` of a dataset, which has no ground truth: they are found by an image."""

    def derive(place: FoundScene) -> Fields | None:
        if place.fields["split"] != split:
            return None
        return {} if layout.derive is None else layout.derive(place)

    return replace(layout, each=each, derive=derive, needs=("left",))


class SceneFolders(Struct, frozen=True):
    """Where a family keeps its scenes: the layouts, and the folders that may hold them.

    `roots` are templates of folders below the one that the user names: "" is that folder itself, `../NAME` that folder
    where this is its name, `..` says that it may be a scene. The first with scenes counts, or all with `all_roots`.
    `choices` are the values of the options, which become fields; the first is the default, and "" leaves the field
    open. The field `variant` is the variant; `fields` gives more of them by variant. Of a scene that fits several
    layouts the first counts. `order` lists ids in the dataset's own order, which others follow by name; None keeps the
    order of the paths.
    """

    layouts: SceneLayout | tuple[SceneLayout, ...]
    roots: tuple[str, ...] = ("",)
    choices: Mapping[str, tuple[str, ...]] = {}
    fields: Mapping[str, Fields] = {}
    all_roots: bool = False
    order: tuple[str, ...] | None = None

    def checked(self, name: str, options: Mapping[str, str]) -> dict[str, str]:
        """The options of the dataset `name` as fields; those that are open are absent."""
        given = {option: options.get(option, values[0]) for option, values in self.choices.items()}
        for option, value in given.items():
            if value not in self.choices[option]:
                allowed = " or ".join(repr(one) for one in self.choices[option] if one)
                raise DatasetError(f"The {option} of {name} is {allowed}, not {value!r}.")
        return {option: value for option, value in given.items() if value}

    def scenes(self, root: Path, titles: Mapping[str, str], given: Fields) -> tuple[str, list[Scene]]:
        """The first variant with scenes in `root`, and these; `titles` are the names of the datasets by variant."""
        found: dict[str, Scene] = {}
        variant = next(iter(titles))
        for template, tried in itertools.product(self.roots, titles):
            if found and not self.all_roots:
                break
            variant = tried
            fields = {**given, **self.fields.get(variant, {}), "variant": variant}
            base = _base(root, template.format(**fields), variant, titles)
            if base is None:
                continue
            if template == PARENT_ITSELF:
                fields["scene"] = root.name
            for layout in _several(self.layouts):
                for scene in layout.scenes(base, root, titles[variant], fields):
                    found.setdefault(scene.id, scene)
        ids = list(found) if self.order is None else in_order(found, self.order)
        return variant, [found[one] for one in ids]


def _base(root: Path, text: str, variant: str, variants: Container[str]) -> Path | None:
    """The folder of scenes of a variant that a template of `roots` means, if there is one."""
    if text == PARENT_ITSELF:
        return root.parent
    if text.startswith(PARENT):
        return root if root.name == text[len(PARENT) :] else None
    if not text:  # a folder that is called as another variant is not this one
        return None if root.name in variants and root.name != variant else root
    if (root / text).is_dir():
        return root / text
    return next((folder for folder in subfolders(root) if folder.name.lower() == text.lower()), None)


def _several(value: Value | tuple[Value, ...]) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,)


def _at_place(declared: Any, place: FoundScene) -> Any:
    """The first of the declared files that exists, with its template replaced by the path; None where none does."""
    found = ((one, place.find(str(one.path))) for one in _several(declared))
    return next((replace(one, path=path) for one, path in found if path is not None), None)


def _pattern(template: str, given: Fields) -> re.Pattern[str]:
    """The regular expression of a template, whose suffix may be written in capital letters."""
    stem, suffix = os.path.splitext(template)
    if "{" in suffix:
        return template_pattern(template, given)
    end = r"\.\w+" if suffix == ANY_SUFFIX else re.escape(suffix)
    return re.compile(f"{template_pattern(stem, given).pattern}(?i:{end})")


def _glob(template: str, given: Fields) -> str:
    """The pattern of `glob` that finds at least what a template matches."""
    for name, value in given.items():
        template = template.replace(f"{{{name}}}", glob.escape(value))
    stem, suffix = os.path.splitext(template)
    if suffix and "{" not in suffix:
        template = stem + ANY_SUFFIX
    parts = ["**" if part.endswith("**}") else re.sub(r"\{[^}]*\}", "*", part) for part in template.split("/")]
    return "/".join(parts)
