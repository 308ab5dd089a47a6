"""Post-processing steps on maps small enough to check by eye."""

from __future__ import annotations

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.errors import MatcherError
from stereogauge.matching.postprocess import (
    CONSISTENT,
    MISMATCHED,
    OCCLUDED,
    interpolate,
    left_right_check,
    median,
    remove_speckles,
)

NAN = np.float32(np.nan)


def row(*values: float) -> np.ndarray:
    return np.array([values], np.float32)


def test_check_tells_consistent_from_occluded_and_mismatched() -> None:
    # Right map: pixels 0…5 all at disparity 2, except that pixel 3 claims 6 and 5 claims 0.
    right = row(2, 2, 2, 6, 2, 0, 0, 0)
    # x = 2, 3: match at x − 2 with 2. x = 4 claims 0 and finds 2 there, but its line meets (2, d = 2): mismatched.
    # x = 0 claims 1, leaves the image, and right[0] = 2 ≠ 0: occluded.
    left = row(1, 1, 2, 2, 0, 5, 1, 0)
    labels = left_right_check(left, right, ndisp=4, tolerance=0.5)[0]
    assert labels[0] == OCCLUDED
    assert labels[2] == labels[3] == CONSISTENT
    assert labels[4] == MISMATCHED
    assert labels[7] == CONSISTENT


def test_unknown_disparities_are_never_consistent() -> None:
    labels = left_right_check(row(NAN, 0), row(0, NAN), ndisp=2, tolerance=0.5)
    assert labels.tolist() == [[MISMATCHED, OCCLUDED]]


def test_median_keeps_unknown_pixels_and_their_neighbours() -> None:
    disparity = np.full((7, 7), 5, np.float32)
    disparity[1, 1] = 40
    disparity[5, 5] = NAN
    disparity[4, 4] = 30
    found = median(disparity, 3)
    assert found[1, 1] == 5
    assert np.isnan(found[5, 5])
    assert found[4, 4] == 30  # its window holds an unknown pixel


def test_speckles_below_the_size_are_removed() -> None:
    disparity = np.full((9, 9), 5, np.float32)
    disparity[1, 1:4] = 20
    disparity[5:7, 5:7] = 33
    disparity[8, 0] = NAN
    assert np.isnan(remove_speckles(disparity, 4)[1, 1:4]).all()
    assert (remove_speckles(disparity, 4)[5:7, 5:7] == 33).all()
    assert np.isnan(remove_speckles(disparity, 5)[5:7, 5:7]).all()
    assert np.isnan(remove_speckles(disparity, 4)).sum() == 4


def test_occluded_pixels_continue_the_background_and_mismatched_ones_their_surroundings() -> None:
    disparity = np.full((5, 6), 2, np.float32)
    disparity[:, 3:] = 9
    disparity[2, 2] = NAN
    occluded = np.zeros(disparity.shape, bool)
    assert interpolate(disparity, occluded)[2, 2] == 2  # five of eight directions see the background
    disparity[:, 2] = NAN
    found = interpolate(disparity, ~occluded)
    assert (found[:, 2] == 2).all()
    assert interpolate(disparity, occluded)[2, 2] == 5.5  # three see 2, three see 9: the mean of the middle two


def test_a_map_without_any_value_stays_unknown() -> None:
    empty = np.full((3, 3), NAN)
    assert np.isnan(interpolate(empty, np.zeros((3, 3), bool))).all()


def sparse_map(rng: np.random.Generator, shape: tuple[int, int], unknown: float) -> np.ndarray:
    disparity = rng.uniform(0, 40, shape).astype(np.float32)
    disparity[rng.random(shape) < unknown] = rng.choice([np.nan, np.inf])
    return disparity


@pytest.mark.parametrize(("shape", "unknown"), [((1, 9), 0.5), ((9, 1), 0.5), ((23, 31), 0.2), ((31, 23), 0.97)])
def test_gaps_are_filled_from_what_eight_directions_see_first(shape: tuple[int, int], unknown: float) -> None:
    rng = np.random.default_rng(shape[0])
    disparity = sparse_map(rng, shape, unknown)
    occluded = rng.random(shape) < 0.5
    found = interpolate(disparity, occluded)
    for y, x in np.argwhere(~np.isfinite(disparity)):
        seen = []
        for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)):
            line = [(y + k * dy, x + k * dx) for k in range(1, 40)]
            line = [place for place in line if 0 <= place[0] < shape[0] and 0 <= place[1] < shape[1]]
            seen += [disparity[place] for place in line if np.isfinite(disparity[place])][:1]
        if not seen:
            assert not np.isfinite(found[y, x])
        elif occluded[y, x]:
            assert found[y, x] == sorted(seen)[min(1, len(seen) - 1)]
        else:
            assert found[y, x] == pytest.approx(np.median(seen), rel=1e-6)
    known = np.isfinite(disparity)
    assert np.array_equal(found[known], disparity[known])


@pytest.mark.parametrize(("ndisp", "tolerance"), [(40, 1.0), (8, 0.25), (200, 3.0)])
def test_the_check_follows_its_definition(ndisp: int, tolerance: float) -> None:
    rng = np.random.default_rng(ndisp)
    left, right = sparse_map(rng, (19, 70), 0.2), sparse_map(rng, (19, 70), 0.2)
    left[:, 10:] = np.where(rng.random((19, 60)) < 0.5, 7, left[:, 10:])
    right[:, :50] = np.where(rng.random((19, 50)) < 0.5, 7.25, right[:, :50])
    right[3, 5], right[4, 6] = 1e30, -1e30
    labels = left_right_check(left, right, ndisp, tolerance)
    for (y, x), label in np.ndenumerate(labels):
        there = np.floor(x - left[y, x] + 0.5)
        on_its_line = [abs(float(right[y, x - d]) - d) <= tolerance for d in range(min(ndisp, x + 1))]
        if 0 <= there < 70 and abs(left[y, x] - right[y, int(there)]) <= tolerance:
            assert label == CONSISTENT
        else:
            assert label == (MISMATCHED if any(on_its_line) else OCCLUDED)


def test_steps_are_applied_only_when_asked_for() -> None:
    rng = np.random.default_rng(0)
    left, right = (rng.integers(0, 255, (30, 80)).astype(np.uint8) for _ in range(2))
    plain = sg.match(left, right, ndisp=16)
    checked = sg.match(left, right, ndisp=16, lr_check=1)
    filled = sg.match(left, right, ndisp=16, lr_check=1, median=3, speckle=5, fill=True)
    assert np.isfinite(plain.disparity).all()
    assert np.isnan(checked.disparity).any()
    assert np.isfinite(filled.disparity).all()
    assert np.array_equal(checked.raw, plain.disparity)
    assert filled.parameters["median"] == 3


def test_the_check_needs_a_right_map() -> None:
    image = np.zeros((8, 40), np.uint8)
    with pytest.raises(MatcherError, match="needs a right map"):
        sg.match(image, image, ndisp=16, right_view="none", lr_check=1)
