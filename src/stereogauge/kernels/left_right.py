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


def left_right_check(
    disparity: NDArray[np.float32], right_disparity: NDArray[np.float32], ndisp: int, tolerance: float = 1.0
) -> NDArray[np.uint8]:
    """Per left pixel 0 consistent, 1 occluded or 2 mismatched; an unknown disparity is never consistent.

    Consistent: |D(x) − D_r(x − D(x))| ≤ tolerance, the right map taken at the nearest pixel. Otherwise the pixel's
    epipolar line is followed through the right map: mismatched if D_r(x − d) agrees with some d in 0…ndisp − 1 within
    the tolerance, occluded if with none.
    """
    left, right = np.ascontiguousarray(disparity), np.ascontiguousarray(right_disparity)
    labels, agreeing = np.empty(left.shape, np.uint8), np.empty(left.shape[-1], np.bool_)
    _labels(left, right, labels, agreeing, ndisp, tolerance)
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


def interpolate(disparity: NDArray[np.float32], occluded: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Unknown pixels filled from the nearest known ones in eight directions: the second smallest for occluded pixels,
    the median for others.

    The second smallest continues the background behind a foreground edge; the median keeps steps sharp. A pixel that
    sees no known one stays unknown.
    """
    known = np.ascontiguousarray(disparity)
    filled = known.copy()
    gaps = known.size - int(np.count_nonzero(np.isfinite(known)))
    below, views = np.empty((gaps, 3), np.float32), np.empty((4, known.shape[-1]), np.float32)
    _fill_gaps(known, np.ascontiguousarray(occluded), filled, below, views)
    return filled
