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


def census(
    image: NDArray[Any],
    window: str = "7x7",
    *,
    mirrored: bool = False,
    margin: int = 0,
    into: NDArray[np.uint8] | None = None,
) -> NDArray[np.uint8]:
    """One bit for each neighbour that is darker than the pixel: the bytes of the codes, (bytes, H, W + margin).

    Beyond the border the image is continued by its edge pixels. With `mirrored`, columns come in reverse order; the
    margin after them holds zeros. `into` is an array of that size for them.
    """
    radius_y, radius_x = window_radii(window)
    height, width = image.shape
    image = np.ascontiguousarray(image[:, ::-1]) if mirrored else image
    padded = cv2.copyMakeBorder(image, radius_y, radius_y, radius_x, radius_x, cv2.BORDER_REPLICATE)
    codes = np.empty((code_bytes(window), height, width + margin), np.uint8) if into is None else into
    codes[:, :, width:] = 0
    stride = padded.shape[1]
    places = _neighbours(window, stride, mirrored=mirrored)
    census_rows(padded.reshape(-1), stride, radius_y * stride + radius_x, places, codes, width)
    return codes


def _neighbours(window: str, stride: int, *, mirrored: bool) -> NDArray[np.int64]:
    """Where in rows of `stride` pixels the neighbours of a window are, (bytes, 8): row by row, the centre left out.

    A mirrored image gets the codes of the original: each row is taken from its end. The last byte begins with the
    centre as often as neighbours are missing, which is not darker than itself.
    """
    radius_y, radius_x = window_radii(window)
    columns = range(2 * radius_x, -1, -1) if mirrored else range(2 * radius_x + 1)
    centre = radius_y * stride + radius_x
    places = [y * stride + x for y in range(2 * radius_y + 1) for x in columns]
    places.remove(centre)
    missing = -len(places) % BITS_PER_BYTE
    last = len(places) - len(places) % BITS_PER_BYTE
    places[last:last] = [centre] * missing
    return np.array(places, np.int64).reshape(-1, BITS_PER_BYTE)
