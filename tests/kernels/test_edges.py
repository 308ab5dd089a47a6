"""Bands, distances, thin structures and filled rows are what plain Python finds pixel by pixel."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.kernels.maps import Floats, all_maps

from stereogauge.kernels import edges
from stereogauge.masks.geometry.connected import central_gradient

pytestmark = [pytest.mark.usefixtures("processor_level"), pytest.mark.filterwarnings("ignore::RuntimeWarning")]
Pixel = tuple[int, int]


def pixels_along(start: Pixel, step: tuple[float, float], count: int, shape: Pixel) -> list[Pixel]:
    """The pixels 1 to `count` steps from a pixel, until the image ends."""
    found = []
    for steps in range(1, count + 1):
        place = [along + steps * one + 0.5 for along, one in zip(start, step, strict=True)]
        if not all(0 <= part < side for part, side in zip(place, shape, strict=True)):
            break
        found.append((math.floor(place[0]), math.floor(place[1])))
    return found


def _side_of_edge(
    path: list[Pixel], filled: Floats, discontinuity: np.ndarray, sign: int, length: int, least_gap: float
) -> list[Pixel] | None:
    """The pixels of one side: a band from the first pixel outside the discontinuity on, or the last one before a turn.

    None where the path ends before. The first pixel of `path` is the one that it starts from.
    """
    for place, (before, pixel) in enumerate(itertools.pairwise(path[: length + 1]), start=1):
        if sign * (filled[before] - filled[pixel]) >= least_gap:
            return [before]
        if not discontinuity[pixel]:
            return path[place : place + length]
    return None


def reference_bands(
    filled: Floats, along_x: Floats, along_y: Floats, discontinuity: np.ndarray, length: int, least_gap: float
) -> dict[Pixel, tuple[int, float]]:
    """Side and value from beyond per pixel: of all claims the nearest, of equally near ones the first if all agree.

    A discontinuity pixel belongs to the side that its own disparity is nearer to.
    """
    claims: dict[Pixel, list[tuple[int, int, float]]] = {}
    own: dict[Pixel, tuple[int, float]] = {}
    for start in zip(*np.nonzero(discontinuity), strict=True):
        x, y = along_x[start], along_y[start]
        size = np.sqrt(x * x + y * y)
        ways = []
        for sign in (1, -1):
            step = (sign * float(y / size), sign * float(x / size))
            path = pixels_along(start, step, 2 * length, filled.shape)
            ways.append(_side_of_edge([start, *path], filled, discontinuity, sign, length, least_gap))
        if ways[0] is None or ways[1] is None:
            continue
        foreground, background = filled[ways[0][0]], filled[ways[1][0]]
        if foreground - background < least_gap:
            continue
        near = foreground - filled[start] < filled[start] - background
        own[start] = (1, background) if near else (-1, foreground)
        for side, band, beyond in ((1, ways[0], background), (-1, ways[1], foreground)):
            for away, pixel in enumerate(band):
                if not discontinuity[pixel]:
                    claims.setdefault(pixel, []).append((away, side, beyond))
    bands = {}
    for pixel, made in claims.items():
        nearest = [claim for claim in made if claim[0] == min(away for away, _, _ in made)]
        if len({side for _, side, _ in nearest}) == 1:
            bands[pixel] = nearest[0][1:]
    return bands | own


def test_bands_belong_to_the_nearest_edge() -> None:
    found = 0
    for values, random in all_maps():
        along_x, along_y, gradient = central_gradient(values)
        length, least_gap = int(random.integers(1, 7)), float(random.choice([0.5, 2.0]))
        side, beyond = edges.follow_bands(values, along_x, along_y, gradient > 2, length, least_gap)
        expected = reference_bands(values, along_x, along_y, gradient > 2, length, least_gap)
        assert {pixel: side[pixel] for pixel in zip(*np.nonzero(side), strict=True)} == {
            pixel: kind for pixel, (kind, _) in expected.items()
        }
        for pixel, (_, value) in expected.items():
            assert np.array_equal(beyond[pixel], value, equal_nan=True)
        found += len(expected)
    assert found > 300


def test_a_pixel_that_joins_a_band_takes_the_value_of_the_nearest_one_in_it() -> None:
    for values, random in all_maps():
        side, smoothed = random.integers(-1, 2, (2, *values.shape)).astype(np.int8)
        before, radius = random.random(values.shape).astype(np.float32), int(random.integers(1, 4))
        after = before.copy()
        edges.adopt_beyond(side, after, smoothed, radius)
        for y, x in np.ndindex(values.shape):
            candidates = [
                ((row - y) ** 2 + (column - x) ** 2, row, column)
                for row, column in zip(*np.nonzero(side == smoothed[y, x]), strict=True)
                if abs(row - y) <= radius and abs(column - x) <= radius
            ]
            joins = smoothed[y, x] not in (0, side[y, x]) and candidates
            assert after[y, x] == (before[min(candidates)[1:]] if joins else before[y, x])


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
def test_squared_distances_are_the_smallest_ones(share: float) -> None:
    for values, random in all_maps():
        mask = random.random(values.shape) < share
        mask[tuple(random.integers(values.shape))] = True
        rows, columns = np.nonzero(mask)
        y, x = np.indices(mask.shape)
        expected = ((y[..., None] - rows) ** 2 + (x[..., None] - columns) ** 2).min(axis=2)
        assert np.array_equal(edges.squared_distances(mask), expected)


def test_squared_distances_across_a_full_size_image_are_exact() -> None:
    """In float32 the square of a distance of 2000 px is off by more than 1/2."""
    mask = np.zeros((40, 3000), np.bool_)
    mask[7, 3] = mask[30, 2990] = True
    rows, columns = np.indices(mask.shape)
    first, second = (rows - 7) ** 2 + (columns - 3) ** 2, (rows - 30) ** 2 + (columns - 2990) ** 2
    assert np.array_equal(edges.squared_distances(mask), np.minimum(first, second))


def test_squared_distances_of_a_long_side_do_not_overflow() -> None:
    mask = np.zeros((1, 70_000), np.bool_)
    mask[0, 2] = True
    squared = edges.squared_distances(mask)
    assert squared.dtype == np.uint64
    assert np.array_equal(squared[0], (np.arange(70_000, dtype=np.uint64) - np.uint64(2)) ** 2)


def test_an_empty_mask_has_no_distances() -> None:
    with pytest.raises(ValueError, match="empty mask"):
        edges.squared_distances(np.zeros((3, 4), np.bool_))


def test_thin_runs_lie_between_a_rise_and_a_fall() -> None:
    found = 0
    for values, random in all_maps():
        rise, widest = float(random.choice([1.0, 4.0])), int(random.integers(1, 9))
        expected = np.zeros(values.shape, np.bool_)
        for y, row in enumerate(values):
            for start in range(1, row.size):
                for end in range(start + 1, min(start + widest, row.size - 1) + 1):
                    if not (row[start] - row[start - 1] > rise and row[end - 1] - row[end] > rise):
                        continue
                    lowest = float(np.nanmin(row[start:end]))
                    expected[y, start:end] |= lowest > max(float(row[start - 1]), float(row[end])) + rise / 2
        assert np.array_equal(edges.thin_runs(values, rise, widest), expected)
        found += expected.sum()
    assert found > 50


def test_pixels_beside_structures_know_the_nearest_one() -> None:
    for values, random in all_maps():
        fine = random.random(values.shape) < 0.15
        reach, least_gap = int(random.integers(0, 7)), 0.25
        beside, column = edges.beside_structures(values, fine, reach, least_gap)
        for y, x in np.ndindex(values.shape):
            near = [(abs(other - x), other) for other in np.flatnonzero(fine[y]) if abs(other - x) <= reach]
            source = min(near)[1] if near and not fine[y, x] else None
            expected = source is not None and values[y, source] - values[y, x] > least_gap
            assert beside[y, x] == expected
            assert not expected or column[y, x] == source


def filled_row(row: Floats) -> Floats:
    """Each gap filled from the known pixels of the row."""
    known = np.flatnonzero(~np.isnan(row))
    filled = row.copy()
    for x in np.flatnonzero(np.isnan(row)):
        beside = [*known[known < x][-1:], *known[known > x][:1]]
        filled[x] = min((row[k] for k in beside), default=np.nan)
    return filled


def test_rows_are_filled_with_the_smaller_neighbour() -> None:
    for values, random in all_maps():
        gaps = np.where(random.random((len(values), 1)) < 0.4, np.float32(np.nan), values)
        rows = np.array([filled_row(row) for row in gaps])
        known = np.flatnonzero(~np.isnan(rows).any(axis=1))
        background = gaps.copy()
        edges.fill_background(background)
        whole = edges.fill_rows(gaps)
        for y in range(len(rows)):
            above, below = known[known <= y], known[known >= y]
            outside = known.size and not (above.size and below.size)
            nearest = [*above[-1:], *below[:1]]
            assert np.array_equal(background[y], rows[nearest[0]] if outside else rows[y], equal_nan=True)
            assert np.array_equal(whole[y], rows[nearest[0]] if known.size else rows[y], equal_nan=True)
        assert np.isnan(gaps).sum() >= np.isnan(background).sum() >= np.isnan(whole).sum()
