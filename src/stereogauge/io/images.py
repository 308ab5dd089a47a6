"""Photographs and masks: PNG and TIFF by the readers of disparity maps; JPEG, BMP and WebP by Pillow.

Binary PGM and PPM are read here: a text header, then 8-bit or big-endian 16-bit samples, top row first.
"""

from __future__ import annotations

import io
import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import one_line
from stereogauge.io import png_file, tiff
from stereogauge.io.content import LARGEST_DEFLATE_RATIO, FileContent, fetch, inner_suffix

FORMATS = ("JPEG", "BMP", "WEBP")
LOSSY = (".jpg", ".jpeg", ".webp")
BY_PILLOW = (*LOSSY, ".bmp")
LOSSLESS_WEBP = b"VP8L"
WEBP_CHUNKS = slice(12, 64)
"""Where a WebP file names its compression: its first chunk, or the one after the header of an extended file."""
PILLOW_MODES = {"1": "L", "L": "L", "LA": "L", "RGB": "RGB", "RGBA": "RGB", "P": "RGB", "YCbCr": "RGB", "CMYK": "RGB"}

LONGEST_HEADER = 4096
_BREAK = rb"(?:\s|#[^\n]*\n)+"
_HEADER = re.compile(rb"P[56]" + _BREAK + rb"(\d{1,9})" + _BREAK + rb"(\d{1,9})" + _BREAK + rb"(\d{1,9})\s")


def read_image(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The image as (H, W) grey or (H, W, 3) RGB, uint8 or uint16; transparency is dropped."""
    pixels = read_pixels(path)
    return np.ascontiguousarray(pixels[..., :3]) if pixels.ndim == 3 and pixels.shape[2] == 4 else pixels


def read_pixels(path: str | os.PathLike[str], shape: tuple[int, int] | None = None) -> NDArray[Any]:
    """All samples of an image as they are stored, colours in RGB order.

    An image of another size than `shape`, (height, width), raises a `SizeError` before it is decoded.
    """
    content = fetch(path, shape)
    if content.starts_with(png_file.SIGNATURE):
        return png_file.decode(content)
    if is_netpbm(content):
        return decode_netpbm(content)
    if tiff.is_tiff(content):
        return tiff.read_image(content)
    return decode_with_pillow(content)


def read_labels(path: str | os.PathLike[str]) -> NDArray[Any]:
    """A label image as (H, W) integers: the grey values, or the indices of a PNG with a palette."""
    pixels = read_stored(path)
    if pixels.ndim == 2:
        return pixels
    if not (pixels[..., :1] == pixels[..., 1:3]).all():
        raise fetch(path).error("a label image holds one number per pixel; this one is coloured, without a palette.")
    return np.asarray(pixels[..., 0])


def read_stored(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The samples as numbers rather than as grey levels: indices of a palette, 0 and 1 of a PNG with one bit."""
    content = fetch(path)
    png = content.starts_with(png_file.SIGNATURE)
    return png_file.decode(content, indices=True) if png else read_pixels(path)


def is_lossy(path: str | os.PathLike[str]) -> bool:
    """Whether the file's compression changes values: JPEG, and WebP unless it says that it is lossless."""
    if inner_suffix(path) not in LOSSY:
        return False
    return LOSSLESS_WEBP not in bytes(fetch(path).data[WEBP_CHUNKS])


def decode_with_pillow(content: FileContent) -> NDArray[Any]:
    """The samples of a JPEG, BMP or WebP image, grey or RGB."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content.data), formats=FORMATS) as image:
            content.check_dimensions(*image.size)
            if image.size[0] * image.size[1] > LARGEST_DEFLATE_RATIO * content.size:
                raise content.error(
                    f"the header says {image.size[0]} × {image.size[1]} pixels, more than the file can hold."
                )
            if image.mode not in PILLOW_MODES:
                raise content.error(
                    f"images have 8 or 16 bits per sample; this {image.format} has the Pillow mode {image.mode}."
                )
            return np.array(image.convert(PILLOW_MODES[image.mode]))
    except UnidentifiedImageError:
        raise content.wrong_kind("an image that can be read (PNG, PGM, PPM, JPEG, BMP, WebP, TIFF)") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise content.error(f"the image is truncated or damaged ({one_line(error)}).") from error


def is_netpbm(content: FileContent) -> bool:
    """Whether the file claims to be a binary PGM or PPM."""
    return content.starts_with(b"P5") or content.starts_with(b"P6")


def decode_netpbm(content: FileContent) -> NDArray[Any]:
    """The samples, (H, W) or (H, W, 3) RGB, uint8 or uint16 as they are stored."""
    if not is_netpbm(content):
        raise content.wrong_kind("a binary PGM or PPM file")
    header = _HEADER.match(bytes(content.data[:LONGEST_HEADER]))
    if header is None:
        raise content.error("the header is broken; it should be P5 or P6, width, height and the largest value.")
    width, height, largest = (int(group) for group in header.groups())
    content.check_dimensions(width, height)
    if not 1 <= largest <= 65535:
        raise content.error(f"the header gives {largest} as the largest value; it must be between 1 and 65535.")
    channels = 3 if content.starts_with(b"P6") else 1
    sample = np.dtype(np.uint8) if largest < 256 else np.dtype(">u2")
    content.check_length(header.end() + width * height * channels * sample.itemsize, width, height)
    samples = np.frombuffer(content.data, sample, width * height * channels, header.end())
    shape = (height, width) if channels == 1 else (height, width, 3)
    return samples.reshape(shape).astype(sample.newbyteorder("="), copy=True)


def encode_pgm(samples: NDArray[np.uint8]) -> bytes:
    """A binary PGM of 8-bit samples."""
    height, width = samples.shape
    return f"P5\n{width} {height}\n255\n".encode("ascii") + samples.tobytes()
