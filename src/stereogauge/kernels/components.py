"""Places and sizes of labelled components."""

from __future__ import annotations

from typing import Any

import numpy as np

from stereogauge.kernels.jit import kernel


@kernel
def component_extents(labels: Any, number: int) -> Any:
    """(first row, first column, pixels) of each label from 0 to `number` − 1."""
    height, width = labels.shape
    extents = np.empty((number, 3), np.int64)
    for label in range(number):
        extents[label, 0], extents[label, 1], extents[label, 2] = height, width, 0
    for y in range(height):
        for x in range(width):
            label = labels[y, x]
            extents[label, 0] = min(extents[label, 0], y)
            extents[label, 1] = min(extents[label, 1], x)
            extents[label, 2] += 1
    return extents


@kernel
def label_sums(labels: Any, sums: Any) -> None:
    """Add the column, the row and 1 of every pixel to `sums[:, label]`."""
    height, width = labels.shape
    for y in range(height):
        for x in range(width):
            label = labels[y, x]
            sums[0, label] += x
            sums[1, label] += y
            sums[2, label] += 1.0
