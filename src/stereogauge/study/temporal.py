"""Temporal consistency: how much a map changes along the motion of what it shows.

d_t(x) is held against d_{t+1}(x + u(x)), with u the optical flow of the left images: given, or estimated from them.
What the other frame does not show, because it is hidden or outside, is left out where the flow there and back disagree.
A disparity also changes because things come nearer; with ground truth of both frames the true change is subtracted.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import FileError, SizeError
from stereogauge.io.content import display_name
from stereogauge.matching.preparation import eight_bit, grey
from stereogauge.model import DisparityMap, Mask

Flow = NDArray[np.float32]
FLO_MAGIC = np.float32(202021.25)
KITTI_OFFSET, KITTI_SCALE = 32768.0, 64.0
AGREEMENT = 1.0
"""px by which the flow there and back may disagree at a pixel that both frames show."""


def estimated_flow(first: NDArray[Any], second: NDArray[Any]) -> Flow:
    """The flow from one image to the next by dense inverse search (Kroeger et al., ECCV 2016), NaN where it does not
    lead back to its start.
    """
    import cv2

    pair = [eight_bit(grey(image, "left")) for image in (first, second)]
    search = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    start = np.zeros((*pair[0].shape, 2), np.float32)
    there, back = (np.asarray(search.calc(a, b, start.copy()), np.float32) for a, b in (pair, pair[::-1]))
    returned = there + _sampled(back, there)
    agreeing = np.hypot(returned[..., 0], returned[..., 1]) <= AGREEMENT
    there[~agreeing] = np.nan
    return there


def read_flow(path: str | os.PathLike[str]) -> Flow:
    """Flow from Middlebury's .flo, KITTI's 16-bit PNG, or a NumPy array (H, W, 2); NaN = unknown."""
    import cv2

    name = display_name(path)
    text = str(path).lower()
    try:
        if text.endswith(".npy"):
            values = np.load(path, allow_pickle=False)
        elif text.endswith(".png"):
            stored = cv2.imread(os.fspath(path), cv2.IMREAD_UNCHANGED)
            if stored is None or stored.dtype != np.uint16 or stored.ndim != 3:
                raise ValueError("not a 16-bit RGB PNG")
            values = (stored[..., :0:-1].astype(np.float32) - KITTI_OFFSET) / KITTI_SCALE
            values[stored[..., 0] == 0] = np.nan
        else:
            data = np.fromfile(path, "<f4")
            if data.size < 3 or data[0] != FLO_MAGIC:
                raise ValueError("not a .flo file")
            width, height = data[1:3].view("<i4")
            values = data[3 : 3 + 2 * width * height].reshape(height, width, 2)
    except (OSError, ValueError) as problem:
        raise FileError(f"{name}: cannot be read as optical flow ({problem}).") from None
    if values.ndim != 3 or values.shape[2] != 2:
        raise FileError(f"{name}: optical flow has the shape (height, width, 2); found {values.shape}.")
    flow = np.array(values, np.float32)
    flow[~(np.abs(flow) < 1e9)] = np.nan
    return flow


def along_flow(later: DisparityMap, flow: Flow) -> DisparityMap:
    """The later map brought to the pixels of the earlier frame: d_{t+1}(x + u(x)) at the nearest pixel.

    NaN where the flow is unknown or leaves the image.

    >>> flow = np.zeros((1, 4, 2), np.float32)
    >>> flow[..., 0] = 1  # everything moves one pixel to the right
    >>> along_flow(np.array([[9, 1, 2, 3]], np.float32), flow)
    array([[ 1.,  2.,  3., nan]], dtype=float32)
    """
    if flow.shape[:2] != later.shape:
        raise SizeError(
            f"The flow has {flow.shape[1]} × {flow.shape[0]} pixels, the map {later.shape[1]} × {later.shape[0]}; both "
            "must have one size."
        )
    return _sampled(later, flow)


def _sampled(values: NDArray[np.float32], flow: Flow) -> NDArray[np.float32]:
    height, width = flow.shape[:2]
    known: Mask = np.all(np.isfinite(flow), axis=2)
    motion = np.where(known[..., np.newaxis], flow, 0)
    columns = np.rint(np.arange(width) + motion[..., 0]).astype(np.int64)
    rows = np.rint(np.arange(height)[:, np.newaxis] + motion[..., 1]).astype(np.int64)
    inside: Mask = known & (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    found = values[np.where(inside, rows, 0), np.where(inside, columns, 0)]
    found[~inside] = np.nan
    return found
