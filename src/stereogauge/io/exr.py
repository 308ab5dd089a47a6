"""OpenEXR: the only float channel of an image, or the one called `disparity`; NaN and ±inf are unknown."""

from __future__ import annotations

from stereogauge.disparity import DisparityMap, as_disparity
from stereogauge.io.apart import decode_apart
from stereogauge.io.content import Content, Decoding, require_installed

MAGIC = b"\x76\x2f\x31\x01"
DEEP, MULTI_PART = 0x800, 0x1000


def read(content: Content, decoding: Decoding) -> DisparityMap:
    """The map of an EXR image."""
    if not content.starts_with(MAGIC):
        raise content.wrong_kind("an OpenEXR file")
    if int.from_bytes(content.data[4:8], "little") & (DEEP | MULTI_PART):
        raise content.error("this OpenEXR file is deep or has several parts; a disparity map is one flat image.")
    require_installed("OpenEXR", content.name, "an OpenEXR file")
    return as_disparity(decode_apart("exr", content)).copy()
