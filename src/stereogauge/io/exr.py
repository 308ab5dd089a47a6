"""OpenEXR: the only float channel of an image, or the one called `disparity`; NaN and ±inf are unknown.

The OpenEXR library reads the header and decodes the pixels in a process of its own (`exr_process`): on damaged files
it writes to standard error and can crash, and a header that lies could make it take all memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.disparity import DisparityMap, as_disparity
from stereogauge.io.content import LARGEST_DEFLATE_RATIO, LARGEST_PIXEL_COUNT, Content, Decoding, require

MAGIC = b"\x76\x2f\x31\x01"
DEEP, MULTI_PART = 0x800, 0x1000
PROGRAM = Path(__file__).with_name("exr_process.py")
TIME_LIMIT = 120.0
"""Seconds that the other process may take."""


def read(content: Content, decoding: Decoding) -> DisparityMap:
    """The map of an EXR image."""
    if not content.starts_with(MAGIC):
        raise content.wrong_kind("an OpenEXR file")
    if int.from_bytes(content.data[4:8], "little") & (DEEP | MULTI_PART):
        raise content.error("this OpenEXR file is deep or has several parts; a disparity map is one flat image.")
    require("OpenEXR", content.name, "an OpenEXR file")
    description, samples = _decode(content)
    if "size" in description:
        content.check_dimensions(*description["size"])
    if "error" in description:
        raise content.error(description["error"])
    width, height, kind = description["width"], description["height"], np.dtype(description["type"])
    if len(samples) != width * height * kind.itemsize:
        raise content.error("the OpenEXR file is truncated or damaged (pixels are missing).")
    return as_disparity(np.frombuffer(samples, kind).reshape(height, width)).copy()


def _decode(content: Content) -> tuple[dict[str, Any], memoryview]:
    """What the program says about the image, and the samples."""
    height, width = content.shape or (0, 0)
    limits = [str(number) for number in (LARGEST_PIXEL_COUNT, LARGEST_DEFLATE_RATIO * content.size, width, height)]
    command = [sys.executable, "-P", str(PROGRAM), *limits]
    try:
        done = subprocess.run(command, input=content.data, capture_output=True, timeout=TIME_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise content.error(f"the OpenEXR library did not finish within {TIME_LIMIT:g} seconds.") from None
    if done.returncode != 0:
        raise content.error("the OpenEXR file is truncated or damaged (the OpenEXR library could not decode it).")
    end = done.stdout.index(b"\n")
    return json.loads(done.stdout[:end]), memoryview(done.stdout)[end + 1 :]
