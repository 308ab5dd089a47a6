"""What sparsification figures show, and that both renderers draw it."""

from __future__ import annotations

import numpy as np
import pytest

from stereogauge.confidence.bound import combination_bound
from stereogauge.confidence.evaluation import SceneCurves
from stereogauge.confidence.sparsification import curve_of
from stereogauge.figures.data.sparsification import Kind, confidence_picture, sparsification_data
from stereogauge.figures.mpl.sparsification import sparsification_plots as matplotlib_plots
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
    assert ("bound s(φ)" in lines) is (kind == "counts")
    assert panel.good_share == curve.good_share
    if kind == "counts":
        assert lines["Γ3"].values[middle] == pytest.approx(curve.at(0.5))
        own = lines["s at its own density"]
        assert (own.densities <= lines["bound s(φ)"].densities + 1e-12).all()


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
