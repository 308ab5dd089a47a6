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
from stereogauge.metrics.declaration import BoundMetric, Parameter, Statistic, metric, metrics, parse_metric
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.pooling import percent
from stereogauge.metrics.statistics import PassRequest
from stereogauge.metrics.support import least_support

TRUTH = np.linspace(10, 20, 600, dtype=np.float32).reshape(20, 30)
ESTIMATE = TRUTH + np.random.default_rng(3).normal(0, 1, TRUTH.shape).astype(np.float32)
ESTIMATE[:2] = np.nan


def _tail(shares: Any) -> BoundMetric:
    """A metric as a package would declare it: errors between a threshold and a quantile of all errors."""

    @metric(
        id="tail",
        name="Errors above a threshold that are not among the largest",
        formula=r"\delta < |e| \le Q_q",
        unit="%",
        source="a test",
        missing="left out",
        scaling="none",
        counts="pixels",
        parameters=(Parameter("threshold", unit="px"), Parameter("percentage", unit="%")),
        finalize=percent,
        shares=shares,
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
    assert _measured(_tail(None)) == expected
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
    if declared.missing == "counted":
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
    assert least_support(metrics()[name], size) == least
