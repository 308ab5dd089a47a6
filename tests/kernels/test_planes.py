"""Hypotheses, fits and regions of planes are what NumPy finds."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kernels.maps import Floats, all_maps

from stereogauge.kernels import library, planes

pytestmark = [pytest.mark.usefixtures("processor_level"), pytest.mark.filterwarnings("ignore::RuntimeWarning")]


def points(count: int, random: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Points near a plane with outliers."""
    x, y = random.integers(0, 60, (2, count)).astype(np.float32)
    d = 0.3 * x - 0.1 * y + 7 + random.normal(0, 0.2, count) + np.where(random.random(count) < 0.3, 9, 0)
    return x, y, d.astype(np.float32)


def test_directions_turn_as_their_angles_do() -> None:
    for values, random in all_maps():
        along_x, along_y = values, random.normal(0, 1, values.shape).astype(np.float32)
        angles = np.arctan2(along_y.astype(np.float64), along_x.astype(np.float64))
        squares = np.zeros(values.shape)
        for axis in (0, 1):
            turn = np.abs(np.diff(angles, axis=axis, append=np.take(angles, [-1], axis=axis)))
            squares += np.minimum(turn, 2 * np.pi - turn) ** 2
        found = planes.direction_change(along_x, along_y)
        assert np.allclose(found, np.sqrt(squares), rtol=0, atol=2e-6, equal_nan=True)


@pytest.mark.parametrize("count", [3, 7, 16, 33, 500])
def test_the_best_hypothesis_has_most_points_and_comes_first(count: int) -> None:
    random = np.random.default_rng(count)
    x, y, d = points(count, random)
    triples = random.integers(0, count, (60, 3))
    tolerance = np.float32(0.5)
    expected, most = (0.0, 0.0, 0.0), 0
    for p, q, r in triples:
        (x1, y1, d1), (x2, y2, d2) = ((x[k] - x[p], y[k] - y[p], d[k] - d[p]) for k in (q, r))
        determinant = x1 * y2 - x2 * y1
        if abs(determinant) < 0.5:
            continue
        a, b = (d1 * y2 - d2 * y1) / determinant, (x1 * d2 - x2 * d1) / determinant
        c = d[p] - a * x[p] - b * y[p]
        inliers = int(np.count_nonzero(np.abs(a * x + b * y + c - d) <= tolerance))
        if inliers > most:
            expected, most = (float(a), float(b), float(c)), inliers
    assert planes.best_hypothesis(x, y, d, triples, float(tolerance)) == (expected, most)
    assert most > 0


def test_a_triple_of_points_that_do_not_exist_is_refused() -> None:
    x, y, d = points(5, np.random.default_rng(0))
    for place in (5, -1):
        with pytest.raises(ValueError, match="5 points"):
            planes.best_hypothesis(x, y, d, np.array([[0, 1, place]]), 1.0)


