"""OpenEXR: the only float channel of an image; values are disparities, NaN and ±inf are unknown."""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from stereogauge.io.content import LARGEST_DEFLATE_RATIO, Content, one_line
from stereogauge.io.optional import require
from stereogauge.model import as_disparity

if TYPE_CHECKING:
    from stereogauge.io.encodings import Decoding
    from stereogauge.model import DisparityMap

MAGIC = b"\x76\x2f\x31\x01"
TILED, DEEP, MULTI_PART = 0x200, 0x800, 0x1000
# Rows of a block by number of the compression: none, RLE, ZIPS, ZIP, PIZ, PXR24, B44, B44A, DWAA, DWAB.
BLOCK_ROWS = (1, 1, 1, 16, 32, 16, 32, 32, 32, 256)
PREFERRED_CHANNEL = "disparity"


def read(content: Content, decoding: Decoding) -> DisparityMap:
    """The only channel of an EXR image, or the one called `disparity`."""
    if not content.starts_with(MAGIC):
        raise content.wrong_kind("an OpenEXR file")
    attributes = _attributes(content)
    width, height = _checked_size(attributes, content)
    openexr = require("OpenEXR", content.name, "an OpenEXR file")
    try:
        file = openexr.InputFile(io.BytesIO(content.data))
        channels = file.header()["channels"]
        name = _choose(sorted(channels), content)
        kind = np.dtype({"FLOAT": "<f4", "HALF": "<f2"}.get(str(channels[name].type), "V1"))
        if kind.kind != "f":
            raise content.error(f"the exr encoding holds floats; the channel {name!r} holds whole numbers.")
        data = file.channel(name)
    except (OSError, ValueError, RuntimeError, TypeError, KeyError, MemoryError) as error:
        raise content.error(f"the OpenEXR file is truncated or damaged ({one_line(error)}).") from error
    if len(data) != width * height * kind.itemsize:
        raise content.error(f"the OpenEXR channel {name!r} does not have {width} × {height} pixels.")
    return as_disparity(np.frombuffer(data, kind).reshape(height, width)).copy()


def _choose(names: list[str], content: Content) -> str:
    if PREFERRED_CHANNEL in names:
        return PREFERRED_CHANNEL
    if len(names) != 1:
        raise content.error(
            f"a disparity map has one channel or one called {PREFERRED_CHANNEL!r}; "
            f"this image has {', '.join(names[:8]) or 'none'}."
        )
    return names[0]


def _attributes(content: Content) -> dict[str, Any]:
    """The header's attributes by name, read without trusting any length in it."""
    (version,) = struct.unpack("<I", content.data[4:8]) if content.size >= 8 else (0,)
    if version & 0xFF != 2:
        raise content.error("the OpenEXR header is truncated or of an unknown version.")
    if version & (DEEP | MULTI_PART | TILED):
        raise content.error(
            "this OpenEXR file is tiled, deep or of several parts; a disparity map is one image of scan lines."
        )
    attributes: dict[str, Any] = {}
    position = 8
    while True:
        name, position = _text(content, position)
        if not name:
            return attributes | {"": position}
        _, position = _text(content, position)
        (length,) = struct.unpack("<i", content.data[position : position + 4].tobytes().ljust(4, b"\xff"))
        position += 4
        if length < 0 or position + length > content.size:
            raise content.error("truncated: the OpenEXR header goes beyond the end of the file.")
        attributes[name] = content.data[position : position + length]
        position += length


def _text(content: Content, position: int) -> tuple[str, int]:
    head = bytes(content.data[position : position + 256])
    end = head.find(b"\0")
    if end < 0:
        raise content.error("truncated: the OpenEXR header has no end.")
    return head[:end].decode("latin1"), position + end + 1


def _checked_size(attributes: dict[str, Any], content: Content) -> tuple[int, int]:
    window, compression = attributes.get("dataWindow"), attributes.get("compression")
    if window is None or len(window) != 16 or compression is None or len(compression) != 1:
        raise content.error("the OpenEXR header does not say how large the image is or how it is compressed.")
    left, top, right, bottom = struct.unpack("<4i", window)
    width, height = right - left + 1, bottom - top + 1
    content.check_dimensions(width, height)
    if compression[0] >= len(BLOCK_ROWS):
        raise content.error(f"the OpenEXR file uses an unknown compression ({compression[0]}).")
    blocks = -(-height // BLOCK_ROWS[compression[0]])
    available = content.size - attributes[""] - 8 * blocks
    ratio = 1 if compression[0] == 0 else LARGEST_DEFLATE_RATIO
    if available < 8 * blocks or 2 * width * height > ratio * available:
        raise content.error(
            f"truncated: the header says {width} × {height} pixels, more than {content.size} bytes can hold."
        )
    return width, height
