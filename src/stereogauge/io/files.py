"""Descriptions of files (frozen, hashable, picklable), which are read later.

The loaders accept an array, a path or such a description.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.disparity import Calibration, DisparityMap, Image, Mask, as_array, as_disparity
from stereogauge.errors import FileError, SizeError, unknown_name
from stereogauge.io.content import Decoding, display_name, fetch, inner_suffix, stream
from stereogauge.io.encodings import PathLike, encoding_called, encoding_of_content, is_depth, read_disparity
from stereogauge.io.images import one_channel, read_image, read_labels, read_pixels, read_stored
from stereogauge.io.png import KITTI_SCALE

IMAGES_OF_NUMBERS = (".png", ".pgm")
FLIPS: dict[str, Any] = {"left-right": np.s_[:, ::-1], "up-down": np.s_[::-1], "both": np.s_[::-1, ::-1]}
TRANSPOSE = "transpose"


class DisparityFile(Struct, frozen=True):
    """A disparity map in a file, with what is needed to decode it; see `read_disparity`.

    `step` is the number of rows and columns of a map on a finer grid per pixel of the images.
    """

    path: PathLike
    encoding: str | None = None
    scale: float | None = None
    offset: float = 0.0
    masks: tuple[PathLike, ...] = ()
    step: int = 1
    unknown: tuple[float, ...] = ()
    calibration: Calibration | None = None
    flip: str = ""
    crop: tuple[int, ...] = ()

    def read(self, shape: tuple[int, int] | None = None) -> DisparityMap:
        """The map, NaN = unknown; of another size than `shape`, a `SizeError` before it is decoded."""
        whole = read_disparity(
            self.path,
            encoding=self.encoding,
            scale=self.scale,
            offset=self.offset,
            masks=self.masks,
            shape=None if shape is None else self._stored(shape),
            unknown=self.unknown,
            calibration=self.calibration,
        )
        if self.flip not in ("", *FLIPS, TRANSPOSE):
            raise unknown_name("flip", self.flip, (*FLIPS, TRANSPOSE))
        disparity = whole[:: self.step, :: self.step]
        turned = disparity.T if self.flip == TRANSPOSE else disparity[FLIPS[self.flip]] if self.flip else disparity
        return np.ascontiguousarray(_cropped(turned, self.crop, display_name(self.path)) if self.crop else turned)

    def _stored(self, shape: tuple[int, int]) -> tuple[int, int] | None:
        """The size of the file that gives a map of this size; None where a part is cut out of a file of any size."""
        if self.crop:
            return None
        height, width = shape[::-1] if self.flip == TRANSPOSE else shape
        return self.step * height, self.step * width

    @property
    def is_kitti(self) -> bool:
        """Whether the values are 256ths: said by the encoding, or a PNG without a stated encoding."""
        return self.encoding == "kitti" or (
            self.encoding is None and self.scale is None and inner_suffix(self.path) == ".png"
        )

    @property
    def per_px(self) -> float:
        """The stored value per pixel of disparity."""
        return self.scale or (KITTI_SCALE if self.is_kitti else 1.0)

    def stored(self, disparity: Any) -> Any:
        """The number in the file that is read as this disparity, or the numbers."""
        return (disparity - self.offset) * self.per_px

    def described(self) -> str:
        """How the values are read, in words: `npy (v / 16; -16 = unknown)`; the file's header is looked at."""
        content = fetch(self.path)
        stated = Decoding(self.scale, self.offset)
        encoding = encoding_called(self.encoding) if self.encoding else encoding_of_content(content, stated)
        meaning, semicolon, rest = encoding.description.partition(";")
        if stated.is_given and not is_depth(encoding.id):
            divided = f"v / {self.scale:g}" if self.scale is not None else "v"
            meaning = divided + (f" {'+' if self.offset > 0 else '−'} {abs(self.offset):g}" if self.offset else "")
        codes = f"; {', '.join(f'{value:g}' for value in self.unknown)} = unknown" if self.unknown else ""
        turned = f"; turned {self.flip}" if self.flip else ""
        cut = f"; cut from column {self.crop[0]}, row {self.crop[1]} on" if self.crop else ""
        return f"{encoding.id} ({meaning}{semicolon}{rest}{codes}{turned}{cut})"

    @property
    def decoding(self) -> str:
        """Everything but the path, as text that differs where the values do; "" where nothing was said."""
        if self == DisparityFile(self.path, masks=self.masks):
            return ""
        text = f"{self.encoding} {self.scale!r} {self.offset!r}"
        if self.step != 1:
            text += f" every {self.step}"
        if self.calibration is not None:
            text += f" {self.calibration.focal_baseline!r} {self.calibration.doffs!r}"
        return text + (f" {self.unknown} {self.flip} {self.crop}" if self.unknown or self.flip or self.crop else "")