@pytest.mark.parametrize("count", [4, 5, 6, 7, 300])
def test_a_fit_is_the_least_squares_plane_of_the_points_near_the_given_one(count: int) -> None:
    x, y, d = points(count, np.random.default_rng(count))
    plane = (0.31, -0.09, 6.8)
    near = np.abs(plane[0] * x.astype(np.float64) + plane[1] * y + plane[2] - d) <= 1.5
    expected = np.linalg.lstsq(np.column_stack([x, y, np.ones(count)])[near], d[near].astype(np.float64), rcond=None)[0]
    found, inliers = planes.fit_near_plane(x, y, d, plane, 1.5)
    assert inliers == near.sum()
    assert found == pytest.approx(tuple(expected), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_points_on_a_line_keep_the_given_plane(count: int) -> None:
    line = np.arange(count, dtype=np.float32)
    plane = (0.1, 0.2, 0.3)
    assert planes.fit_near_plane(line, 2 * line, line, plane, 100.0) == (plane, count)


def test_every_level_fits_the_same_plane_to_the_last_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, d = points(1001, np.random.default_rng(1))
    found = set()
    for level in library.available_levels():
        monkeypatch.setenv("STEREOGAUGE_NATIVE_LEVEL", level)
        library.level.cache_clear()
        found.add(planes.fit_near_plane(x, y, d, (0.3, -0.1, 7.0), 0.4))
    assert len(found) == 1


@pytest.mark.parametrize("count", [0, 1, 200])
def test_points_are_split_in_their_order(count: int) -> None:
    x, y, d = points(count, np.random.default_rng(2))
    near = np.abs(0.3 * x.astype(np.float64) - 0.1 * y.astype(np.float64) + 7 - d) <= 0.25
    for found, chosen in zip(planes.split_by_plane(x, y, d, (0.3, -0.1, 7.0), 0.25), (near, ~near), strict=True):
        assert np.array_equal(found, np.array([x, y, d])[:, chosen])


def test_distances_are_measured_along_the_disparity() -> None:
    for values, _ in all_maps():
        y, x = np.indices(values.shape)
        expected = np.abs(values - 0.3 * x - (-0.7 * y + 2.5)).astype(np.float32)
        found = planes.distances_along_disparity(values, (0.3, -0.7, 2.5))
        assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("label", [-1, 2])
def test_labels_outside_the_table_are_refused(label: int) -> None:
    labels = np.array([[0, 1], [label, 0]], np.int32)
    ones, everywhere = np.ones(labels.shape, np.float32), np.ones(labels.shape, np.bool_)
    with pytest.raises(ValueError, match="from 0 to below 2"):
        planes.part_statistics(labels, 2, ones, everywhere)
    with pytest.raises(ValueError, match="no plane"):
        planes.nearest_planes(ones, everywhere, labels.astype(np.int16), 1, 2, np.zeros((1, 3)), 1.0)


def test_statistics_of_parts_are_sums_in_reading_order() -> None:
    for distance, random in all_maps():
        labels = random.integers(0, 4, distance.shape).astype(np.int32)
        core = random.random(distance.shape) < 0.5
        expected = np.zeros((5, 3))
        for place in zip(*np.nonzero(labels), strict=True):
            expected[labels[place]] += [1, distance[place] * distance[place], core[place]]
        assert np.array_equal(planes.part_statistics(labels, 5, distance, core), expected, equal_nan=True)


def test_moments_are_the_normal_equations_of_a_quadratic() -> None:
    for values, random in all_maps():
        mask = random.random(values.shape) < 0.6
        centre_x, centre_y, scale, level = 4.5, 3.0, 6.5, 2.25
        matrix, right, squares, count = np.zeros((6, 6)), np.zeros(6), 0.0, 0
        for y, x in zip(*np.nonzero(mask), strict=True):
            u, v, e = (x - centre_x) / scale, (y - centre_y) / scale, float(values[y, x]) - level
            terms = np.array([1, u, v, u * u, u * v, v * v])
            matrix, right, squares, count = (
                matrix + np.outer(terms, terms),
                right + terms * e,
                squares + e * e,
                count + 1,
            )
        found = planes.quadratic_moments(values, mask, centre_x, centre_y, scale, level)
        assert all(
            np.array_equal(a, b, equal_nan=True) for a, b in zip(found, (matrix, right, squares, count), strict=True)
        )


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_pixel_takes_the_nearest_plane_around_its_cell(step: int) -> None:
    found = 0
    for values, random in all_maps():
        coarse = random.choice(np.int16([0, 0, 0, 1, 2, 3]), values.shape)[::step, ::step].copy()
        coefficients = np.array([[0.1, 0.2, 4], [-0.2, 0.3, 6], [np.nan, 0, 0]])
        known, reach, tolerance = np.isfinite(values), 1, 1.5
        expected = np.zeros(values.shape, np.int16)
        for y, x in zip(*np.nonzero(known), strict=True):
            row, column = y // step, x // step
            around = coarse[max(row - reach, 0) : row + reach + 1, max(column - reach, 0) : column + reach + 1]
            distances = []
            for label in dict.fromkeys(around[around > 0].tolist()):
                a, b, c = coefficients[label - 1]
                distance = abs(float(values[y, x]) - a * x - b * y - c)
                if distance <= (2 * tolerance if label == coarse[row, column] else tolerance):
                    distances.append((distance, label))
            expected[y, x] = min(distances, key=lambda one: one[0])[1] if distances else 0
        labels = planes.nearest_planes(values, known, coarse, step, reach, coefficients, tolerance)
        assert np.array_equal(labels, expected)
        found += np.count_nonzero(labels)
    assert found > 100
