"""Census codes of an image, and the windows they are taken in."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.census import BITS_PER_BYTE, census_rows

WINDOWS = {"5x5": (5, 5), "7x7": (7, 7), "9x7": (9, 7)}


def window_radii(window: str) -> tuple[int, int]:
    """(vertical, horizontal) radius of a window that is named width x height."""
    width, height = WINDOWS[window]
    return height // 2, width // 2


def window_bits(window: str) -> int:
    """The number of comparisons in a window: its pixels without the centre."""
    width, height = WINDOWS[window]
    return width * height - 1


def code_bytes(window: str) -> int:
    """The number of bytes that hold the comparisons of a window."""
    return -(-window_bits(window) // BITS_PER_BYTE)


def census(image: NDArray[Any], window: str = "7x7", *, mirrored: bool = False, margin: int = 0) -> NDArray[np.uint8]:
    """One bit for each neighbour that is darker than the pixel: the bytes of the codes, (bytes, H, W + margin).

    Beyond the border the image is continued by its edge pixels. With `mirrored`, columns come in reverse order; the
    margin after them holds zeros.
    """
    radius_y, radius_x = window_radii(window)
    height, width = image.shape
    image = image[:, ::-1] if mirrored else image
    padded = cv2.copyMakeBorder(image, radius_y, radius_y, radius_x, radius_x, cv2.BORDER_REPLICATE)
    codes = np.empty((code_bytes(window), height, width + margin), np.uint8)
    codes[:, :, width:] = 0
    census_rows(padded, radius_y, radius_x, mirrored, codes, width)
    return codes
