"""Descriptions of files (frozen, hashable, picklable), which are read later.

The loaders accept an array, a path or such a description.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stereogauge.disparity import DisparityMap, Image, Mask, as_disparity
from stereogauge.errors import FileError, SizeError, unknown_name
from stereogauge.io.content import DepthGeometry, display_name, stream
from stereogauge.io.disparity import PathLike, read_disparity
from stereogauge.io.images import read_image, read_pixels


@dataclass(frozen=True)
class DisparityFile:
    """A disparity map in a file, with what is needed to decode it; see `read_disparity`."""

    path: PathLike
    encoding: str | None = None
    scale: float | None = None
    offset: float = 0.0
    masks: tuple[PathLike, ...] = ()
    unknown: tuple[float, ...] = ()
    calibration: DepthGeometry | None = None
    flip: str = ""
    crop: tuple[int, ...] = ()

    def read(self) -> DisparityMap:
        """The map, NaN = unknown."""
        disparity = read_disparity(
            self.path,
            encoding=self.encoding,
            scale=self.scale,
            offset=self.offset,
            masks=self.masks,
            unknown=self.unknown,
            calibration=self.calibration,
        )
        return cropped(turned(disparity, self.flip), self.crop, display_name(self.path))

    @property
    def decoding(self) -> str:
        """Everything but the path, as text that differs where the values do; "" where nothing was said."""
        if self == DisparityFile(self.path, masks=self.masks):
            return ""
        text = f"{self.encoding} {self.scale!r} {self.offset!r}"
        if self.calibration is not None:
            text += f" {self.calibration.focal_baseline!r} {self.calibration.doffs!r}"
        return text + (f" {self.unknown} {self.flip} {self.crop}" if self.unknown or self.flip or self.crop else "")


@dataclass(frozen=True)
class ImageFile:
    """A photograph in a file."""

    path: PathLike

    def read(self) -> Image:
        """(H, W) grey or (H, W, 3) RGB, uint8 or uint16."""
        return read_image(self.path)


@dataclass(frozen=True)
class MaskFile:
    """A mask in an image: true where the pixel equals `value` or one of them; the opposite with `invert`."""

    path: PathLike
    value: int | tuple[int, ...] = 255
    invert: bool = False

    def read(self) -> Mask:
        """The mask as booleans."""
        return np.isin(_mask_pixels(self.path), self.value, invert=self.invert)


FLIPS = {
    "left-right": (slice(None), slice(None, None, -1)),
    "up-down": (slice(None, None, -1), slice(None)),
    "both": (slice(None, None, -1), slice(None, None, -1)),
}
TRANSPOSE = "transpose"


def turned(disparity: DisparityMap, flip: str) -> DisparityMap:
    """The map mirrored as `flip` says: left-right, up-down, both, or rows and columns exchanged."""
    if not flip:
        return disparity
    if flip not in (*FLIPS, TRANSPOSE):
        raise unknown_name("flip", flip, (*FLIPS, TRANSPOSE))
    return np.ascontiguousarray(disparity.T if flip == TRANSPOSE else disparity[FLIPS[flip]])


def cropped(disparity: DisparityMap, window: tuple[int, ...], name: str) -> DisparityMap:
    """The part of the map from column x and row y on, with a width and height: `window` is (x, y, width, height)."""
    if not window:
        return disparity
    x, y, width, height = window
    if min(window) < 0 or y + height > disparity.shape[0] or x + width > disparity.shape[1]:
        raise SizeError(
            f"{name}: {width} × {height} pixels from column {x} and row {y} on do not lie within the map of "
            f"{disparity.shape[1]} × {disparity.shape[0]}."
        )
    return np.ascontiguousarray(disparity[y : y + height, x : x + width])


DisparitySource: TypeAlias = NDArray[Any] | PathLike | DisparityFile
ImageSource: TypeAlias = NDArray[Any] | PathLike | ImageFile
MaskSource: TypeAlias = NDArray[Any] | PathLike | MaskFile


def load_disparity(source: DisparitySource) -> DisparityMap:
    """The map of an array, a path or a `DisparityFile`: float32, NaN = unknown."""
    if isinstance(source, DisparityFile):
        return source.read()
    return read_disparity(source) if isinstance(source, str | os.PathLike) else as_disparity(np.asarray(source))


def load_image(source: ImageSource) -> Image:
    """The image of an array, a path or an `ImageFile`: grey or RGB, transparency dropped.

    Whole numbers become uint8, or uint16 where they need it; floats stay as they are and count as levels 0…255.
    """
    if isinstance(source, ImageFile):
        return source.read()
    if isinstance(source, str | os.PathLike):
        return read_image(source)
    image = np.asarray(source)
    if image.size == 0 or image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] not in (3, 4)):
        raise SizeError(f"An image has the shape (height, width) or (height, width, 3); found {image.shape}.")
    if image.dtype.kind not in "fiu":
        raise FileError(f"An image must hold numbers; found type {image.dtype}.")
    if image.dtype.kind != "f" and image.dtype not in (np.uint8, np.uint16):
        image = _unsigned(image)
    return image[..., :3] if image.ndim == 3 else image


def _unsigned(image: NDArray[Any]) -> Image:
    low, high = int(image.min()), int(image.max())
    if low < 0 or high > 65535:
        raise FileError(f"An image holds values from 0 to 255, or to 65535 in 16 bits; found {low} to {high}.")
    return image.astype(np.uint8 if high < 256 else np.uint16)


def load_mask(source: MaskSource) -> Mask:
    """The mask of an array, a path or a `MaskFile`.

    A path means the usual convention, true = 255; a file that has other values but never 255 is refused rather than
    taken as empty. An array holds booleans, or zeros and one other value.
    """
    if isinstance(source, MaskFile):
        return source.read()
    if not isinstance(source, str | os.PathLike):
        return _mask_of_array(np.asarray(source))
    pixels = _mask_pixels(source)
    if pixels.any() and not (pixels == 255).any():
        values = _some_values(pixels)
        raise FileError(
            f"{display_name(source)}: a mask is true where it is 255, this one holds {values}; "
            "say which value is meant with MaskFile(path, value=…)."
        )
    return np.asarray(pixels == 255)


def content_hash(source: Any) -> str:
    """SHA-256, in hexadecimal, of an array or of the bytes of files and how they are decoded.

    Equal content has equal hashes wherever it is stored; nothing larger than a row or a megabyte is copied.
    """
    digest = hashlib.sha256()
    for part in _hashed_parts(source):
        digest.update(part)
    return digest.hexdigest()


def _hashed_parts(source: Any) -> Iterator[bytes | memoryview]:
    if isinstance(source, DisparityFile):
        yield from stream(source.path)
        if source != DisparityFile(source.path):
            yield f"\ndisparity {source.decoding or 'None None 0.0'}".encode()
        for mask in source.masks:
            yield b"\nmask "
            yield from stream(mask)
    elif isinstance(source, MaskFile):
        yield from stream(source.path)
        yield f"\nmask {source.value!r} {source.invert}".encode()
    elif isinstance(source, ImageFile | str | os.PathLike):
        yield from stream(source.path if isinstance(source, ImageFile) else source)
    else:
        array = np.asarray(source)
        yield f"array {array.shape} {array.dtype.str}\n".encode()
        for block in [array] if array.flags.c_contiguous else array:
            yield np.ascontiguousarray(block).reshape(-1).view(np.uint8).data


def _mask_pixels(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The pixels of a mask; colour channels must be equal, transparency is ignored."""
    pixels = read_pixels(path)
    if pixels.ndim == 2:
        return pixels
    first: NDArray[Any] = pixels[..., 0]
    if any(not np.array_equal(first, pixels[..., channel]) for channel in (1, 2)):
        raise FileError(
            f"{display_name(path)}: a mask has one channel; this image has three that differ (it is coloured)."
        )
    return first


def _mask_of_array(array: NDArray[Any]) -> Mask:
    if array.ndim != 2 or array.size == 0:
        raise SizeError(f"A mask has two dimensions (height, width); found shape {array.shape}.")
    if array.dtype == np.bool_:
        return array
    marked: Mask = array != 0
    chosen = array[marked]
    if chosen.size and (chosen != chosen[0]).any():
        raise FileError(
            f"A mask holds booleans, or zeros and one other value; found {_some_values(array)}: "
            "compare it with the one that is meant."
        )
    return marked


def _some_values(array: NDArray[Any]) -> str:
    values = [f"{value}" for value in np.unique(array)]
    return ", ".join(values[:6]) + (", …" if len(values) > 6 else "")
