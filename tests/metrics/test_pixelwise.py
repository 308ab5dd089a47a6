"""Pixel-wise metrics: hand-worked maps, agreement with plain NumPy, and what nothing-to-metric means."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import stereogauge as sg
from stereogauge.metrics.registry import metrics, parse_metric

NAN = np.nan


def table(truth: Any, estimate: Any, wanted: list[str], **options: Any) -> sg.ScoreTable:
    scene = sg.Scene("hand", gt=np.array(truth, np.float32), calibration=options.pop("calibration", None))
    return sg.evaluate(np.array(estimate, np.float32), scene, wanted, ["all"], **options)


TRUTH = [[10, 20, 30], [40, NAN, 50], [8, 8, 8]]
ESTIMATE = [[10, 21, 27], [NAN, 5, 46], [8.5, 7, 8]]
# errors:    0   1  -3    –   –   -4    .5  -1   0   on 8 known pixels, 1 of them missing


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("bad@1", 100 * 3 / 8),  # 3 and 4 px off, and the missing one; exactly 1 px is good
        ("bad@0.5", 100 * 5 / 8),
        ("wrong@1", 100 * 2 / 8),
        ("bad-valid@1", 100 * 2 / 7),
        ("d1", 100 * 2 / 8),  # −4 of 50 is 8 %; −3 is not more than 3; the missing one counts
        ("d1-valid", 100 * 1 / 7),
        ("mae", 9.5 / 7),
        ("mse", (1 + 9 + 16 + 0.25 + 1) / 7),
        ("rms", math.sqrt(27.25 / 7)),
        ("bias", (1 - 3 - 4 + 0.5 - 1) / 7),
        ("mre", (1 / 20 + 3 / 30 + 4 / 50 + 0.5 / 8 + 1 / 8) / 7),
        ("mape", 100 * (1 / 20 + 3 / 30 + 4 / 50 + 0.5 / 8 + 1 / 8) / 7),
        (  # the missing one, at 40 px, is charged the farthest true disparity, 8 px
            "sze",
            1 / 20 - 1 / 21 + 1 / 27 - 1 / 30 + 1 / 8 - 1 / 40 + 1 / 46 - 1 / 50 + 1 / 8 - 1 / 8.5 + 1 / 7 - 1 / 8,
        ),
        ("quantile@50", 1.0),
        ("quantile@100", 4.0),
        ("density", 100 * 7 / 8),
        ("invalid", 100 / 8),
    ],
)
def test_hand_worked_map(metric: str, value: float) -> None:
    assert table(TRUTH, ESTIMATE, [metric]).value(metric, "all") == pytest.approx(value, rel=1e-5)


def test_missing_estimates_follow_the_policy() -> None:
    policies = {"count": 100 * 3 / 8, "exclude": 100 * 2 / 7}
    for policy, expected in policies.items():
        protocol = sg.load_protocol().replace(invalid=policy)
        scored = table(TRUTH, ESTIMATE, ["bad@1", "mae"], protocol=protocol).score("bad@1", "all")
        assert scored.value == pytest.approx(expected)
        assert scored.missing == 1


def test_an_excluded_estimate_is_left_out_of_every_share() -> None:
    protocol = sg.load_protocol().replace(invalid="exclude")
    result = table(TRUTH, ESTIMATE, ["bad@1", "wrong@1", "bad-valid@1"], protocol=protocol)
    assert [score.value for score in result] == pytest.approx([100 * 2 / 7] * 3)


def test_filling_takes_the_smaller_neighbour() -> None:
    protocol = sg.load_protocol().replace(invalid="fill")
    result = table([[9, 9, 9, 9, 9]], [[NAN, 9, NAN, 12, NAN]], ["mae", "density"], protocol=protocol)
    assert result.value("mae") == pytest.approx((0 + 0 + 0 + 3 + 3) / 5)
    assert result.value("density") == 40


def test_an_error_of_exactly_the_threshold_is_good_in_spite_of_rounding() -> None:
    truth = np.random.default_rng(3).uniform(1, 300, (200, 300)).astype(np.float32)
    for threshold in (0.5, 0.7, 1.0, 2.3, 3.0):
        estimate = (truth.astype(np.float64) + threshold).astype(np.float32)
        tolerance = np.abs(estimate.astype(np.float64) - truth - threshold).max()
        assert tolerance < 2e-5
        # What float32 can hold to within the guard of 1e-6 px must not be miscounted.
        exact = np.abs(estimate.astype(np.float64) - truth - threshold) < 0.9e-6
        scene = sg.Scene("s", gt=np.where(exact, truth, np.nan).astype(np.float32))
        assert sg.evaluate(estimate, scene, [f"bad@{threshold}"], ["all"]).value(f"bad@{threshold}") == 0


def test_a_relative_error_without_a_true_disparity_is_left_out_and_counted() -> None:
    scored = table([[0, 10]], [[1, 11]], ["mre", "mape"]).score("mre", "all")
    assert (scored.value, scored.count) == (pytest.approx(0.1), 1)
    assert "1 pixels with D = 0" in scored.note
    only_zeros = table([[0, 0]], [[1, 2]], ["mre"]).score("mre", "all")
    assert math.isnan(only_zeros.value)
    assert only_zeros.count == 0


def test_sigma_z_is_in_metres_with_calibration_and_uses_the_offset() -> None:
    calibration = sg.Calibration(focal=1000, baseline=0.2, doffs=10)
    scored = table([[40]], [[30]], ["sze", "sze-mean", "z-mae"], calibration=calibration)
    assert scored.value("sze") == pytest.approx(200 / 40 - 200 / 50)
    assert scored.value("z-mae") == pytest.approx(1.0)


def test_sigma_z_charges_the_worst_depth_inside_the_scenes_range() -> None:
    """D + doffs = 8, 8, 25, −1: depths 12.5, 12.5, 4 m and a point behind the cameras; the range is 4 to 12.5 m."""
    calibration = sg.Calibration(focal=100, baseline=1, doffs=-2)
    maps = [[10, 10, 27, 1]], [[NAN, 2, 20, 20]]
    scored = table(*maps, ["sze", "sze-mean", "z-mae"], calibration=calibration)
    error = 100 / 18 - 4
    assert scored.value("sze") == pytest.approx(8.5 + 8.5 + error, rel=1e-6)
    assert scored.value("sze-mean") == pytest.approx((8.5 + 8.5 + error) / 3, rel=1e-6)
    assert [(score.count, score.missing) for score in scored] == [(3, 1), (3, 1), (1, 2)]
    charged = "1 missing estimates and 1 estimates at infinity or behind the cameras charged"
    assert charged in scored.score("sze").note
    assert "1 pixels with true points behind the cameras" in scored.score("sze").note
    exclude = sg.load_protocol().replace(invalid="exclude")
    left_out = table(*maps, ["sze"], calibration=calibration, protocol=exclude).score("sze", "all")
    assert (left_out.value, left_out.count, left_out.missing) == (pytest.approx(error, rel=1e-6), 1, 1)


def test_a_literal_sigma_z_error_takes_a_missing_estimate_as_0_unless_it_is_excluded() -> None:
    literal = table([[10, 10]], [[NAN, 20]], ["sze"], protocol="sigma-z-2011").score("sze", "all")
    assert literal.value == pytest.approx(1e6, rel=1e-3)
    assert (literal.count, literal.missing) == (2, 1)
    exclude = sg.load_protocol("sigma-z-2011").replace(invalid="exclude")
    left_out = table([[10, 10]], [[NAN, 20]], ["sze"], protocol=exclude).score("sze", "all")
    assert (left_out.value, left_out.count, left_out.missing) == (pytest.approx(0.05, rel=1e-5), 1, 1)


def test_without_a_range_of_depths_a_missing_estimate_has_no_price() -> None:
    scenes = [sg.Scene(name, gt=np.full((2, 2), 8.0)) for name in ("one", "two")]
    maps = {"zeros": {"one": np.full((2, 2), 9.0), "two": np.zeros((2, 2))}}
    scored = sg.evaluate(maps, scenes, ["sze"], ["all"])
    assert math.isnan(scored.aggregate("sze", "all"))
    assert "all true disparities are equal" in scored.score("sze", "all", scene="two").note


@pytest.mark.parametrize("policy", ["count", "exclude"])
def test_the_picture_of_sigma_z_holds_what_the_score_sums(policy: str) -> None:
    calibration = sg.Calibration(focal=100, baseline=1, doffs=-2)
    scene = sg.Scene("s", gt=np.array([[10, 10, 27, 1]], np.float32), calibration=calibration)
    protocol = sg.load_protocol().replace(invalid=policy)
    estimate = np.array([[NAN, 2, 20, 20]], np.float32)
    total = sg.evaluate(estimate, scene, ["sze"], ["all"], protocol).value("sze")
    assert total == pytest.approx(np.nansum(sg.picture(estimate, scene, "sze", protocol).values), rel=1e-12)


def test_the_picture_of_a_literal_sigma_z_error_holds_what_the_score_sums() -> None:
    scene = sg.Scene("s", gt=np.full((1, 2), 10.0), calibration=sg.Calibration(focal=100, baseline=1, doffs=30))
    literal = sg.load_protocol().replace(**{"sigma_z.literal": True})
    estimate = np.array([[NAN, 20]])
    total = sg.evaluate(estimate, scene, ["sze"], ["all"], literal).value("sze")
    assert total == pytest.approx(sg.picture(estimate, scene, "sze", literal).values.sum())
    assert total == pytest.approx(100 / 30 - 100 / 40 + 100 / 40 - 100 / 50)


def test_an_estimate_without_any_value_is_all_bad_and_has_no_magnitude() -> None:
    nothing = table(TRUTH, np.full((3, 3), NAN), ["bad@1", "mae", "rms", "quantile@50", "sze", "density", "bias"])
    assert nothing.value("bad@1") == 100
    assert nothing.value("density") == 0
    depths = 1 / np.array([10, 20, 30, 40, 50, 8, 8, 8])
    worst = np.maximum(depths - depths.min(), depths.max() - depths).sum()
    assert nothing.value("sze") == pytest.approx(worst, rel=1e-5)
    for metric in ("mae", "rms", "quantile@50", "bias"):
        scored = nothing.score(metric)
        assert math.isnan(scored.value)
        assert scored.count == 0
        assert scored.note == "no estimate in region 'all'"


def test_a_region_without_pixels_is_not_a_perfect_score() -> None:
    unknown = np.full((3, 3), NAN, np.float32)
    result = table(unknown, ESTIMATE, ["bad@1", "mae", "density", "wrong@1", "d1-valid", "quantile@95"])
    for scored in result:
        assert math.isnan(scored.value)
        assert scored.count == 0
        assert scored.note == "region 'all' has no pixel"


maps = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 7), st.integers(1, 40)),
    elements=st.one_of(st.just(float("nan")), st.floats(-20, 300, width=32)),
)


@settings(max_examples=150, deadline=None)
@given(maps, st.integers(0, 2**31))
def test_the_fused_pass_equals_plain_numpy(truth: np.ndarray, seed: int) -> None:
    """All statistics on several overlapping regions, against boolean indexing in float64."""
    rng = np.random.default_rng(seed)
    estimate = (truth + rng.standard_t(2, truth.shape)).astype(np.float32)
    estimate = np.where(np.isfinite(estimate), estimate, 3).astype(np.float32)
    estimate[rng.random(truth.shape) < 0.2] = NAN
    estimate[rng.random(truth.shape) < 0.1] = 1e7
    masks = {f"m{k}": rng.random(truth.shape) < 0.5 for k in range(int(rng.integers(1, 19)))}
    scene = sg.Scene("generated", gt=truth, masks=masks)
    ids = ["bad@1", "bad@0.7", "wrong@3", "mae", "mse", "bias", "d1", "quantile@37.5", "quantile@95", "sze", "mre"]
    result = sg.evaluate(estimate, scene, ids, list(masks))
    for name, mask in masks.items():
        known = mask & np.isfinite(truth)
        both = known & np.isfinite(estimate)
        d, e = truth[both].astype(np.float64), estimate[both].astype(np.float64)
        error = np.abs(e - d)
        missing = int(known.sum() - both.sum())
        size = int(known.sum())
        expected = {
            "bad@1": 100 * ((error > 1 + 1e-6).sum() + missing) / size if size else NAN,
            "bad@0.7": 100 * ((error > 0.7 + 1e-6).sum() + missing) / size if size else NAN,
            "wrong@3": 100 * (error > 3 + 1e-6).sum() / size if size else NAN,
            "d1": 100 * (((error > 3) & (20 * error > np.abs(d))).sum() + missing) / size if size else NAN,
            "mae": error.mean() if error.size else NAN,
            "mse": (error**2).mean() if error.size else NAN,
            "bias": (e - d).mean() if error.size else NAN,
            "quantile@37.5": np.percentile(error, 37.5) if error.size else NAN,
            "quantile@95": np.percentile(error, 95) if error.size else NAN,
        }
        for metric, value in expected.items():
            assert result.value(metric, name) == pytest.approx(value, rel=2e-6, abs=1e-5, nan_ok=True), (metric, name)
        scored = result.score("sze", name)
        ahead = truth[known & (truth > 0)].astype(np.float64)
        if ahead.size and not np.isnan(scored.value):
            ends = 1 / (np.array([np.nanmax(truth), truth[truth > 0].min()], np.float64) + 1e-6)
            depths = 1 / (ahead + 1e-6)
            given = estimate[known & (truth > 0)].astype(np.float64)
            charge = np.maximum(np.abs(depths - ends[0]), np.abs(depths - ends[1]))
            error = np.abs(depths - 1 / (np.where(given > 0, given, 1) + 1e-6))
            assert scored.value == pytest.approx(np.where(given > 0, error, charge).sum(), rel=1e-9, abs=1e-9)
            assert (scored.count, scored.missing) == (ahead.size, np.count_nonzero(np.isnan(given)))
        assert result.score("mae", name).missing == missing


def test_a_perfect_map_scores_perfectly_on_every_pixel_wise_metric() -> None:
    truth = np.random.default_rng(0).uniform(1, 60, (40, 50)).astype(np.float32)
    scene = sg.Scene("s", gt=truth, calibration=sg.Calibration(focal=500, baseline=0.1, ndisp=64))
    ids = ["bad@0.5", "wrong@1", "d1", "mae", "mse", "rms", "bias", "mre", "mape", "sze", "quantile@99", "invalid"]
    ids += ["z-mae", "z-rms", "z-abs-rel", "z-sq-rel", "z-log-rms", "bad-z@0.1"]
    scored = sg.evaluate(truth, scene, [*ids, "psnr", "ssim", "r-ssim", "density", "z-delta@1.25"], ["all"])
    assert {m: scored.value(m) for m in ids} == dict.fromkeys(ids, 0.0)
    assert scored.value("psnr") == math.inf
    assert scored.value("ssim") == pytest.approx(1)
    assert scored.value("r-ssim") == pytest.approx(1)
    assert scored.value("density") == 100
    assert scored.value("z-delta@1.25") == 1


def test_thresholds_that_differ_are_different_metrics() -> None:
    truth, estimate = np.full((1, 2), 8.0), np.array([[8.0, 8.0 + 0.1234569]])
    scored = sg.evaluate(estimate, sg.Scene("s", gt=truth), ["bad@0.1234512", "bad@0.1234598"], ["all"])
    assert [score.metric for score in scored] == ["bad@0.1234512", "bad@0.1234598"]
    assert [score.value for score in scored] == [50, 0]
    assert [str(parse_metric(text)) for text in ("bad@1.0", "bad@0.10", "quantile@99.5")] == [
        *("bad@1", "bad@0.1", "quantile@99.5")
    ]


def test_a_partition_sums_to_the_whole() -> None:
    rng = np.random.default_rng(5)
    truth = np.repeat(rng.uniform(5, 40, (12, 6)), 10, axis=0).repeat(20, axis=1).astype(np.float32)
    estimate = (truth + rng.normal(0, 2, truth.shape)).astype(np.float32)
    parts = ["boundary", "interior", "occluded"]
    scored = sg.evaluate(estimate, sg.Scene("s", gt=truth), ["bad@1", "mae"], [*parts, "all"])
    for metric in ("bad@1", "mae"):
        whole = scored.score(metric, "all")
        assert sum(scored.score(metric, part).count for part in parts) == whole.count
        assert sum(scored.score(metric, part).sum for part in parts) == pytest.approx(whole.sum)


@pytest.mark.parametrize("name", [m.id for m in metrics().values()])
def test_every_declaration_is_complete(name: str) -> None:
    """What the catalogue, the page and the tables read is there."""
    metric = metrics()[name]
    assert metric.name
    assert metric.formula
    assert metric.source
    assert metric.description
    assert metric.range[0] <= metric.range[1]
    for example in metric.examples:
        assert parse_metric(example).metric is metric


@pytest.mark.parametrize(
    "name", ["bad@1", "wrong@2", "d1", "mae", "mse", "rms", "bias", "mre", "sze", "quantile@95", "density"]
)
def test_pictures_come_from_the_same_error(name: str) -> None:
    scene = sg.Scene("hand", gt=np.array(TRUTH, np.float32))
    picture = sg.picture(np.array(ESTIMATE, np.float32), scene, name)
    assert picture.values.shape[:2] == (3, 3)
    assert picture.unknown is not None
    assert picture.unknown[1, 1]
    if name == "mae":
        assert picture.values[0].tolist() == [0, 1, 3]
    if name == "bias":
        assert picture.values[1, 2] == -4
    if name == "bad@1":
        assert picture.values.tolist() == [[0, 0, 1], [1, 0, 1], [0, 0, 0]]


def test_large_maps_have_the_same_digits_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    truth = random.uniform(0, 60, (520, 400)).astype(np.float32)
    truth[:3, :50] = 0
    estimate = (truth + random.normal(0, 2, truth.shape)).astype(np.float32)
    estimate[random.random(truth.shape) < 0.1] = NAN
    wanted = ["mae", "rms", "bias", "mre", "sze", "bad@1", "bad@1.234", "a90", "d1"]
    calibration = sg.Calibration(focal=900, baseline=0.2)

    def scores(threads: int) -> list[float]:
        monkeypatch.setattr("stereogauge.kernels.threads.thread_count", lambda: threads)
        return [one.value for one in table(truth, estimate, wanted, calibration=calibration)]

    one = scores(1)
    assert scores(2) == one
    assert scores(5) == one
    known = np.isfinite(estimate)
    assert one[0] == pytest.approx(np.abs(estimate - truth)[known].astype(np.float64).mean(), rel=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (1, 17), (700, 303), (1, 220_001)])
@pytest.mark.parametrize("kind", ["runs", "noise", "nothing", "perfect", "huge"])
def test_large_and_odd_maps_equal_plain_numpy(shape: tuple[int, int], kind: str) -> None:
    """Sums, counts, quantiles and depths of regions in runs and of regions that change with every pixel."""
    random = np.random.default_rng(8)
    truth = random.uniform(1, 60, shape).astype(np.float32)
    estimate = (truth + 0.7 * random.standard_t(2, shape)).clip(0.5).astype(np.float32)
    if kind == "runs":
        stripes = np.add.outer(np.arange(shape[0]) // 3, np.arange(shape[1]) // 13)
        masks = {f"m{k}": stripes % (k + 2) == 0 for k in range(4)}
    else:
        masks = {f"m{k}": random.random(shape) < 0.5 for k in range(9)}
    if kind == "nothing":
        estimate[:] = NAN
    if kind == "perfect":
        estimate = truth.copy()
    if kind == "huge":
        estimate = (truth * np.float32(1e6)).astype(np.float32)
    truth[random.random(shape) < 0.1] = NAN
    quantiles = [0, 12.5, 50, 90, 99, 100]
    ids = ["mae", "mse", "bias", "mre", "sze", "bad@0.7", "bad@3", *(f"quantile@{q:g}" for q in quantiles)]
    result = sg.evaluate(estimate, sg.Scene("s", gt=truth, masks=masks), ids, list(masks))
    for name, mask in masks.items():
        known = mask & np.isfinite(truth)
        both = known & np.isfinite(estimate)
        if not both.any():
            assert math.isnan(result.value("mae", name))
            assert math.isnan(result.value("quantile@50", name))
            continue
        d, e = truth[both].astype(np.float64), estimate[both].astype(np.float64)
        single = np.abs(estimate[both] - truth[both])
        assert [result.value(f"quantile@{q:g}", name) for q in quantiles] == pytest.approx(
            np.percentile(single.astype(np.float64), quantiles).tolist(), rel=1e-14
        )
        error = single.astype(np.float64)
        expected = {
            "mae": error.mean(),
            "mse": (error**2).mean(),
            "bias": (estimate[both] - truth[both]).astype(np.float64).mean(),
            "mre": (single / truth[both]).astype(np.float64).mean(),
            "sze": np.abs(1 / (d + 1e-6) - 1 / (e + 1e-6)).sum(),
            "bad@0.7": 100 * (error > 0.7 + 1e-6).sum() / known.sum(),
            "bad@3": 100 * (single - np.float32(1e-6) > 3).sum() / known.sum(),
        }
        for metric, value in expected.items():
            assert result.value(metric, name) == pytest.approx(value, rel=1e-11, abs=1e-12), (metric, name)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.97])
@pytest.mark.parametrize("percentage", [0, 37, 50, 95, 100])
def test_a_quantile_with_missing_pixels_charged_is_that_of_the_filled_errors(share: float, percentage: int) -> None:
    random = np.random.default_rng(7)
    truth = random.uniform(5, 45, (40, 60)).astype(np.float32)
    estimate = (truth + random.standard_cauchy(truth.shape) * 8).astype(np.float32)  # some errors are beyond 40 px
    estimate[random.random(truth.shape) < share] = np.nan
    scored = sg.evaluate(estimate, sg.Scene("s", gt=truth), [f"quantile@{percentage}"], ["all"])
    error = np.abs(estimate - truth).astype(np.float64)
    missing = np.isnan(error)
    worst = float(truth.max()) - float(truth.min())
    score = scored.score(f"quantile@{percentage}")
    assert score.value == pytest.approx(np.quantile(error[~missing], percentage / 100), rel=1e-12)
    assert score.sum == pytest.approx(np.quantile(np.where(missing, worst, error), percentage / 100), rel=1e-12)
