"""Confidence from the shape of all costs, from the row of one image, and from windows of a disparity map."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import helper, kernel

NO_DISTANCE = np.uint8(255)
"""More than codes of 31 bytes can differ in."""


@helper
def set_bits(value: np.uint8) -> np.uint8:
    """The number of set bits, by adding neighbouring groups of bits."""
    value = np.uint8(value - np.uint8((value >> np.uint8(1)) & np.uint8(0x55)))
    value = np.uint8((value & np.uint8(0x33)) + np.uint8((value >> np.uint8(2)) & np.uint8(0x33)))
    return np.uint8(np.uint8(value + np.uint8(value >> np.uint8(4))) & np.uint8(0x0F))


@kernel(vectorised=False)
def count_minima(costs: NDArray[np.uint16], found: NDArray[np.uint16]) -> None:
    """Per pixel the number of local minima of its costs: plateaus with nothing lower beside them, range ends too."""
    height, width, ndisp = costs.shape
    for y in range(height):
        for x in range(width):
            count = 0
            falling = True
            for d in range(1, ndisp):
                if costs[y, x, d] > costs[y, x, d - 1]:
                    if falling:
                        count += 1
                    falling = False
                elif costs[y, x, d] < costs[y, x, d - 1]:
                    falling = True
            found[y, x] = count + 1 if falling else count


@kernel
def least_difference(codes: NDArray[np.uint8], reach: int, found: NDArray[np.uint16]) -> None:
    """Per pixel the smallest Hamming distance of its code (bytes, H, W) to the others within `reach` in its row.

    The distance of two pixels counts for both. 65535 where there is no other pixel.
    """
    size, height, width = codes.shape
    distances = np.empty(width, np.uint8)
    best = np.empty(width, np.uint8)
    for y in range(height):
        best[:] = NO_DISTANCE
        for shift in range(1, min(reach + 1, width)):
            pairs = width - shift
            distances[:pairs] = 0
            for byte in range(size):
                here, there = codes[byte, y, :pairs], codes[byte, y, shift:]
                for x in range(pairs):
                    distances[x] += set_bits(np.uint8(here[x] ^ there[x]))
            for x in range(pairs):
                best[x] = min(best[x], distances[x])
            for x in range(pairs):
                best[x + shift] = min(best[x + shift], distances[x])
        for x in range(width):
            found[y, x] = best[x] if best[x] != NO_DISTANCE else 65535


@kernel(vectorised=False)
def window_agreement(
    disparity: NDArray[np.float32],
    radius: int,
    tolerance: float,
    agreeing: NDArray[np.float32],
    kinds: NDArray[np.float32],
) -> None:
    """Per pixel, over the window's pixels inside the image: the share within `tolerance` of its disparity, and the
    number of different whole disparities divided by the number of known ones.

    Where the pixel itself is unknown: 0 and 1.
    """
    height, width = disparity.shape
    found = np.empty((2 * radius + 1) ** 2, np.float32)
    for y in range(height):
        for x in range(width):
            agreeing[y, x], kinds[y, x] = 0, 1
            if not np.isfinite(disparity[y, x]):
                continue
            known = 0
            close = 0
            total = 0
            different = 0
            for row in range(max(0, y - radius), min(height, y + radius + 1)):
                for column in range(max(0, x - radius), min(width, x + radius + 1)):
                    total += 1
                    if np.isfinite(disparity[row, column]):
                        whole = np.rint(disparity[row, column])
                        place = 0
                        while place < different and found[place] != whole:
                            place += 1
                        if place == different:
                            found[place] = whole
                            different += 1
                        known += 1
                        close += abs(disparity[row, column] - disparity[y, x]) <= tolerance
            agreeing[y, x] = np.float32(close / total)
            kinds[y, x] = np.float32(different / known)


@kernel(vectorised=False)
def doubled_matches(winners: NDArray[np.uint16], lowest: NDArray[np.uint16], doubled: NDArray[np.float32]) -> None:
    """1 where another pixel of the row matches the same right pixel at a lower cost, else 0."""
    height, width = winners.shape
    best = np.empty(width, np.int64)
    for y in range(height):
        for x in range(width):
            best[x] = -1
        for x in range(width):
            there = x - np.int64(winners[y, x])
            if there >= 0 and (best[there] < 0 or lowest[y, x] < lowest[y, best[there]]):
                best[there] = x
        for x in range(width):
            there = x - np.int64(winners[y, x])
            doubled[y, x] = 0 if there >= 0 and best[there] == x else 1
