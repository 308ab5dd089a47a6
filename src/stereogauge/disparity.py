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


def plane_shape(shape: tuple[int, ...]) -> tuple[int, int] | None:
    """(height, width) of an array of that shape, also of (1, H, W), (H, W, 1) and (1, 1, H, W); None of any other.

    >>> plane_shape((1, 375, 450)), plane_shape((375, 450, 3))
    ((375, 450), None)
    """
    sizes = list(shape)
    while len(sizes) > 2 and sizes[0] == 1:
        del sizes[0]
    if len(sizes) == 3 and sizes[2] == 1:
        del sizes[2]
    return (int(sizes[0]), int(sizes[1])) if len(sizes) == 2 else None


def is_array(value: object) -> bool:
    """Whether a value is an array, or a tensor that can be read as one."""
    return isinstance(value, np.ndarray) or hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def as_array(values: Any) -> NDArray[Any]:
    """The NumPy array of an array, of a list, or of a tensor in main memory; NaN where a masked array is masked.

    Tensors are recognised by `__array__` or DLPack. Gradients are ignored, and bfloat16 becomes float32.

    >>> as_array(np.ma.masked_equal([[1, 0]], 0))
    array([[ 1., nan]], dtype=float32)
    """
    if isinstance(values, np.ma.MaskedArray):
        numbers = values.data if values.dtype.kind == "f" else values.data.astype(np.float32)
        return np.where(np.ma.getmaskarray(values), np.float32(np.nan), numbers)
    if isinstance(values, np.ndarray) or not is_array(values):
        return np.asarray(values)
    device = str(getattr(values, "device", "cpu"))
    if "cpu" not in device.lower():
        raise FileError(
            f"A tensor on the device {device} cannot be read; move it to main memory first, as tensor.cpu()."
        )
    tensor = values.detach() if hasattr(values, "detach") else values
    if "bfloat16" in str(getattr(tensor, "dtype", "")):
        tensor = tensor.float() if hasattr(tensor, "float") else tensor.astype(np.float32)
    try:
        return np.asarray(tensor) if hasattr(tensor, "__array__") else np.from_dlpack(tensor)
    except (TypeError, RuntimeError, BufferError) as problem:  # a sparse or quantised tensor, a read-only buffer
        raise FileError(f"This {type(values).__name__} cannot be read as an array: {problem}") from None


def as_plane(values: Any, name: str) -> NDArray[Any]:
    """The array (height, width) of a map of numbers; NaN where it is masked."""
    array = as_array(values)
    size = plane_shape(array.shape)
    if size is None:
        batch = "; sg.Running takes batches (B, H, W) and (B, 1, H, W)" if array.ndim > 2 else ""
        raise SizeError(f"A {name} has two dimensions (height, width); found shape {array.shape}{batch}.")
    array = array if array.ndim == 2 else array.reshape(size)
    if array.size == 0:
        raise SizeError(f"The {name} is empty: its shape is {array.shape}.")
    if array.dtype.kind not in "fiu":
        raise FileError(f"A {name} holds real numbers; found type {array.dtype}.")
    return array


def as_disparity(values: Any, name: str = "disparity map") -> DisparityMap:
    """A float32 map with NaN for everything that is masked or not finite; the input itself if it is such a map already.

    >>> as_disparity(np.array([[1.5, np.inf]]))
    array([[1.5, nan]], dtype=float32)
    """
    array = as_plane(values, name)
    with np.errstate(over="ignore"):
        disparity = np.ascontiguousarray(array, dtype=np.float32)
    infinite = np.isinf(disparity)
    return np.where(infinite, np.float32(np.nan), disparity) if infinite.any() else disparity
