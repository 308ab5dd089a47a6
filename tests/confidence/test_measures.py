"""Every confidence measure equals its formula, computed pixel by pixel in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

import stereogauge as sg
from stereogauge import StereogaugeError
from stereogauge.confidence_measures.declaration import confidence_measures
from stereogauge.confidence_measures.evidence import summarise
from stereogauge.errors import NotApplicable, SizeError, UnknownNameError
from stereogauge.kernels.cost_summary import Scales
from stereogauge.matching.result import MatchResult

SIGMA, TEMPERATURE, RAMP = 100.0, 100.0, 800.0
PixelFormula = Callable[[list[int], int, int], float]


def result_of(given: NDArray[Any], /, **changes: Any) -> MatchResult:
    """A matcher's result with the given costs (H, W, ndisp)."""
    volume = given.astype(np.uint16)
    winners = volume.argmin(axis=2)
    fields: dict[str, Any] = {
        "matcher": "made up",
        "ndisp": volume.shape[2],
        "parameters": {},
        "left": np.zeros(volume.shape[:2], np.uint8),
        "right": np.zeros(volume.shape[:2], np.uint8),
        "disparity": winners.astype(np.float32),
        "raw": winners.astype(np.float32),
        "seconds": 0.0,
        "cpu_seconds": 0.0,
        "right_disparity": winners.astype(np.float32),
        "right_minimum": volume.min(axis=2),
        "costs": volume,
        "winners": winners.astype(np.uint16),
        "sigma": SIGMA,
        "temperature": TEMPERATURE,
        "ramp": RAMP,
    }
    return MatchResult(**{**fields, **changes})


@pytest.fixture(scope="module", params=["noise", "few levels", "sgm"])
def result(request: pytest.FixtureRequest) -> MatchResult:
    rng = np.random.default_rng(3)
    if request.param == "noise":
        return result_of(rng.integers(0, 900, (6, 40, 37)))
    if request.param == "few levels":
        return result_of(rng.integers(0, 4, (6, 40, 21)))
    left = rng.integers(0, 255, (12, 70)).astype(np.uint8)
    right = np.roll(left, -9, axis=1)
    right[:, 30:50] = rng.integers(0, 255, (12, 20))
    return sg.match(left, right, ndisp=33)


def local_minima(costs: list[int]) -> list[tuple[int, int]]:
    """First and last index of every plateau with nothing lower beside it."""
    found, start = [], 0
    while start < len(costs):
        stop = start
        while stop + 1 < len(costs) and costs[stop + 1] == costs[start]:
            stop += 1
        left_higher = start == 0 or costs[start - 1] > costs[start]
        right_higher = stop == len(costs) - 1 or costs[stop + 1] > costs[start]
        if left_higher and right_higher:
            found.append((start, stop))
        start = stop + 1
    return found


def second_minimum(costs: list[int], winner: int) -> int | None:
    others = [costs[a] for a, b in local_minima(costs) if not a <= winner <= b]
    return min(others) if others else None


def curvature(costs: list[int], winner: int, x: int) -> float:
    below = costs[winner - 1] if winner > 0 else costs[winner + 1]
    above = costs[winner + 1] if winner + 1 < len(costs) else costs[winner - 1]
    return 1 / max(1, below - 2 * costs[winner] + above)


def perturbation(costs: list[int], winner: int, x: int) -> float:
    return sum(math.exp(-(((costs[winner] - c) / SIGMA) ** 2)) for d, c in enumerate(costs) if d != winner)


def peak_ratio(costs: list[int], winner: int, x: int) -> float:
    other = second_minimum(costs, winner)
    return 0 if other is None else (costs[winner] + 1) / (other + 1)


def weights(costs: list[int], winner: int) -> list[float]:
    return [math.exp(-(c - costs[winner]) / TEMPERATURE) for c in costs]


def entropy(costs: list[int], winner: int, x: int) -> float:
    total = sum(weights(costs, winner))
    return -sum(w / total * math.log(w / total) for w in weights(costs, winner))


def maximum_margin(costs: list[int], winner: int, x: int) -> float:
    other = second_minimum(costs, winner)
    return costs[winner] - (65535 if other is None else other)


def second_cost(costs: list[int], winner: int) -> int:
    return min(c for d, c in enumerate(costs) if d != winner)


def local_curve(costs: list[int], winner: int, x: int) -> float:
    neighbours = [costs[d] for d in (winner - 1, winner + 1) if 0 <= d < len(costs)]
    return 1 / max(1, max(neighbours) - costs[winner])


def ambiguity(costs: list[int], winner: int, x: int) -> float:
    visible = costs[: x + 1]
    return sum(max(0.0, 1 - (c - costs[winner]) / RAMP) for c in visible) / len(visible)


