"""Orders from several datasets: average ranks and Schulze's method."""

from __future__ import annotations

import numpy as np
import pytest

from stereogauge import StereogaugeError
from stereogauge.ranking import Column, ScoreCube
from stereogauge.ranking.across import rank_across, schulze


def votes(text: str) -> np.ndarray:
    """Ranks (candidates, votes) from lines such as "5 ACBED": five votes for this order."""
    orders = [(int(count), order) for count, order in (line.split() for line in text.strip().splitlines())]
    names = sorted(orders[0][1])
    return np.array([[order.index(name) + 1.0 for count, order in orders for _ in range(count)] for name in names])


def test_the_worked_example_of_the_method() -> None:
    """45 voters and five candidates, the standard example of the method: the order is E, A, C, B, D."""
    ranks = votes("5 ACBED\n5 ADECB\n8 BEDAC\n3 CABED\n7 CAEBD\n2 CBADE\n7 DCEBA\n8 EBADC")
    assert [name for _, name in sorted(zip(schulze(ranks).tolist(), "ABCDE", strict=True))] == list("EACBD")


def test_one_vote_is_its_own_order_and_equal_votes_tie() -> None:
    assert schulze(np.array([[2.0], [1.0], [3.0]])).tolist() == [2, 1, 3]
    assert schulze(np.array([[1.0, 2.0], [2.0, 1.0]])).tolist() == [1, 1]


def test_a_condorcet_winner_is_first() -> None:
    for seed in range(50):
        ranks = np.argsort(np.argsort(np.random.default_rng(seed).random((5, 9)), axis=0), axis=0) + 1.0
        beats = (ranks[:, None] < ranks[None, :]).sum(axis=2)
        winners = [k for k in range(5) if all(beats[k, j] > beats[j, k] for j in range(5) if j != k)]
        assert all(schulze(ranks)[k] == 1 for k in winners)


def cube(values: list[list[float]], datasets: tuple[str, ...]) -> ScoreCube:
    names = tuple(f"{dataset}/{place}" for place, dataset in enumerate(datasets))
    array = np.array(values)[:, :, None]
    return ScoreCube(tuple("ABC"), names, (Column("bad@1", "all"),), array, datasets=datasets)


def test_a_dataset_is_one_vote_however_many_scenes_it_has() -> None:
    """A wins two small datasets, B one of four scenes: over all scenes B would lead."""
    scores = cube([[1, 1, 5, 5, 5, 5], [2, 2, 1, 1, 1, 1], [3, 3, 6, 6, 6, 6]], ("x", "y", "z", "z", "z", "z"))
    found = rank_across(scores, "middlebury")
    assert found.algorithms == ("A", "B", "C")
    assert found.average == pytest.approx([4 / 3, 5 / 3, 3])
    assert found.to_pandas()["rank on z"].tolist() == [2, 1, 3]


def test_one_dataset_is_no_order_across_datasets() -> None:
    with pytest.raises(StereogaugeError, match="at least two"):
        rank_across(cube([[1], [2], [3]], ("x",)), "middlebury")