class ImageFile(Struct, frozen=True):
    """A photograph in a file."""

    path: PathLike

    def read(self) -> Image:
        """(H, W) grey or (H, W, 3) RGB, uint8 or uint16."""
        return read_image(self.path)


class MaskFile(Struct, frozen=True):
    """A mask in an image: true where the pixel equals `value` or one of them; the opposite with `invert`."""

    path: PathLike
    value: int | tuple[int, ...] = 255
    invert: bool = False

    def read(self) -> Mask:
        """The mask as booleans; 255, the usual value, is 65535 in an image of 16 bits that holds only that and 0."""
        pixels = _mask_pixels(self.path)
        of_16_bits = self.value == 255 and pixels.dtype == np.uint16 and ((pixels == 0) | (pixels == 65535)).all()
        return np.isin(pixels, 65535 if of_16_bits else self.value, invert=self.invert)


class LabelFile(Struct, frozen=True):
    """One class of a label image: true where the label, or the index of a palette, is `value` or one of them."""

    path: PathLike
    value: int | tuple[int, ...]

    def read(self) -> Mask:
        """The mask as booleans."""
        return np.isin(read_labels(self.path), self.value)


class FlagFile(Struct, frozen=True):
    """A mask that is true where an image is not 0, in its first two channels where it is coloured.

    `halved`: the image is twice as large, and a pixel is true where the mean of its four is at least 0.5. `times`: it
    is that many times as large, and a pixel is true where half of its block is. `invert` gives the opposite.
    """

    path: PathLike
    halved: bool = False
    invert: bool = False
    times: int = 1

    def read(self) -> Mask:
        """The mask as booleans."""
        values = read_stored(self.path)
        flags = values if values.ndim == 2 else values[..., :2].max(axis=2)
        side = 2 if self.halved else self.times
        marked = flags if self.halved else flags > 0
        height, width = flags.shape[0] // side, flags.shape[1] // side
        blocks = marked[: side * height, : side * width].reshape(height, side, width, side)
        found: Mask = blocks.mean(axis=(1, 3)) >= 0.5
        return ~found if self.invert else found


class ColourFile(Struct, frozen=True):
    """A mask in a coloured image: true where a pixel has one of the `colours`, as "#ff0000"; else with `invert`."""

    path: PathLike
    colours: tuple[str, ...]
    invert: bool = False

    def read(self) -> Mask:
        """The mask as booleans."""
        pixels = read_image(self.path)
        if pixels.ndim == 2:
            pixels = np.repeat(pixels[..., np.newaxis], 3, axis=2)
        found = np.zeros(pixels.shape[:2], np.bool_)
        for colour in self.colours:
            found |= (pixels == tuple(bytes.fromhex(colour.removeprefix("#")))).all(axis=2)
        return ~found if self.invert else found


class LabelImage(Struct, frozen=True):
    """A label image, an array or a file, with the values of its classes by name.

    >>> labels = LabelImage(np.array([[7, 7, 2]]), {"glass": 7, "ground": (1, 2)})
    >>> {name: mask.tolist() for name, mask in labels.masks.items()}
    {'label:glass': [[True, True, False]], 'label:ground': [[False, False, True]]}
    """

    source: NDArray[Any] | PathLike
    classes: Mapping[str, int | tuple[int, ...]]

    @property
    def masks(self) -> dict[str, MaskSource]:
        """One mask per class, named `label:CLASS`; files are read when the mask is."""
        source = self.source
        if isinstance(source, str | os.PathLike):
            return {f"label:{name}": LabelFile(source, value) for name, value in self.classes.items()}
        return {f"label:{name}": np.isin(np.asarray(source), value) for name, value in self.classes.items()}


FileMask: TypeAlias = MaskFile | LabelFile | FlagFile | ColourFile
MASK_KINDS: dict[str, type[FileMask]] = {"mask": MaskFile, "label": LabelFile, "flags": FlagFile, "colours": ColourFile}
_KIND_OF_MASK = {file: kind for kind, file in MASK_KINDS.items()}
DisparitySource: TypeAlias = NDArray[Any] | PathLike | DisparityFile
ImageSource: TypeAlias = NDArray[Any] | PathLike | ImageFile
MaskSource: TypeAlias = NDArray[Any] | PathLike | FileMask


def as_file(source: Any) -> DisparityFile | None:
    """The description of a path, as it is read where nothing is said; None for an array."""
    if isinstance(source, str | os.PathLike):
        return DisparityFile(source)
    return source if isinstance(source, DisparityFile) else None


