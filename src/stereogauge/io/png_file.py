"""PNG files: check sums and length of the data are checked here, then OpenCV decodes the pixels.

Neither library does both: OpenCV (libpng) prints to standard error on damaged files and on harmless extra chunks, and
Pillow reduces 16-bit colour to 8 bits. So OpenCV gets only data that is known to be whole and to fit the header.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import FileError
from stereogauge.io.content import LARGEST_DEFLATE_RATIO, FileContent, inflate

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PALETTE = 3
BIT_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
# (first column, first row, column step, row step) of the seven Adam7 passes.
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


@dataclass(frozen=True)
class PngHeader:
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


def read_header(content: FileContent) -> PngHeader:
    """The header (IHDR), checked against the PNG standard and the size of the file."""
    if not content.starts_with(SIGNATURE):
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


def decode(content: FileContent, *, indices: bool = False) -> NDArray[Any]:
    """The samples, (H, W) or (H, W, 3|4) in RGB order, uint8 or uint16; grey below 8 bits is stretched to 0…255.

    With `indices` a palette gives the indices instead of their colours, and grey below 8 bits the stored values.
    """
    import cv2

    header = read_header(content)
    palette, parts = _image_chunks(content, header)
    if indices and palette:
        palette = _chunk(b"PLTE", bytes(level for level in range(1 << header.bit_depth) for _ in range(3)))
    raw = inflate(parts, header.inflated_size())
    if raw is None or not _filters_are_legal(raw, header):
        raise content.error(f"the PNG data is damaged or does not make {header.width} × {header.height} pixels.")
    # Stored instead of compressed again: libpng then only undoes the row filters, and nothing is inflated twice.
    proven = (
        SIGNATURE + bytes(content.data[8:33]) + palette + _chunk(b"IDAT", zlib.compress(raw, 0)) + _chunk(b"IEND", b"")
    )
    samples: NDArray[Any] | None = cv2.imdecode(np.frombuffer(proven, np.uint8), cv2.IMREAD_UNCHANGED)
    if samples is None:
        raise content.error("the PNG cannot be decoded.")
    if indices and palette:
        return np.ascontiguousarray(samples[..., 0])
    if samples.ndim == 2:
        return samples // (255 // ((1 << header.bit_depth) - 1)) if indices and header.bit_depth < 8 else samples
    return np.ascontiguousarray(samples[..., [2, 1, 0, 3][: samples.shape[2]]])


def encode(samples: NDArray[Any]) -> bytes:
    """A PNG of uint8 or uint16 grey samples."""
    import cv2

    done, data = cv2.imencode(".png", samples)
    if not done:
        raise FileError(f"OpenCV cannot write a PNG of shape {samples.shape} and type {samples.dtype}.")
    return bytes(data.tobytes())


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))


def _chunks(content: FileContent) -> Iterator[tuple[bytes, memoryview]]:
    """Every chunk up to IEND, with its check sum verified."""
    position = len(SIGNATURE)
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
    for kind, data in _chunks(content):
        if kind == b"PLTE" and header.colour_type == PALETTE:
            if palette or parts or not 3 <= len(data) <= 3 << header.bit_depth or len(data) % 3:
                raise content.error("the palette of the PNG is broken.")
            palette = _chunk(kind, bytes(data))
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
