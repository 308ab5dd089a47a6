"""What a disparity map, an image and a mask are.

A disparity map is a float32 array (height, width) in which NaN, and nothing else, means "unknown". The left pixel
(x, y) with disparity d corresponds to the right pixel (x − d, y).
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import FileError, SizeError

DisparityMap: TypeAlias = NDArray[np.float32]
Mask: TypeAlias = NDArray[np.bool_]
Image: TypeAlias = NDArray[Any]


def is_finite_number(value: object) -> bool:
    """Whether `value` is a real number, neither NaN nor infinite."""
    return isinstance(value, Real) and math.isfinite(value)


def as_disparity(values: NDArray[Any], name: str = "disparity map") -> DisparityMap:
    """A float32 map with NaN for everything that is not finite; the input itself if it is such a map already.

    >>> as_disparity(np.array([[1.5, np.inf]]))
    array([[1.5, nan]], dtype=float32)
    """
    array = np.asarray(values)
    if array.ndim != 2:
        raise SizeError(f"A {name} has two dimensions (height, width); found shape {array.shape}.")
    if array.size == 0:
        raise SizeError(f"The {name} is empty: its shape is {array.shape}.")
    if array.dtype.kind not in "fiu":
        raise FileError(f"A {name} holds real numbers; found type {array.dtype}.")
    with np.errstate(over="ignore"):
        disparity = np.ascontiguousarray(array, dtype=np.float32)
    finite = np.isfinite(disparity)
    if finite.all() or np.isnan(disparity[~finite]).all():
        return disparity
    return np.where(finite, disparity, np.float32(np.nan))
