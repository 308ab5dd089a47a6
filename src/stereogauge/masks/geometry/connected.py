"""Gradients of disparity maps and connected components of masks: what geometry sets are found by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.model import DisparityMap, Mask

Floats = NDArray[np.float32]

WINDOW = 5  # px: the side of the window in which planes and normals are fitted
ROWS_AT_ONCE = 64  # which stay in the cache from one operation to the next


def central_gradient(values: DisparityMap) -> tuple[Floats, Floats, Floats]:
    """∂/∂x, ∂/∂y and magnitude by central differences, one-sided on the image's rim; 0 along a side of one pixel.

    Each operation is rounded by itself, as in `edge_fuzziness`: equal maps must have exactly equal magnitudes.

    >>> central_gradient(np.float32([[0, 3, 6], [4, 7, 10]]))[2]
    array([[5., 5., 5.],
           [5., 5., 5.]], dtype=float32)
    """
    along_x, along_y = _differences(values, 1), _differences(values, 0)
    magnitude = np.empty(values.shape, np.float32)
    for start in range(0, len(values), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        np.sqrt(np.square(along_x[rows]) + np.square(along_y[rows]), out=magnitude[rows])
    return along_x, along_y, magnitude


def whole_windows(values: DisparityMap, *, beyond: bool = False) -> Mask:
    """Pixels with known values in the 5 × 5 px around; those beyond the image count as unknown unless `beyond`."""
    import cv2

    known, square = np.isfinite(values).astype(np.uint8), np.ones((WINDOW, WINDOW), np.uint8)
    return cv2.erode(known, square, borderValue=int(beyond)).view(np.bool_)


def _differences(values: DisparityMap, axis: int) -> Floats:
    differences = np.zeros(values.shape, np.float32)
    if values.shape[axis] > 1:
        along, found = np.moveaxis(values, axis, 0), np.moveaxis(differences, axis, 0)
        np.subtract(along[2:], along[:-2], out=found[1:-1])
        found[1:-1] *= np.float32(0.5)
        found[0], found[-1] = along[1] - along[0], along[-1] - along[-2]
    return differences


def vector_change(along_x: Floats, along_y: Floats) -> Floats:
    """Change of the vector (x, y) per px: the length of its forward differences, 0 across the last row or column."""
    squares = np.zeros(along_x.shape, np.float32)
    for axis in (1, 0):
        for part in (along_x, along_y):
            squares += np.square(np.diff(part, axis=axis, append=np.take(part, [-1], axis=axis)))
    return np.asarray(np.sqrt(squares))


def components(mask: NDArray[Any]) -> tuple[NDArray[np.int32], int]:
    """8-connected components: a label image, 0 outside the mask, and the number of labels with 0."""
    import cv2

    number, labels = cv2.connectedComponents(
        np.ascontiguousarray(mask, dtype=np.uint8), connectivity=8, ltype=cv2.CV_32S
    )
    return np.asarray(labels, dtype=np.int32), int(number)


def large_components(labels: NDArray[np.int32], number: int, least: float) -> list[int]:
    """The labels of at least `least` pixels, by place and size: numbering differs between versions of OpenCV."""
    from scipy.ndimage import find_objects

    sizes = np.bincount(labels.ravel(), minlength=number).tolist()
    places = {
        label: (box[0].start, box[1].start, sizes[label])
        for label, box in enumerate(find_objects(labels), start=1)
        if box is not None and sizes[label] >= least
    }
    return sorted(places, key=places.__getitem__)


def without_small_parts(mask: NDArray[Any], least: float) -> Mask:
    """The mask without its 8-connected components of fewer than `least` pixels."""
    labels, number = components(mask)
    large = np.zeros(number, np.bool_)
    large[large_components(labels, number, least)] = True
    return np.asarray(np.take(large, labels))


def bounding_window(mask: Mask, margin: int = 0) -> tuple[tuple[slice, slice], tuple[int, int]]:
    """The smallest window that holds a mask with some margin inside the image, and its first row and column."""
    spans = []
    for axis, length in enumerate(mask.shape):
        inside = np.flatnonzero(mask.any(axis=1 - axis))
        spans.append(slice(max(int(inside[0]) - margin, 0), min(int(inside[-1]) + margin + 1, length)))
    return (spans[0], spans[1]), (spans[0].start, spans[1].start)
