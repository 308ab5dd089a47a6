"""Depth instead of disparity: d = f·B / Z − doffs, with Z in metres or millimetres; Z ≤ 0 is unknown."""

from __future__ import annotations

import numpy as np

from stereogauge.disparity import DisparityMap
from stereogauge.io.content import Content, Decoding

MILLIMETRES = 1000.0


def disparity_of_depth(depth: DisparityMap, decoding: Decoding, content: Content) -> DisparityMap:
    """The disparities of depths in metres."""
    calibration = decoding.calibration
    if calibration is None or calibration.focal_baseline is None:
        raise content.error(
            "depth becomes disparity by d = f·B / Z − doffs, and focal length and baseline are not both known here; "
            "give a calibration with both."
        )
    safe = np.where(depth > 0, depth.astype(np.float64), np.nan)
    return (calibration.focal_baseline / safe - calibration.doffs).astype(np.float32)