def load_disparity(source: DisparitySource, shape: tuple[int, int] | None = None) -> DisparityMap:
    """The map of an array, a path or a `DisparityFile`: float32, NaN = unknown.

    A file of another size than `shape`, (height, width), raises a `SizeError` before it is decoded.
    """
    file = as_file(source)
    return as_disparity(source) if file is None else file.read(shape)


def load_numbers(source: DisparitySource, shape: tuple[int, int] | None = None) -> NDArray[np.float32]:
    """A map in which only the order of the numbers counts, such as a confidence map.

    PNG and PGM give their stored numbers, whatever their scale; everything else is read as a disparity map.
    """
    path = source.path if isinstance(source, DisparityFile) else source
    if not isinstance(path, str | os.PathLike) or inner_suffix(path) not in IMAGES_OF_NUMBERS:
        return load_disparity(source, shape)
    values = one_channel(read_pixels(path, shape))
    if values is None:
        name = display_name(path)
        raise FileError(f"{name}: a confidence map has one channel, or three that are equal; this one is coloured.")
    return values.astype(np.float32)


def load_image(source: ImageSource) -> Image:
    """The image of an array, a path or an `ImageFile`: grey or RGB, transparency dropped.

    Whole numbers become uint8, or uint16 where they need it; floats stay as they are and count as levels 0…255.
    """
    if isinstance(source, ImageFile):
        return source.read()
    if isinstance(source, str | os.PathLike):
        return read_image(source)
    image = as_array(source)
    if image.size == 0 or image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] not in (3, 4)):
        raise SizeError(f"An image has the shape (height, width) or (height, width, 3); found {image.shape}.")
    if image.dtype.kind not in "fiu":
        raise FileError(f"An image must hold numbers; found type {image.dtype}.")
    if image.dtype.kind != "f" and image.dtype not in (np.uint8, np.uint16):
        low, high = int(image.min()), int(image.max())
        if low < 0 or high > 65535:
            raise FileError(f"An image holds values from 0 to 255, or to 65535 in 16 bits; found {low} to {high}.")
        image = image.astype(np.uint8 if high < 256 else np.uint16)
    return image[..., :3] if image.ndim == 3 else image


def load_mask(source: MaskSource) -> Mask:
    """The mask of an array, a path, or one of the mask files above.

    A path means the usual convention, true = 255, or 65535 in an image of 16 bits; a file that has other values but
    never that one is refused rather than taken as empty. An array holds booleans, or zeros and one other value.
    """
    if isinstance(source, FileMask):
        return source.read()
    if not isinstance(source, str | os.PathLike):
        return _mask_of_array(source.filled(0) if isinstance(source, np.ma.MaskedArray) else as_array(source))
    pixels = _mask_pixels(source)
    white = 65535 if pixels.dtype == np.uint16 and (pixels == 65535).any() else 255
    if pixels.any() and not (pixels == white).any():
        values = _some_values(pixels)
        raise FileError(
            f"{display_name(source)}: a mask is true where it is {white}, this one holds {values}; "
            "say which value is meant with MaskFile(path, value=…), or as --labels FILE:NAME=VALUE."
        )
    return np.asarray(pixels == white)


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
    elif type(source) in _KIND_OF_MASK:
        yield from stream(source.path)
        stated = " ".join(repr(getattr(source, name)) for name in source.__struct_fields__[1:])
        yield f"\n{_KIND_OF_MASK[type(source)]} {stated}".encode()
    elif isinstance(source, ImageFile | str | os.PathLike):
        yield from stream(source.path if isinstance(source, ImageFile) else source)
    else:
        array = as_array(source)
        yield f"array {array.shape} {array.dtype.str}\n".encode()
        for block in [array] if array.flags.c_contiguous else array:
            yield np.ascontiguousarray(block).reshape(-1).view(np.uint8).data


def _mask_pixels(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The pixels of a mask; colour channels must be equal, transparency is ignored."""
    pixels = one_channel(read_pixels(path))
    if pixels is None:
        raise FileError(
            f"{display_name(path)}: a mask has one channel; this image has three that differ (it is coloured)."
        )
    return pixels


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


def _cropped(disparity: DisparityMap, window: tuple[int, ...], name: str) -> DisparityMap:
    """The part of the map from column x and row y on, with a width and height: `window` is (x, y, width, height)."""
    x, y, width, height = window
    if min(window) < 0 or y + height > disparity.shape[0] or x + width > disparity.shape[1]:
        raise SizeError(
            f"{name}: {width} × {height} pixels from column {x} and row {y} on do not lie within the map of "
            f"{disparity.shape[1]} × {disparity.shape[0]}."
        )
    return disparity[y : y + height, x : x + width]
