"""OpenEXR: the only float channel of an image, or the one called `disparity`; NaN and ±inf are unknown.

Blocks that are stored as they are or with zlib (ZIP and ZIPS, what float images nearly always have) are decoded here.
The OpenEXR library decodes the other compressions, in a process of its own: on damaged files it writes to standard
error and can crash.
"""

from __future__ import annotations

import struct
import subprocess
import sys

import numpy as np
from numpy.typing import NDArray

from stereogauge.disparity import DisparityMap, as_disparity
from stereogauge.io.content import LARGEST_DEFLATE_RATIO, LARGEST_OTHER_RATIO, Content, Decoding, inflate
from stereogauge.io.exr_header import MAGIC, Channel, ExrHeader, read_header
from stereogauge.io.optional import require

NONE, ZIPS, ZIP = 0, 2, 3
PREFERRED_CHANNEL = "disparity"
LARGEST_RATIO = {NONE: 1, ZIPS: LARGEST_DEFLATE_RATIO, ZIP: LARGEST_DEFLATE_RATIO}
PATIENCE = 120.0
"""Seconds that the other process may take."""


def read(content: Content, decoding: Decoding) -> DisparityMap:
    """The map of an EXR image."""
    if not content.starts_with(MAGIC):
        raise content.wrong_kind("an OpenEXR file")
    header = read_header(content)
    channel = _choose(header.channels, content)
    if header.row_bytes * header.height > LARGEST_RATIO.get(header.compression, LARGEST_OTHER_RATIO) * content.size:
        raise content.error(
            f"truncated: {header.width} × {header.height} pixels are more than {content.size} bytes can hold."
        )
    decode = _decode_blocks if header.compression in LARGEST_RATIO else _decode_apart
    values = decode(content, header, channel)
    return as_disparity(values.reshape(header.height, header.width)).copy()


def _choose(channels: tuple[Channel, ...], content: Content) -> Channel:
    named = [channel for channel in channels if channel.name == PREFERRED_CHANNEL] or list(channels)
    if len(named) != 1:
        names = ", ".join(channel.name[:20] for channel in channels[:8]) or "none"
        raise content.error(
            f"a disparity map has one channel or one called {PREFERRED_CHANNEL!r}; this image has {names!r}."
        )
    if named[0].kind.kind != "f":
        raise content.error(f"the exr encoding holds floats; the channel {named[0].name!r} holds whole numbers.")
    return named[0]


def _decode_blocks(content: Content, header: ExrHeader, channel: Channel) -> NDArray[np.generic]:
    """Block by block; within a block each row holds the channels one after the other."""
    before = header.channels[: header.channels.index(channel)]
    start = header.width * sum(other.kind.itemsize for other in before)
    stop = start + header.width * channel.kind.itemsize
    table = struct.unpack_from(f"<{header.blocks}Q", content.data, header.end)
    rows: list[NDArray[np.uint8]] = []
    for number, offset in enumerate(table):
        count = min(header.block_rows, header.height - number * header.block_rows)
        data = _block(content, offset, header.top + number * header.block_rows, count * header.row_bytes)
        rows.append(np.frombuffer(data, np.uint8).reshape(count, header.row_bytes)[:, start:stop])
    return np.concatenate(rows).view(channel.kind)


def _block(content: Content, offset: int, first_row: int, expected: int) -> bytes | memoryview:
    """The bytes of one block: stored as they are when compressing would not have made them fewer."""
    if offset + 8 > content.size:
        raise content.error("truncated: a block of the OpenEXR file lies beyond its end.")
    row, length = struct.unpack_from("<iI", content.data, offset)
    data = content.data[offset + 8 : offset + 8 + length]
    if row != first_row or len(data) < length:
        raise content.error("the OpenEXR file is truncated or damaged (a block is not where it should be).")
    if length == expected:
        return data
    inflated = inflate([data], expected)
    if inflated is None:
        raise content.error("the OpenEXR file is damaged (a block does not make its rows).")
    return _reordered(np.frombuffer(inflated, np.uint8))


def _reordered(data: NDArray[np.uint8]) -> bytes:
    """Undo what EXR does before zlib: differences of neighbouring bytes plus 128; even bytes first, then odd ones."""
    steps = data - np.uint8(128)
    steps[0] = data[0]
    halves = np.cumsum(steps, dtype=np.uint8)
    ordered = np.empty_like(halves)
    middle = (len(halves) + 1) // 2
    ordered[0::2], ordered[1::2] = halves[:middle], halves[middle:]
    return ordered.tobytes()


def _decode_apart(content: Content, header: ExrHeader, channel: Channel) -> NDArray[np.generic]:
    require("OpenEXR", content.name, "an OpenEXR file with this compression")
    command = [sys.executable, "-m", "stereogauge.io.exr_process", channel.name]
    try:
        done = subprocess.run(command, input=content.data, capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise content.error(f"the OpenEXR library did not finish within {PATIENCE:g} seconds.") from None
    if done.returncode != 0 or len(done.stdout) != header.width * header.height * channel.kind.itemsize:
        raise content.error("the OpenEXR file is truncated or damaged (the OpenEXR library could not decode it).")
    return np.frombuffer(done.stdout, channel.kind)
