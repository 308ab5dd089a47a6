"""Correlations, orders, histograms, subsets: on numbers that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from stereogauge import StereogaugeError, rank
from stereogauge.ranking import Column, ScoreCube
from stereogauge.ranking.relations import (
    determination,
    line,
    scatter,
    score_histogram,
    subset_experiment,
    telling_pairs,
)
from stereogauge.ranking.stability import (
    agreement,
    by_metric,
    by_model,
    by_region,
    threshold_stability,
    weight_stability,
)

NAN = float("nan")


def cube_of(values: object, columns: tuple[str, ...]) -> ScoreCube:
    array = np.array(values, np.float64)
    return ScoreCube(
        tuple("ABCDEFGH"[: array.shape[0]]),
        tuple(f"scene{place}" for place in range(array.shape[1])),
        tuple(Column(*text.split(":")) for text in columns),
        array,
    )


class TestDetermination:
    def test_a_straight_line_explains_everything(self) -> None:
        x = np.arange(6.0).reshape(3, 2)
        found = determination(cube_of(np.stack([x, 5 - 2 * x], axis=2), ("bad@1:all", "rms:all")))
        assert found.r_squared == pytest.approx(np.ones((2, 2)))
        assert found.points.tolist() == [[6, 6], [6, 6]]

    def test_pairs_to_look_at_first_are_of_different_facts(self) -> None:
        """`density` is 100 − `invalid`: that they agree teaches nothing."""
        rows = [[[5.0, 1.0, 7.0, 93.0]], [[9.0, 2.1, 3.0, 97.0]], [[14.0, 2.9, 9.0, 91.0]], [[20.0, 4.2, 5.0, 95.0]]]
        found = determination(cube_of(rows, ("bad@1:all", "mae:all", "invalid:all", "density:all")))
        metrics = [tuple(column.metric for column in pair) for pair in telling_pairs(found)]
        assert metrics[1] == ("bad@1", "mae")
        assert ("invalid", "density") not in metrics

    def test_it_is_the_square_of_pearsons_r(self) -> None:
        values = np.random.default_rng(0).random((5, 4, 2))
        found = determination(cube_of(values, ("bad@1:all", "rms:all")))
        r = np.corrcoef(values[:, :, 0].ravel(), values[:, :, 1].ravel())[0, 1]
        assert found.r_squared[0, 1] == pytest.approx(r**2)

    def test_points_with_a_gap_or_infinity_are_left_out(self) -> None:
        values = np.random.default_rng(0).random((5, 1, 2))
        values[0, 0, 0], values[1, 0, 1] = NAN, np.inf
        found = determination(cube_of(values, ("bad@1:all", "rms:all")))
        assert found.points[0, 1] == 3
        assert found.r_squared[0, 1] == pytest.approx(line(values[2:, 0, 0], values[2:, 0, 1])[2])

    def test_scores_on_a_handful_of_pixels_are_left_out_as_in_an_order(self) -> None:
        """Scene 1 has 6 px beside fine structures: neither r², nor a scatter plot, nor a histogram counts it."""
        values = np.random.default_rng(0).random((5, 2, 2))
        pixels = np.full(values.shape, 500.0)
        pixels[:, 1, 1] = 6
        cube = replace(
            cube_of(values, ("d-fat:disc-background", "f-fat:fine-surround")),
            counts=pixels,
            missing=np.zeros_like(pixels),
        )
        alone = line(values[:, 0, 0], values[:, 0, 1])[2]
        assert determination(cube).r_squared[0, 1] == pytest.approx(alone)
        assert determination(cube).points[0, 1] == 5
        assert scatter(cube, "d-fat", "f-fat").r_squared == pytest.approx(alone)
        assert score_histogram(cube, "f-fat").counts.sum() == 5
        assert determination(cube.limited(least_support=0)).points[0, 1] == 10

    def test_two_points_make_no_correlation(self) -> None:
        found = determination(cube_of([[[1.0, 2.0]], [[2.0, 5.0]]], ("bad@1:all", "rms:all")))
        assert np.isnan(found.r_squared[0, 1])


class TestScatter:
    def test_each_scene_has_its_own_line(self) -> None:
        x = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
        y = np.stack([2 * x[:, 0] + 1, -x[:, 1]], axis=1)
        found = scatter(cube_of(np.stack([x, y], axis=2), ("bad@1:all", "rms:all")), "bad@1", "rms")
        assert [(fit.slope, fit.intercept) for fit in found.fits] == [pytest.approx((2, 1)), pytest.approx((-1, 0))]
        assert [fit.r_squared for fit in found.fits] == pytest.approx([1, 1])
        assert found.r_squared < 0.5

    def test_a_constant_has_no_line(self) -> None:
        slope, _, r_squared, points = line(np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0]))
        assert np.isnan(slope)
        assert np.isnan(r_squared)
        assert points == 3


class TestOrders:
    cube = cube_of([[[1, 3]], [[2, 2]], [[3, 1]]], ("bad@1:all", "sze:all"))

    def test_reversed_orders_have_minus_one(self) -> None:
        found = agreement(by_metric(self.cube))
        assert found.kendall[0, 1] == -1
        assert found.spearman[0, 1] == pytest.approx(-1)
        assert found.kendall[0, 0] == 1

    def test_an_order_that_ties_everybody_has_no_agreement(self) -> None:
        tied = cube_of([[[1, 3]], [[2, 3]]], ("bad@1:all", "sze:all"))
        assert np.isnan(agreement(by_metric(tied)).kendall[0, 1])

    def test_only_algorithms_in_all_orders_count(self) -> None:
        gap = cube_of([[[1, 3]], [[2, NAN]], [[3, 1]]], ("bad@1:all", "sze:all"))
        assert agreement(by_metric(gap)).algorithms == ("A", "C")

    def test_one_order_is_refused(self) -> None:
        with pytest.raises(StereogaugeError, match="two orders"):
            agreement({"alone": rank(self.cube)})

    def test_orders_by_region_and_by_model(self) -> None:
        cube = cube_of([[[1, 3]], [[2, 2]], [[3, 1]]], ("bad@1:all", "bad@1:disc"))
        assert by_region(cube, "bad@1")["disc"].algorithms == ("C", "B", "A")
        assert set(by_model(cube)) == {"middlebury", "extended", "a-star", "weighted"}
        assert "middlebury" not in by_model(self.cube)


class TestHistogram:
    cube = cube_of([[[0.0], [10.0]], [[20.0], [NAN]]], ("bad@1:all",))

    def test_finite_scores_are_counted_and_marked(self) -> None:
        found = score_histogram(self.cube, "bad@1", ("A",), bins=2)
        assert found.edges.tolist() == [0, 10, 20]
        assert found.counts.tolist() == [1, 2]
        assert found.marked["A"].tolist() == [0, 10]

    def test_ranges_are_empirical_heuristic_and_theoretical(self) -> None:
        found = score_histogram(self.cube, "bad@1")
        assert (found.empirical, found.heuristic, found.theoretical) == ((0, 20), (0, 80), (0, 100))

    def test_a_column_of_gaps_has_an_empty_histogram(self) -> None:
        found = score_histogram(cube_of([[[NAN]]], ("bad@1:all",)), "bad@1")
        assert found.counts.sum() == 0
        assert np.isnan(found.empirical[0])

    def test_an_unknown_algorithm_cannot_be_marked(self) -> None:
        with pytest.raises(StereogaugeError, match="'Z'"):
            score_histogram(self.cube, "bad@1", ("Z",))


class TestSubsets:
    columns = ("rms:all", "rms:disc-background", "d-fat:disc-background")

    def test_rms_on_the_metrics_own_pixels_can_explain_what_rms_everywhere_cannot(self) -> None:
        everywhere = [1.0, 3.0, 2.0, 4.0]
        values = [[[rms, own, own / 10]] for rms, own in zip(everywhere, [4.0, 1.0, 3.0, 2.0], strict=True)]
        (row,) = subset_experiment(cube_of(values, self.columns)).rows
        assert row[:2] == ("d-fat", "disc-background")
        assert row.r_squared_subset == pytest.approx(1)
        assert row.r_squared_whole < 0.7
        assert row.kendall_subset == 1
        assert row.kendall_whole == pytest.approx(-2 / 3)

    def test_without_rms_on_a_pixel_set_it_says_what_to_evaluate(self) -> None:
        with pytest.raises(StereogaugeError, match="rms:disc-background"):
            subset_experiment(cube_of([[[1.0, 2.0]]], ("rms:all", "d-fat:disc-background")))

    def test_scores_without_the_region_all_take_the_visible_pixels_for_everywhere(self) -> None:
        columns = ("rms:disc-background", "rms:nonocc", "d-fat:disc-background")
        values = np.random.default_rng(1).random((4, 2, 3))
        found = subset_experiment(cube_of(values, columns))
        assert str(found.reference) == "rms:nonocc"
        assert found.rows[0].r_squared_whole == pytest.approx(line(values[:, :, 2].ravel(), values[:, :, 1].ravel())[2])


class TestStability:
    def test_a_winner_in_every_metric_survives_all_weights(self) -> None:
        cube = cube_of([[[1, 1]], [[2, 2]], [[3, 3]]], ("bad@1:all", "rms:all"))
        found = weight_stability(cube, draws=200)
        assert found.first.tolist() == [1, 0, 0]
        assert found.changed == 0
        assert found.rank_low.tolist() == found.rank_high.tolist() == [1, 2, 3]

    def test_a_narrow_winner_does_not(self) -> None:
        cube = cube_of([[[8.0, 14.1]], [[16.0, 7.0]]], ("bad@1:all", "rms:all"))
        found = weight_stability(cube, weights={"bad@1": 1, "rms": 1}, draws=500)
        assert found.algorithms[0] == "B"
        assert 0.3 < found.changed < 0.7
        assert found.first.sum() == pytest.approx(1)

    def test_weights_that_hardly_move_change_nothing(self) -> None:
        cube = cube_of([[[8.0, 21.0]], [[16.0, 7.0]]], ("bad@1:all", "rms:all"))
        assert weight_stability(cube, concentration=1e6, draws=200).changed == 0
        with pytest.raises(StereogaugeError, match="at least one draw"):
            weight_stability(cube, draws=0)

    def test_thresholds_stand_in_ascending_order_and_changes_are_counted(self) -> None:
        cube = cube_of([[[3, 1, 1]], [[1, 2, 2]]], ("bad@4:all", "bad@0.5:all", "bad@2:all"))
        found = threshold_stability(cube)
        assert found.thresholds == (0.5, 2.0, 4.0)
        assert found.winners == (("A",), ("A",), ("B",))
        assert found.changed == 0.5

    def test_one_threshold_is_not_enough(self) -> None:
        with pytest.raises(StereogaugeError, match="two metrics"):
            threshold_stability(cube_of([[[1.0]]], ("bad@1:all",)))
