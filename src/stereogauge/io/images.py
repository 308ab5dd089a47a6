"""The samples of photographs, masks and maps in images: PNG by OpenCV, TIFF by tifffile, JPEG, BMP and WebP by Pillow.

Check sums and length of the data of a PNG are checked here, then OpenCV decodes the pixels. Neither library does both:
OpenCV (libpng) prints to standard error on damaged files and on harmless extra chunks, and Pillow reduces 16-bit colour
to 8 bits. So OpenCV gets only data that is known to be whole and to fit the header. Binary PGM and PPM are read here: a
text header, then 8-bit or big-endian 16-bit samples, top row first.
"""

from __future__ import annotations

import io
import os
import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.errors import FileError, one_line
from stereogauge.io import tiff
from stereogauge.io.content import LARGEST_DEFLATE_RATIO, FileContent, fetch, inflate, inner_suffix

FORMATS = ("JPEG", "BMP", "WEBP")
LOSSY = (".jpg", ".jpeg", ".webp")
BY_PILLOW = (*LOSSY, ".bmp")
LOSSLESS_WEBP = b"VP8L"
WEBP_CHUNKS = slice(12, 64)
"""Where a WebP file names its compression: its first chunk, or the one after the header of an extended file."""
PILLOW_MODES = {"1": "L", "L": "L", "LA": "L", "RGB": "RGB", "RGBA": "RGB", "P": "RGB", "YCbCr": "RGB", "CMYK": "RGB"}

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PALETTE = 3
BIT_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
# (first column, first row, column step, row step) of the seven Adam7 passes.
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
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
    if content.starts_with(PNG_SIGNATURE):
        return decode_png(content)
    if is_netpbm(content):
        return decode_netpbm(content)
    if tiff.is_tiff(content):
        return tiff.read_image(content)
    return decode_with_pillow(content)


def read_labels(path: str | os.PathLike[str]) -> NDArray[Any]:
    """A label image as (H, W) integers: the grey values, or the indices of a PNG with a palette."""
    labels = one_channel(read_stored(path))
    if labels is None:
        raise fetch(path).error("a label image holds one number per pixel; this one is coloured, without a palette.")
    return labels


def one_channel(samples: NDArray[Any]) -> NDArray[Any] | None:
    """The only channel of an image, or the first of three equal ones, without transparency; None of a coloured one."""
    if samples.ndim == 2:
        return samples
    colours = samples[..., : 3 if samples.shape[2] > 2 else 1]
    return samples[..., 0] if (colours == colours[..., :1]).all() else None


