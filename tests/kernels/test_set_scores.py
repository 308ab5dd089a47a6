"""What an estimate scores on the pixels of a set is what NumPy finds pixel by pixel."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.kernels.maps import Floats, all_maps

from stereogauge.kernels import set_scores
from stereogauge.masks.geometry.connected import central_gradient

pytestmark = [pytest.mark.usefixtures("processor_level"), pytest.mark.filterwarnings("ignore::RuntimeWarning")]
PLANES = np.array([[0.25, 0.125, 3.0], [-0.5, 0.1, 9.0], [np.nan, np.nan, np.nan]])


def some_pixels(values: Floats, random: np.random.Generator) -> NDArray[np.int32]:
    """None, some or all pixels."""
    return np.flatnonzero(random.random(values.shape) < random.choice([0.0, 0.3, 1.0])).astype(np.int32)


def equal(found: np.ndarray, expected: np.ndarray) -> bool:
    return np.array_equal(found, np.asarray(expected, found.dtype), equal_nan=True)


def test_fuzziness_compares_gradients() -> None:
    for values, random in all_maps():
        estimate = np.where(np.isinf(values), np.float32(1e30), values)
        pixels = some_pixels(estimate, random)
        gradient, near, far = random.uniform(0, 4, (3, pixels.size)).astype(np.float32)
        excess = gradient - central_gradient(estimate)[2].ravel()[pixels]
        expected = np.where(excess < 0, -excess * near, excess * far)
        expected[np.isnan(estimate.ravel()[pixels])] = np.nan
        assert equal(set_scores.edge_fuzziness(estimate, pixels, gradient, near, far), expected)


@pytest.mark.parametrize("bins", [1, 8, 72])
def test_directions_are_counted_in_bins_around_the_circle(bins: int) -> None:
    for estimate, random in all_maps():
        pixels = some_pixels(estimate, random)
        expected = np.zeros(bins, np.int64)
        height, width = estimate.shape
        for y, x in zip(*np.unravel_index(pixels, estimate.shape), strict=True):
            left, right, above, below = max(x - 1, 0), min(x + 1, width - 1), max(y - 1, 0), min(y + 1, height - 1)
            along_x = float(estimate[y, right] - estimate[y, left]) / max(right - left, 1)
            along_y = float(estimate[below, x] - estimate[above, x]) / max(below - above, 1)
            if along_x**2 + along_y**2 > 0 and not math.isnan(estimate[y, x]):
                turn = math.atan2(along_y, along_x) / (2 * math.pi) + 0.5
                expected[math.floor(turn * bins + 0.5) % bins] += 1
        assert equal(set_scores.direction_counts(estimate, pixels, bins), expected)


def test_second_differences_leave_out_what_lies_across_the_rim() -> None:
    for values, random in all_maps():
        pixels = some_pixels(values, random)
        laplacian = values - values
        if values.shape[1] > 2:
            middle = values[:, 1:-1]
            laplacian[:, 1:-1] += values[:, :-2] - middle + (values[:, 2:] - middle)
        if values.shape[0] > 2:
            middle = values[1:-1]
            laplacian[1:-1] += values[:-2] - middle + (values[2:] - middle)
        assert equal(set_scores.second_differences(values, pixels), np.abs(laplacian).ravel()[pixels])


def test_distances_to_planes_are_signed_and_euclidean() -> None:
    for values, random in all_maps():
        pixels = some_pixels(values, random)
        labels = random.integers(1, 4, pixels.size).astype(np.int16)
        y, x = np.divmod(pixels, values.shape[1])
        a, b, c = PLANES[labels - 1].T
        expected = (values.ravel()[pixels] - a * x - b * y - c) * (1 / np.sqrt(1 + a * a + b * b))
        assert equal(set_scores.plane_distances(values, pixels, labels, PLANES), expected)


def window_angle(values: Floats, y: int, x: int, plane: np.ndarray) -> float:
    """Degrees between the normal of a least-squares fit to the known pixels of a window and a plane's normal."""
    window = values[max(y - 2, 0) : y + 3, max(x - 2, 0) : x + 3].astype(np.float64)
    rows, columns = np.nonzero(~np.isnan(window))
    design = np.column_stack([columns - columns.mean(), rows - rows.mean(), np.ones(rows.size)])
    if math.isnan(values[y, x]) or np.linalg.matrix_rank(design) < 3:
        return math.nan
    slopes = np.linalg.lstsq(design, window[rows, columns], rcond=None)[0][:2]
    normals = [np.array([-a, -b, 1.0]) for a, b in (slopes, plane[:2])]
    across = np.linalg.norm(np.cross(*normals))
    return math.degrees(math.atan2(across, abs(normals[0] @ normals[1])))


def test_angles_are_those_of_least_squares_normals() -> None:
    for values, random in all_maps():
        if np.isinf(values).any() or (np.abs(values) > 1e6).any():
            continue
        pixels = some_pixels(values, random)
        labels = random.integers(1, 4, pixels.size).astype(np.int16)
        places = zip(*np.unravel_index(pixels, values.shape), labels, strict=True)
        expected = [window_angle(values, y, x, PLANES[label - 1]) for y, x, label in places]
        found = set_scores.normal_angles(values, pixels, labels, PLANES)
        assert np.allclose(found, expected, rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sums_leave_out_missing_values(kind: type) -> None:
    for values, _ in all_maps():
        flat = values.ravel().astype(kind)
        total = 0.0
        for value in flat[~np.isnan(flat)]:
            total += float(value)
        found, count = set_scores.sum_and_count(flat)
        assert found == total or (math.isnan(found) and math.isnan(total))
        assert count == np.count_nonzero(~np.isnan(flat))


@pytest.mark.parametrize("pixels", [[-1], [12], [5, 4]])
def test_positions_outside_the_map_or_out_of_order_are_refused(pixels: list[int]) -> None:
    values, places = np.zeros((3, 4), np.float32), np.array(pixels, np.int32)
    ones, labels = np.ones(len(pixels), np.float32), np.ones(len(pixels), np.int16)
    calls: list[Callable[[], object]] = [
        lambda: set_scores.edge_fuzziness(values, places, ones, ones, ones),
        lambda: set_scores.direction_counts(values, places, 8),
        lambda: set_scores.second_differences(values, places),
        lambda: set_scores.plane_distances(values, places, labels, PLANES),
        lambda: set_scores.normal_angles(values, places, labels, PLANES),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="do not ascend"):
            call()


@pytest.mark.parametrize("label", [-1, 0, 4])
def test_a_label_without_a_plane_is_refused(label: int) -> None:
    values, pixels, labels = np.zeros((3, 4), np.float32), np.array([5], np.int32), np.array([label], np.int16)
    for score in (set_scores.plane_distances, set_scores.normal_angles):
        with pytest.raises(ValueError, match="no plane"):
            score(values, pixels, labels, PLANES)
