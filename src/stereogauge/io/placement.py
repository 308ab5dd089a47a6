"""Maps that lie elsewhere than their scene: mirrored, with rows and columns exchanged, or padded."""

from __future__ import annotations

import numpy as np

from stereogauge.disparity import DisparityMap
from stereogauge.errors import SizeError, unknown_name

FLIPS = {
    "left-right": (slice(None), slice(None, None, -1)),
    "up-down": (slice(None, None, -1), slice(None)),
    "both": (slice(None, None, -1), slice(None, None, -1)),
}
TRANSPOSE = "transpose"


def turned(disparity: DisparityMap, flip: str) -> DisparityMap:
    """The map mirrored as `flip` says: left-right, up-down, both, or rows and columns exchanged."""
    if not flip:
        return disparity
    if flip not in (*FLIPS, TRANSPOSE):
        raise unknown_name("flip", flip, (*FLIPS, TRANSPOSE))
    return np.ascontiguousarray(disparity.T if flip == TRANSPOSE else disparity[FLIPS[flip]])


def cropped(disparity: DisparityMap, window: tuple[int, ...], name: str) -> DisparityMap:
    """The part of the map from column x and row y on, with a width and height: `window` is (x, y, width, height)."""
    if not window:
        return disparity
    x, y, width, height = window
    if min(window) < 0 or y + height > disparity.shape[0] or x + width > disparity.shape[1]:
        raise SizeError(
            f"{name}: {width} × {height} pixels from column {x} and row {y} on do not lie within the map of "
            f"{disparity.shape[1]} × {disparity.shape[0]}."
        )
    return np.ascontiguousarray(disparity[y : y + height, x : x + width])
