"""Float TIFF through tifffile: values are disparities; NaN, ±inf and GDAL's nodata value (tag 42113) are unknown."""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from stereogauge.errors import StereogaugeError
from stereogauge.io.content import LARGEST_DEFLATE_RATIO, Content, inflate, one_line
from stereogauge.io.optional import require
from stereogauge.io.tiff_directory import check_directory
from stereogauge.model import as_disparity

if TYPE_CHECKING:
    from stereogauge.io.encodings import Decoding
    from stereogauge.model import DisparityMap

NODATA_TAG = 42113
SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
NOT_COMPRESSED = 1
DEFLATE = (8, 32946)
LARGEST_OTHER_RATIO = 64
"""How far compressions other than deflate, whose real size cannot be counted beforehand, may expand a file."""

# Without a handler of its own, tifffile's remarks on damaged files would appear on standard error.
_SILENCE = logging.NullHandler()


def read(content: Content, decoding: Decoding) -> DisparityMap:
    """The only page of a float TIFF."""
    if not any(content.starts_with(signature) for signature in SIGNATURES):
        raise content.wrong_kind("a TIFF file")
    check_directory(content)
    tifffile = require("tifffile", content.name, "a TIFF file")
    logging.getLogger("tifffile").addHandler(_SILENCE)
    try:
        with tifffile.TiffFile(io.BytesIO(content.data)) as file:
            return _read_page(file.pages.first, len(file.pages), content)
    except StereogaugeError:
        raise
    except Exception as error:  # tifffile meets damage with whatever kind of exception it causes
        raise content.error(f"the TIFF is truncated or damaged ({one_line(error) or type(error).__name__}).") from error


def _read_page(page: Any, pages: int, content: Content) -> DisparityMap:
    if pages != 1:
        raise content.error(f"a disparity map is one image; this TIFF holds {pages} pages.")
    if page.samplesperpixel != 1 or len(page.shape) != 2:
        raise content.error(f"a disparity map has one channel; this TIFF has shape {page.shape}.")
    if page.dtype is None or page.dtype.kind != "f":
        raise content.error(f"the tiff encoding holds 32-bit floats; this file holds {page.dtype}.")
    height, width = page.shape
    content.check_dimensions(width, height)
    if page.compression != NOT_COMPRESSED:
        require("imagecodecs", content.name, "a compressed TIFF file")
    _check_data(page, content)
    disparity = as_disparity(page.asarray(maxworkers=1))
    return _without_nodata(disparity, page.tags.get(NODATA_TAG), content)


def _check_data(page: Any, content: Content) -> None:
    """The strips or tiles must lie within the file and make the promised pixels, before memory is given to them."""
    segments = list(zip(page.dataoffsets, page.databytecounts, strict=True))
    if any(offset < 8 or count < 0 or offset + count > content.size for offset, count in segments):
        raise content.error("truncated: the TIFF's data lies beyond the end of the file.")
    promised, stored = page.nbytes, sum(count for _, count in segments)
    ratio = {NOT_COMPRESSED: 1}.get(page.compression, LARGEST_DEFLATE_RATIO)
    needed = page.chunks[0] * page.chunks[1] * page.dtype.itemsize
    if len(segments) != page.chunked[0] * page.chunked[1] or promised > ratio * stored or needed > ratio * content.size:
        raise content.error(
            f"the TIFF promises {promised} bytes of pixels; its {stored} bytes of data cannot hold them."
        )
    if max(promised, needed) <= LARGEST_OTHER_RATIO * content.size:
        return
    if page.compression not in DEFLATE:
        raise content.error(
            f"the TIFF's data would grow more than {LARGEST_OTHER_RATIO}-fold; store it uncompressed or with deflate."
        )
    for number, (offset, count) in enumerate(segments):
        rows = page.chunks[0] if page.is_tiled else min(page.chunks[0], page.shape[0] - number * page.chunks[0])
        if inflate([content.data[offset : offset + count]], rows * page.chunks[1] * page.dtype.itemsize) is None:
            raise content.error("the TIFF's compressed data is damaged or does not make the promised pixels.")


def _without_nodata(disparity: DisparityMap, tag: Any, content: Content) -> DisparityMap:
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
