"""Connected components of masks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.planes import FIRST_COLUMN, FIRST_ROW, PIXELS, label_extents
from stereogauge.model import Mask
from stereogauge.opencv import cv2


def components(mask: NDArray[Any]) -> tuple[NDArray[np.int32], int]:
    """8-connected components: a label image, 0 outside the mask, and the number of labels with 0."""
    number, labels = cv2.connectedComponents(
        np.ascontiguousarray(mask, dtype=np.uint8), connectivity=8, ltype=cv2.CV_32S
    )
    return np.asarray(labels, dtype=np.int32), int(number)


def large_components(labels: NDArray[np.int32], number: int, least: float) -> list[int]:
    """The labels of at least `least` pixels, by place and size: numbering differs between versions of OpenCV."""
    extents = label_extents(labels, number)[:, [FIRST_ROW, FIRST_COLUMN, PIXELS]]
    large = np.flatnonzero(extents[1:, 2] >= least) + 1
    return [int(label) for label in sorted(large, key=lambda label: tuple(extents[label]))]


def without_small_parts(mask: NDArray[Any], least: float) -> Mask:
    """The mask without its 8-connected components of fewer than `least` pixels."""
    labels, number = components(mask)
    large = np.zeros(number, np.bool_)
    large[large_components(labels, number, least)] = True
    return np.asarray(np.take(large, labels))
