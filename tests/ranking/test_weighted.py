"""Weighted combinations: scales, profiles, and what weights mean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import stereogauge as sg
from stereogauge import StereogaugeError, rank
from stereogauge.ranking import ScoreCube
from stereogauge.ranking.bootstrap import bootstrap
from stereogauge.ranking.profile import load_profile, property_of, shipped_profiles
from stereogauge.ranking.ranks import normalised
from stereogauge.ranking.weighted_score import break_even, effective_weights, weigh
from stereogauge.scores.facts import SceneFacts
from stereogauge.scores.facts import maximum as usual

Build = Callable[..., ScoreCube]
NAN = float("nan")
SUPPLEMENT = {
    "rms": 70,
    "bad@1": 80,
    "bad@4": 45,
    "d-fat": 0.6,
    "d-thin": 0.3,
    "d-fuz": 3.4,
    "d-fuz-rel": 3.4,
    "p-bump": 4.5,
    "p-off": 25,
    "p-mis": 60,
    "f-por": 1.2,
    "f-frag": 0.5,
    "f-fat": 0.7,
}


@pytest.mark.parametrize(("metric", "maximum"), SUPPLEMENT.items())
def test_heuristic_maxima_are_those_of_the_supplement(metric: str, maximum: float) -> None:
    assert usual(metric) == maximum


@pytest.mark.parametrize("metric", ["bad@0.5", "bad@2", "mae", "psnr"])
def test_what_nobody_stated_has_no_heuristic_maximum(metric: str) -> None:
    assert usual(metric) is None


def test_a_threshold_without_heuristic_counts_as_a_share_of_everything_and_says_so(cube_of: Build) -> None:
    ranking = rank(cube_of([[40.0], [20.0]], ["bad@2:all"]), "weighted")
    assert ranking.value.tolist() == [0.2, 0.4]
    assert ranking.names["scales"] == ("theoretical range",)


def test_a_score_is_the_weighted_sum_of_shares_of_the_heuristic_maxima(cube_of: Build) -> None:
    cube = cube_of([[[40.0, 35.0], [8.0, 7.0]], [[8.0, 70.0], [8.0, 70.0]]], ("bad@1:all", "rms:all"))
    ranking = rank(cube, "weighted", weights={"bad@1": 3, "rms": 1})
    by_hand = {"A": 0.75 * (0.5 + 0.1) / 2 + 0.25 * (0.5 + 0.1) / 2, "B": 0.75 * 0.1 + 0.25 * 1.0}
    assert dict(zip(ranking.algorithms, ranking.value, strict=True)) == pytest.approx(by_hand)
    assert ranking.arrays["contributions"][0] == pytest.approx([0.225, 0.075])
    assert ranking.names["terms"] == ("bad@1", "rms")


def test_scenes_count_by_their_weights_in_scores_tests_and_draws(cube_of: Build) -> None:
    values = np.random.default_rng(0).uniform(8, 40, (2, 4, 1))
    values[0] = 20.0
    weights = {"scene0": 3.0, "scene2": 0.5}
    cube = replace(cube_of(values), aggregation="weighted", scene_weights=weights)
    score, _ = weigh(cube)
    shares = np.array([3, 1, 0.5, 1]) / 5.5
    assert score.value == pytest.approx(values[:, :, 0] @ shares / 80)
    assert score.contributions.mean(axis=1) == pytest.approx(score.value)
    # An algorithm with the same score everywhere has it in every draw, however much the scenes count.
    assert score.redrawn(50)[:, 0] == pytest.approx(np.full(50, 0.25))
    assert rank(cube, "weighted").notes[-1] == "Scenes count by the protocol's weights."
    with pytest.raises(StereogaugeError, match="cannot be pooled"):
        weigh(cube.read_by(None, "pooled"))
    with pytest.raises(StereogaugeError, match="mean, pooled, weighted"):
        cube.read_by(None, "median")


@pytest.mark.parametrize("seed", range(8))
def test_a_term_with_the_same_scores_for_everybody_has_exactly_no_share_and_no_tie(cube_of: Build, seed: int) -> None:
    values = np.random.default_rng(seed).uniform(0, 60, (7, 33, 2))
    values[:, :, 1] = values[0, :, 1]
    score, _ = weigh(cube_of(values, ("bad@1:all", "rms:all")), {"bad@1": 1, "rms": 1})
    assert score.effective.tolist() == [1.0, 0.0]
    assert np.isnan(score.ties(int(score.order[0]))[:, 1]).all()


def test_weights_of_one_and_zero_reduce_to_the_single_metric(cube_of: Build) -> None:
    random = np.random.default_rng(1).random((6, 3, 2))
    cube = cube_of(random, ("bad@1:all", "rms:all"))
    ranking = rank(cube, "weighted", weights={"bad@1": 0, "rms": 1})
    by_rms = [cube.algorithms[place] for place in np.argsort(random[:, :, 1].mean(axis=1))]
    assert list(ranking.algorithms) == by_rms
    assert ranking.selection.metrics == ("rms",)


def test_a_gap_in_a_metric_without_weight_removes_nobody(cube_of: Build) -> None:
    cube = cube_of([[1.0, NAN], [2.0, 3.0]], ("bad@1:all", "rms:all"))
    assert rank(cube, "weighted", weights={"bad@1": 1}).algorithms == ("A", "B")


def test_a_metric_without_scores_shares_its_weight_and_is_named(cube_of: Build) -> None:
    ranking = rank(cube_of([[1.0], [2.0]]), "weighted", weights={"bad@1": 1, "f-por": 3})
    assert ranking.arrays["weights"].tolist() == [1.0]
    assert [(d.kind, d.name) for d in ranking.selection.dropped] == [("metric", "f-por")]


def test_a_weight_on_one_region_leaves_the_others_alone(cube_of: Build) -> None:
    cube = cube_of([[8.0, 80.0], [16.0, 0.0]], ("bad@1:nonocc", "bad@1:all"))
    ranking = rank(cube, "weighted", weights={"bad@1:nonocc": 1})
    assert dict(zip(ranking.algorithms, ranking.value, strict=True)) == pytest.approx({"A": 0.1, "B": 0.2})


def test_without_weights_all_metrics_weigh_the_same(cube_of: Build) -> None:
    ranking = rank(cube_of([[8.0, 7.0], [16.0, 7.0]], ("bad@1:all", "rms:all")), "weighted")
    assert ranking.arrays["weights"].tolist() == [0.5, 0.5]


COSTS = np.array([[1.0], [2.0], [4.0]])


def test_normalisation_by_the_maximum_of_the_selection() -> None:
    assert normalised("sze", COSTS, "max")[0].ravel().tolist() == [0.25, 0.5, 1.0]


def test_an_unbounded_metric_without_heuristics_falls_back_on_the_selection_and_says_so() -> None:
    cells, origin = normalised("sze", COSTS, "heuristic")
    assert cells.ravel().tolist() == [0.25, 0.5, 1.0]
    assert origin == "maximum of the selection"


def test_normalisation_by_z_scores_has_mean_zero_and_deviation_one() -> None:
    cells = normalised("sze", COSTS, "z-score")[0]
    assert cells.mean() == pytest.approx(0)
    assert cells.std() == pytest.approx(1)


def test_z_scores_of_equal_costs_are_zero() -> None:
    assert normalised("sze", np.ones((3, 1)), "z-score")[0].ravel().tolist() == [0, 0, 0]


def test_normalisation_by_ranks() -> None:
    assert normalised("sze", np.array([[1.0], [2.0], [2.0], [9.0]]), "rank")[0].ravel().tolist() == [
        0.25,
        0.625,
        0.625,
        1,
    ]


def test_where_higher_is_better_the_best_possible_score_is_zero(cube_of: Build) -> None:
    ranking = rank(cube_of([[0.9], [0.5]], ["ssim:all"]), "weighted")
    assert ranking.algorithms == ("A", "B")
    assert np.all(ranking.value >= 0)


@pytest.mark.parametrize("rule", ["heuristic", "max", "z-score", "rank"])
def test_a_perfect_map_of_infinite_psnr_comes_first_with_a_finite_score(cube_of: Build, rule: str) -> None:
    perfect = float("inf")
    cube = cube_of([[[20.0], [19.0]], [[30.0], [29.0]], [[perfect], [perfect]]], ["psnr:all"])
    ranking = rank(cube, "weighted", normalisation=rule)
    assert ranking.algorithms[-1] == "A"
    assert "C" in ranking.winners
    assert np.all(np.isfinite(ranking.value))


def test_weights_may_be_numbers_of_numpy(cube_of: Build) -> None:
    weights = {"bad@1": np.float32(3), "rms": np.int64(1)}
    ranking = rank(cube_of([[8.0, 7.0]], ("bad@1:all", "rms:all")), "weighted", weights=weights)
    assert ranking.arrays["weights"].tolist() == [0.75, 0.25]


@pytest.mark.parametrize("rule", ["heuristic", "max"])
def test_a_gap_under_the_rule_worst_costs_at_least_one_unit(cube_of: Build, rule: str) -> None:
    ranking = rank(cube_of([[NAN], [8.0], [16.0]]), "weighted", missing="worst", normalisation=rule)
    assert ranking.algorithms[-1] == "A" or rule == "max"
    assert dict(zip(ranking.algorithms, ranking.value, strict=True))["A"] == 1.0


def test_five_profiles_are_shipped_and_their_weights_sum_to_one() -> None:
    assert shipped_profiles() == (
        "3d-metrology",
        "balanced",
        "computer-assisted-surgery",
        "driver-assistance",
        "image-based-rendering",
    )
    for name in shipped_profiles():
        profile = load_profile(name)
        assert sum(profile.weights.values()) == pytest.approx(1)
        assert profile.description


def test_surgery_gives_most_of_its_weight_to_fine_structures() -> None:
    weights = load_profile("computer-assisted-surgery").weights
    assert sum(weight for metric, weight in weights.items() if metric.startswith("f-")) > 0.5


def test_a_users_profile_is_loaded_from_its_file(cube_of: Build, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "Mine"\n[weights]\n"bad@1.0" = 2\nrms = 2\n', encoding="utf-8")
    ranking = rank(cube_of([[8.0, 7.0]], ("bad@1:all", "rms:all")), "weighted", profile=path)
    assert ranking.value == pytest.approx([0.1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("weights = 3", "needs a table"),
        ("[weights\n", "not valid TOML"),
        ('[weights]\nrms = "much"', "must be a number"),
        ("[weights]\nrms = -1", "at least 0"),
        ("[weights]\nrms = 0", "greater than 0"),
        ('[weights]\n"bad@1" = 1\n"bad@1.0" = 1', "twice"),
        ("[weights]\nrmz = 1", "rmz"),
    ],
)
def test_a_faulty_profile_is_refused_in_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StereogaugeError, match=message):
        load_profile(path)


def test_an_unknown_profile_is_refused_with_the_shipped_ones() -> None:
    with pytest.raises(StereogaugeError, match="balanced"):
        load_profile("ballanced")


def test_weights_that_nothing_was_measured_for_are_refused(cube_of: Build) -> None:
    with pytest.raises(StereogaugeError, match="f-por"):
        rank(cube_of([[1.0]]), "weighted", weights={"f-por": 1})


class TestWhatAWeightMeans:
    """Effective weights, the term that decides, and the weights at which two algorithms tie."""

    def test_effective_weights_are_the_shares_of_all_pairwise_differences(self) -> None:
        contributions = np.random.default_rng(2).random((6, 4)) * np.array([1.0, 0.1, 0.5, 0.0])
        spread = np.abs(contributions[:, None] - contributions[None, :]).sum(axis=(0, 1))
        assert effective_weights(contributions) == pytest.approx(spread / spread.sum())
        assert effective_weights(np.ones((3, 2))).tolist() == [0.0, 0.0]

    @given(seed=st.integers(0, 10_000))
    @settings(deadline=None, max_examples=60)
    def test_at_the_break_even_weight_the_two_have_the_same_score(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        means, weights = random.random((5, 4)), random.dirichlet(np.ones(4))
        first = int(np.argmin(means @ weights))
        found = break_even(means, weights, first)
        assert np.isnan(found[first]).all()
        for rival, term in np.argwhere(~np.isnan(found)):
            others = weights.copy()
            others[term] = 0
            moved = others / others.sum() * (1 - found[rival, term])
            moved[term] = found[rival, term]
            assert means[rival] @ moved == pytest.approx(means[first] @ moved, abs=1e-9)

    def test_where_no_weight_makes_them_tie_there_is_none(self) -> None:
        better_everywhere = np.array([[0.1, 0.2], [0.3, 0.4]])
        assert np.isnan(break_even(better_everywhere, np.array([0.5, 0.5]), 0)).all()

    def test_the_term_that_decides_is_named(self, cube_of: Build) -> None:
        cube = cube_of([[[1, 0.30]], [[2, 0.31]], [[79, 0.30]]], ["bad@1:all", "d-fat:disc-background"])
        ranking = rank(cube, "weighted", weights={"bad@1": 1, "d-fat": 9})
        assert ranking.notes == (
            "Bad pixels (bad@1) has more influence than its weight: it weighs 10 % and causes 87 % of the differences "
            "between the algorithms.",
        )
        assert ranking.arrays["effective_weights"].sum() == pytest.approx(1)
        assert rank(cube, "weighted", weights={"bad@1": 9, "d-fat": 1}).notes == ()

    def test_maxima_of_lengths_follow_the_size_of_the_scene(self, cube_of: Build) -> None:
        """3.5 px of RMS at quarter size are a fifth of what the worst reach there: 70 px at full size."""
        cube = replace(cube_of([[[3.5]], [[7.0]]], ["rms:all"]), facts=(SceneFacts(size=0.25),))
        assert rank(cube, "weighted").value.tolist() == pytest.approx([0.2, 0.4])
        assert rank(replace(cube, facts=()), "weighted").value.tolist() == pytest.approx([0.05, 0.1])

    def test_a_missing_metric_leaves_its_weight_within_its_property(self, cube_of: Build) -> None:
        cube = cube_of([[[10, 0.2]], [[20, 0.1]]], ["bad@4:all", "f-por:fine"])
        ranking = rank(cube, "weighted", profile="driver-assistance")
        used = dict(zip(ranking.names["terms"], ranking.arrays["weights"], strict=True))
        assert used["f-por"] / used["bad@4"] == pytest.approx(5 / 6)  # the properties' own weights


class TestOneScore:
    """The contribution of a scene is what is summed, ordered, tested, resampled and explained."""

    def test_the_score_is_the_mean_of_the_contributions_of_the_scenes(self, cube_of: Build) -> None:
        """Scene 1 has no fine structures: its contribution has no such term, and the others' is larger."""
        values = np.random.default_rng(5).random((4, 3, 2))
        values[:, 1, 1] = NAN
        score, _ = weigh(cube_of(values, ("bad@1:all", "f-por:fine")), {"bad@1": 1, "f-por": 1})
        assert score.contributions.mean(axis=1) == pytest.approx(score.value)
        by_hand = 0.5 * values[:, 0, 0] / 80 + 0.5 * 3 / 2 * values[:, 0, 1] / 1.2
        assert score.contributions[:, 0] == pytest.approx(by_hand)
        assert score.contributions[:, 1] == pytest.approx(0.5 * values[:, 1, 0] / 80)

    def test_intervals_of_an_order_are_those_of_an_answer(self, cube_of: Build) -> None:
        values = np.random.default_rng(6).random((3, 8, 2))
        values[:, 2, 1] = NAN
        cube = cube_of(values, ("bad@1:all", "f-por:fine"))
        weights = {"bad@1": 1.0, "f-por": 1.0}
        answer = sg.answer(cube, weights=weights, draws=500, seed=3)
        drawn = bootstrap(cube, "weighted", weights=weights, draws=500, seed=3)
        assert drawn.algorithms == tuple(place.algorithm for place in answer.places)
        for name in ("score", "rank"):
            kind = "value" if name == "score" else "rank"
            for end in ("low", "high"):
                own = [getattr(place, f"{name}_{end}") for place in answer.places]
                assert own == pytest.approx(getattr(drawn, f"{kind}_{end}"), abs=1e-12)


