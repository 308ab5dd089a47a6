"""What holds for every set of scores, whatever the numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

from stereogauge import rank
from stereogauge.ranking import Column, Ranking, ScoreCube
from stereogauge.ranking.models.pareto import dominance, layers
from stereogauge.ranking.ranks import Ties, tied_ranks

MODELS = ("middlebury", "extended", "a-star", "weighted")
few_distinct = st.integers(0, 6).map(float)
score_arrays = st.tuples(st.integers(1, 8), st.integers(1, 3), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=few_distinct)
)
example = settings(max_examples=60, deadline=None)


def cube_with(values: np.ndarray) -> ScoreCube:
    algorithms, scenes, columns = values.shape
    return ScoreCube(
        tuple(f"algorithm {place}" for place in range(algorithms)),
        tuple(f"scene {place}" for place in range(scenes)),
        tuple(Column("bad@1", region) for region in ("disc", "nonocc", "all")[:columns]),
        values,
    )


def places(ranking: Ranking) -> dict[str, int]:
    return dict(zip(ranking.algorithms, ranking.rank.tolist(), strict=True))


@pytest.mark.parametrize("model", MODELS)
@example
@given(values=score_arrays, seed=st.integers(0, 99))
def test_the_order_of_the_algorithms_does_not_matter(model: str, values: np.ndarray, seed: int) -> None:
    cube = cube_with(values)
    shuffled = cube.take(algorithms=np.random.default_rng(seed).permutation(len(cube.algorithms)).tolist())
    assert places(rank(cube, model)) == places(rank(shuffled, model))


@pytest.mark.parametrize("model", MODELS)
@example
@given(values=score_arrays, data=st.data())
def test_a_strictly_better_algorithm_never_ranks_lower(model: str, values: np.ndarray, data: st.DataObject) -> None:
    loser = data.draw(st.integers(0, len(values) - 1))
    cube = cube_with(np.concatenate([values, values[loser : loser + 1] - 0.5]))
    found = places(rank(cube, model))
    assert found[cube.algorithms[-1]] <= found[cube.algorithms[loser]]


@example
@given(values=score_arrays)
def test_a_star_groups_are_a_partition_in_layers(values: np.ndarray) -> None:
    costs = values.reshape(len(values), -1)
    groups = rank(cube_with(values), "a-star").groups()
    members = [name for group in groups for name in group]
    assert sorted(members) == sorted(cube_with(values).algorithms)
    assert all(groups)

    def dominates(a: str, b: str) -> bool:
        first, second = (costs[int(name.split()[1])] for name in (a, b))
        return bool(np.all(first <= second) and np.any(first < second))

    for group in groups:
        assert not any(dominates(a, b) for a in group for b in group)
    for better, worse in itertools.pairwise(groups):
        assert all(any(dominates(a, b) for a in better) for b in worse)


@example
@given(costs=arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 40)), elements=few_distinct))
def test_a_star_groups_agree_with_an_independent_library(costs: np.ndarray) -> None:
    fronts = NonDominatedSorting().do(costs)
    expected = np.zeros(len(costs), int)
    for place, front in enumerate(fronts, start=1):
        expected[front] = place
    assert layers(dominance(costs)).tolist() == expected.tolist()


@example
@given(values=score_arrays, tau=st.floats(0.5, 9))
def test_alike_is_reflexive_and_symmetric(values: np.ndarray, tau: float) -> None:
    alike = rank(cube_with(values), "extended", tau=tau).arrays["alike"]
    assert np.all(np.diag(alike))
    assert np.array_equal(alike, alike.T)


@example
@given(values=score_arrays)
def test_average_ranks_with_averaged_ties_sum_to_the_sum_of_places(values: np.ndarray) -> None:
    ranking = rank(cube_with(values), "middlebury", ties="average")
    count = len(values)
    assert ranking.value.sum() == pytest.approx(count * (count + 1) / 2)


@example
@given(values=score_arrays, factor=st.floats(0.1, 10))
def test_models_of_ranks_do_not_feel_the_unit(values: np.ndarray, factor: float) -> None:
    for model in ("middlebury", "extended", "a-star"):
        assert places(rank(cube_with(values), model)) == places(rank(cube_with(values * factor), model))


@pytest.mark.parametrize("ties", ["min", "average", "dense"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_ranks_are_those_of_scipy(ties: Ties, axis: int) -> None:
    from scipy.stats import rankdata

    values = np.random.default_rng(3).integers(0, 5, (40, 9)).astype(np.float64)
    values[3, 2], values[5, 5] = np.inf, np.nan
    np.testing.assert_array_equal(tied_ranks(values, ties, axis), rankdata(values, method=ties, axis=axis))
