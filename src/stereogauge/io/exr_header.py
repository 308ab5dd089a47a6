"""What the header of an OpenEXR scan-line image says, read without trusting any length in it."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from stereogauge.io.content import Content

MAGIC = b"\x76\x2f\x31\x01"
TILED, DEEP, MULTI_PART = 0x200, 0x800, 0x1000
# Rows of a block by number of the compression: none, RLE, ZIPS, ZIP, PIZ, PXR24, B44, B44A, DWAA, DWAB.
BLOCK_ROWS = (1, 1, 1, 16, 32, 16, 32, 32, 32, 256)
PIXEL_TYPES = (np.dtype("<u4"), np.dtype("<f2"), np.dtype("<f4"))
LONGEST_NAME = 256


class Channel(NamedTuple):
    """A channel with one sample a pixel."""

    name: str
    kind: np.dtype[np.generic]


class ExrHeader(NamedTuple):
    """A checked header; `end` is where the table of blocks starts."""

    width: int
    height: int
    top: int
    compression: int
    channels: tuple[Channel, ...]
    end: int

    @property
    def block_rows(self) -> int:
        """Rows of a block; the last block may have fewer."""
        return BLOCK_ROWS[self.compression]

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.height // self.block_rows)

    @property
    def row_bytes(self) -> int:
        """Bytes of one row over all channels."""
        return self.width * sum(channel.kind.itemsize for channel in self.channels)


def read_header(content: Content) -> ExrHeader:
    """The header, its sizes possible for a file of this length."""
    attributes, end = _attributes(content)
    window, compression = attributes.get("dataWindow", b""), attributes.get("compression", b"")
    if len(window) != 16 or len(compression) != 1:
        raise content.error("the OpenEXR header does not say how large the image is or how it is compressed.")
    if compression[0] >= len(BLOCK_ROWS):
        raise content.error(f"the OpenEXR file uses an unknown compression ({compression[0]}).")
    left, top, right, bottom = struct.unpack("<4i", window)
    content.check_dimensions(right - left + 1, bottom - top + 1)
    channels = _channels(attributes.get("channels", b""), content)
    header = ExrHeader(right - left + 1, bottom - top + 1, top, compression[0], channels, end)
    if end + 16 * header.blocks > content.size:
        raise content.error(
            f"truncated: {header.width} × {header.height} pixels are more than {content.size} bytes can hold."
        )
    return header


def _attributes(content: Content) -> tuple[dict[str, bytes], int]:
    version = int.from_bytes(content.data[4:8], "little")
    if version & 0xFF != 2:
        raise content.error("the OpenEXR header is truncated or of an unknown version.")
    if version & (DEEP | MULTI_PART | TILED):
        raise content.error(
            "this OpenEXR file is tiled, deep or of several parts; a disparity map is one image of scan lines."
        )
    attributes: dict[str, bytes] = {}
    position = 8
    while True:
        name, position = _text(content, position)
        if not name:
            return attributes, position
        _, position = _text(content, position)
        length = int.from_bytes(content.data[position : position + 4], "little")
        position += 4
        if position + length > content.size:
            raise content.error("truncated: the OpenEXR header goes beyond the end of the file.")
        attributes[name] = bytes(content.data[position : position + length])
        position += length


def _text(content: Content, position: int) -> tuple[str, int]:
    head = bytes(content.data[position : position + LONGEST_NAME])
    end = head.find(b"\0")
    if end < 0:
        raise content.error("truncated: the OpenEXR header has no end.")
    return head[:end].decode("latin1"), position + end + 1


def _channels(listed: bytes, content: Content) -> tuple[Channel, ...]:
    """Each channel is a name, its pixel type, four bytes without interest here, and two sampling rates."""
    channels = []
    while listed[:1] not in (b"", b"\0"):
        name, _, rest = listed.partition(b"\0")
        if len(rest) < 16:
            raise content.error("the OpenEXR header's list of channels is broken.")
        kind, horizontal, vertical = struct.unpack("<i4x2i", rest[:16])
        if not 0 <= kind < len(PIXEL_TYPES) or (horizontal, vertical) != (1, 1):
            raise content.error("the OpenEXR file has a channel that is subsampled or of an unknown type.")
        channels.append(Channel(name.decode("latin1"), PIXEL_TYPES[kind]))
        listed = rest[16:]
    return tuple(channels)
