"""The pass over aggregated costs, windows and trees against their formulas, on every level of the processor."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from stereogauge.kernels.confidence import (
    count_minima,
    doubled_matches,
    least_difference,
    tree_scores,
    window_agreement,
)
from stereogauge.kernels.cost_summary import NONE, CostSummary, RowSummary, Scales, flat_costs

pytestmark = pytest.mark.usefixtures("processor_level")


def volume(seed: int, width: int, ndisp: int, highest: int) -> NDArray[np.uint16]:
    """Costs with plateaus, equal minima and numbers up to the largest; every other one inside a larger volume."""
    rng = np.random.default_rng(seed)
    padded = ndisp + seed % 2 * 5
    costs = rng.integers(0, highest, (3, width, padded)).astype(np.uint16)
    repeated = rng.random(costs.shape) < 0.4
    repeated[..., 0] = False
    np.copyto(costs[..., 1:], costs[..., :-1], where=repeated[..., 1:])
    return costs[..., :ndisp]


def minima(costs: NDArray[np.uint16]) -> list[tuple[int, int]]:
    """First and last disparity of each plateau with nothing lower beside it."""
    edges = [0, *(np.flatnonzero(np.diff(costs.astype(int))) + 1).tolist(), len(costs)]
    around = [NONE + 1, *costs.tolist(), NONE + 1]
    plateaus = [(first, last - 1) for first, last in itertools.pairwise(edges)]
    return [(a, b) for a, b in plateaus if around[a] > costs[a] < around[b + 2]]


def summarised(costs: NDArray[np.uint16], winners: NDArray[np.uint16], scales: Scales) -> CostSummary:
    height, width, ndisp = costs.shape
    found = CostSummary.empty(height, width)
    flat, padded = flat_costs(costs)
    RowSummary(flat, padded, ndisp, winners, scales, found).fill(0, height)
    return found


@pytest.mark.parametrize("width", [1, 5, 16, 37])
@pytest.mark.parametrize(("ndisp", "highest"), [(1, 9), (2, 65536), (31, 3), (64, 700), (97, 65536)])
def test_summaries_are_those_of_the_formulas(width: int, ndisp: int, highest: int) -> None:
    costs = volume(ndisp + width, width, ndisp, highest)
    winners = costs.argmin(axis=2).astype(np.uint16)
    sigma, temperature, ramp = 90.0, 40.0, 300.0
    found = summarised(costs, winners, Scales.of(sigma, temperature, ramp))
    q = costs.astype(np.float64) - costs.min(axis=2, keepdims=True)
    weights = np.exp(-q / temperature)
    visible = np.arange(ndisp) <= np.arange(width)[:, None]
    assert np.array_equal(found.minimum, costs.min(axis=2))
    assert np.array_equal(found.total, costs.sum(axis=2, dtype=np.int64))
    np.testing.assert_allclose(found.partition, weights.sum(axis=2), rtol=1e-6)
    excess = (weights * q).sum(axis=2) / weights.sum(axis=2) / temperature
    np.testing.assert_allclose(found.excess, excess, rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(found.perturbation, np.exp(-((q / sigma) ** 2)).sum(axis=2) - 1, rtol=2e-6, atol=1e-6)
    rivals = np.mean(np.maximum(0, 1 - q / ramp), axis=2, where=visible)
    np.testing.assert_allclose(found.ambiguity, rivals, rtol=1e-6)
    for y, x in np.ndindex(costs.shape[:2]):
        of, winner = costs[y, x], int(winners[y, x])
        around = [NONE, *of.tolist(), NONE]
        assert (found.below[y, x], found.above[y, x]) == (around[winner], around[winner + 2])
        assert found.second[y, x] == np.delete(of, winner).min(initial=NONE)
        others = [int(of[first]) for first, last in minima(of) if not first <= winner <= last]
        assert found.second_minimum[y, x] == min(others, default=NONE)


def test_costs_that_do_not_fit_are_refused() -> None:
    costs, scales, found = np.zeros(3 * 4 * 8, np.uint16), Scales.of(100, 100, 800), CostSummary.empty(3, 4)
    winners = np.zeros((3, 4), np.uint16)
    RowSummary(costs, 8, 7, winners, scales, found).fill(0, 3)
    for first_row, padded, ndisp, rows in ((0, 9, 9, (0, 3)), (0, 8, 9, (0, 3)), (1, 8, 7, (0, 3)), (0, 8, 7, (0, 4))):
        with pytest.raises(ValueError, match="are not within"):
            RowSummary(costs, padded, ndisp, winners, scales, found).fill(*rows, first_row)
    with pytest.raises(ValueError, match="not among their 7 disparities"):
        RowSummary(costs, 8, 7, winners + np.uint16(7), scales, found).fill(0, 3)


@pytest.mark.parametrize("ndisp", [1, 2, 40])
def test_minima_are_counted(ndisp: int) -> None:
    costs = volume(ndisp, 30, ndisp, 4)
    expected = [[len(minima(pixel)) for pixel in row] for row in costs]
    assert count_minima(costs).tolist() == expected


@pytest.mark.parametrize(("width", "reach"), [(1, 3), (2, 1), (40, 7), (150, 200)])
def test_distances_to_the_most_similar_code_of_a_row(width: int, reach: int) -> None:
    codes = np.random.default_rng(width).integers(0, 256, (6, 3, width)).astype(np.uint8)
    found = least_difference(codes, reach)
    for y, x in np.ndindex(3, width):
        others = [other for other in range(max(0, x - reach), min(width, x + reach + 1)) if other != x]
        distances = np.bitwise_count(codes[:, y, others] ^ codes[:, y, [x]]).sum(axis=0)
        assert found[y, x] == distances.min(initial=65535)


def test_agreement_and_scattering_in_windows() -> None:
    rng = np.random.default_rng(4)
    disparity = rng.uniform(0, 6, (11, 17)).astype(np.float32)
    disparity[rng.random(disparity.shape) < 0.3] = np.nan
    disparity[3, 4] = np.inf
    agreeing, kinds = window_agreement(disparity, 2, 1.0)
    for y, x in np.ndindex(disparity.shape):
        window = disparity[max(0, y - 2) : y + 3, max(0, x - 2) : x + 3]
        known = window[np.isfinite(window)]
        expected = (0, 1)
        if np.isfinite(disparity[y, x]):
            close = np.count_nonzero(abs(known - disparity[y, x]) <= 1)
            expected = (close / window.size, len(np.unique(np.rint(known))) / known.size)
        assert (agreeing[y, x], kinds[y, x]) == tuple(np.float32(value) for value in expected)


def test_only_the_cheapest_match_of_a_right_pixel_is_its_own() -> None:
    rng = np.random.default_rng(5)
    winners = rng.integers(0, 12, (6, 40)).astype(np.uint16)
    lowest = rng.integers(0, 9, (6, 40)).astype(np.uint16)
    doubled = doubled_matches(winners, lowest)
    for y, x in np.ndindex(winners.shape):
        there = np.arange(40) - winners[y]
        same = np.flatnonzero(there == there[x])
        best = there[x] >= 0 and same[lowest[y, same].argmin()] == x
        assert doubled[y, x] == (0 if best else 1)


def test_rows_reach_the_leaves_of_trees() -> None:
    """x₀ ≤ 1 (NaN: yes) ? (x₁ ≤ 0 (NaN: no) ? 1 : 2) : 4, and a tree of one leaf; more rows than a block holds."""
    feature = np.array([0, 1, -1, -1, -1, -1], np.int32)
    threshold = np.array([1, 0, 0, 0, 0, 0], np.float64)
    missing_left = np.array([1, 0, 0, 0, 0, 0], np.bool_)
    left, right = np.array([1, 2, 0, 0, 0, 0], np.int32), np.array([4, 3, 0, 0, 0, 0], np.int32)
    value, roots = np.array([0, 0, 1, 2, 4, 0.5], np.float64), np.array([0, 5], np.int32)
    table = np.random.default_rng(6).choice(np.array([-1, 0, 1, 1.5, np.nan], np.float32), (2500, 2))
    expected = []
    for first, second in table.tolist():
        inner = 1 if second <= 0 else 2
        expected.append(0.25 + 0.5 + (inner if first <= 1 or np.isnan(first) else 4))
    trees = (feature, threshold, missing_left, left, right, value, roots)
    assert tree_scores(table, 0.25, *trees).tolist() == expected
    backwards = np.array([0, 2, 0, 0, 0, 0], np.int32)
    for damaged in ((feature + 2, left, roots), (feature, backwards, roots), (feature, left, roots + 1)):
        with pytest.raises(ValueError, match="does not exist"):
            tree_scores(table, 0.25, damaged[0], threshold, missing_left, damaged[1], right, value, damaged[2])
