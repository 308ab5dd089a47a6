"""Depth that is stored in a fixed unit: d = scale / v + offset, where scale = f·B in px times units per metre.

A 16-bit PNG (0 = unknown, 65535 = beyond the range and unknown too) or a NumPy array (0, NaN and infinity unknown).
"""

from __future__ import annotations

import numpy as np

from stereogauge.disparity import DisparityMap
from stereogauge.io import numpy_, png, png_file
from stereogauge.io.content import Content, Decoding

FARTHEST = 65535.0


def read(content: Content, decoding: Decoding) -> DisparityMap:
    """The disparities of a file that holds depths."""
    if decoding.scale is None:
        raise content.error('encoding="inverse" needs the scale that is divided by the stored depth: f·B in its unit.')
    if decoding.scale < 0:
        raise content.error(f"the scale {decoding.scale:g} is not possible for depths; it must be positive.")
    if content.starts_with(png_file.SIGNATURE):
        stored = png.read_middlebury(content, Decoding(1.0, unknown=decoding.unknown))
        known = (stored > 0) & (stored < FARTHEST)
    else:
        stored = Decoding(unknown=decoding.unknown).disparities(numpy_.read_npy(content, decoding))
        known = stored > 0
    depth = np.where(known, stored.astype(np.float64), np.nan)
    return (decoding.scale / depth + decoding.offset).astype(np.float32)
