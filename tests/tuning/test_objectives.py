"""Objectives: the weighted score of the ranking, shares of scenes, gaps, and improvement with its interval."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import stereogauge as sg
from stereogauge import StereogaugeError
from stereogauge.scores.column import Column
from stereogauge.scores.facts import SceneFacts, usual_maximum
from stereogauge.scores.score import Score
from stereogauge.tuning.definition import scene_folds, scene_groups
from stereogauge.tuning.objectives import (
    ObjectiveFunction,
    improvement,
    objective_columns,
    parse_objective,
    profile_objective,
)
from stereogauge.tuning.search import is_lost, scene_order
from stereogauge.tuning.storage import quiet

WEIGHTS = {"bad@1": 2.0, "f-por": 1.0, "rms:nonocc": 1.0}
COLUMNS = (Column("bad@1", "all"), Column("bad@1", "nonocc"), Column("f-por", "fine"), Column("rms", "nonocc"))
NAN = np.nan
DEFAULT = np.array([[20.0, 10.0, 0.5, 3.0], [30.0, 22.0, NAN, 5.0], [12.0, 9.0, 0.25, 2.0]])
TUNED = np.array([[15.0, 9.0, 0.3, 2.5], [31.0, 20.0, NAN, 4.0], [11.0, 8.0, 0.125, 1.0]])


def function() -> ObjectiveFunction:
    maxima = np.tile([usual_maximum(column, SceneFacts()) for column in COLUMNS], (len(DEFAULT), 1))
    return ObjectiveFunction(profile_objective(WEIGHTS), COLUMNS, DEFAULT, maxima)


def table(**algorithms: np.ndarray) -> sg.ScoreTable:
    return sg.ScoreTable(
        Score("d", f"s{scene}", name, *column, value=float(row[index]), sum=0, count=1, missing=0, protocol="p")
        for name, scores in algorithms.items()
        for scene, row in enumerate(scores)
        for index, column in enumerate(COLUMNS)
    )


def test_the_value_is_the_weighted_score_of_the_ranking() -> None:
    ranked = sg.rank(
        table(default=DEFAULT, tuned=TUNED), model="weighted", weights=WEIGHTS, least_support=0
    ).to_pandas()
    values = dict(zip(ranked["algorithm"], ranked["value"], strict=True))
    assert function().value(DEFAULT) == pytest.approx(values["default"])
    assert function().value(TUNED) == pytest.approx(values["tuned"])


def test_the_shares_of_scenes_sum_to_the_value() -> None:
    for scenes in (None, [0, 2], [1]):
        assert function().shares(TUNED, scenes).sum() == pytest.approx(function().value(TUNED, scenes))


def test_a_scene_that_was_not_run_has_no_share_yet() -> None:
    partial = TUNED.copy()
    partial[1] = NAN
    shares = function().shares(partial)
    assert np.isnan(shares).tolist() == [False, True, False]


def test_a_metric_that_only_a_trial_lacks_counts_as_bad_as_the_default_or_one_unit() -> None:
    lacking = TUNED.copy()
    lacking[0, 2] = NAN
    assert function().value(lacking) > function().value(TUNED)
    spoiled = TUNED.copy()
    spoiled[0, 2] = 1.0
    assert function().value(lacking) <= function().value(spoiled) + 1.0


def test_a_raw_objective_is_the_mean_of_the_metric_in_its_own_unit() -> None:
    raw = ObjectiveFunction(parse_objective("rms:nonocc"), COLUMNS, DEFAULT)
    assert raw.value(TUNED) == pytest.approx(2.5)
    assert raw.objective.direction == "minimize"
    assert raw.objective.unit == "px"


def test_where_higher_is_better_the_objective_is_maximised_and_an_improvement_is_positive() -> None:
    columns = (Column("psnr", "all"),)
    before, after = np.array([[20.0], [30.0]]), np.array([[22.0], [31.0]])
    raw = ObjectiveFunction(parse_objective("psnr:all"), columns, before)
    assert raw.objective.direction == "maximize"
    assert raw.value(after) == pytest.approx(26.5)
    assert not raw.bounded
    found = improvement(raw, before, after, ("a", "b"), ((0,), (1,)), seed=0)
    assert (found.default, found.tuned, found.difference, found.better) == (25.0, 26.5, 1.5, 2)


def test_columns_come_from_weights_and_the_protocols_regions() -> None:
    assert objective_columns([profile_objective(WEIGHTS)], ["all", "nonocc"]) == COLUMNS


def test_an_objective_may_be_a_profile() -> None:
    assert parse_objective("balanced") == profile_objective("balanced")
    assert profile_objective("surgery").name == "computer-assisted-surgery"


def test_a_profile_of_which_nothing_applies_is_refused() -> None:
    with pytest.raises(StereogaugeError, match="None of the metrics"):
        ObjectiveFunction(profile_objective({"f-por": 1}), COLUMNS, np.full((3, 4), NAN))


def test_equal_scores_improve_by_nothing_for_certain() -> None:
    found = improvement(function(), DEFAULT, DEFAULT, ("a", "b", "c"), ((0,), (1,), (2,)), seed=0)
    assert (found.difference, found.low, found.high, found.better) == (0, 0, 0, 0)


def test_the_interval_of_an_improvement_holds_the_difference() -> None:
    found = improvement(function(), DEFAULT, TUNED, ("a", "b", "c"), ((0,), (1,), (2,)), seed=0)
    assert 0 < found.low < found.difference < found.high
    assert (found.better, found.compared) == (3, 3)
    assert found.percent == pytest.approx(100 * found.difference / found.default)


def test_scenes_with_one_ground_truth_give_no_interval() -> None:
    found = improvement(function(), DEFAULT, TUNED, ("a", "b", "c"), ((0, 1, 2),), seed=0)
    assert np.isnan([found.low, found.high]).all()


def test_scenes_with_one_ground_truth_are_never_in_two_folds() -> None:
    groups = scene_groups(["piano", "pipes", "piano", "teddy", "art"])
    assert groups == ((0, 2), (1,), (3,), (4,))
    for seed in range(8):
        folds = scene_folds(groups, 3, seed)
        assert sorted(index for fold in folds for index in fold) == [0, 1, 2, 3, 4]
        assert all((0 in fold) == (2 in fold) for fold in folds)


def test_more_folds_than_scenes_are_refused_and_fewer_than_two_are_none() -> None:
    assert scene_folds(((0,), (1,)), 1, 0) == ()
    with pytest.raises(StereogaugeError, match="found 2"):
        scene_folds(((0,), (1,)), 3, 0)


def test_the_cheapest_scene_comes_first_until_it_is_known_which_one_tells() -> None:
    work = np.array([3.0, 1.0, 2.0])
    assert scene_order(work, np.empty((0, 3))) == (1, 2, 0)
    whole = np.arange(10.0)
    history = np.column_stack([whole, np.zeros(10), -whole / 4])
    assert scene_order(np.ones(3), history)[0] == 0


@pytest.fixture
def _quiet() -> Iterator[None]:
    with quiet():
        yield


@pytest.mark.usefixtures("_quiet")
def test_a_trial_whose_sum_exceeds_the_best_has_lost() -> None:
    best = np.array([0.1, 0.1, 0.1])
    assert is_lost(np.array([0.31, NAN, NAN]), best, bounded=True)
    assert not is_lost(np.array([0.29, NAN, NAN]), best, bounded=True)
    assert not is_lost(np.array([0.31, NAN, NAN]), best, bounded=False)


@pytest.mark.usefixtures("_quiet")
def test_a_trial_that_is_worse_on_every_one_of_four_scenes_has_lost() -> None:
    best = np.full(6, 0.1)
    assert is_lost(np.array([0.11, 0.12, 0.13, 0.14, NAN, NAN]), best, bounded=True)
    assert not is_lost(np.array([0.11, 0.12, 0.13, NAN, NAN, NAN]), best, bounded=True)
    assert not is_lost(np.array([0.11, 0.12, 0.05, 0.14, NAN, NAN]), best, bounded=True)


@pytest.mark.usefixtures("_quiet")
def test_a_trial_with_all_scenes_is_never_ended_early() -> None:
    assert not is_lost(np.array([0.9, 0.9]), np.array([0.1, 0.1]), bounded=True)
