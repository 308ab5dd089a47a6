"""Where a map goes wrong agrees with its score, for every metric."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest
from numpy.typing import NDArray

import stereogauge as sg
from stereogauge import Protocol, StereogaugeError
from stereogauge.confidence_measures.files import ConfidenceSource
from stereogauge.evaluation.evaluate import measure
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics import costs as where
from stereogauge.metrics import declaration
from stereogauge.metrics.costs import worst_blocks
from stereogauge.metrics.declaration import BoundMetric
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.registry import metrics, parse_column, parse_metric
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube

SHAPE = (120, 160)
PERFECT = dict.fromkeys(("density", "ssim", "r-ssim", "z-delta", "view-mssim", "view-mssim-gaussian"), 1.0)
"""What a right pixel adds to the sum of a metric of which more is better."""
SUM_OF_ANOTHER = "view-psnr"


def truth() -> NDArray[np.float32]:
    """A tilted wall, a box in front of it, and a comb of thin poles."""
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]].astype(np.float32)
    disparity = 8 + 0.02 * x + 0.01 * y
    disparity[30:70, 40:90] = 28.0
    for column in (110, 122, 134, 146):
        disparity[20:100, column : column + 3] = 24.0
    return disparity


def damaged(disparity: NDArray[np.float32]) -> NDArray[np.float32]:
    random = np.random.default_rng(5)
    estimate = disparity + random.normal(0, 0.4, SHAPE).astype(np.float32)
    estimate[28:72, 36:94] = 28.0  # fat
    estimate[40:60, 82:94] = 9.5  # thin
    estimate[60:66, 105:150] = 9.0  # the poles are cut in two
    estimate[20:100, 146:149] = 9.0  # one pole is lost
    estimate[30:50, 113:119] = 24.0  # the gap beside another is closed
    estimate[80:110, 10:40] += 5.0
    estimate[95:99, 60:90] = np.nan
    return estimate


@pytest.fixture(scope="module", params=["count", "exclude", "fill"])
def measurement(request: pytest.FixtureRequest) -> Measurement:
    disparity = truth()
    image = np.random.default_rng(3).integers(0, 255, SHAPE).astype(np.uint8)
    road = np.zeros(SHAPE, np.bool_)
    road[60:] = True
    scene = sg.Scene(
        "yard",
        gt=disparity,
        left=image,
        right=np.roll(image, -9, axis=1),
        calibration=sg.Calibration(focal=500, baseline=0.2, ndisp=64),
        masks={"bg": road, "fg": ~road, "road": road},
        resolution=0.25,
    )
    scene.precede(sg.Scene("yard, later", gt=disparity + 1))
    estimate = damaged(disparity)
    return Measurement(
        estimate,
        SceneRegions(scene, Protocol(invalid=request.param)),
        right_estimate=np.roll(estimate, -9, axis=1),
        next_estimate=disparity + 1,
        confidence=ConfidenceSource(np.random.default_rng(8).random(SHAPE).astype(np.float32), "lower"),
        extras={"seconds": 1.0},
    )


def columns(*, of_pixels: bool = True) -> list[str]:
    """Every metric that is about pixels, bound to numbers of its range, on all pixels or on its own.

    Those that are no sum over pixels (of points in space, of bins of a confidence) say so instead of naming places.
    """
    found = []
    for metric in metrics().values():
        if metric.missing == "not about pixels" or metric.has_map != of_pixels:
            continue
        text = metric.examples[0] if metric.parameters and metric.examples else metric.id
        if metric.parameters and not metric.examples:
            text = f"{metric.id}@1"
        found.append(f"{text}:{metric.region or 'nonocc'}")
    return found


def parts(m: Measurement, text: str) -> tuple[BoundMetric, str, NDArray[np.float64]]:
    bound, region = parse_column(text)
    assert region is not None
    return bound, region, bound.costs(m, region)


@pytest.mark.parametrize("text", columns(of_pixels=False))
def test_a_metric_that_is_not_made_of_pixels_says_so(measurement: Measurement, text: str) -> None:
    bound, region = parse_column(text)
    with pytest.raises(StereogaugeError, match="is not made of pixels"):
        bound.costs(measurement, region or "all")


@pytest.mark.parametrize("text", columns())
def test_no_score_above_the_floor_has_nothing_wrong(measurement: Measurement, text: str) -> None:
    bound, region, costs = parts(measurement, text)
    statistic = measure(measurement, Column(bound.id, region))
    if statistic.count == 0:
        assert worst_blocks(costs) == []
        return
    value = bound.metric.value_of(statistic)
    best = {"lower": 0.0, "zero": 0.0, "higher": math.inf}[bound.metric.direction]
    wrong = abs(value) > 1e-9 if best == 0 else value < bound.metric.range[1]
    assert wrong, "the damage reaches every metric"
    assert worst_blocks(costs), f"{text} is {value} and nothing is wrong"


@pytest.mark.parametrize("text", columns())
def test_costs_lie_on_the_pixels_of_the_region_only(measurement: Measurement, text: str) -> None:
    _, region, costs = parts(measurement, text)
    assert np.isnan(costs[~measurement.mask(region)]).all()
    inside = measurement.mask(region)
    for block in worst_blocks(costs):
        assert inside[block.y : block.y + block.size, block.x : block.x + block.size].any()


@pytest.mark.parametrize(
    "text",
    [text for text in columns() if parse_column(text)[0].metric.pools and not text.startswith(SUM_OF_ANOTHER)],
)
def test_costs_add_up_to_what_separates_the_score_from_a_perfect_one(measurement: Measurement, text: str) -> None:
    bound, region, costs = parts(measurement, text)
    statistic = measure(measurement, Column(bound.id, region))
    perfect = PERFECT.get(bound.metric.id, 0.0) * statistic.count
    assert np.nansum(costs) == pytest.approx(abs(statistic.sum - perfect), rel=1e-5, abs=1e-6)


def test_fragments_are_wrong_where_the_structures_are(measurement: Measurement) -> None:
    blocks = worst_blocks(parse_metric("f-frag").costs(measurement, "fine"))
    assert blocks
    assert all(block.x + block.size > 105 for block in blocks)


def test_holes_cost_nothing_where_the_metric_leaves_them_out(measurement: Measurement) -> None:
    costs = parse_metric("rms").costs(measurement, "all")
    hole = np.isnan(measurement.estimate)
    assert np.isnan(costs[hole]).all()


def test_the_ground_truth_has_nothing_wrong_at_discontinuities_and_fine_structures(measurement: Measurement) -> None:
    perfect = Measurement(measurement.gt, measurement.regions)
    for name in ("mae", "bad@1", "d-fat", "d-thin", "d-fuz", "f-por", "f-frag", "f-missing", "f-fat"):
        bound = parse_metric(name)
        assert worst_blocks(bound.costs(perfect, bound.metric.region or "all")) == []


@pytest.mark.parametrize("name", [m.id for m in metrics().values() if m.region and m.region != "scene"])
def test_a_metric_with_its_own_pixels_is_measured_inside_a_region_of_interest(
    measurement: Measurement, name: str
) -> None:
    """Both halves of the image together make the whole, unless a structure lies in both."""
    bound = parse_metric(f"{name}@1" if metrics()[name].parameters else name)
    own = bound.metric.region or ""
    whole = measure(measurement, Column(bound.id, own))
    road, rest = (measure(measurement, Column(bound.id, bound.within(where))) for where in ("mask:road", "all-road"))
    if whole.count == 0:
        assert road.count == rest.count == 0
        return
    if bound.metric.counts == "structures":
        assert road.count + rest.count >= whole.count
        return
    assert road.sum + rest.sum == pytest.approx(whole.sum, rel=1e-5)
    assert (road.count + rest.count, road.missing + rest.missing) == (whole.count, whole.missing)


def test_a_region_of_interest_is_part_of_a_columns_name() -> None:
    assert str(Column(*_column("d-fat:mask:road"))) == "d-fat:disc-background&mask:road"
    assert Column(*_column("d-fat:mask:road")).label == "d-fat:mask:road"
    assert _column("p-off:planar&textureless") == ("p-off", "planar&textureless")
    assert _column("p-off:road|sky") == ("p-off", "planar&(road|sky)")
    assert _column("seconds:all") == ("seconds", "scene")
    assert Column("d-fat", "disc-background").label == "d-fat"


def _column(text: str) -> tuple[str, str | None]:
    bound, region = parse_column(text)
    return bound.id, region


def test_tables_tell_a_metric_on_its_set_from_one_inside_a_region(measurement: Measurement) -> None:
    table = sg.evaluate(measurement.raw, measurement.scene, metrics=["d-fat", "d-fat:mask:road", "p-off:mask:road"])
    assert table.value("d-fat") == table.value("d-fat", "all") != table.value("d-fat", "mask:road")
    assert table.value("d-fat:mask:road") == table.value("d-fat", "mask:road")
    assert table.value("p-off") == table.value("p-off:mask:road")
    assert [column.label for column in ScoreCube.of(table).columns] == ["d-fat", "d-fat:mask:road", "p-off:mask:road"]


def test_the_examples_in_the_documentation_work() -> None:
    assert doctest.testmod(where).failed == 0
    assert doctest.testmod(declaration).failed == 0
