"""What a disparity map, an image, a mask and a calibration are.

A disparity map is a float32 array (height, width) in which NaN, and nothing else, means "unknown". The left pixel
(x, y) with disparity d corresponds to the right pixel (x − d, y).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from stereogauge.errors import FileError, SizeError, StereogaugeError

DisparityMap: TypeAlias = NDArray[np.float32]
Mask: TypeAlias = NDArray[np.bool_]
Image: TypeAlias = NDArray[Any]


def is_finite_number(value: object) -> TypeGuard[float]:
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


def median(values: NDArray[Any]) -> float:
    """The median of numbers without NaN; unlike `np.median` it does not import `numpy.ma`."""
    ordered, middle = np.sort(values, axis=None), values.size // 2
    return float(ordered[middle] if values.size % 2 else (ordered[middle - 1] + ordered[middle]) / 2)


def is_array(value: object) -> bool:
    """Whether a value is an array, or a tensor that can be read as one."""
    return isinstance(value, np.ndarray) or hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def as_array(values: Any) -> NDArray[Any]:
    """The NumPy array of an array, of a list, or of a tensor in main memory; NaN where a masked array is masked.

    Tensors are recognised by `__array__` or DLPack. Gradients are ignored, and bfloat16 becomes float32.

    >>> as_array(np.ma.masked_equal([[1, 0]], 0))
    array([[ 1., nan]], dtype=float32)
    """
    if type(values) is np.ndarray:  # asking whether it is masked imports numpy.ma
        return values
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


def _is_positive(value: object) -> bool:
    return is_finite_number(value) and value > 0


def _is_pair(value: Any, least: float = -math.inf) -> bool:
    numbers = tuple(value)
    return len(numbers) == 2 and all(is_finite_number(number) and number >= least for number in numbers)


_RULES: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
    ("focal", "a positive number of pixels", _is_positive),
    ("baseline", "a positive number of metres", _is_positive),
    ("doffs", "a finite number of pixels", is_finite_number),
    ("ndisp", "a number of disparities, at least 1", lambda value: _is_positive(value) and value >= 1),
    ("centre", "a point (x, y) in pixels", _is_pair),
    ("size", "(width, height) in pixels", lambda value: _is_pair(value, 1)),
)
"""What each entry of a calibration must be, where it is known."""


class Calibration(Struct, frozen=True):
    """The geometry of a rectified pair: depth Z = focal·baseline / (d + doffs).

    `focal` and `doffs` are in pixels of this image size, `baseline` is in metres, `ndisp` is the number of disparities
    to search. None means unknown; `doffs`, the difference of the principal points' x coordinates, is 0 by default.
    `centre` is the left camera's principal point (x, y) in pixels, for points in space; None: the centre of the image.
    `size` is the (width, height) of the images that it is for, where that is stated; it must be that of the maps.

    >>> Calibration(focal=1000, baseline=0.1).depth(np.array([[50.0]]))
    array([[2.]])
    """

    focal: float | None = None
    baseline: float | None = None
    doffs: float = 0.0
    ndisp: int | None = None
    centre: tuple[float, float] | None = None
    size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for name, allowed, holds in _RULES:
            value = getattr(self, name)
            if (value is not None or name == "doffs") and not holds(value):
                raise StereogaugeError(f"A calibration's {name} is {allowed}; found {value!r}.")
        if self.centre is not None:
            force_setattr(self, "centre", tuple(map(float, self.centre)))
        if self.size is not None:
            force_setattr(self, "size", tuple(map(int, self.size)))

    @property
    def metric(self) -> bool:
        """Whether depth in metres is known."""
        return self.focal is not None and self.baseline is not None

    @property
    def focal_baseline(self) -> float | None:
        """f·B in pixel·metres, or None when either is absent."""
        return None if self.focal is None or self.baseline is None else self.focal * self.baseline

    def depth(self, disparity: NDArray[Any]) -> NDArray[np.float64]:
        """Depth in metres; NaN where the disparity is unknown or the point is not in front of the cameras."""
        if self.focal_baseline is None:
            raise StereogaugeError("Depth needs a calibration with focal length and baseline; this scene has none.")
        shifted = as_array(disparity).astype(np.float64) + self.doffs
        return self.focal_baseline / np.where(shifted > 0, shifted, np.nan)

    def points(self, disparity: NDArray[Any], centre: Sequence[float] | None = None) -> NDArray[np.float64]:
        """The point of each pixel in metres, (H, W, 3): x to the right, y down, z forward; NaN where there is no depth.

        `centre` is the principal point (x, y) in px, by default the calibration's, else the centre of the image.

        >>> Calibration(focal=100, baseline=0.2).points(np.array([[10.0, 20.0, 10.0]]))[0].tolist()
        [[-0.02, 0.0, 2.0], [0.0, 0.0, 1.0], [0.02, 0.0, 2.0]]
        """
        depth = self.depth(disparity)
        height, width = depth.shape
        across, down = centre or self.centre or ((width - 1) / 2, (height - 1) / 2)
        scale = depth / (self.focal or 1.0)
        x, y = np.arange(width) - across, np.arange(height) - down
        return np.stack([x * scale, y[:, np.newaxis] * scale, depth], axis=2)

    def check_size(self, shape: tuple[int, ...]) -> None:
        """Raise an error where the calibration is stated to be for images of another size than (height, width)."""
        if self.size is not None and self.size != (shape[1], shape[0]):
            raise SizeError(
                f"The calibration is for images of {self.size[0]} × {self.size[1]} pixels, and the map has "
                f"{shape[1]} × {shape[0]}; give the calibration of this size, or state focal and doffs in its pixels."
            )

    def scaled(self, factor: float) -> Calibration:
        """The calibration of the same images resized by `factor`."""
        x, y = self.centre or (0.0, 0.0)
        return Calibration(
            focal=None if self.focal is None else self.focal * factor,
            baseline=self.baseline,
            doffs=self.doffs * factor,
            ndisp=None if self.ndisp is None else int(np.ceil(self.ndisp * factor)),
            centre=None if self.centre is None else ((x + 0.5) * factor - 0.5, (y + 0.5) * factor - 0.5),
        )