@pytest.mark.parametrize("name", shipped_profiles())
def test_every_shipped_profile_that_weighs_fine_structures_counts_lost_ones(name: str) -> None:
    weights = load_profile(name).weights
    fine = {term for term in weights if property_of(term) == "fine structures"}
    assert not fine or "f-missing" in fine
    assert sum(weights.values()) == pytest.approx(1)


def test_a_profile_weighs_properties_then_metrics(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("[properties]\naccuracy = 1\nplanes = 3\n[accuracy]\nrms = 5\n[planes]\n'p-off' = 1\n'p-mis' = 1\n")
    assert dict(load_profile(path).weights) == pytest.approx({"rms": 0.25, "p-off": 0.375, "p-mis": 0.375})
    path.write_text("[properties]\naccuracy = 1\n")
    with pytest.raises(StereogaugeError, match=r"needs a table \[accuracy\]"):
        load_profile(path)


@pytest.mark.parametrize("count", [2, 5, 7])
@pytest.mark.parametrize("worst", [0.0, 0.1, 1 / 12])
def test_a_term_that_is_equal_for_everybody_causes_nothing_and_no_tie(count: int, worst: float) -> None:
    means = np.column_stack([np.full(count, worst), np.arange(count) * 0.1])
    assert effective_weights(means).tolist() == [0.0, 1.0]
    assert np.isnan(break_even(means, np.array([0.5, 0.5]), 0)[:, 0]).all()  # the other term decides at any weight
