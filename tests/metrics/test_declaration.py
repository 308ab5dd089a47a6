"""The contract between a metric's function, its declaration and what is made of both."""

from __future__ import annotations

import doctest
import math
from typing import Any

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.kernels import pixelwise
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics import declaration
from stereogauge.metrics.costs import percent
from stereogauge.metrics.declaration import BoundMetric, Parameter, PixelMetric, Statistic, map_metric, metric
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.registry import metrics, parse_metric
from stereogauge.metrics.statistics import PassRequest

TRUTH = np.linspace(10, 20, 600, dtype=np.float32).reshape(20, 30)
ESTIMATE = TRUTH + np.random.default_rng(3).normal(0, 1, TRUTH.shape).astype(np.float32)
ESTIMATE[:2] = np.nan


def _tail(request: Any) -> BoundMetric:
    """A metric as a package would declare it: errors between a threshold and a quantile of all errors."""

    @map_metric(
        id="tail",
        name="Errors above a threshold that are not among the largest",
        formula=r"\delta < |e| \le Q_q",
        unit="%",
        source="a test",
        missing="left out",
        parameters=(Parameter("threshold", unit="px"), Parameter("percentage", unit="%")),
        pooled=percent,
        request=request,
    )
    def tail(m: Measurement, region: str, threshold: float, percentage: float) -> Statistic:
        """Both numbers come from the shared pass."""
        errors = m.statistics(region)
        limit = errors.quantile(region, percentage / 100)
        total = errors.above(region, threshold) - errors.above(region, limit)
        return Statistic(total, m.pixels(region).valid, m.pixels(region).missing)

    return tail.bind(0.7, 90)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passes over the pixels that have been made."""
    made: list[str] = []

    def counted(module: Any, name: str) -> None:
        kernel = getattr(module, name)

        def call(*arguments: Any) -> Any:
            made.append(name)
            return kernel(*arguments)

        monkeypatch.setattr(module, name, call)

    counted(pixelwise, "tally_errors")
    counted(pixelwise, "collect_pixels")
    return made


def _measured(plugin: BoundMetric) -> tuple[float, float]:
    ours = parse_metric("bad-valid@0.7")
    scene_regions = SceneRegions(sg.Scene("ramp", gt=TRUTH), sg.load_protocol("default"))
    m = Measurement(ESTIMATE, scene_regions, metrics=[ours, plugin], regions=["all"])
    return ours.value(m, "all"), plugin.value(m, "all")


def test_a_metric_of_another_package_joins_the_shared_pass(passes: list[str]) -> None:
    plugin = _tail(lambda threshold, percentage: PassRequest((threshold,), (percentage / 100,)))
    bad, tail = _measured(plugin)
    assert passes == ["tally_errors", "collect_pixels"]
    error = np.abs(ESTIMATE - TRUTH)[2:].astype(np.float64)
    assert bad == pytest.approx(100 * (error > 0.7).mean())
    assert tail == pytest.approx(100 * ((error > 0.7) & (error <= np.quantile(error, 0.9))).mean())


def test_a_metric_that_asks_for_nothing_gets_the_same_value_by_more_passes(passes: list[str]) -> None:
    sharing = _tail(lambda threshold, percentage: PassRequest((threshold,), (percentage / 100,)))
    expected = _measured(sharing)
    shared = len(passes)
    assert _measured(_tail(lambda *_: PassRequest())) == expected
    assert len(passes) > 2 * shared


def test_pooling_one_scene_gives_the_value_of_that_scene() -> None:
    """A score and the pooled score of the same pixels come from one `finalize`, to the last bit."""
    scene = sg.load_dataset("motorcycle")["motorcycle"]
    estimate = scene.gt + np.random.default_rng(1).normal(0, 2, scene.gt.shape).astype(np.float32)
    estimate[:, ::9] = np.nan
    names = [m.examples[0] if m.examples else m.id for m in metrics().values()]
    table = sg.evaluate({"noise": {scene.id: estimate}}, [scene], names, ["nonocc"])
    values = 0
    for score in table:
        declared = parse_metric(score.metric).metric
        if score.count == 0:
            assert math.isnan(score.value), score.metric
        elif declared.finalize is not None:
            values += 1
            assert score.value == declared.finalize(score.sum, score.count), score.metric
    assert values > 30


def test_a_metric_that_does_not_pool_gives_its_value_unchanged() -> None:
    value = 0.1 + 0.2
    assert parse_metric("quantile@50").metric.value_of(Statistic.of_value(value, 7, 1)) == value


def test_a_declaration_without_what_is_required_is_refused() -> None:
    with pytest.raises(TypeError, match="missing"):
        metric(id="x", name="X", formula="x", unit="", source="a test")  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["mae", "rms", "bias", "quantile@90", "mse", "mre", "density", "invalid"])
def test_values_scale_with_the_image_as_declared(name: str) -> None:
    """The same maps at twice the size: every pixel becomes four, every disparity twice as large."""
    small = sg.evaluate(ESTIMATE, sg.Scene("small", gt=TRUTH), [name], ["all"]).value(name)
    twice = 2 * np.ones((2, 2), np.float32)
    large = sg.evaluate(np.kron(ESTIMATE, twice), sg.Scene("large", gt=np.kron(TRUTH, twice)), [name], ["all"])
    factor = {"length": 2, "area": 4, "none": 1}[parse_metric(name).metric.scaling]
    assert large.value(name) == pytest.approx(factor * small, rel=0.01)


HOLES = np.random.default_rng(4).random(TRUTH.shape) < 0.3


@pytest.mark.parametrize("name", ["bad@1", "d1", "density", "invalid", "mae", "rms", "bad-valid@1", "quantile@90"])
def test_a_missing_estimate_does_what_is_declared(name: str) -> None:
    """Deleting estimates is an error where they are counted, and changes nothing else where they are left out."""
    scene = sg.Scene("ramp", gt=TRUTH)
    holes = np.where(HOLES, np.float32(np.nan), ESTIMATE)
    found = sg.evaluate(holes, scene, [name], ["all"]).value(name)
    declared = parse_metric(name).metric
    if declared.missing in ("counted", "always counted"):
        before = sg.evaluate(ESTIMATE, scene, [name], ["all"]).value(name)
        assert found < before if declared.direction == "higher" else found > before
    else:
        rest = sg.Scene("rest", gt=np.where(HOLES, np.float32(np.nan), TRUTH))
        assert found == sg.evaluate(holes, rest, [name], ["all"]).value(name)


def test_the_example_in_the_documentation_of_a_declaration_works() -> None:
    assert doctest.testmod(declaration).failed == 0


@pytest.mark.parametrize(
    ("name", "count", "missing", "invalid", "share"),
    [
        # 20 pixels, 5 of them without an estimate
        ("bad", 20, 5, "count", 0.75),  # counted: in the count
        ("bad", 15, 5, "exclude", 0.75),  # and not where they are excluded
        ("bad", 20, 0, "fill", 1.0),  # all filled
        ("sze", 20, 5, "count", 0.75),  # charged
        ("sze", 15, 5, "exclude", 0.75),
        ("mae", 15, 5, "count", 0.75),  # left out
        ("mae", 15, 5, "exclude", 0.75),
        ("mae", 20, 0, "fill", 1.0),
        ("mae-valid", 15, 5, "fill", 0.75),  # of the estimates as given
        ("wrong", 20, 5, "count", 0.75),  # left out, and yet divided by all
        ("wrong", 15, 5, "exclude", 0.75),
        ("density", 20, 5, "count", 0.75),  # always of all
        ("density", 20, 5, "exclude", 0.75),
        ("invalid", 20, 20, "fill", 0.0),
        ("mae", 0, 0, "count", math.nan),  # no pixel at all
        ("mae", 0, 20, "count", 0.0),
        ("f-por", 20, 5, "count", 0.75),
        ("f-frag", 20, 5, "count", math.nan),  # structures
        ("f-missing", 20, 5, "exclude", math.nan),
        ("seconds", 1, 0, "count", math.nan),  # runs
    ],
)
def test_coverage_is_the_share_of_the_metrics_pixels_that_have_an_estimate(
    name: str, count: int, missing: int, invalid: str, share: float
) -> None:
    assert float(metrics()[name].coverage(count, missing, invalid)) == pytest.approx(share, nan_ok=True)


def test_coverage_is_for_arrays_too() -> None:
    found = metrics()["mae"].coverage(np.array([[15, 0], [20, 1]]), np.array([[5, 0], [0, 3]]), "count")
    assert found == pytest.approx(np.array([[0.75, np.nan], [1.0, 0.25]]), nan_ok=True)


def test_missing_estimates_are_left_out_by_the_metric_or_by_the_policy() -> None:
    known = metrics()
    assert [known[name].left_out("count") for name in ("mae", "wrong", "bad", "sze", "density", "seconds")] == [
        *(True, True, False, False, False, False)
    ]
    assert [known[name].left_out("exclude") for name in ("mae", "wrong", "bad", "sze", "density", "seconds")] == [
        *(True, True, True, True, False, False)
    ]


def test_what_is_counted_is_declared() -> None:
    by_kind = {kind: {m.id for m in metrics().values() if m.counts == kind} for kind in declaration.COUNTS}
    assert by_kind["structures"] == {"f-frag", "f-missing"}
    assert by_kind["runs"] == {m.id for m in metrics().values() if m.missing == "not about pixels"}


@pytest.mark.parametrize(
    ("name", "size", "least"),
    [("rms", 1.0, 200), ("rms", 0.5, 50), ("rms", 0.25, 30), ("rms", 2.0, 800), ("f-frag", 0.25, 3), ("seconds", 1, 0)],
)
def test_a_set_needs_200_pixels_at_full_size_or_30_and_3_structures(name: str, size: float, least: float) -> None:
    assert metrics()[name].least_support(size) == least


def _small_scene() -> sg.Scene:
    truth = TRUTH.copy()
    truth[5, 3:9], truth[6, :4] = np.nan, 0.0
    fine = np.repeat(np.repeat(truth, 2, axis=0), 2, axis=1)
    fine[1::2, ::2] += np.float32(1.5)
    return sg.Scene("small", gt=truth, gt_fine=fine, calibration=sg.Calibration(focal=100, baseline=0.2, ndisp=40))


@pytest.mark.parametrize("nearest_of_four", [False, True])
@pytest.mark.parametrize("invalid", ["count", "exclude", "fill"])
@pytest.mark.parametrize("name", [m.id for m in metrics().values() if isinstance(m, PixelMetric) and m.fused])
def test_the_shared_pass_gives_what_the_definition_gives(name: str, invalid: str, nearest_of_four: bool) -> None:
    """What is read from the fused kernel is an optimisation: the values of the pixels are the definition."""
    scene = _small_scene()
    protocol = sg.load_protocol("default").replace(invalid=invalid, nearest_of_four=nearest_of_four)
    estimate = ESTIMATE.copy()
    estimate[8, 2:20], estimate[9, :5] = np.nan, TRUTH[9, :5] + 4
    m = Measurement(estimate, SceneRegions(scene, protocol), regions=["all", "near"])
    metric = metrics()[name]
    assert isinstance(metric, PixelMetric)
    arguments = metric.bind(*([1.0] if metric.parameters else [])).arguments
    for region in ("all", "near", "all-all"):
        fused = metric.measure(m, region, *arguments)
        defined = metric.statistic(m, region, metric.sums(m, region, *arguments))
        assert (fused.count, fused.missing, fused.note) == (defined.count, defined.missing, defined.note)
        assert fused.sum == pytest.approx(defined.sum, rel=1e-6)
        assert (fused.charged is None) == (defined.charged is None)
        assert fused.kept_sum == pytest.approx(defined.kept_sum, rel=1e-6)
        if metric.wrong:
            assert fused.sum == defined.sum


@pytest.mark.parametrize("name", [m.id for m in metrics().values() if m.wrong])
def test_a_metric_that_classifies_gives_every_pixel_a_right_or_a_wrong(name: str) -> None:
    declared = metrics()[name]
    if declared.region or declared.needs & {"calibration", "right_estimate", "next_estimate"}:
        return
    m = Measurement(ESTIMATE, SceneRegions(_small_scene(), sg.load_protocol("default")))
    bound = parse_metric(declared.examples[0]) if declared.parameters else declared.bind()
    costs = bound.costs(m, "all")
    assert set(np.unique(costs[~np.isnan(costs)])) <= {0.0, 1.0}


def test_one_function_makes_score_costs_picture_and_pooling() -> None:
    """A pixel metric of another package: everything else follows from what a pixel costs."""

    @metric(
        id="too-near",
        name="Too near",
        formula=r"e > t",
        unit="%",
        source="a test",
        missing="left out",
        reduce=percent,
        wrong=("not nearer", "nearer by more than {0:g} px"),
        parameters=(Parameter("threshold", unit="px"),),
    )
    def too_near(m: Measurement, threshold: float) -> Any:
        """Share of the estimates that are too near."""
        return m.error > threshold

    bound = too_near.bind(1)
    scenes = [sg.Scene(name, gt=TRUTH) for name in ("one", "two")]
    table = sg.evaluate({"noise": {"one": ESTIMATE, "two": ESTIMATE + 1}}, scenes, [bound], ["all"])
    m = Measurement(ESTIMATE, SceneRegions(scenes[0], sg.load_protocol("default")))
    near, known = (ESTIMATE - TRUTH > 1)[2:], np.isfinite(ESTIMATE)
    assert table.value("too-near@1", scene="one") == pytest.approx(100 * near.mean())
    costs = bound.costs(m, "all")
    assert np.nansum(costs) == near.sum()
    assert np.isnan(costs[~known]).all()
    drawn = bound.picture(m)
    assert drawn.legend[1][0] == "nearer by more than 1 px"
    assert np.array_equal(drawn.values == 1, costs == 1)
    assert too_near.pools
    assert too_near.description == "Share of the estimates that are too near."


def test_a_function_of_a_region_is_no_pixel_metric() -> None:
    declared = metric(id="x", name="X", formula="x", unit="", source="a test", missing="left out", reduce=percent)
    with pytest.raises(sg.StereogaugeError, match="@map_metric"):
        declared(lambda m, region: None)
    wrong = declared(lambda m: 3.0)
    m = Measurement(ESTIMATE, SceneRegions(sg.Scene("ramp", gt=TRUTH), sg.load_protocol("default")))
    with pytest.raises(sg.StereogaugeError, match="one value per pixel"):
        wrong.bind().measure(m, "all")
