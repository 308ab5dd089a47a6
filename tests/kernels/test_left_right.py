"""Left-right checks and interpolation against loops over pixels that follow the definitions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from stereogauge.kernels.left_right import interpolate, left_right_check, left_right_differences

pytestmark = pytest.mark.usefixtures("processor_level")
DIRECTIONS = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)]
ODD = [np.nan, np.inf, -np.inf, 1e30, -1e30]
"""Values that must neither be taken for disparities nor be converted to integers."""


def maps(seed: int, height: int, width: int, ndisp: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Disparities within and beyond the range, whole ones for even seeds, with gaps and odd values."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(2):
        values = rng.uniform(-2, 1.2 * ndisp, (height, width))
        values = np.rint(values) if seed % 2 == 0 else values
        values[rng.random(values.shape) < (0.0, 0.3, 0.97)[seed % 3]] = ODD[seed % len(ODD)]
        found.append(values.astype(np.float32))
    return found[0], found[1]


def labels_by_definition(
    left: NDArray[np.float32], right: NDArray[np.float32], ndisp: int, tolerance: float
) -> NDArray[np.uint8]:
    height, width = left.shape
    labels = np.empty(left.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            there = np.floor(x - float(left[y, x]) + 0.5)
            if 0 <= there < width and abs(left[y, x] - right[y, int(there)]) <= tolerance:
                labels[y, x] = 0
                continue
            d = np.arange(min(ndisp, x + 1))
            labels[y, x] = 2 if (abs(right[y, x - d].astype(np.float64) - d) <= tolerance).any() else 1
    return labels


def difference_by_definition(
    left: NDArray[np.float32], right: NDArray[np.float32], outside: float
) -> NDArray[np.float32]:
    height, width = left.shape
    found = np.full(left.shape, outside, np.float32)
    for y in range(height):
        for x in range(width):
            position = x - float(left[y, x])
            if not 0 <= position <= width - 1:
                continue
            before = int(position)
            first, second = right[y, before], right[y, min(before + 1, width - 1)]
            fraction = position - before
            near = first if fraction < 0.5 else second
            there = float(first) + fraction * float(second - first) if abs(first - second) <= 1 else float(near)
            if np.isfinite(there):
                found[y, x] = abs(float(left[y, x]) - there)
    return found


def seen(disparity: NDArray[np.float32], y: int, x: int) -> list[np.float32]:
    """The first known value in each of the eight directions."""
    height, width = disparity.shape
    found = []
    for dy, dx in DIRECTIONS:
        row, column = y + dy, x + dx
        while 0 <= row < height and 0 <= column < width and not np.isfinite(disparity[row, column]):
            row, column = row + dy, column + dx
        if 0 <= row < height and 0 <= column < width:
            found.append(disparity[row, column])
    return sorted(found)


@pytest.fixture(autouse=True)
def odd_values() -> Iterator[None]:
    """Differences of infinite values are no error here."""
    with np.errstate(invalid="ignore", over="ignore"):
        yield


@pytest.mark.parametrize("seed", range(20))
def test_labels_and_differences(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    height, width, ndisp = int(rng.integers(1, 12)), int(rng.integers(1, 50)), int(rng.integers(1, 60))
    left, right = maps(seed, height, width, ndisp)
    for tolerance in (0.5, 1.0, 2.25, 100.0):
        expected = labels_by_definition(left, right, ndisp, tolerance)
        assert np.array_equal(left_right_check(left, right, ndisp, tolerance), expected)
    found = left_right_differences(left, right, float(ndisp))
    np.testing.assert_array_equal(found, difference_by_definition(left, right, ndisp))


@pytest.mark.parametrize("seed", range(12))
def test_gaps_are_filled_from_eight_directions(seed: int) -> None:
    left, _ = maps(seed, 9 + seed, 3 * seed + 1, 40)
    occluded = np.random.default_rng(seed).random(left.shape) < 0.5
    left[abs(left) > 1e20] = np.nan
    found = interpolate(left, occluded)
    for y, x in np.ndindex(left.shape):
        values = seen(left, y, x)
        if np.isfinite(left[y, x]) or not values:
            assert np.array_equal(found[y, x], left[y, x], equal_nan=True)
        elif occluded[y, x]:
            assert found[y, x] == values[min(1, len(values) - 1)]
        else:
            assert found[y, x] == np.median(np.array(values, np.float32))


def test_maps_of_different_size_are_refused() -> None:
    one, other = np.zeros((3, 4), np.float32), np.zeros((3, 5), np.float32)
    with pytest.raises(ValueError, match="width"):
        left_right_check(one, other, 4, 1.0)
    with pytest.raises(TypeError, match="float32"):
        left_right_differences(one, one.astype(np.float64), 4.0)  # type: ignore[arg-type]
