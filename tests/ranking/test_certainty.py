"""How sure an order is: bootstrap, Friedman with Nemenyi, Wilcoxon with Holm."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.integrate import quad
from scipy.stats import chi2, friedmanchisquare, norm, wilcoxon

from stereogauge import StereogaugeError, rank
from stereogauge.ranking import Column, ScoreCube
from stereogauge.ranking.bootstrap import beats, bootstrap
from stereogauge.ranking.costs import prepare
from stereogauge.ranking.model import models
from stereogauge.ranking.significance import cliques, friedman, holm_corrected, scenes_for_pair, wilcoxon_pairs

Build = Callable[..., ScoreCube]
COLUMNS = ("bad@1:nonocc", "bad@1:all")
COLUMN = (Column("bad@1", "all"),)


@pytest.fixture
def noisy(cube_of: Build) -> ScoreCube:
    random = np.random.default_rng(3)
    return cube_of(random.random((5, 7, 2)) + np.arange(5)[:, None, None] / 4, COLUMNS)


@pytest.mark.parametrize("model", ["middlebury", "extended", "a-star", "weighted"])
class TestBootstrap:
    def test_drawing_scenes_at_once_is_ranking_each_draw(self, model: str, noisy: ScoreCube) -> None:
        costs, _ = prepare(noisy)
        multiplicity = np.random.default_rng(0).multinomial(7, np.full(7, 1 / 7), size=12)
        one_by_one = replace(models()[model], resample=None).draw(costs, multiplicity)
        at_once = models()[model].draw(costs, multiplicity)
        order = np.argsort(np.argsort(np.round(at_once, 9), axis=1, kind="stable"), axis=1)
        expected = np.argsort(np.argsort(one_by_one, axis=1, kind="stable"), axis=1)
        assert np.array_equal(order, expected)

    def test_the_whole_selection_gives_the_models_own_order(self, model: str, noisy: ScoreCube) -> None:
        ranking, sure = rank(noisy, model), bootstrap(noisy, model, draws=50)
        assert dict(zip(sure.algorithms, sure.rank, strict=True)) == dict(
            zip(ranking.algorithms, ranking.rank, strict=True)
        )

    def test_intervals_hold_the_rank_and_shares_are_shares(self, model: str, noisy: ScoreCube) -> None:
        sure = bootstrap(noisy, model, draws=200)
        assert np.all(sure.rank_low <= sure.rank_high)
        assert np.all(sure.value_low <= sure.value_high)
        assert np.allclose(sure.beats + sure.beats.T, 1)
        assert np.all(np.diag(sure.beats) == 0.5)
        assert sure.first.sum() >= 1 - 1e-12

    def test_scenes_that_agree_leave_no_doubt(self, model: str, cube_of: Build) -> None:
        cube = cube_of(np.arange(4.0)[:, None, None] * np.ones((1, 5, 2)), COLUMNS)
        sure = bootstrap(cube, model, draws=100)
        assert sure.rank_low.tolist() == sure.rank_high.tolist() == [1, 2, 3, 4]
        assert sure.first.tolist() == [1, 0, 0, 0]
        assert sure.beats[0, 1] == 1

    def test_the_seed_repeats_the_draws(self, model: str, noisy: ScoreCube) -> None:
        first, second = (bootstrap(noisy, model, draws=40, seed=5) for _ in range(2))
        assert np.array_equal(first.value_low, second.value_low)


def test_one_scene_has_no_interval(cube_of: Build) -> None:
    with pytest.raises(StereogaugeError, match="at least two"):
        bootstrap(cube_of([[1.0], [2.0]]))


def test_a_beats_b_counts_ties_half() -> None:
    assert beats(np.array([[1.0, 2.0], [1.0, 1.0], [3.0, 1.0], [0.0, 1.0]]), 0)[1] == (2 + 0.5) / 4


def test_friedman_on_demsars_example() -> None:
    """Four learners on 14 data sets: the worked example of Demšar (JMLR 7, 2006), table 6 and section 3.2.2.

    The accuracies, the average ranks 3.143, 2.000, 2.893, 1.964, χ² = 9.28 and CD = 1.25 stand here as public
    implementations of the test quote them, which agree in every digit. The table prints .975 twice for one data set
    but ranks the two 2 and 3; the last digit here keeps them apart. χ² is printed without the correction for ties,
    which SciPy makes: 12 N / (k (k + 1)) · (Σ R² − k (k + 1)² / 4), over 1 − Σ (t³ − t) / (N (k³ − k)).
    """
    accuracy = """
        .763 .768 .771 .798  .599 .591 .590 .569  .954 .971 .968 .967  .628 .661 .654 .657  .882 .888 .886 .898
        .936 .931 .916 .931  .661 .668 .609 .685  .583 .583 .563 .625  .775 .838 .866 .875  1.000 1.000 1.000 1.000
        .940 .962 .965 .962  .619 .666 .614 .669  .972 .981 .9751 .975  .957 .978 .946 .970"""
    scores = -np.array(accuracy.split(), np.float64).reshape(14, 4).T
    learners = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
    test = friedman(ScoreCube(learners, tuple(f"set {n}" for n in range(14)), COLUMN, scores[:, :, None]))
    assert dict(zip(test.algorithms, np.round(test.average_rank, 3), strict=True)) == {
        "C4.5": 3.143,
        "C4.5+m": 2.0,
        "C4.5+cf": 2.893,
        "C4.5+m+cf": 1.964,
    }
    plain = 12 * 14 / (4 * 5) * (np.sum(test.average_rank**2) - 4 * 5**2 / 4)
    ties = 3 * (2**3 - 2) + (4**3 - 4)
    assert plain == pytest.approx(9.28, abs=0.005)
    assert test.statistic == pytest.approx(plain / (1 - ties / (14 * (4**3 - 4))))
    assert test.statistic == pytest.approx(friedmanchisquare(*scores).statistic)
    assert test.p_value == pytest.approx(chi2.sf(test.statistic, 3))
    assert test.critical_distance == pytest.approx(1.25, abs=0.005)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
def test_the_critical_distance_is_the_range_of_as_many_normal_numbers(alpha: float, noisy: ScoreCube) -> None:
    """The range of k standard normal numbers stays below q with P(q) = k ∫ φ(z) (Φ(z) − Φ(z − q))ᵏ⁻¹ dz = 1 − α.

    Average ranks have the variance k (k + 1) / (12 N), so that q stands for CD / √(k (k + 1) / (12 N)).
    """
    count, scenes = 5, 7
    q = friedman(noisy, alpha=alpha).critical_distance / math.sqrt(count * (count + 1) / (12 * scenes))
    below, _ = quad(lambda z: count * norm.pdf(z) * (norm.cdf(z) - norm.cdf(z - q)) ** (count - 1), -8, 8 + q)
    assert below == pytest.approx(1 - alpha, abs=1e-6)


def test_nemenyis_p_values_and_the_critical_distance_say_the_same(noisy: ScoreCube) -> None:
    test = friedman(noisy)
    gap = np.abs(test.average_rank[:, None] - test.average_rank[None, :])
    assert np.array_equal(gap >= test.critical_distance, test.nemenyi < test.alpha)
    assert test.differ


def test_gaps_that_take_the_last_rank_are_ties_in_friedmans_test(cube_of: Build) -> None:
    """Two of four lack a score in the first column and share the places 3 and 4 there: ranks still sum to 10."""
    nan = float("nan")
    test = friedman(cube_of([[[1], [2], [3]], [[nan], [3], [2]], [[nan], [4], [4]], [[2], [5], [1]]]), missing="worst")
    assert dict(zip(test.algorithms, test.average_rank, strict=True)) == pytest.approx(
        {"A": (1 + 1 + 3) / 3, "B": (3.5 + 2 + 2) / 3, "C": (3.5 + 3 + 4) / 3, "D": (2 + 4 + 1) / 3}
    )


def test_algorithms_that_are_equal_everywhere_do_not_differ(cube_of: Build) -> None:
    test = friedman(cube_of(np.ones((4, 5, 1))))
    assert test.p_value == 1
    assert test.cliques == ((0, 3),)


def test_cliques_are_maximal_runs_within_the_critical_distance() -> None:
    assert cliques(np.array([1.0, 1.5, 2.4, 4.0, 4.2]), 1.0) == ((0, 1), (1, 2), (3, 4))
    assert cliques(np.array([1.0, 2.0]), 1.0) == ()


def test_friedman_refuses_two_algorithms(cube_of: Build) -> None:
    with pytest.raises(StereogaugeError, match="Wilcoxon"):
        friedman(cube_of(np.ones((2, 5, 1))))


def test_wilcoxon_is_scipys_and_holm_orders_the_corrections(noisy: ScoreCube) -> None:
    pairs = wilcoxon_pairs(noisy, "bad@1", [("A", "E"), ("A", "B"), ("B", "C")])
    scenes = noisy.values.mean(axis=2)
    assert pairs[0].p_value == pytest.approx(wilcoxon(scenes[0], scenes[4]).pvalue)
    assert pairs[0].superiority == np.mean(scenes[0] < scenes[4])
    assert pairs[0].better == "A"
    by_size = sorted(pairs, key=lambda pair: pair.p_value)
    running = np.maximum.accumulate(
        [min(1, factor * pair.p_value) for factor, pair in zip((3, 2, 1), by_size, strict=True)]
    )
    assert [pair.p_holm for pair in by_size] == pytest.approx(running.tolist())


def test_the_median_difference_has_the_sign_of_the_scores_as_they_are_shown(cube_of: Build) -> None:
    """A has 10 dB more than B, which is better; its bias is 2 px farther from 0, which is worse."""
    (decibels,) = wilcoxon_pairs(cube_of([[[30], [31], [32]], [[20], [21], [22]]], ["psnr:all"]), "psnr")
    assert (decibels.better, decibels.median) == ("A", 10.0)
    (bias,) = wilcoxon_pairs(cube_of([[[-3], [3], [-3]], [[1], [-1], [1]]], ["bias:all"]), "bias")
    assert (bias.better, bias.median) == ("B", 2.0)


def test_two_perfect_maps_are_equal_in_wilcoxons_test(cube_of: Build) -> None:
    perfect = float("inf")
    scores = [[[perfect], [31], [32], [30]], [[perfect], [21], [25], [29]]]
    (pair,) = wilcoxon_pairs(cube_of(scores, ["psnr:all"]), "psnr")
    assert pair.p_value == pytest.approx(wilcoxon([0, 10, 7, 1]).pvalue)


def test_equal_algorithms_have_a_p_value_of_one(cube_of: Build) -> None:
    (pair,) = wilcoxon_pairs(cube_of(np.ones((2, 5, 1))), "bad@1")
    assert (pair.p_value, pair.p_holm, pair.better, pair.median) == (1.0, 1.0, "", 0.0)


def test_all_pairs_are_tested_by_default(noisy: ScoreCube) -> None:
    assert len(wilcoxon_pairs(noisy, "bad@1")) == 10


class TestScenesAsBlocks:
    """Columns of one scene depend on each other: repeating them is no new evidence."""

    def test_repeating_the_columns_of_a_scene_changes_no_p_value(self, noisy: ScoreCube) -> None:
        one = noisy.select(metrics=["bad@1:all"])
        names = tuple(Column("bad@1", f"copy{place}") for place in range(20))
        many = ScoreCube(one.algorithms, one.scenes, names, np.repeat(one.values, 20, axis=2))
        assert friedman(many).p_value == friedman(one).p_value
        assert friedman(many).blocks == 7
        assert wilcoxon_pairs(many, "bad@1")[0].p_value == wilcoxon_pairs(one, "bad@1")[0].p_value

    def test_few_scenes_say_that_they_cannot_tell_and_how_many_could(self, cube_of: Build) -> None:
        test = friedman(cube_of([[[1], [2]], [[2], [1]], [[3], [3]], [[4], [4]]]))
        assert not test.can_tell
        assert test.sentence.startswith("2 scenes cannot distinguish 4 algorithms")
        assert test.scenes_needed is not None
        assert 2 < test.scenes_needed < 10
        assert f"about {test.scenes_needed} scenes" in test.sentence

    def test_as_many_scenes_as_it_asks_for_do_find_the_difference(self) -> None:
        random = np.random.default_rng(4)
        values = np.stack([random.random(8), random.random(8) + 0.05, random.random(8) + 0.1])
        few = ScoreCube(("a", "b", "c"), tuple(f"s{n}" for n in range(8)), COLUMN, values[:, :, None])
        needed = friedman(few).scenes_needed
        assert needed is not None
        found = 0
        for turn in range(100):
            drawn = np.random.default_rng(turn).integers(0, 8, needed)
            names = tuple(f"s{n}" for n in range(needed))
            again = ScoreCube(few.algorithms, names, COLUMN, values[:, drawn, None])
            found += friedman(again).differ
        assert found >= 70

    def test_a_pair_that_differs_by_chance_only_needs_more_scenes_than_there_are(self) -> None:
        assert scenes_for_pair(np.array([-1.0, 1.0, -1.0, 1.0])) is None
        assert scenes_for_pair(np.array([1.0, 2.0, 3.0, 1.5])) == 5


def test_nemenyi_is_that_of_scikit_posthocs(noisy: ScoreCube) -> None:
    posthocs = pytest.importorskip("scikit_posthocs")
    test = friedman(noisy)
    theirs = posthocs.posthoc_nemenyi_friedman(test.ranks.T).to_numpy()
    assert test.nemenyi == pytest.approx(theirs, abs=1e-12)


def test_holm_is_that_of_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    random = np.random.default_rng(1)
    for count in (1, 2, 5, 40):
        values = np.round(random.random(count) ** 3, 2)  # with ties
        assert holm_corrected(values.tolist()) == pytest.approx(multitest.multipletests(values, method="holm")[1])
