"""Planes d = a·x + b·y + c in a disparity map: hypotheses, fits, and the regions that may lie on one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.library import FLAG, INTEGER, REAL, Reads, Writes, native

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]
Coefficients = tuple[float, float, float]

TERMS = 6  # of a quadratic: 1, u, v, u², u·v, v²
SHAPE = ("height", "width")
BELOW = "a label is not from 0 to below {number}."
POINTS: dict[str, Any] = {name: Reads(np.float32, "points") for name in "xyd"}

_direction_change = native(
    "direction_change",
    along_x=Reads(np.float32, *SHAPE),
    along_y=Reads(np.float32, *SHAPE),
    change=Writes(np.float32, *SHAPE),
    angles=Writes(np.float32, 2, "width"),
)
_best_hypothesis = native(
    "best_hypothesis",
    **POINTS,
    triples=Reads(np.int64, "number", 3),
    tolerance=REAL,
    plane=Writes(np.float64, 3),
    returns=INTEGER,
    refusal="a triple names a point that does not exist; there are {points} points.",
)
_fit_near_plane = native("fit_near_plane", **POINTS, tolerance=REAL, plane=Writes(np.float64, 3), returns=INTEGER)
_split_by_plane = native(
    "split_by_plane",
    **POINTS,
    a=REAL,
    b=REAL,
    c=REAL,
    tolerance=REAL,
    near=Writes(np.float32, 3, "points"),
    far=Writes(np.float32, 3, "points"),
    returns=INTEGER,
)
_distances_along_disparity = native(
    "distances_along_disparity",
    disparity=Reads(np.float32, *SHAPE),
    a=REAL,
    b=REAL,
    c=REAL,
    distance=Writes(np.float32, *SHAPE),
)
_part_statistics = native(
    "part_statistics",
    labels=Reads(np.int32, *SHAPE),
    distance=Reads(np.float32, *SHAPE),
    core=Reads(np.bool_, *SHAPE),
    found=Writes(np.float64, "number", 3),
    returns=FLAG,
    refusal=BELOW,
)
_quadratic_moments = native(
    "quadratic_moments",
    disparity=Reads(np.float32, *SHAPE),
    mask=Reads(np.bool_, *SHAPE),
    centre_x=REAL,
    centre_y=REAL,
    scale=REAL,
    level=REAL,
    matrix=Writes(np.float64, TERMS, TERMS),
    right=Writes(np.float64, TERMS),
    squares=Writes(np.float64, 1),
    returns=INTEGER,
)
_nearest_planes = native(
    "nearest_planes",
    disparity=Reads(np.float32, *SHAPE),
    known=Reads(np.bool_, *SHAPE),
    coarse=Reads(np.int16, "rows", "columns"),
    planes=Reads(np.float64, "number", 3),
    step=INTEGER,
    reach=INTEGER,
    tolerance=REAL,
    beside=Writes(np.int64, "cells"),
    labels=Writes(np.int16, *SHAPE),
    returns=FLAG,
    refusal="a label has no plane among {number}, or the step is not positive.",
)


def direction_change(along_x: Floats, along_y: Floats) -> Floats:
    """Change of the direction atan2(y, x) in rad per px: the length of its wrapped forward differences.

    Across the last row or column it is 0.
    """
    change = np.empty(along_x.shape, np.float32)
    _direction_change(along_x, along_y, change, np.empty((2, along_x.shape[1]), np.float32))
    return change


def best_hypothesis(
    x: Floats, y: Floats, d: Floats, triples: NDArray[np.int64], tolerance: float
) -> tuple[Coefficients, int]:
    """The plane through a triple of points that has most points within `tolerance`, the first of equal ones, and their
    number; 0 where every triple lies on a line.
    """
    plane = np.zeros(3)
    found = _best_hypothesis(x, y, d, triples, float(tolerance), plane)
    return _coefficients(plane), int(found)


def fit_near_plane(x: Floats, y: Floats, d: Floats, plane: Coefficients, tolerance: float) -> tuple[Coefficients, int]:
    """Least squares over the points within `tolerance` of the given plane, and their number.

    Points on one line determine no plane: the given one is returned.
    """
    fitted = np.array(plane, np.float64)
    found = _fit_near_plane(x, y, d, float(tolerance), fitted)
    return _coefficients(fitted), int(found)


def split_by_plane(x: Floats, y: Floats, d: Floats, plane: Coefficients, tolerance: float) -> tuple[Floats, Floats]:
    """(x, y, d) of the points within `tolerance` of the plane and of the others: three rows each, in their order."""
    near, far = np.empty((2, 3, len(x)), np.float32)
    inside = _split_by_plane(x, y, d, *plane, float(tolerance), near, far)
    return near[:, :inside], far[:, : len(x) - inside]


def distances_along_disparity(disparity: Floats, plane: Coefficients) -> Floats:
    """|D − a·x − b·y − c| of every pixel."""
    distance = np.empty(disparity.shape, np.float32)
    _distances_along_disparity(disparity, *plane, distance)
    return distance


def part_statistics(labels: NDArray[np.int32], number: int, distance: Floats, core: Flags) -> Doubles:
    """Per label from 1 to `number` − 1: pixels, sum of squared distances, and pixels of the core; row 0 is 0."""
    found = np.zeros((number, 3))
    _part_statistics(labels, distance, core, found)
    return found


def quadratic_moments(
    disparity: Floats, mask: Flags, centre_x: float, centre_y: float, scale: float, level: float
) -> tuple[Doubles, Doubles, float, int]:
    """Normal equations of the least-squares quadratic over a mask: (matrix, right-hand side, Σe², pixels).

    The terms are 1, u, v, u², u·v, v² with u = (x − centre_x)/scale, v = (y − centre_y)/scale and e = D − level. The
    first three rows and columns are those of the plane.
    """
    matrix, right, squares = np.empty((TERMS, TERMS)), np.empty(TERMS), np.empty(1)
    count = _quadratic_moments(disparity, mask, centre_x, centre_y, scale, level, matrix, right, squares)
    return matrix, right, float(squares[0]), int(count)


def nearest_planes(
    disparity: Floats,
    known: Flags,
    coarse: NDArray[np.int16],
    step: int,
    reach: int,
    planes: Doubles,
    tolerance: float,
) -> NDArray[np.int16]:
    """Labels of the full map from those of a map of every `step`-th pixel.

    A known pixel takes the plane that is nearest to it along the disparity: its own cell's plane within twice the
    tolerance, or one of a cell at most `reach` away within the tolerance. 0 where there is none.
    """
    labels = np.zeros(disparity.shape, np.int16)
    room = np.empty((2 * reach + 1) ** 2, np.int64)
    _nearest_planes(disparity, known, coarse, planes, step, reach, float(tolerance), room, labels)
    return labels


def _coefficients(plane: Doubles) -> Coefficients:
    a, b, c = plane.tolist()
    return a, b, c