FORMULAS: dict[str, PixelFormula] = {
    "curvature": curvature,
    "perturbation": perturbation,
    "peak-ratio": peak_ratio,
    "entropy": entropy,
    "matching-score": lambda costs, winner, x: costs[winner],
    "naive-peak-ratio": lambda costs, winner, x: (costs[winner] + 1) / (second_cost(costs, winner) + 1),
    "maximum-margin": maximum_margin,
    "winner-margin": lambda costs, winner, x: maximum_margin(costs, winner, x) / (sum(costs) + 1),
    "maximum-likelihood": lambda costs, winner, x: 1 - 1 / sum(weights(costs, winner)),
    "local-curve": local_curve,
    "ambiguity": ambiguity,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_measures_of_a_pixels_costs(result: MatchResult, name: str) -> None:
    found = sg.confidence(result, [name])[name]
    assert result.costs is not None
    assert found.dtype == np.float32
    for y, row in enumerate(result.costs.tolist()):
        for x, costs in enumerate(row):
            expected = FORMULAS[name](costs, costs.index(min(costs)), x)
            assert found[y, x] == pytest.approx(expected, rel=2e-5, abs=2e-6), (name, y, x)


def test_left_right_difference_samples_the_right_map_where_the_match_is() -> None:
    left = np.array([[0.0, 0.25, 1.0, 1.75, 4.0, np.nan]], np.float32)
    right = np.array([[0.0, 0.8, 1.6, 9.0, np.nan, 2.0]], np.float32)
    result = result_of(np.zeros((1, 6, 8)), raw=left, disparity=left, right_disparity=right)
    found = sg.confidence(result, ["lr-difference"])["lr-difference"][0]
    # x − D = 0; 0.75 → 0.6; 1 → 0.8; 1.25 → 0.8 + 0.25·0.8 = 1.0; 0 → 0; unknown
    np.testing.assert_allclose(found, [0, 0.35, 0.2, 0.75, 4, 8], atol=1e-6)


def test_across_a_step_of_the_right_map_the_nearer_value_counts() -> None:
    left = np.array([[0.0, 0.0, 0.75, 0.25]], np.float32)
    right = np.array([[1.0, 5.0, 7.0, 9.0]], np.float32)
    result = result_of(np.zeros((1, 4, 8)), raw=left, disparity=left, right_disparity=right)
    found = sg.confidence(result, ["lr-difference"])["lr-difference"][0]
    np.testing.assert_allclose(found, [1, 5, 5 - 0.75, 9 - 0.25], atol=1e-6)  # 1.25 lies nearer to 1, 2.75 nearer to 3


def test_leaving_the_image_is_the_largest_disagreement() -> None:
    left = np.array([[0.5, 1.5]], np.float32)
    result = result_of(np.zeros((1, 2, 5)), raw=left, disparity=left, right_disparity=np.zeros((1, 2), np.float32))
    assert sg.confidence(result, ["lr-difference"])["lr-difference"].tolist() == [[5.0, 5.0]]


def test_product_adds_logarithms_kept_above_zero(result: MatchResult) -> None:
    names = ("curvature", "perturbation", "peak-ratio", "entropy", "lr-difference")
    maps = sg.confidence(result, (*names, "product"))
    expected = sum(
        np.log(maps[name].astype(np.float64) + epsilon)
        for name, epsilon in zip(names, (0, 1e-6, 1e-3, 1e-6, 1 / 16), strict=True)
    )
    np.testing.assert_allclose(maps["product"], expected, rtol=1e-4, atol=1e-4)


def test_left_right_margin_compares_with_the_right_views_best_cost() -> None:
    costs = np.array([[[5, 9, 30], [20, 4, 10], [9, 8, 2]]])
    result = result_of(costs, right_minimum=np.array([[6, 3, 2]], np.uint16))
    found = sg.confidence(result, ["left-right-margin"])["left-right-margin"][0]
    np.testing.assert_allclose(found, [-(9 - 5) / (1 + 1), -(10 - 4) / (2 + 1), -(8 - 2) / (4 + 1)], rtol=1e-6)


def test_image_measures_do_not_need_costs() -> None:
    disparity = np.full((9, 9), 3.0, np.float32)
    disparity[4, 4] = 10
    result = result_of(np.zeros((9, 9, 12)), raw=disparity, costs=None, right_disparity=None)
    maps = sg.confidence(result, ["median-deviation", "distance-border", "texture"])
    assert maps["median-deviation"][4, 4] == 7
    assert maps["median-deviation"].sum() == 7
    assert maps["distance-border"][0].max() == 0
    assert maps["distance-border"][4, 4] == -4
    assert (maps["texture"] == 1).all()


def test_measures_say_what_they_miss() -> None:
    result = result_of(np.zeros((3, 3, 4)), costs=None, right_disparity=None)
    for name, missing in (
        ("curvature", "costs"),
        ("lr-difference", "right"),
        ("oracle", "ground truth"),
        ("learned", "costs"),
    ):
        with pytest.raises(NotApplicable, match=missing):
            sg.confidence(result, [name])
    with pytest.raises(UnknownNameError, match="Did you mean 'entropy'"):
        sg.confidence(result, ["entropie"])
    with pytest.raises(SizeError, match="The ground truth is"):
        sg.confidence(result, ["oracle"], gt=np.zeros((2, 2)))


def test_a_summary_serves_like_the_costs_it_was_made_from() -> None:
    rng = np.random.default_rng(5)
    left, right = (rng.integers(0, 255, (20, 60)).astype(np.uint8) for _ in range(2))
    names = [name for name, declared in confidence_measures().items() if declared.needs <= {"costs", "right", "image"}]
    whole = sg.confidence(sg.match(left, right, ndisp=24, keep="costs"), names)
    summary = sg.match(left, right, ndisp=24, keep="summary")
    assert summary.costs is None
    for name, found in sg.confidence(summary, names).items():
        assert np.array_equal(found, whole[name]), name
    with pytest.raises(NotApplicable, match="other scales"):
        sg.confidence(summary, ["entropy"], temperature=33)


def test_costs_of_other_matchers_need_no_padding() -> None:
    costs = np.random.default_rng(6).integers(0, 500, (4, 9, 13)).astype(np.uint16)
    winners = costs.argmin(axis=2).astype(np.uint16)
    padded = np.zeros((4, 9, 32), np.uint16)
    padded[:, :, :13] = costs
    scales = Scales.of(SIGMA, TEMPERATURE, RAMP)
    for one, other in zip(
        summarise(costs, winners, scales), summarise(padded[:, :, :13], winners, scales, threads=1), strict=True
    ):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("scale", [0.5, 40.0, 8000.0, 1e6])
@pytest.mark.parametrize("highest", [3, 900, 65000])
def test_sums_over_costs_are_right_for_any_scale_and_height_of_costs(scale: float, highest: int) -> None:
    """A range that fills no vector, scales between "only equal costs count" and "all costs count alike"."""
    costs = np.random.default_rng(11).integers(0, highest, (3, 50, 37)).astype(np.uint16)
    ramp = 8 * scale
    found = summarise(costs, costs.argmin(axis=2).astype(np.uint16), Scales.of(scale, scale, ramp), threads=1)
    q = costs - costs.min(axis=2, keepdims=True).astype(np.float64)
    weights = np.exp(-q / scale)
    partition = weights.sum(axis=2)
    np.testing.assert_allclose(found.perturbation, np.exp(-((q / scale) ** 2)).sum(axis=2) - 1, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.partition, partition, rtol=1e-6)
    np.testing.assert_allclose(found.excess, (q / scale * weights).sum(axis=2) / partition, rtol=1e-5, atol=1e-6)
    assert np.array_equal(found.total, costs.sum(axis=2, dtype=np.int64))
    visible = np.arange(37) <= np.arange(50)[:, None]
    rivals = np.maximum(0, 1 - q / ramp)
    np.testing.assert_allclose(found.ambiguity, np.mean(rivals, axis=2, where=visible), rtol=1e-6)


def test_literal_forms_are_as_printed() -> None:
    costs = np.array([[[9, 3, 5, 2, 8], [7, 7, 7, 7, 7], [1, 5, 9, 4, 6], [200, 150, 200, 180, 200]]])
    right = np.array([[1.0, 2.0, 5.0, 1.0]], np.float32)
    result = result_of(costs, right_disparity=right)
    maps = sg.confidence(result, ["curvature", "peak-ratio", "entropy", "lr-difference", "perturbation"], literal=True)
    np.testing.assert_allclose(maps["curvature"][0], [1 / 9, np.nan, np.nan, 1 / 100], rtol=1e-6)
    np.testing.assert_allclose(maps["peak-ratio"][0], [2 / 3, np.nan, 1 / 4, 150 / 180], rtol=1e-6)
    p = np.exp(-costs[0, 0].astype(float))
    p /= p.sum()
    assert maps["entropy"][0, 0] == pytest.approx(-(p * np.log(p)).sum(), rel=1e-5)
    assert maps["entropy"][0, 1] == pytest.approx(np.log(5), rel=1e-5)
    q = costs[0, 3] - 150.0  # in float32 every exp(−A) of this pixel underflows
    p = np.exp(-q) / np.exp(-q).sum()
    assert maps["entropy"][0, 3] == pytest.approx(-(p * np.log(p)).sum(), rel=1e-12)
    assert maps["lr-difference"][0].tolist() == [2, 2, 5, 0]
    assert np.array_equal(maps["perturbation"], sg.confidence(result, ["perturbation"])["perturbation"])


def test_flat_costs_bend_nowhere_and_literal_curvature_is_infinite() -> None:
    result = result_of(np.array([[[5, 4, 4, 4, 5]]]), winners=np.array([[2]], np.uint16))
    assert np.isinf(sg.confidence(result, ["curvature"], literal=True)["curvature"]).all()
    assert sg.confidence(result, ["curvature"])["curvature"][0, 0] == 1


def test_one_disparity_gives_defined_values() -> None:
    result = result_of(np.full((2, 3, 1), 7))
    maps = sg.confidence(
        result, ["curvature", "perturbation", "peak-ratio", "entropy", "lr-difference", "product", "ambiguity"]
    )
    assert all(np.isfinite(found).all() for found in maps.values())
    assert (maps["curvature"] == 1).all()
    assert (maps["peak-ratio"] == 0).all()


def test_entropy_as_printed_is_defined_everywhere_and_orders_clear_winners(data_root: Path) -> None:
    """exp(−A) of half of the pixels underflows in float32; subtracting the smallest cost is an identity."""
    folder = data_root / "middlebury-v2" / "teddy"
    result = sg.match(folder / "im2.png", folder / "im6.png", ndisp=60)
    printed = sg.confidence(result, ["entropy"], literal=True)["entropy"]
    assert printed.dtype == np.float64
    assert np.isfinite(printed).all()
    assert (printed > 0).mean() > 0.99
    costs = result.costs
    assert costs is not None
    for y, x in ((40, 100), (200, 300), (300, 20)):
        exponents = -costs[y, x].astype(np.longdouble)
        p = np.exp(exponents - exponents.max())
        p /= p.sum()
        expected = -np.sum(p[p > 0] * np.log(p[p > 0]))
        assert printed[y, x] == pytest.approx(float(expected), rel=1e-9)


def test_a_measure_may_carry_its_own_scale() -> None:
    """As printed, T = 8 and T = P2 side by side."""
    result = result_of(np.random.default_rng(2).integers(0, 60, (5, 9, 12)))
    maps = sg.confidence(result, ["entropy@1", "entropy@8", "entropy", "perturbation@30", "entropy@100"])
    assert np.array_equal(maps["entropy@8"], sg.confidence(result, ["entropy"], temperature=8)["entropy"])
    assert np.array_equal(maps["perturbation@30"], sg.confidence(result, ["perturbation"], sigma=30)["perturbation"])
    assert np.array_equal(maps["entropy"], maps["entropy@100"])
    printed = sg.confidence(result, ["entropy"], literal=True)["entropy"]
    np.testing.assert_allclose(maps["entropy@1"], printed, rtol=1e-4, atol=1e-6)
    for wrong in ("entropy@", "entropy@-1", "entropy@x", "curvature@3"):
        with pytest.raises(StereogaugeError, match="positive number after @"):
            sg.confidence(result, [wrong])


def test_every_measure_declares_what_docs_and_tables_need() -> None:
    for name, declared in confidence_measures().items():
        assert name == declared.id
        assert declared.formula
        assert declared.source
        assert declared.description.endswith(".")
        assert isinstance(declared, msgspec.Struct)


def test_a_single_disparity_has_no_entropy_and_a_finite_product() -> None:
    """Costs close to the largest number: what the padding adds to the sums is taken off again, with a rounding."""
    costs = np.random.default_rng(5).integers(65000, 65535, (20, 40, 1))
    maps = sg.confidence(result_of(costs), ["entropy", "maximum-likelihood", "product"])
    assert maps["entropy"].min() >= 0
    assert maps["entropy"].max() < 1e-4
    assert maps["maximum-likelihood"].min() >= 0
    assert np.isfinite(maps["product"]).all()


def test_post_processing_leaves_the_evidence_as_it_was() -> None:
    rng = np.random.default_rng(6)
    left = rng.integers(0, 255, (24, 80)).astype(np.uint8)
    right = np.roll(left, -7, axis=1)
    right[:, 30:60] = rng.integers(0, 255, (24, 30))
    plain = sg.match(left, right, ndisp=16)
    smooth = sg.match(left, right, ndisp=16, median=5, speckle=30)
    assert not np.array_equal(plain.right_disparity, smooth.right_disparity, equal_nan=True)  # type: ignore[arg-type]
    for literal in (False, True):
        first, second = (sg.confidence(r, ["lr-difference"], literal=literal)["lr-difference"] for r in (plain, smooth))
        assert np.array_equal(first, second)


@pytest.mark.parametrize("options", [{"sigma": 0.0}, {"temperature": -1.0}])
def test_scales_of_costs_are_positive(options: dict[str, float]) -> None:
    with pytest.raises(StereogaugeError, match="positive"):
        sg.confidence(result_of(np.ones((2, 2, 3))), ["entropy"], **options)  # type: ignore[arg-type]
