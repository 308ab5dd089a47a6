"""TIFF through tifffile.

As a disparity map: float values, or integers with a scale; NaN, ±inf and GDAL's nodata value (tag 42113) are unknown.
As an image: 8 or 16 bits.
The first directory is checked here before tifffile sees it, because tifffile trusts the counts in its entries.
"""

from __future__ import annotations

import functools
import io
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.disparity import DisparityMap, as_disparity
from stereogauge.errors import StereogaugeError, one_line
from stereogauge.io.content import (
    LARGEST_DEFLATE_RATIO,
    LARGEST_OTHER_RATIO,
    TIFF_SIGNATURES,
    Decoding,
    FileContent,
    inflate,
    require,
)

NODATA_TAG = 42113
NOT_COMPRESSED = 1
DEFLATE = (8, 32946)
COMPRESSIONS = (NOT_COMPRESSED, 5, *DEFLATE, 32773, 34925, 50000)
"""None, LZW, deflate, PackBits, LZMA and ZSTD: their decoders stop at the promised bytes. A picture inside of a TIFF
(JPEG, JPEG 2000, WebP, LERC, …) has a size of its own, for which a hundred bytes can require gigabytes."""
# Bytes of a value by the number of its type: byte, text, short, long, rational, … and BigTIFF's three.
TYPE_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
WHOLE_NUMBERS = (1, 3, 4, 13, 16)
# Width, length, compression, photometric, fill order, samples, rows per strip, planar, predictor, tile sizes, depths.
SINGLE_TAGS = frozenset((256, 257, 259, 262, 266, 277, 278, 284, 317, 322, 323, 32997, 32998))
DESCRIPTION_OF_DATA = frozenset((258, 273, 279, 324, 325, 339))
MOST_ENTRIES = 4096


def read(content: FileContent, decoding: Decoding) -> DisparityMap:
    """The only page of a TIFF of floats, or of integers where a scale is given; 0 is unknown in unsigned ones."""
    samples, nodata = _decode(content, _check_disparity)
    if samples.dtype.kind != "f" and decoding.scale is None:
        raise content.error(
            f"a TIFF of {samples.dtype} does not say how its values become disparities; give the stored value per "
            "pixel as scale (for example 16)."
        )
    disparity = _without_nodata(as_disparity(samples), nodata, content)
    return np.where(samples == 0, np.float32(np.nan), disparity) if samples.dtype.kind == "u" else disparity


def read_image(content: FileContent) -> NDArray[Any]:
    """The only page of a TIFF of 8-bit or 16-bit samples, (H, W) or (H, W, channels)."""
    return _decode(content, _check_image)[0]


@functools.cache
def _silence() -> None:
    """Without a handler, what tifffile logs about damaged files would appear on standard error."""
    import logging

    logging.getLogger("tifffile").addHandler(logging.NullHandler())


def _decode(content: FileContent, check: Callable[[Any, FileContent], None]) -> tuple[NDArray[Any], Any]:
    """The samples of the only page, which `check` has found to be of the right kind, and its nodata tag."""
    if not is_tiff(content):
        raise content.wrong_kind("a TIFF file")
    _check_directory(content)
    tifffile = require("tifffile", content.name, "a TIFF file")
    _silence()
    try:
        with tifffile.TiffFile(io.BytesIO(content.data)) as file:
            if len(file.pages) != 1:
                raise content.error(f"one image is expected; this TIFF holds {len(file.pages)} pages.")
            page = file.pages.first
            check(page, content)
            content.check_dimensions(page.shape[1], page.shape[0])
            if page.compression not in COMPRESSIONS:
                raise content.error(
                    f"the TIFF's compression {getattr(page.compression, 'name', page.compression)} is not read; store "
                    "it uncompressed or with deflate, LZW, PackBits, LZMA or ZSTD."
                )
            if page.compression != NOT_COMPRESSED:
                require("imagecodecs", content.name, "a compressed TIFF file")
            _check_data(page, content)
            return page.asarray(maxworkers=1), page.tags.get(NODATA_TAG)
    except StereogaugeError:
        raise
    except Exception as error:  # tifffile raises many kinds of exceptions on damaged files
        raise content.error(f"the TIFF is truncated or damaged ({one_line(error) or type(error).__name__}).") from error


def is_tiff(content: FileContent) -> bool:
    """Whether the file claims to be a TIFF."""
    return any(map(content.starts_with, TIFF_SIGNATURES))