def read_stored(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The samples as numbers rather than as grey levels: indices of a palette, 0 and 1 of a PNG with one bit."""
    content = fetch(path)
    png = content.starts_with(PNG_SIGNATURE)
    return decode_png(content, indices=True) if png else read_pixels(path)


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
    """The samples of a binary PGM or PPM, (H, W) or (H, W, 3) RGB, uint8 or uint16 as they are stored."""
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


class PngHeader(Struct, frozen=True):
    """The contents of the header chunk (IHDR), checked to be possible."""

    width: int
    height: int
    bit_depth: int
    colour_type: int
    interlaced: bool

    @property
    def channels(self) -> int:
        """Samples per pixel after decoding; a palette gives three."""
        return 3 if self.colour_type == PALETTE else CHANNELS[self.colour_type]

    @property
    def description(self) -> str:
        """The kind of image as errors name it, for example "8-bit grey"."""
        kinds = {0: "grey", 2: "RGB", 3: "palette", 4: "grey with alpha", 6: "RGB with alpha"}
        return f"{self.bit_depth}-bit {kinds[self.colour_type]}"

    def passes(self) -> list[tuple[int, int]]:
        """(row bytes without the filter byte, rows) of each pass over the image; one unless interlaced."""
        bits = self.bit_depth * CHANNELS[self.colour_type]
        steps = ADAM7 if self.interlaced else ((0, 0, 1, 1),)
        sizes = [(-(-(self.width - x) // dx), -(-(self.height - y) // dy)) for x, y, dx, dy in steps]
        return [((width * bits + 7) // 8, height) for width, height in sizes if width > 0 and height > 0]

    def inflated_size(self) -> int:
        """The bytes that the compressed data must expand to: each row has one filter byte."""
        return sum((row_bytes + 1) * rows for row_bytes, rows in self.passes())


def read_png_header(content: FileContent) -> PngHeader:
    """The header (IHDR), checked against the PNG standard and the size of the file."""
    if not content.starts_with(PNG_SIGNATURE):
        raise content.wrong_kind("a PNG file")
    if content.size < 33 or bytes(content.data[8:16]) != b"\x00\x00\x00\x0dIHDR":
        raise content.error("truncated or broken: the PNG has no header (IHDR).")
    width, height, depth, colour, compression, filtering, interlace = struct.unpack(">IIBBBBB", content.data[16:29])
    if zlib.crc32(content.data[12:29]) != struct.unpack(">I", content.data[29:33])[0]:
        raise content.error("the PNG header is damaged (its check sum is wrong).")
    if depth not in BIT_DEPTHS.get(colour, ()) or compression or filtering or interlace > 1:
        raise content.error(f"the PNG header is impossible (bit depth {depth}, colour type {colour}).")
    content.check_dimensions(width, height)
    header = PngHeader(width, height, depth, colour, bool(interlace))
    if header.inflated_size() > LARGEST_DEFLATE_RATIO * content.size:
        raise content.error(f"the header says {width} × {height} pixels, more than {content.size} bytes can hold.")
    return header


def decode_png(content: FileContent, *, indices: bool = False) -> NDArray[Any]:
    """The samples, (H, W) or (H, W, 3|4) in RGB order, uint8 or uint16; grey below 8 bits is stretched to 0…255.

    With `indices` a palette gives the indices instead of their colours, and grey below 8 bits the stored values.
    """
    import cv2

    header = read_png_header(content)
    palette, parts = _image_chunks(content, header)
    if indices and palette:
        palette = _png_chunk(b"PLTE", bytes(level for level in range(1 << header.bit_depth) for _ in range(3)))
    raw = inflate(parts, header.inflated_size())
    if raw is None or not _filters_are_legal(raw, header):
        raise content.error(f"the PNG data is damaged or does not make {header.width} × {header.height} pixels.")
    # Stored instead of compressed again: libpng then only undoes the row filters, and nothing is inflated twice.
    proven = (
        PNG_SIGNATURE
        + bytes(content.data[8:33])
        + palette
        + _png_chunk(b"IDAT", zlib.compress(raw, 0))
        + _png_chunk(b"IEND", b"")
    )
    samples: NDArray[Any] | None = cv2.imdecode(np.frombuffer(proven, np.uint8), cv2.IMREAD_UNCHANGED)
    if samples is None:
        raise content.error("the PNG cannot be decoded.")
    if indices and palette:
        return np.ascontiguousarray(samples[..., 0])
    if samples.ndim == 2:
        return samples // (255 // ((1 << header.bit_depth) - 1)) if indices and header.bit_depth < 8 else samples
    return np.ascontiguousarray(samples[..., [2, 1, 0, 3][: samples.shape[2]]])


def encode_png(samples: NDArray[Any]) -> bytes:
    """A PNG of uint8 or uint16 grey samples."""
    import cv2

    done, data = cv2.imencode(".png", samples)
    if not done:
        raise FileError(f"OpenCV cannot write a PNG of shape {samples.shape} and type {samples.dtype}.")
    return bytes(data.tobytes())


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))


def _png_chunks(content: FileContent) -> Iterator[tuple[bytes, memoryview]]:
    """Every chunk up to IEND, with its check sum verified."""
    position = len(PNG_SIGNATURE)
    while position + 12 <= content.size:
        (length,) = struct.unpack(">I", content.data[position : position + 4])
        end = position + 12 + length
        if end > content.size:
            break
        kind = bytes(content.data[position + 4 : position + 8])
        (stated,) = struct.unpack(">I", content.data[end - 4 : end])
        if zlib.crc32(content.data[position + 4 : end - 4]) != stated:
            raise content.error(f"the PNG is damaged (the check sum of a chunk at byte {position} is wrong).")
        if kind == b"IEND":
            return
        yield kind, content.data[position + 8 : end - 4]
        position = end
    raise content.error("truncated: the PNG ends in the middle of its data.")


def _image_chunks(content: FileContent, header: PngHeader) -> tuple[bytes, list[memoryview]]:
    """The palette as a chunk (empty unless needed) and the parts of the compressed data."""
    palette = b""
    parts: list[memoryview] = []
    for kind, data in _png_chunks(content):
        if kind == b"PLTE" and header.colour_type == PALETTE:
            if palette or parts or not 3 <= len(data) <= 3 << header.bit_depth or len(data) % 3:
                raise content.error("the palette of the PNG is broken.")
            palette = _png_chunk(kind, bytes(data))
        elif kind == b"IDAT":
            parts.append(data)
    if header.colour_type == PALETTE and not palette:
        raise content.error("the PNG says that it has a palette, and has none.")
    return palette, parts


def _filters_are_legal(raw: bytearray, header: PngHeader) -> bool:
    """Whether each row starts with one of PNG's five filters."""
    position = 0
    for row_bytes, rows in header.passes():
        length = (row_bytes + 1) * rows
        filters = np.frombuffer(raw, np.uint8, length, position)[:: row_bytes + 1]
        if filters.max() > 4:
            return False
        position += length
    return True
