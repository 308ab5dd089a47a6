"""Moments, fits and memberships of image regions that may be planes d = a·x + b·y + c."""

from __future__ import annotations

from typing import Any

import numpy as np

from stereogauge.kernels.jit import helper, kernel

TERMS = 6  # 1, u, v, u², u·v, v²


@kernel
def distances_along_disparity(disparity: Any, a: float, b: float, c: float) -> Any:
    """|D − a·x − b·y − c| of every pixel."""
    height, width = disparity.shape
    distance = np.empty((height, width), np.float32)
    for y in range(height):
        row = b * y + c
        for x in range(width):
            distance[y, x] = abs(disparity[y, x] - a * x - row)
    return distance


@kernel
def part_statistics(labels: Any, number: int, distance: Any, core: Any) -> Any:
    """Per label: pixels, sum of squared distances, and pixels of the core."""
    found = np.zeros((number, 3))
    height, width = labels.shape
    for y in range(height):
        for x in range(width):
            label = labels[y, x]
            if label:
                found[label, 0] += 1.0
                found[label, 1] += float(distance[y, x]) * float(distance[y, x])
                found[label, 2] += core[y, x]
    return found


@kernel
def quadratic_moments(disparity: Any, mask: Any, centre_x: float, centre_y: float, scale: float, level: float) -> Any:
    """Normal equations of the least-squares quadratic over a mask: (matrix, right-hand side, Σe², pixels).

    The terms are 1, u, v, u², u·v, v² with u = (x − centre_x)/scale, v = (y − centre_y)/scale and e = D − level. The
    first three rows and columns are those of the plane.
    """
    matrix = np.zeros((TERMS, TERMS))
    right = np.zeros(TERMS)
    squares = 0.0
    count = 0
    terms = np.ones(TERMS)
    height, width = mask.shape
    for y in range(height):
        v = (y - centre_y) / scale
        for x in range(width):
            if not mask[y, x]:
                continue
            u = (x - centre_x) / scale
            e = disparity[y, x] - level
            terms[1], terms[2], terms[3], terms[4], terms[5] = u, v, u * u, u * v, v * v
            for i in range(TERMS):
                right[i] += terms[i] * e
                for j in range(i, TERMS):
                    matrix[i, j] += terms[i] * terms[j]
            squares += e * e
            count += 1
    for i in range(TERMS):
        for j in range(i):
            matrix[i, j] = matrix[j, i]
    return matrix, right, squares, count


@helper
def _labels_around(coarse: Any, row: int, column: int, reach: int, found: Any) -> int:
    """Write the different labels around a cell into `found`, in reading order; their number."""
    rows, columns = coarse.shape
    number = 0
    for r in range(max(row - reach, 0), min(row + reach + 1, rows)):
        for c in range(max(column - reach, 0), min(column + reach + 1, columns)):
            label = coarse[r, c]
            new = label != 0
            for i in range(number):
                new = new and found[i] != label
            if new:
                found[number] = label
                number += 1
    return number


@kernel
def nearest_planes(
    disparity: Any, known: Any, coarse: Any, step: int, reach: int, planes: Any, tolerance: float
) -> Any:
    """Labels of the full map from those of a map of every `step`-th pixel.

    A pixel takes the plane that is nearest to it along the disparity: its own cell's plane within twice the tolerance,
    or one of a cell at most `reach` away within the tolerance. 0 where there is none.
    """
    height, width = disparity.shape
    rows, columns = coarse.shape
    labels = np.zeros((height, width), np.int16)
    beside = np.empty((2 * reach + 1) * (2 * reach + 1), np.int64)
    for row in range(rows):
        for column in range(columns):
            own = coarse[row, column]
            number = _labels_around(coarse, row, column, reach, beside)
            if number == 0:
                continue
            for y in range(row * step, height if row == rows - 1 else (row + 1) * step):
                for x in range(column * step, width if column == columns - 1 else (column + 1) * step):
                    if not known[y, x]:
                        continue
                    smallest = np.inf
                    for i in range(number):
                        label = beside[i]
                        k = label - 1
                        distance = abs(disparity[y, x] - planes[k, 0] * x - planes[k, 1] * y - planes[k, 2])
                        limit = 2 * tolerance if label == own else tolerance
                        if distance <= limit and distance < smallest:
                            smallest = distance
                            labels[y, x] = label
    return labels
