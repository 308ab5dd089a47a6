"""What a scene, a dataset and a set of results are; see `stereogauge.disparity` for maps and calibrations."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, SupportsIndex, TypeAlias, overload

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from stereogauge.disparity import Calibration, DisparityMap, Image, Mask, as_disparity, is_finite_number
from stereogauge.errors import FileError, unknown_name
from stereogauge.io.files import (
    DisparitySource,
    ImageSource,
    LabelImage,
    MaskSource,
    load_disparity,
    load_image,
    load_mask,
)
from stereogauge.tags import as_tags

__all__ = [
    "Better",
    "Calibration",
    "ConfidenceKind",
    "ConfidenceMaps",
    "Dataset",
    "DisparityMap",
    "DisparitySource",
    "Image",
    "ImageSource",
    "LabelImage",
    "Mask",
    "MaskSource",
    "ResultSet",
    "Scene",
    "as_disparity",
    "is_finite_number",
]


Better: TypeAlias = Literal["higher", "lower"]
ConfidenceKind: TypeAlias = Literal["order", "sigma", "probability"]
FULL_WIDTH = 3000
"""Width in pixels of a full-size image."""


class SceneRange(NamedTuple):
    """The size of a scene relative to full resolution, and the range of its ground truth; NaN where it is not known.

    Disparities are from `low` to `high`, depths from `near` to `far`.
    """

    size: float
    low: float = math.nan
    high: float = math.nan
    near: float = math.nan
    far: float = math.nan

    @property
    def span(self) -> float:
        """The largest error of an estimate inside the range of disparities, in px."""
        return self.high - self.low


class Scene:
    """One stereo pair with its ground truth, masks and calibration; files are read when first used.

    `gt`, `left`, `right`, … may be arrays, paths, or the file objects of `stereogauge.io.files`. `gt_fine` is ground
    truth on a grid twice as fine as the image's; `gt` is a part of it. `masks` are those that
    the dataset ships, by region ("nonocc", "sky", …), true = inside; each class of the label image `labels` is one
    more, called "label:CLASS". `resolution` states the size relative to full resolution (Middlebury 2014: F = 1,
    H = 0.5, Q = 0.25), by default the image width / 3000; geometry thresholds scale with it. `border` is the width in
    pixels of the margin that the dataset's own evaluation leaves out. `views` are further images with their position on
    the baseline (left = 0, right = 1). `tags` say what kind of scene it is ({"weather": "rain"}), for selections.
    A frame of a film knows the next one: `next_id` is its id, and `gt_next` its ground truth.
    Arrays are read-only. A pickled scene holds its sources, not the arrays read from them.

    >>> scene = Scene("flat", gt=np.full((2, 3), 8.0))
    >>> scene.shape, scene.has("left")
    ((2, 3), False)
    """

    def __init__(
        self,
        id: str,  # noqa: A002 - the name that the interface promises
        gt: DisparitySource | None = None,
        left: ImageSource | None = None,
        right: ImageSource | None = None,
        *,
        gt_right: DisparitySource | None = None,
        gt_fine: DisparitySource | None = None,
        calibration: Calibration | None = None,
        masks: Mapping[str, MaskSource] | None = None,
        labels: LabelImage | None = None,
        views: Mapping[float, ImageSource] | None = None,
        dataset: str = "",
        resolution: float | None = None,
        border: int = 0,
        metadata: Mapping[str, Any] | None = None,
        tags: Mapping[str, Any] | None = None,
    ) -> None:
        self.id = id
        self.dataset = dataset
        self.calibration = calibration or Calibration()
        self.stated_resolution = resolution
        self.border = border
        self.next_id = ""
        self.metadata: Mapping[str, Any] = dict(metadata or {})
        self.tags = as_tags(tags, f"scene {id}")
        self._sources: dict[str, Any] = {
            "gt": gt, "gt_right": gt_right, "gt_fine": gt_fine, "gt_next": None, "left": left, "right": right
        }  # fmt: skip
        self._mask_sources: dict[str, Any] = dict(masks or {}) | (labels.masks if labels else {})
        self._view_sources: dict[float, Any] = dict(views or {})
        self._loaded: dict[Any, NDArray[Any]] = {}

    def __repr__(self) -> str:
        parts = [part for part, source in self._sources.items() if source is not None]
        return f"Scene({self.id!r}, dataset={self.dataset!r}, has={parts})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded": {}}

    def _load(self, key: Any, source: Any, read: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        if key not in self._loaded:
            array = source() if callable(source) else read(source)  # a scene may render its parts
            array = array.view() if isinstance(source, np.ndarray) else array
            array.flags.writeable = False
            self._loaded[key] = array
        return self._loaded[key]

    def _required(self, part: str) -> Any:
        source = self._sources[part]
        if source is None:
            names = {
                "gt": "ground truth",
                "gt_right": "right ground truth",
                "gt_fine": "ground truth on a finer grid",
                "gt_next": "ground truth of a next frame",
                "left": "left image",
                "right": "right image",
            }
            raise FileError(f"Scene {self.id!r} has no {names[part]}.")
        return source

    @property
    def gt(self) -> DisparityMap:
        """The ground truth of the left view."""
        return self._load("gt", self._required("gt"), load_disparity)

    @property
    def gt_right(self) -> DisparityMap:
        """The ground truth of the right view, positive like that of the left view: x_left = x_right + d."""
        return self._load("gt_right", self._required("gt_right"), load_disparity)

    @property
    def gt_fine(self) -> DisparityMap:
        """The ground truth on a grid twice as fine, four values per pixel, in px of the image."""
        return self._load("gt_fine", self._required("gt_fine"), load_disparity)

    @property
    def gt_next(self) -> DisparityMap:
        """The ground truth of the next frame of a film."""
        return self._load("gt_next", self._required("gt_next"), load_disparity)

    def precede(self, following: Scene) -> None:
        """Make `following` the next frame after this one."""
        self.next_id = following.id
        self._sources["gt_next"] = following.source("gt")

    @property
    def left(self) -> Image:
        """The left image, (H, W) or (H, W, 3) RGB; uint8, uint16, or floats from 0 to 255."""
        return self._load("left", self._required("left"), load_image)

    @property
    def right(self) -> Image:
        """The right image."""
        return self._load("right", self._required("right"), load_image)

    @property
    def masks(self) -> tuple[str, ...]:
        """The names of the masks that come with the scene."""
        return tuple(self._mask_sources)

    def mask(self, name: str) -> Mask:
        """One of the scene's own masks."""
        if name not in self._mask_sources:
            raise unknown_name(f"mask of scene {self.id!r}", name, self._mask_sources)
        return self._load(("mask", name), self._mask_sources[name], load_mask)

    @property
    def views(self) -> tuple[float, ...]:
        """Positions of the further views, in units of the baseline (left = 0, right = 1)."""
        return tuple(sorted(self._view_sources))

    def view(self, position: float) -> Image:
        """The further view at `position`."""
        return self._load(("view", position), self._view_sources[position], load_image)

    def has(self, part: str) -> bool:
        """Whether the scene has `gt`, `gt_right`, `gt_fine`, `gt_next`, `left` or `right`; reading may still fail."""
        return self._sources[part] is not None

    def source(self, part: str) -> Any:
        """Where `part` comes from, unread: an array, a path or a file object; None when absent."""
        return getattr(self, part) if callable(self._sources[part]) else self._sources[part]

    def mask_source(self, name: str) -> Any:
        """Where one of the scene's own masks comes from, unread."""
        return self.mask(name) if callable(self._mask_sources[name]) else self._mask_sources[name]

    def view_source(self, position: float) -> Any:
        """Where the further view at `position` comes from, unread."""
        return self.view(position) if callable(self._view_sources[position]) else self._view_sources[position]

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width), of the ground truth or else of the left image."""
        shape = self.gt.shape if self.has("gt") else self.left.shape
        return int(shape[0]), int(shape[1])

    @property
    def resolution(self) -> float:
        """The size relative to the images, about 3000 px wide, for which limits in pixels were found: s of the docs.

        As the dataset or the user stated it, else the width of the image divided by 3000 px.
        """
        return self.shape[1] / FULL_WIDTH if self.stated_resolution is None else self.stated_resolution

    @property
    def range(self) -> SceneRange:
        """The size, and the range of the ground truth."""
        if not self.has("gt"):
            return SceneRange(self.resolution)
        low, high = float(np.fmin.reduce(self.gt, None)), float(np.fmax.reduce(self.gt, None))
        if not self.calibration.metric:
            return SceneRange(self.resolution, low, high)
        near, far = self.calibration.depth(np.array([high, low], np.float64)).tolist()
        return SceneRange(self.resolution, low, high, near, far)

    def release(self) -> None:
        """Free the arrays that were read; they are read again when next used."""
        self._loaded.clear()


def link_frames(frames: Iterable[tuple[str, int, Scene]]) -> None:
    """Let each frame of a film know the next one, and tag it with the film as its sequence, which is one place.

    Frames are given as (film, number, scene).

    Where the numbers of a film have gaps, only frames that are as close as any two of it follow each other.
    """
    films: dict[str, list[tuple[int, Scene]]] = {}
    for film, number, scene in frames:
        films.setdefault(film, []).append((number, scene))
        scene.tags.setdefault("sequence", (film,))
    for found in films.values():
        pairs = list(itertools.pairwise(sorted(found, key=lambda frame: frame[0])))
        closest = min((later - earlier for (earlier, _), (later, _) in pairs), default=0)
        for (earlier, first), (later, second) in pairs:
            if 0 < later - earlier == closest:
                first.precede(second)


class Dataset:
    """An ordered collection of scenes; iterating gives the scenes, indexing takes an id, a position or a slice.

    >>> data = Dataset("mine", [Scene("left-garden"), Scene("street")])
    >>> [scene.id for scene in data], "street" in data, data[0].id, data[1:].ids
    (['left-garden', 'street'], True, 'left-garden', ('street',))
    """

    def __init__(self, name: str, scenes: list[Scene], *, version: str = "", root: Path | None = None) -> None:
        self.name = name
        self.version = version
        self.root = root
        self._scenes = {scene.id: scene for scene in scenes}
        if len(self._scenes) != len(scenes):
            twice = sorted({s.id for s in scenes if sum(t.id == s.id for t in scenes) > 1})
            raise FileError(f"Dataset {name!r} holds several scenes with the same id: {', '.join(twice)}.")

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {len(self)} scenes)"

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> Scene: ...
    @overload
    def __getitem__(self, key: slice) -> Dataset: ...
    def __getitem__(self, key: str | SupportsIndex | slice) -> Scene | Dataset:
        if isinstance(key, slice):
            return self.subset(self.ids[key])
        if isinstance(key, str):
            if key not in self._scenes:
                raise unknown_name(f"scene of {self.name}", key, self._scenes)
            return self._scenes[key]
        position = operator.index(key)
        if not -len(self) <= position < len(self):
            raise IndexError(f"Dataset {self.name!r} has no scene at position {position}, only {len(self)} in all.")
        return self._scenes[self.ids[position]]

    def __iter__(self) -> Iterator[Scene]:
        return iter(self._scenes.values())

    def __len__(self) -> int:
        return len(self._scenes)

    def __contains__(self, scene_id: object) -> bool:
        return scene_id in self._scenes

    @property
    def ids(self) -> tuple[str, ...]:
        """Scene ids in order."""
        return tuple(self._scenes)

    def subset(self, ids: Sequence[str]) -> Dataset:
        """The same dataset with only these scenes, in this order; a frame still knows the next one of its film."""
        return Dataset(self.name, [self[i] for i in ids], version=self.version, root=self.root)


class ConfidenceMaps(Struct, frozen=True):
    """The confidence maps of one name by scene, with their direction and kind; see `ResultSet`."""

    maps: Mapping[str, DisparitySource]
    better: Better | None = None
    kind: ConfidenceKind = "order"


class ResultSet(Struct, frozen=True):
    """The results of one algorithm: one map per scene, and facts about the algorithm.

    A scene that is absent from `maps` is a gap in every table. `right_maps` and `confidence` hold one optional map per
    scene; `confidence_better` says whether "higher" or "lower" confidence values are better, `confidence_kind` whether
    they are more than an order: standard deviations ("sigma", px) or probabilities of a good pixel ("probability").
    Of several confidence maps all are in `other_confidence` by name, and each is scored as `ALGORITHM/NAME` too.
    `seconds` is the run time per scene where known, `runs` holds further facts about the run (threads, processor, …).
    `tags` say what kind of algorithm it is ({"technique": "learned"}), for selections; `about` is what a reader should
    know of it: authors, publication, code, hardware, parameters.

    >>> ResultSet("SGM", {"teddy": "sgm/teddy.pfm"}, seconds={"teddy": 0.8}).maps["teddy"]
    'sgm/teddy.pfm'
    """

    name: str
    maps: Mapping[str, DisparitySource]
    right_maps: Mapping[str, DisparitySource] = {}
    confidence: Mapping[str, DisparitySource] = {}
    seconds: Mapping[str, float] = {}
    description: str = ""
    link: str = ""
    colour: str = ""
    confidence_better: Better | None = None
    confidence_kind: ConfidenceKind = "order"
    other_confidence: Mapping[str, ConfidenceMaps] = {}
    tags: Mapping[str, Any] = {}
    runs: Mapping[str, Mapping[str, float | str]] = {}
    about: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        force_setattr(self, "tags", as_tags(self.tags, self.name))
