"""Ground truth at single points on several layers, as LayeredFlow ships it: one pickle per scene.

`stereo_points` lists, for each of four images (left and right at two times), points as (object, number, (x, y));
`annotations` says of each (object, number) whether it is valid, its material, and how many transparent layers lie
before it.
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.disparity import DisparityMap, Mask
from stereogauge.errors import FileError
from stereogauge.io.content import Content, fetch
from stereogauge.io.plain_pickle import number_of, numbers_of, read_pickle
from stereogauge.io.png_file import read_header

MATERIALS = ("diffuse", "transparent", "reflective")
SOLID = tuple(material != "transparent" for material in MATERIALS)
LAYERS = {"first": 0, "second": 1, "third": 2}
LAST = "last"
ROWS_APART = 2.0
"""In pixels; a point whose rows in the two images differ more has no disparity."""


@dataclass(frozen=True)
class PointsFile:
    """The points of one layer in LayeredFlow's pickle, as a map of the size of the left image.

    `pair` is the place of the left image among the four. `layer` is "first" (what is seen first, also where it is
    glass), "second", "third", or "last" (the first surface that is not transparent, behind any number of layers).
    """

    path: str | os.PathLike[str]
    image: str | os.PathLike[str]
    pair: int = 0
    layer: str = "first"

    def read(self, shape: tuple[int, int] | None = None) -> DisparityMap:
        """d = x − x′ at the pixel that holds the left point, NaN elsewhere; of two on one pixel the nearer counts."""
        size = _size(self.image, shape)
        disparity = np.full(size, np.nan, np.float32)
        points = _points_of_layer(self.path, self.pair, self.layer, size)
        disparity[points.row, points.column] = points.disparity
        return disparity

    @property
    def decoding(self) -> str:
        """Everything but the pickle that the values depend on, as text."""
        return f"{self.pair} {self.layer} {_size(self.image)}"


@dataclass(frozen=True)
class PointsMask:
    """The points of one layer that lie on one material; see `PointsFile`."""

    path: str | os.PathLike[str]
    image: str | os.PathLike[str]
    pair: int = 0
    layer: str = "first"
    material: str = "diffuse"

    def read(self) -> Mask:
        """True at the pixels of those points."""
        size = _size(self.image)
        found = np.zeros(size, np.bool_)
        points = _points_of_layer(self.path, self.pair, self.layer, size)
        chosen = points.material == MATERIALS.index(self.material)
        found[points.row[chosen], points.column[chosen]] = True
        return found

    @property
    def decoding(self) -> str:
        """Everything but the pickle that the mask depends on, as text."""
        return f"{self.pair} {self.layer} {self.material} {_size(self.image)}"


@dataclass(frozen=True)
class _Points:
    """Points that are valid in both images of a pair, one entry per point."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    disparity: NDArray[np.float64]
    material: NDArray[np.int64]
    layer: NDArray[np.int64]

    @property
    def column(self) -> NDArray[np.int64]:
        return np.floor(self.x).astype(np.int64)

    @property
    def row(self) -> NDArray[np.int64]:
        return np.floor(self.y).astype(np.int64)

    def __getitem__(self, chosen: NDArray[np.bool_ | np.int64]) -> _Points:
        return _Points(**{name: values[chosen] for name, values in vars(self).items()})


def _size(image: str | os.PathLike[str], shape: tuple[int, int] | None = None) -> tuple[int, int]:
    """(height, width) of the left image, which must be `shape` where that is given."""
    header = read_header(fetch(image, shape))
    return header.height, header.width


def _points_of_layer(path: str | os.PathLike[str], pair: int, layer: str, size: tuple[int, int]) -> _Points:
    """The points of one layer that lie inside the left image, one per pixel."""
    content = fetch(path)
    points = _points(content.name, bytes(content.data), pair)
    in_layer = np.array(SOLID)[points.material] if layer == LAST else points.layer == LAYERS[layer]
    inside = (points.x >= 0) & (points.y >= 0) & (points.x < size[1]) & (points.y < size[0])
    found = points[in_layer & inside]
    if found.x.size and not (found.disparity > 0).any():
        raise content.error("every point lies farther left in the left image than in the right one: are they swapped?")
    found = found[np.argsort(-found.disparity, kind="stable")]
    _, first = np.unique(found.row * size[1] + found.column, return_index=True)
    return found[first[found.disparity[first] > 0]]


def points_of(content: Content, pair: int) -> _Points:
    """The points of a pair of images that are valid and lie in the same rows."""
    found = read_pickle(content)
    try:
        lefts, rights = found["stereo_points"][pair], found["stereo_points"][pair + 1]
        if len(lefts) != len(rights):
            raise ValueError("as many points on the left as on the right")
        rows = [_point(left, right, found["annotations"]) for left, right in zip(lefts, rights, strict=True)]
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        raise _unlike(content) from None
    columns = np.array([row for row in rows if row is not None], np.float64).reshape(-1, 5).T
    if not np.isfinite(columns).all():
        raise _unlike(content)
    x, y, disparity, material, layer = columns
    return _Points(x, y, disparity, material.astype(np.int64), layer.astype(np.int64))


@functools.lru_cache(maxsize=4)
def _points(name: str, data: bytes, pair: int) -> _Points:
    """The same, kept for a while: ground truth and masks of a scene read the same file."""
    return points_of(Content(name, memoryview(data), ".pickle"), pair)


def _point(left: Any, right: Any, annotations: Any) -> tuple[float, float, float, int, int] | None:
    """x, y, disparity, material and layer of a point; None where it is not valid or its rows do not meet."""
    (*name, position), (*same, other) = left, right
    key = tuple(number_of(part) for part in name)
    if key != tuple(number_of(part) for part in same):
        raise ValueError("the same points on the left and on the right")
    valid, material, layer = annotations[key]
    (x, y), (x_right, y_right) = numbers_of(position), numbers_of(other)
    if not number_of(valid) or abs(y - y_right) > ROWS_APART:
        return None
    return float(x), float(y), float(x - x_right), MATERIALS.index(material.lower()), int(number_of(layer))


def _unlike(content: Content) -> FileError:
    return content.error(
        "not an annotation of LayeredFlow: it should hold stereo_points, four lists of (object, number, (x, y)), and "
        "annotations, (valid, material, layer) of each (object, number)."
    )
