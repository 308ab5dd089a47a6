"""The pass over aggregated costs, for images and ranges of disparities that fill no vector."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from stereogauge.confidence_measures.evidence import summarise
from stereogauge.kernels.cost_summary import NONE, Scales, lookup_tables


def second_minimum(costs: NDArray[np.uint16], winner: int) -> int:
    """Away from the winner costs rise; from where they first fall on, the smallest is another local minimum."""
    found = []
    for side in (costs[winner:], costs[winner::-1]):
        steps = np.flatnonzero(np.diff(side.astype(np.int64)) < 0)
        found += side[steps[0] + 1 :].tolist() if steps.size else []
    return min(found, default=NONE)


@pytest.mark.parametrize("width", [1, 7, 16, 33])
@pytest.mark.parametrize("ndisp", [1, 2, 31, 64, 150])
@pytest.mark.parametrize("highest", [2, 9, 1200, 65536])
def test_whole_numbers_are_exact_for_any_size(width: int, ndisp: int, highest: int) -> None:
    random = np.random.default_rng(width * ndisp + highest)
    costs = random.integers(0, highest, (4, width, ndisp)).astype(np.uint16)
    # Of equal costs any may win.
    lowest = costs == costs.min(axis=2, keepdims=True)
    winners = np.where(lowest, random.random(costs.shape), -1).argmax(axis=2).astype(np.uint16)
    found = summarise(costs, winners, Scales.of(100, 100, 800), threads=2)
    assert np.array_equal(found.minimum, costs.min(axis=2))
    assert np.array_equal(found.total, costs.sum(axis=2, dtype=np.int64))
    for y, x in itertools.product(range(4), range(width)):
        of, winner = costs[y, x], int(winners[y, x])
        around = np.pad(of, 1, constant_values=NONE)
        assert (found.below[y, x], found.above[y, x]) == (around[winner], around[winner + 2])
        assert found.second[y, x] == np.delete(of, winner).min(initial=NONE)
        assert found.second_minimum[y, x] == second_minimum(of, winner)


@pytest.mark.parametrize("ramp", [1, 800, 30000, 65535, 65536, 10**7])
def test_rivals_are_counted_whatever_the_ramp(ramp: int) -> None:
    """Sixteen bits hold one margin of a steep ramp, a few of a flat one."""
    costs = np.random.default_rng(5).integers(0, 60000, (2, 40, 203)).astype(np.uint16)
    costs[1] //= 100
    found = summarise(costs, costs.argmin(axis=2).astype(np.uint16), Scales.of(100, 100, ramp), threads=1)
    q = costs - costs.min(axis=2, keepdims=True).astype(np.float64)
    visible = np.arange(203) <= np.arange(40)[:, None]
    expected = np.mean(np.maximum(0, 1 - q / ramp), axis=2, where=visible)
    np.testing.assert_allclose(found.ambiguity, expected, rtol=3e-7)


@pytest.mark.parametrize("ndisp", [64, 1001])
def test_long_sums_round_no_more_than_a_few_times(ndisp: int) -> None:
    """Equal terms, each rounded in the same direction when added to the sum, are the worst case."""
    costs = np.full((1, 16, ndisp), 33, np.uint16)
    costs[..., 0] = 0
    found = summarise(costs, np.zeros((1, 16), np.uint16), Scales.of(100, 100, 800), threads=1)
    np.testing.assert_allclose(found.partition, 1 + (ndisp - 1) * np.exp(-0.33), rtol=2e-6)
    np.testing.assert_allclose(found.perturbation, (ndisp - 1) * np.exp(-(0.33**2)), rtol=2e-6)


@pytest.mark.parametrize("scale", [20.0, 100.0, 3000.0])
def test_every_difference_has_its_exponentials(scale: float) -> None:
    """Differences 0 … 3000, a pixel each: within, at and beyond the reach of tables."""
    q = np.arange(3001)
    costs = np.stack([np.zeros_like(q), q, np.full_like(q, 60000), np.full_like(q, 60000)], axis=1)[None]
    found = summarise(costs.astype(np.uint16), np.zeros((1, q.size), np.uint16), Scales.of(scale, scale, 800))
    far = 2 * np.exp(-60000 / scale)
    np.testing.assert_allclose(found.partition[0], 1 + np.exp(-q / scale) + far, rtol=2e-7)
    np.testing.assert_allclose(found.perturbation[0], np.exp(-((q / scale) ** 2)), rtol=3e-7, atol=2e-7)


def test_tables_hold_powers_and_factors() -> None:
    tables = lookup_tables(50.0)
    j = np.arange(32)
    exponent = tables[:32].view(np.int32) + (j << 18) + (-3 << 23)
    np.testing.assert_allclose(exponent.astype(np.int32).view(np.float32), 2.0 ** (j / 32 - 3), rtol=1e-7)
    np.testing.assert_allclose(tables[32:64], np.exp(-j / 50), rtol=1e-7)
    np.testing.assert_allclose(tables[64:96], np.exp(-32 * j / 50), rtol=1e-7)
    np.testing.assert_allclose(tables[96], np.exp(-1024 / 50), rtol=1e-7)
