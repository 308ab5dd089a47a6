"""Sparsification by other errors than bad pixels, and the calibration of standard deviations and probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stereogauge as sg
from stereogauge import StereogaugeError
from stereogauge.confidence_measures.calibration import calibrate_probability, calibrate_sigma
from stereogauge.confidence_measures.sparsification import ErrorCurve, areas, parse_error, sparsify_by
from stereogauge.errors import NotApplicable

ERRORS = np.array([[0.0, 5.0, 1.0, 2.0, 0.5, 9.0]], np.float32)
ORDER = np.array([[1.0, 6.0, 2.0, 3.0, 4.0, 5.0]])
TRUTH = np.full((1, 6), 20.0, np.float32)
CAMERA = sg.Calibration(focal=1000, baseline=0.1)


def test_mean_error_of_what_remains_by_hand() -> None:
    curve = sparsify_by("mae", ORDER, TRUTH + ERRORS, TRUTH)  # in order of confidence: 0 1 2 0.5 9 5
    assert curve.rates([1 / 6, 3 / 6, 1]).tolist() == pytest.approx([0, 1, 17.5 / 6])
    assert curve.oracle.rates([5 / 6]).tolist() == pytest.approx([8.5 / 5])
    assert curve.ause == pytest.approx(curve.auc - curve.oracle.auc)
    assert curve.aurg == pytest.approx(17.5 / 6 - curve.auc)
    assert curve.ause > 0 < curve.aurg


def test_root_mean_square_and_a_perfect_order() -> None:
    curve = sparsify_by("rms", ORDER, TRUTH + ERRORS, TRUTH)
    assert curve.rates([1])[0] == pytest.approx(math.sqrt(np.mean(ERRORS.astype(float) ** 2)))
    for kind in ("mae", "rms"):
        assert sparsify_by(kind, ERRORS, TRUTH + ERRORS, TRUTH).ause == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("kind", ["mae", "rms"])
def test_areas_equal_a_fine_numerical_integral(kind: str) -> None:
    rng = np.random.default_rng(0)
    errors = rng.exponential(2, (1, 300))
    curve = sparsify_by(kind, np.round(errors + rng.normal(0, 2, errors.shape)), TRUTH[0, 0] + errors, 20 + 0 * errors)
    densities = (np.arange(100_000) + 0.5) / 100_000
    assert curve.auc == pytest.approx(curve.rates(densities).mean(), rel=2e-3)


def test_a_missing_estimate_has_no_magnitude_and_is_bad() -> None:
    estimate = TRUTH + ERRORS
    estimate[0, 0] = np.nan
    assert sparsify_by("mae", ORDER, estimate, TRUTH).pixels == 5
    for kind in ("bad@3", "d1", "bad-z@0.5"):
        curve = sparsify_by(kind, ORDER, estimate, TRUTH, calibration=CAMERA)
        assert not isinstance(curve, ErrorCurve)
        assert curve.pixels == 6
        assert curve.bad_pixels == 3  # 5 px and 9 px off, and the missing one


def test_d1_needs_three_pixels_and_five_percent() -> None:
    far = np.array([[100.0, 100.0, 20.0]], np.float32)
    curve = sparsify_by("d1", np.zeros((1, 3)), far + np.array([[4.0, 6.0, 4.0]]), far)
    assert not isinstance(curve, ErrorCurve)
    assert curve.bad_pixels == 2


def test_the_lower_limit_of_a_distance_is_an_option() -> None:
    """100/20 = 5 m; 1 px less is 5.26 m: beyond 0.1 m, within a limit of 3 px."""
    estimate = TRUTH - 1

    def bad(kind: str) -> int:
        curve = sparsify_by(kind, ORDER, estimate, TRUTH, calibration=CAMERA)
        assert not isinstance(curve, ErrorCurve)
        return curve.bad_pixels

    assert (bad("bad-z@0.1"), bad("bad-z@0.1,3"), bad("bad-z@0.5")) == (6, 0, 0)
    scene = sg.Scene("far", gt=TRUTH, calibration=CAMERA)
    table = sg.evaluate(estimate, scene, metrics=["bad-z@0.1", "bad-z@0.1,3"], regions=["all"])
    assert table.value("bad-z@0.1") == 100
    assert table.value("bad-z@0.1,3") == 0
    with pytest.raises(NotApplicable, match="calibration"):
        sparsify_by("bad-z@1", ORDER, estimate, TRUTH)


def test_an_error_that_does_not_apply_is_a_gap() -> None:
    found = areas([parse_error("mae"), parse_error("bad-z@1")], ORDER, TRUTH + ERRORS, TRUTH)
    assert found["mae_ause"] > 0
    assert math.isnan(found["bad-z@1_ause"])


def test_errors_are_written_as_metrics_are() -> None:
    for text in ("bad@3", "d1", "bad-z@1", "bad-z@1,3", "mae", "rms"):
        assert str(parse_error(text)) == text
    for text in ("bad", "bad@x", "bad-z@1,2,3", "mae@1", "bad@-1"):
        with pytest.raises(StereogaugeError, match="not written as it should be"):
            parse_error(text)
    with pytest.raises(StereogaugeError, match="mae"):
        parse_error("mea")


@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
def test_a_right_standard_deviation_is_calibrated_and_a_wrong_one_is_not(distribution: str) -> None:
    rng = np.random.default_rng(0)
    sigma = rng.uniform(0.5, 3, (200, 200))
    draw = rng.normal(0, sigma) if distribution == "gaussian" else rng.laplace(0, sigma / math.sqrt(2))
    truth = np.full(sigma.shape, 30.0)
    found = {
        factor: calibrate_sigma(factor * sigma, truth + draw, truth, distribution=distribution)  # type: ignore[arg-type]
        for factor in (0.5, 1.0, 2.0)
    }
    assert found[1.0].ece < 0.01
    assert found[0.5].ece > 0.1 < found[2.0].ece
    assert found[1.0].nll < min(found[0.5].nll, found[2.0].nll)
    coverage = found[1.0].coverage
    assert coverage is not None
    assert coverage[0.95] == pytest.approx(0.95, abs=0.01)


def test_likelihoods_and_intervals_by_hand() -> None:
    truth, estimate, sigma = np.zeros((1, 2)), np.array([[1.0, -3.0]]), np.array([[1.0, 2.0]])
    normal = calibrate_sigma(sigma, estimate, truth)
    assert normal.nll == pytest.approx(math.log(2 * math.pi) / 2 + (0.5 + math.log(2) + 9 / 8) / 2)
    b = sigma[0] / math.sqrt(2)
    laplace = calibrate_sigma(sigma, estimate, truth, distribution="laplace")
    assert laplace.nll == pytest.approx(np.mean(np.log(2 * b) + np.array([1, 3]) / b))
    held = calibrate_sigma(sigma, estimate, truth, levels=(0.70, 0.90)).observed
    assert held == (0.5, 1.0)  # 1 σ holds 68.3 %, 1.5 σ 86.6 %


def test_probabilities_of_good_pixels_by_hand() -> None:
    probability = np.array([[0.95, 0.95, 0.25, 0.25]])
    estimate = np.array([[0.0, 9.0, 9.0, 9.0]])
    found = calibrate_probability(probability, estimate, np.zeros((1, 4)), threshold=3.0)
    assert found.predicted == pytest.approx((0.25, 0.95))
    assert found.observed == (0.0, 0.5)
    assert found.pixels == (2, 2)
    assert found.ece == pytest.approx((0.25 + 0.45) / 2)
    assert found.nll == pytest.approx(-(math.log(0.95) + math.log(0.05) + 2 * math.log(0.75)) / 4)


def test_values_that_are_no_sigma_or_probability_are_refused() -> None:
    truth = np.zeros((1, 2))
    with pytest.raises(StereogaugeError, match="between 0 and 1"):
        calibrate_probability(np.array([[0.5, 200.0]]), truth, truth)
    with pytest.raises(StereogaugeError, match="at least 0"):
        calibrate_sigma(np.array([[0.5, -1.0]]), truth, truth)
    with pytest.raises(NotApplicable, match="no pixels"):
        calibrate_sigma(np.full((1, 2), np.nan), truth, truth)
