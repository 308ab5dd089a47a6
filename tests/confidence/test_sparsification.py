"""Sparsification curves: hand-worked, exact under ties, and the integrals in closed form."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import stereogauge as sg
from stereogauge import StereogaugeError
from stereogauge.confidence_measures.evaluation import combination_bound
from stereogauge.confidence_measures.sparsification import SparsificationCurve, curve_of, pooled
from stereogauge.errors import NotApplicable, SizeError

EXAMPLE_ERRORS = np.array([[0.0, 5.0, 1.0, 2.0, 0.5, 9.0]])
EXAMPLE_CONFIDENCE = np.array([[1.0, 6.0, 2.0, 3.0, 4.0, 5.0]])


def example(confidence: Any = EXAMPLE_CONFIDENCE, **options: Any) -> SparsificationCurve:
    return sg.sparsify(confidence, EXAMPLE_ERRORS, np.zeros((1, 6)), **options)


def test_hand_worked_curve() -> None:
    curve = example()  # in order of confidence the errors are 0 1 2 0.5 9 5: the third, fifth and sixth exceed 1
    assert [curve.at(k / 6) for k in range(7)] == pytest.approx([0, 0, 0, 1, 1, 2, 3])
    assert curve.pixels == 6
    assert curve.bad_pixels == 3
    assert curve.good_share == 0.5
    assert curve.at_good_share == pytest.approx(1)
    assert curve.rates([1])[0] == pytest.approx(0.5)
    assert curve.density[0] == 0
    assert curve.density[-1] == 1
    assert curve.bad[-1] == 3


def test_thresholds_are_strict() -> None:
    assert example(threshold=2.0).bad_pixels == 2
    assert example(threshold=1.99).bad_pixels == 3


def test_the_oracle_removes_bad_pixels_first_and_random_in_proportion() -> None:
    curve = example()
    assert [curve.oracle.at(k / 6) for k in range(7)] == pytest.approx([0, 0, 0, 0, 1, 2, 3])
    assert [curve.random.at(k / 6) for k in range(7)] == pytest.approx([0, 0.5, 1, 1.5, 2, 2.5, 3])
    assert curve.random.auc == pytest.approx(0.5)


def test_area_under_the_oracle_is_the_published_closed_form() -> None:
    rate = 0.5
    assert example().oracle.auc == pytest.approx(rate + (1 - rate) * math.log(1 - rate))


def test_no_bad_pixel_and_only_bad_pixels() -> None:
    clean = sg.sparsify(EXAMPLE_CONFIDENCE, np.zeros((1, 6)), np.zeros((1, 6)))
    assert (clean.auc, clean.ause, clean.aurg, clean.good_share) == (0, 0, 0, 1)
    assert math.isnan(clean.roc_auc)
    spoilt = sg.sparsify(EXAMPLE_CONFIDENCE, np.full((1, 6), 9.0), np.zeros((1, 6)))
    assert spoilt.auc == pytest.approx(1)
    assert spoilt.oracle.auc == pytest.approx(1)


def test_constant_confidence_is_the_random_line() -> None:
    curve = example(np.ones((1, 6)))
    assert np.array_equal(curve.kept, curve.random.kept)
    assert np.array_equal(curve.bad, curve.random.bad)
    assert curve.roc_auc == pytest.approx(0.5)


def test_undefined_confidence_leaves_first() -> None:
    confidence = EXAMPLE_CONFIDENCE.copy()
    confidence[0, [0, 2]] = np.nan
    curve = example(confidence)
    assert curve.at(4 / 6) == pytest.approx(3)
    assert curve.at(5 / 6) == pytest.approx(3)
    assert curve.at(1 / 6) == pytest.approx(1)


def test_infinite_confidence_is_less_confident_than_finite_and_more_than_undefined() -> None:
    curve = curve_of(np.array([np.nan, np.inf, 1.0]), np.array([True, False, False]), 1.0)
    assert [curve.at(k / 3) for k in range(4)] == pytest.approx([0, 0, 0, 1])


def test_missing_estimates_are_bad_or_excluded_never_good() -> None:
    estimate = EXAMPLE_ERRORS.copy()
    estimate[0, 0] = np.nan
    assert sg.sparsify(EXAMPLE_CONFIDENCE, estimate, np.zeros((1, 6))).bad_pixels == 4
    without = sg.sparsify(EXAMPLE_CONFIDENCE, estimate, np.zeros((1, 6)), missing="excluded")
    assert (without.bad_pixels, without.pixels) == (3, 5)


def test_mask_ground_truth_and_declared_direction() -> None:
    gt = np.zeros((1, 6))
    gt[0, 1] = np.nan
    mask = np.array([[True, True, True, True, True, False]])
    curve = sg.sparsify(EXAMPLE_CONFIDENCE, EXAMPLE_ERRORS, gt, mask=mask)
    assert (curve.pixels, curve.bad_pixels) == (4, 1)
    turned = sg.sparsify(-EXAMPLE_CONFIDENCE, EXAMPLE_ERRORS, gt, mask=mask, higher_is_better=True)
    assert np.array_equal(curve.bad, turned.bad)


def test_mistakes_are_named() -> None:
    with pytest.raises(SizeError, match="The confidence map is 2×2"):
        sg.sparsify(np.zeros((2, 2)), np.zeros((1, 6)), np.zeros((1, 6)))
    with pytest.raises(NotApplicable, match="no pixels"):
        sg.sparsify(np.zeros((1, 6)), np.zeros((1, 6)), np.full((1, 6), np.nan))
    with pytest.raises(StereogaugeError, match="between 0 and 1"):
        example().at(1.5)


SMALL = st.integers(1, 7)


@settings(deadline=None)
@given(data=st.data(), count=SMALL)
def test_ties_are_the_mean_over_all_orders(data: st.DataObject, count: int) -> None:
    values = data.draw(arrays(np.float64, count, elements=st.sampled_from([0.0, 1.0, 2.0, np.nan])))
    bad = data.draw(arrays(np.bool_, count))
    curve = curve_of(values, bad, 1.0)
    keys = np.nan_to_num(values, nan=np.inf)
    sums, orders = np.zeros(count + 1), 0
    for order in itertools.permutations(range(count)):
        arranged = list(order)
        if all(keys[a] <= keys[b] for a, b in itertools.pairwise(arranged)):
            sums += np.concatenate([[0], np.cumsum(bad[arranged])])
            orders += 1
    np.testing.assert_allclose(curve.counts(np.arange(count + 1) / count), sums / orders, atol=1e-9)


@settings(deadline=None)
@given(data=st.data(), count=st.integers(1, 60))
def test_area_equals_a_fine_numerical_integral(data: st.DataObject, count: int) -> None:
    values = data.draw(arrays(np.float64, count, elements=st.integers(0, 9).map(float)))
    bad = data.draw(arrays(np.bool_, count))
    curve = curve_of(values, bad, 1.0)
    densities = (np.arange(40_000) + 0.5) / 40_000
    assert curve.auc == pytest.approx(curve.rates(densities).mean(), abs=2e-4)
    part = densities[(densities > 0.7) & (densities < 0.95)]
    assert curve.range_mean == pytest.approx(curve.rates(part).mean(), abs=2e-4)
    assert curve.ause >= -1e-12
    assert curve.oracle.auc <= curve.auc + 1e-12


@settings(deadline=None)
@given(data=st.data(), count=st.integers(2, 40))
def test_roc_area_is_the_share_of_rightly_ordered_pairs(data: st.DataObject, count: int) -> None:
    values = data.draw(arrays(np.float64, count, elements=st.integers(0, 5).map(float)))
    bad = data.draw(arrays(np.bool_, count))
    found = curve_of(values, bad, 1.0).roc_auc
    pairs = [(g, b) for g in values[~bad] for b in values[bad]]
    if not pairs:
        assert math.isnan(found)
        return
    assert found == pytest.approx(np.mean([1.0 if g < b else 0.5 if g == b else 0.0 for g, b in pairs]))


def test_the_order_of_pixels_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    values, bad = rng.integers(0, 20, 500).astype(float), rng.random(500) < 0.3
    order = rng.permutation(500)
    one, other = curve_of(values, bad, 1.0), curve_of(values[order], bad[order], 1.0)
    assert np.array_equal(one.kept, other.kept)
    assert np.array_equal(one.bad, other.bad)


def test_pooled_scenes_are_sparsified_to_the_same_density_each() -> None:
    one = curve_of(np.array([1.0, 2.0]), np.array([False, True]), 1.0)
    other = curve_of(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, False, True]), 1.0)
    both = pooled([one, other])
    assert both.pixels == 6
    for density in (0, 0.1, 0.25, 0.5, 0.6, 0.75, 1):
        assert both.at(density) == pytest.approx(one.at(density) + other.at(density))


def test_bound_by_hand() -> None:
    # Pixels 0…3; measure a orders 0 1 2 3, measure b orders 3 2 1 0: together they keep nothing until φ = 3/4.
    a, b = np.array([[0.0, 1, 2, 3]]), np.array([[3.0, 2, 1, 0]])
    bad = np.array([[False, True, False, True]])
    bound = combination_bound({"a": a, "b": b}, bad, np.ones((1, 4), np.bool_))
    assert [bound.at(k / 4) for k in range(5)] == [0, 0, 0, 1, 2]
    assert [bound.density_at(k / 4) for k in range(5)] == [0, 0, 0, 0.5, 1]


def test_at_its_own_density_a_single_measure_may_undercut_the_bound() -> None:
    """Measure a is a perfect order, b the reverse; both keep pixels 1…4 at φ = 5/6, and 4 is bad."""
    a, b = np.array([[0.0, 1, 2, 3, 4, 5]]), np.array([[5.0, 4, 3, 2, 1, 0]])
    bad = np.array([[False, False, False, False, True, True]])
    bound = combination_bound({"a": a, "b": b}, bad, np.ones((1, 6), np.bool_))
    assert bound.at(5 / 6) == 1
    assert bound.density_at(5 / 6) == pytest.approx(4 / 6)
    assert curve_of(a.reshape(-1), bad.reshape(-1), 1.0).at(4 / 6) == 0


@settings(deadline=None)
@given(data=st.data(), count=st.integers(1, 30), measures=st.integers(1, 4))
def test_bound_is_its_definition(data: st.DataObject, count: int, measures: int) -> None:
    element = st.integers(0, 6).map(float)
    maps = {str(i): data.draw(arrays(np.float64, (1, count), elements=element)) for i in range(measures)}
    bad = data.draw(arrays(np.bool_, (1, count)))
    bound = combination_bound(maps, bad, np.ones((1, count), np.bool_))
    for kept in range(1, count + 1):
        inside = np.ones((1, count), np.bool_)
        for values in maps.values():
            inside &= values <= np.sort(values.reshape(-1))[kept - 1]
        assert bound.at(kept / count) == (inside & bad).sum()
        assert bound.density_at(kept / count) == pytest.approx(inside.mean())
        single = curve_of(maps["0"].reshape(-1), bad.reshape(-1), 1.0)
        assert bound.at(kept / count) <= single.bad_pixels


def test_a_pixel_is_bad_exactly_where_the_bad_pixel_metric_says_so() -> None:
    """Ground truth + 1 px: in float32 some of the differences exceed 1 by a rounding."""
    exact = np.linspace(0, 3, 600).reshape(20, 30)
    gt, estimate = exact.astype(np.float32), (exact + 1).astype(np.float32)
    assert (np.abs(estimate - gt) > 1).any()
    curve = sg.sparsify(np.zeros_like(gt), estimate, gt, threshold=1.0)
    assert curve.bad_pixels == 0
    table = sg.evaluate(estimate, sg.Scene("shifted", gt=gt), metrics=["bad@1"], regions=["all"])
    assert table.value("bad@1", "all") == 0


def test_without_a_good_pixel_nothing_is_kept_at_their_share() -> None:
    curve = sg.sparsify(EXAMPLE_CONFIDENCE, np.full((1, 6), 9.0), np.zeros((1, 6)))
    assert curve.good_share == 0
    assert math.isnan(curve.at_good_share)
    assert curve.auc == 1


@pytest.mark.parametrize("threshold", [-1.0, math.nan, math.inf])
def test_a_threshold_is_a_number_of_pixels(threshold: float) -> None:
    with pytest.raises(StereogaugeError, match="threshold"):
        example(threshold=threshold)
