"""Census codes and sweeps of semi-global matching against the formulas, on every level of the processor."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.matching import reference

from stereogauge.kernels.sgm import DECIDE, DECIDE_BOTH, PARABOLA, WRITE, Pair, Paths, Row, Sweep, View, census_rows
from stereogauge.matching.sgm import WINDOWS, SgmSettings, Workspace, census, new_sums, prepare, semi_global_matching

pytestmark = pytest.mark.usefixtures("processor_level")


def images(seed: int, height: int, width: int, kind: Any = np.uint8, levels: int = 256) -> list[NDArray[Any]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, levels, (height, width)).astype(kind) for _ in range(2)]


def expected_sums(left: NDArray[Any], right: NDArray[Any], ndisp: int, **p: Any) -> NDArray[np.int64]:
    costs = reference.census_costs(left, right, ndisp, *WINDOWS[p.get("window", "7x7")])
    guide = left if p.get("adapt") else None
    return reference.aggregate(costs, p.get("p1", 20), p.get("p2", 100), p.get("paths", 8), guide)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_codes_are_comparisons(window: str, kind: Any) -> None:
    """Bits in the order of rows; neighbours that the last byte lacks are 0 before its others."""
    across, down = WINDOWS[window]
    for width, levels in itertools.product((1, 7, 16, 33, 70), (1, 3, 200)):
        image = images(width, 6, width, kind, levels)[0]
        darker = reference._comparisons(image, across // 2, down // 2)
        missing = -darker.shape[2] % 8
        whole = darker.shape[2] // 8 * 8
        bits = np.concatenate([darker[..., :whole], np.zeros((6, width, missing), bool), darker[..., whole:]], axis=2)
        expected = np.packbits(bits, axis=2).transpose(2, 0, 1)
        assert np.array_equal(census(image, window), expected)
        mirrored = census(image, window, mirrored=True, margin=9)
        assert np.array_equal(mirrored[:, :, :width], expected[:, :, ::-1])
        assert not mirrored[:, :, width:].any()


SETTINGS: list[dict[str, Any]] = [
    {},
    {"window": "5x5", "paths": 4},
    {"window": "9x7", "paths": 5, "adapt": True},
    {"p1": 91, "p2": 92, "window": "9x7"},
    {"p1": 205, "p2": 206},
    {"p1": 5, "p2": 207, "paths": 4},
    {"p1": 7999, "p2": 8000},
    {"p1": 40, "p2": 800, "adapt": True, "paths": 5},
    {"p1": 0, "p2": 1},
]


@functools.cache
def case(
    number: int, height: int, width: int, ndisp: int, levels: int
) -> tuple[list[NDArray[Any]], NDArray[np.int64], NDArray[np.int64]]:
    """A pair, its sums and those of the right view; once for all levels of the processor."""
    pair = [image * (255 // (levels - 1)) for image in images(ndisp, height, width, levels=levels)]
    sums = expected_sums(*pair, ndisp, **SETTINGS[number])
    return pair, sums, reference.right_costs(sums)


@pytest.mark.parametrize("number", range(len(SETTINGS)), ids=lambda number: str(SETTINGS[number]))
def test_sums_and_winners_are_those_of_the_formulas(number: int) -> None:
    """Ranges of half a vector, of whole ones and of one more; random and saturated images."""
    for (height, width), ndisp, levels in itertools.product([(1, 1), (6, 40)], (1, 16, 33, 70, 97, 130), (2, 256)):
        pair, expected, diagonal = case(number, height, width, ndisp, levels)
        for keep in ("costs", "nothing"):
            options = {**SETTINGS[number], "keep": keep, "right_view": "diagonal", "threads": 1}
            found = semi_global_matching(*pair, ndisp, **options)
            assert keep != "costs" or np.array_equal(found.costs, expected)
            assert np.array_equal(found.winners, expected.argmin(axis=2))
            assert np.array_equal(found.right_minimum, diagonal.min(axis=2))
            np.testing.assert_allclose(found.disparity, reference.refined(expected, "parabola"), atol=1e-5)
            np.testing.assert_allclose(found.right_disparity, reference.refined(diagonal, "parabola"), atol=1e-5)


def prepared(ndisp: int = 20) -> tuple[Pair, Paths, Row, NDArray[np.uint16], View]:
    left, right = images(1, 8, 30)
    pair = prepare(left, right, ndisp, SgmSettings(threads=1), Workspace())
    return pair, Paths.new(pair, 4), Row.new(pair, keep=True), new_sums(8, 30, ndisp), View.empty(8, 30)


def test_a_sweep_that_would_leave_its_arrays_is_refused() -> None:
    pair, paths, row, volume, view = prepared()
    for first_row, rows, mode in (
        (0, (0, 9), WRITE),
        (1, (0, 8), WRITE),
        (-1, (7, 8), DECIDE),
        (0, (0, 8), DECIDE_BOTH),
    ):
        with pytest.raises(ValueError, match="does not fit a volume"):
            Sweep(pair, paths, row, volume, True, PARABOLA, view, None).run(rows, mode, first_row)
    with pytest.raises(ValueError, match="no sweep of 4 paths with 33 of 32 disparities"):
        Sweep(pair._replace(ndisp=33), paths, row, volume, True, PARABOLA, view, None)
    narrow = pair._replace(right=np.ascontiguousarray(pair.right[:, :, :-1]))
    with pytest.raises(ValueError, match="right does not fit"):
        Sweep(narrow, paths, row, volume, True, PARABOLA, view, None)
    moved = new_sums(9, 30, 20).reshape(-1)[1 : 1 + volume.size].reshape(volume.shape)
    with pytest.raises(ValueError, match="not aligned to 64 bytes"):
        Sweep(pair, paths, row, moved, True, PARABOLA, view, None)


def test_codes_that_would_leave_the_image_are_refused() -> None:
    codes, places = np.empty((1, 4, 5), np.uint8), np.zeros((1, 8), np.int64)
    image = np.zeros(20, np.uint8)
    census_rows(image, 5, 0, places, codes, 5)
    for centre, neighbours, width in ((1, places, 5), (0, places + 1, 5), (0, places - 1, 5), (0, places, 6)):
        with pytest.raises(ValueError, match="do not fit"):
            census_rows(image, 5, centre, neighbours, codes, width)
