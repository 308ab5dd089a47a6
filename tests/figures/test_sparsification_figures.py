"""What the charts of confidence show."""

from __future__ import annotations

import numpy as np
import pytest

from stereogauge.confidence_measures.calibration import calibrate_probability, calibrate_sigma
from stereogauge.confidence_measures.evaluation import SceneCurves, combination_bound
from stereogauge.confidence_measures.sparsification import curve_of, parse_error, sparsify_by
from stereogauge.figures.chart import Chart
from stereogauge.figures.confidence import (
    BOUND,
    Kind,
    confidence_picture,
    error_data,
    reliability_data,
    sparsification_data,
)


def lines_of(chart: Chart, panel: str) -> dict[str, dict[float, float]]:
    """The values of each line of a panel, by density in per cent."""
    found: dict[str, dict[float, float]] = {}
    for row in chart.rows:
        if row["panel"].startswith(panel):
            found.setdefault(row["line"], {})[row["density"]] = row["value"]
    return found


@pytest.fixture
def scenes() -> list[SceneCurves]:
    found = []
    for seed, name in enumerate(("one", "two")):
        rng = np.random.default_rng(seed)
        values = {"entropy": rng.random((1, 400)), "curvature": rng.random((1, 400))}
        bad = rng.random((1, 400)) < 0.25 * values["entropy"] * 2
        bound = combination_bound(values, bad, np.ones_like(bad))
        curves = {key: curve_of(value.reshape(-1), bad.reshape(-1), 3.0) for key, value in values.items()}
        found.append(SceneCurves(name, curves, bound))
    return found


@pytest.mark.parametrize("kind", ["counts", "rates", "normalised"])
def test_lines_hold_the_curves(scenes: list[SceneCurves], kind: Kind) -> None:
    chart = sparsification_data(scenes, kind, labels={"entropy": "Γ3"})
    lines = lines_of(chart, "one")
    curve = scenes[0].curves["entropy"]
    full = {"counts": curve.bad_pixels, "rates": 100 * (1 - curve.good_share), "normalised": 1.0}[kind]
    assert lines["Γ3"][100] == pytest.approx(full)
    assert lines["random"][100] == pytest.approx(full)
    assert lines["oracle Δ"][50] == 0
    assert (BOUND in lines) is (kind == "counts")
    good = chart.page_spec()["concat"][0]["layer"][0]["data"]["values"]
    assert good == [{"share": pytest.approx(100 * curve.good_share)}]
    if kind == "counts":
        assert lines["Γ3"][50] == pytest.approx(curve.at(0.5))
        bound = scenes[0].bound
        assert bound is not None
        assert lines[BOUND][50] == bound.at(0.5)  # drawn at φ, although fewer pixels are kept by all


def test_every_panel_and_line_is_drawn_and_named(scenes: list[SceneCurves]) -> None:
    chart = sparsification_data(scenes, title="Title", caption="Caption")
    drawn = chart.encoded("svg").decode()
    assert drawn.count('class="mark-line role-mark') == len({(row["panel"], row["line"]) for row in chart.rows})
    for text in ("Title", "Caption", "one: ", "two: ", *lines_of(chart, "one")):
        assert text in drawn


def test_pictures_show_the_share_of_more_confident_pixels() -> None:
    values = np.array([[0.1, 0.1, 5.0, np.nan]], np.float32)
    picture = confidence_picture("Γ", values)
    assert picture.values.tolist() == [[25.0, 25.0, 62.5, 87.5]]
    assert picture.limits == (0, 100)


@pytest.mark.parametrize("kind", ["mae", "rms", "d1"])
def test_error_magnitudes_are_drawn_as_they_are(kind: str) -> None:
    rng = np.random.default_rng(0)
    truth = np.full((20, 20), 9.0)
    estimate = truth + rng.exponential(3, truth.shape)
    curves = {"one": {"first": sparsify_by(kind, rng.random(truth.shape), estimate, truth)}}
    chart = error_data(curves, parse_error(kind))
    lines = lines_of(chart, "one")
    factor = 1 if kind in ("mae", "rms") else 100
    assert lines["first"][100] == pytest.approx(factor * curves["one"]["first"].rates([1.0])[0])
    assert all(value <= lines["first"][density] + 1e-9 for density, value in lines["oracle Δ"].items())
    assert chart.encoded("png")[:4] == b"\x89PNG"


def test_reliability_shows_intervals_and_probabilities() -> None:
    rng = np.random.default_rng(1)
    truth = np.full((40, 40), 9.0)
    estimate = truth + rng.normal(0, 1, truth.shape)
    found = [
        ("one", "net", calibrate_sigma(np.ones(truth.shape), estimate, truth)),
        ("one", "ccnn", calibrate_probability(rng.random(truth.shape), estimate, truth, threshold=1.0)),
    ]
    chart = reliability_data(found, caption="Caption")
    assert [line.partition(",")[0] for line in dict.fromkeys(chart.column("line"))] == ["net", "ccnn"]
    assert len(chart.page_spec()["concat"]) == 2
    assert len(chart.rows) == 19 + 10
    assert chart.encoded("png")[:4] == b"\x89PNG"
