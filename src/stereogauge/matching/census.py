"""Census codes of an image, and the windows they are taken in."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.census import census_rows

WINDOWS = {"5x5": (5, 5), "7x7": (7, 7), "9x7": (9, 7)}


def window_radii(window: str) -> tuple[int, int]:
    """(vertical, horizontal) radius of a window that is named width x height."""
    width, height = WINDOWS[window]
    return height // 2, width // 2


def window_bits(window: str) -> int:
    """The number of comparisons in a window: its pixels without the centre."""
    width, height = WINDOWS[window]
    return width * height - 1


def census(image: NDArray[Any], window: str = "7x7") -> NDArray[np.uint64]:
    """One bit for each neighbour that is darker than the pixel.

    Beyond the border the image is continued by its edge pixels.
    """
    radius_y, radius_x = window_radii(window)
    padded = cv2.copyMakeBorder(image, radius_y, radius_y, radius_x, radius_x, cv2.BORDER_REPLICATE)
    codes = np.empty(image.shape, np.uint64)
    census_rows(padded, radius_y, radius_x, codes, 0, image.shape[0])
    return codes