def _check_directory(content: FileContent) -> None:
    """Raise an error for a first directory that no writer of a single image makes."""
    data = content.data
    order = "<" if bytes(data[:2]) == b"II" else ">"
    big = bytes(data[2:4]) in (b"+\0", b"\0+")
    count_format, entry_format, pointer_place = ("Q", "HHQ8x", 8) if big else ("H", "HHI4x", 4)
    try:
        (start,) = struct.unpack_from(order + ("Q" if big else "I"), data, pointer_place)
        (count,) = struct.unpack_from(order + count_format, data, start)
        if count > MOST_ENTRIES:
            raise content.error(f"the TIFF is damaged (its directory says that it has {count} entries).")
        first = start + struct.calcsize(count_format)
        size = struct.calcsize("<" + entry_format)
        for place in range(first, first + count * size, size):
            tag, kind, values = struct.unpack_from(order + entry_format, data, place)
            _check_entry(tag, kind, values, content)
    except (struct.error, OverflowError) as error:  # an offset above 2⁶³ is none that Python can count to
        raise content.error("truncated: the TIFF's directory lies beyond the end of the file.") from error


def _check_entry(tag: int, kind: int, count: int, content: FileContent) -> None:
    whole = kind in WHOLE_NUMBERS
    single = tag not in SINGLE_TAGS or (whole and count == 1)
    describing = tag not in DESCRIPTION_OF_DATA or (whole and count > 0)
    if not single or not describing or count * TYPE_SIZES.get(kind, 1) > content.size:
        raise content.error(f"the TIFF is damaged (the entry {tag} of its directory is impossible).")


def _check_disparity(page: Any, content: FileContent) -> None:
    if page.samplesperpixel != 1 or len(page.shape) != 2:
        raise content.error(f"a disparity map has one channel; this TIFF has shape {page.shape}.")
    if page.dtype is None or page.dtype.kind not in "fiu":
        raise content.error(f"the tiff encoding holds numbers; this file holds {page.dtype}.")


def _check_image(page: Any, content: FileContent) -> None:
    if len(page.shape) != 2 and (len(page.shape) != 3 or page.shape[2] not in (3, 4)):
        raise content.error(f"an image is grey or RGB; this TIFF has shape {page.shape}.")
    if page.dtype not in (np.uint8, np.uint16):
        raise content.error(f"images have 8 or 16 bits per sample; this TIFF holds {page.dtype}.")


def _check_data(page: Any, content: FileContent) -> None:
    """Raise an error unless the strips or tiles lie within the file and can hold the promised pixels."""
    segments = list(zip(page.dataoffsets, page.databytecounts, strict=True))
    if any(offset < 8 or count < 0 or offset + count > content.size for offset, count in segments):
        raise content.error("truncated: the TIFF's data lies beyond the end of the file.")
    promised, stored = page.nbytes, sum(count for _, count in segments)
    ratio = {NOT_COMPRESSED: 1}.get(page.compression, LARGEST_DEFLATE_RATIO)
    needed = math.prod(page.chunks) * page.dtype.itemsize
    if len(segments) != math.prod(page.chunked) or promised > ratio * stored or needed > ratio * content.size:
        raise content.error(f"the TIFF promises {promised} bytes of pixels; its {stored} bytes of data are too few.")
    if max(promised, needed) <= LARGEST_OTHER_RATIO * content.size:
        return
    if page.compression not in DEFLATE:
        raise content.error(
            f"the TIFF's data would grow more than {LARGEST_OTHER_RATIO}-fold; store it uncompressed or with deflate."
        )
    row_bytes = math.prod(page.chunks[1:]) * page.dtype.itemsize
    for number, (offset, count) in enumerate(segments):
        rows = page.chunks[0] if page.is_tiled else min(page.chunks[0], page.shape[0] - number * page.chunks[0])
        if inflate([content.data[offset : offset + count]], rows * row_bytes) is None:
            raise content.error("the TIFF's compressed data is damaged or does not make the promised pixels.")


def _without_nodata(disparity: DisparityMap, tag: Any, content: FileContent) -> DisparityMap:
    if tag is None:
        return disparity
    try:
        nodata = np.float32(float(str(tag.value).strip("\0 ")))
    except ValueError:
        raise content.error(f"the TIFF's nodata tag holds {str(tag.value)[:40]!r}, which is not a number.") from None
    disparity[disparity == nodata] = np.nan
    return disparity


def encode(disparity: DisparityMap, decoding: Decoding, name: str) -> bytes:
    """An uncompressed 32-bit float TIFF; unknown stays NaN."""
    tifffile = require("tifffile", name, "a TIFF file")
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, disparity, photometric="minisblack", metadata=None)
    return buffer.getvalue()
