"""Agreement of left and right disparity maps, and interpolation of what does not agree (native/left_right.cpp)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.library import INTEGER, REAL, Reads, Writes, native

_map = (np.float32, "height", "width")
_labels = native(
    "left_right_labels",
    left=Reads(*_map),
    right=Reads(*_map),
    labels=Writes(np.uint8, "height", "width"),
    agreeing=Writes(np.bool_, "width"),
    ndisp=INTEGER,
    tolerance=REAL,
)
_differences = native(
    "left_right_differences", left=Reads(*_map), right=Reads(*_map), difference=Writes(*_map), outside=REAL
)
_fill_gaps = native(
    "fill_gaps",
    disparity=Reads(*_map),
    occluded=Reads(np.bool_, "height", "width"),
    filled=Writes(*_map),
    below=Writes(np.float32, "gaps", 3),
    views=Writes(np.float32, 4, "width"),
)


def left_right_labels(
    left: NDArray[np.float32], right: NDArray[np.float32], ndisp: int, tolerance: float
) -> NDArray[np.uint8]:
    """0 consistent, 1 occluded, 2 mismatched; see `stereogauge.matching.postprocess.left_right_check`."""
    labels, agreeing = np.empty(left.shape, np.uint8), np.empty(left.shape[-1], np.bool_)
    _labels(np.ascontiguousarray(left), np.ascontiguousarray(right), labels, agreeing, ndisp, tolerance)
    return labels


def left_right_differences(
    left: NDArray[np.float32], right: NDArray[np.float32], outside: float
) -> NDArray[np.float32]:
    """|D(x) − D_r(x − D(x))|, D_r linear between its two nearest pixels, or the nearer one where they differ by more
    than 1.

    `outside` where x − D(x) leaves the image or either map is unknown.
    """
    difference = np.empty(left.shape, np.float32)
    _differences(np.ascontiguousarray(left), np.ascontiguousarray(right), difference, outside)
    return difference


def fill_gaps(disparity: NDArray[np.float32], occluded: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The map with unknown pixels filled; see `stereogauge.matching.postprocess.interpolate`."""
    known = np.ascontiguousarray(disparity)
    filled = known.copy()
    gaps = known.size - int(np.count_nonzero(np.isfinite(known)))
    below, views = np.empty((gaps, 3), np.float32), np.empty((4, known.shape[-1]), np.float32)
    _fill_gaps(known, np.ascontiguousarray(occluded), filled, below, views)
    return filled
