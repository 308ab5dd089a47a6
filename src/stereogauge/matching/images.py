"""Images as matchers take them: two grey arrays of equal size."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import FileError, SizeError


def grey(image: NDArray[Any], name: str) -> NDArray[Any]:
    """One channel: uint8 and uint16 keep their type, everything else becomes float32.

    Colour by 0.299 R + 0.587 G + 0.114 B, alpha is dropped.
    """
    array = np.asarray(image)
    if array.ndim == 3 and array.shape[2] in (1, 2):
        array = array[:, :, 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)):
        raise SizeError(
            f"The {name} image must be (height, width) or (height, width, 3 or 4); found shape {array.shape}."
        )
    if array.size == 0:
        raise SizeError(f"The {name} image is empty: its shape is {array.shape}.")
    if array.dtype not in (np.uint8, np.uint16):
        if array.dtype.kind not in "fiu":
            raise FileError(f"The {name} image must hold numbers; found type {array.dtype}.")
        array = array.astype(np.float32)
        if not np.isfinite(array).all():
            raise FileError(f"The {name} image holds values that are not finite; matchers need a value at every pixel.")
    if array.ndim == 3:
        array = cv2.cvtColor(np.ascontiguousarray(array[:, :, :3]), cv2.COLOR_RGB2GRAY)
    return np.ascontiguousarray(array)


def eight_bit(image: NDArray[Any], lowest: float | None = None, highest: float | None = None) -> NDArray[np.uint8]:
    """A uint8 image unchanged; others scaled so that `lowest`…`highest` (default: of the image) becomes 0…255."""
    if image.dtype == np.uint8:
        return image
    low = float(image.min()) if lowest is None else lowest
    high = float(image.max()) if highest is None else highest
    if high <= low:
        return np.zeros(image.shape, np.uint8)
    return np.clip(np.rint((image.astype(np.float64) - low) * (255.0 / (high - low))), 0, 255).astype(np.uint8)
