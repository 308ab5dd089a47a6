"""What sparsification figures show, and that both renderers draw it."""

from __future__ import annotations

import numpy as np
import pytest

from stereogauge.confidence_measures.calibration import calibrate_probability, calibrate_sigma
from stereogauge.confidence_measures.error_curves import sparsify_by
from stereogauge.confidence_measures.evaluation import SceneCurves, combination_bound
from stereogauge.confidence_measures.sparsification import curve_of, parse_error
from stereogauge.figures.data.reliability import reliability_data, reliability_rows
from stereogauge.figures.data.sparsification import BOUND, Kind, confidence_picture, error_data, sparsification_data
from stereogauge.figures.mpl import draw
from stereogauge.figures.mpl.sparsification import sparsification_plots as matplotlib_plots
from stereogauge.figures.plotly import draw as plotly_draw
from stereogauge.figures.plotly.sparsification import sparsification_plots as plotly_plots


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
    data = sparsification_data(scenes, kind, labels={"entropy": "Γ3"})
    panel = data.panels[0]
    lines = {line.label: line for line in panel.lines}
    curve = scenes[0].curves["entropy"]
    full = {"counts": curve.bad_pixels, "rates": 100 * (1 - curve.good_share), "normalised": 1.0}[kind]
    assert lines["Γ3"].values[-1] == pytest.approx(full)
    assert lines["random"].values[-1] == pytest.approx(full)
    middle = len(lines["Γ3"].values) // 2
    assert lines["oracle Δ"].values[middle] == 0
    assert (BOUND in lines) is (kind == "counts")
    assert panel.good_share == curve.good_share
    if kind == "counts":
        assert lines["Γ3"].values[middle] == pytest.approx(curve.at(0.5))
        bound = scenes[0].bound
        assert bound is not None
        assert lines[BOUND].densities[middle] == 0.5  # drawn at φ, although fewer pixels are kept by all
        assert lines[BOUND].values[middle] == bound.at(0.5)


def test_both_renderers_draw_every_panel_and_line(scenes: list[SceneCurves]) -> None:
    data = sparsification_data(scenes, title="Title", caption="Caption")
    figure = matplotlib_plots(data)
    assert [len(axes.lines) for axes in figure.axes] == [1 + len(panel.lines) for panel in data.panels]
    assert figure.axes[0].get_xlim() == (0, 100)
    drawn = plotly_plots(data)
    assert len(drawn.data) == sum(len(panel.lines) for panel in data.panels)
    assert sum(trace.showlegend for trace in drawn.data) == len(data.panels[0].lines)


def test_pictures_show_the_share_of_more_confident_pixels() -> None:
    values = np.array([[0.1, 0.1, 5.0, np.nan]], np.float32)
    picture = confidence_picture("Γ", values)
    assert picture.values.tolist() == [[25.0, 25.0, 62.5, 87.5]]
    assert picture.limits == (0, 100)


@pytest.mark.parametrize("count", [1, 4])
def test_the_legend_lies_inside_the_figure(scenes: list[SceneCurves], count: int) -> None:
    labels = {"entropy": "Γ3 entropy, T = 100", "curvature": "Γ4 left-right consistency"}
    figure = draw(sparsification_data((scenes * 2)[:count], labels=labels, caption="Matcher sgm; " * 20))
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width
    assert all(box.y1 <= axes.get_tightbbox().y0 + 1 for axes in figure.axes)


@pytest.mark.parametrize("kind", ["mae", "rms", "d1"])
def test_error_magnitudes_are_drawn_as_they_are(kind: str) -> None:
    rng = np.random.default_rng(0)
    truth = np.full((20, 20), 9.0)
    estimate = truth + rng.exponential(3, truth.shape)
    curves = {"one": {"first": sparsify_by(kind, rng.random(truth.shape), estimate, truth)}}
    data = error_data(curves, parse_error(kind))
    (panel,) = data.panels
    lines = {line.label: line for line in panel.lines}
    factor = 1 if kind in ("mae", "rms") else 100
    assert lines["first"].values[-1] == pytest.approx(factor * curves["one"]["first"].rates([1.0])[0])
    assert (lines["oracle Δ"].values <= lines["first"].values + 1e-9).all()
    assert len(matplotlib_plots(data).axes) == len(plotly_plots(data).layout.annotations) == 1


def test_reliability_shows_intervals_and_probabilities() -> None:
    rng = np.random.default_rng(1)
    truth = np.full((40, 40), 9.0)
    estimate = truth + rng.normal(0, 1, truth.shape)
    found = [
        ("one", "net", calibrate_sigma(np.ones(truth.shape), estimate, truth)),
        ("one", "ccnn", calibrate_probability(rng.random(truth.shape), estimate, truth, threshold=1.0)),
    ]
    data = reliability_data(found, caption="Caption")
    assert [panel.lines[0].label.partition(",")[0] for panel in data.panels] == ["net", "ccnn"]
    assert len(draw(data).axes) == 2
    assert len(plotly_draw(data).data) == 4
    assert len(reliability_rows(found)) == 19 + 10
