"""Figures of a study: what they show, and that both renderers draw it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stereogauge.figures import mpl, plotly
from stereogauge.study.figures import response_curves_data, sensitivity_data
from stereogauge.study.run import Response, Study
from stereogauge.study.sensitivity import Sensitivity


def response(damage: str, strength: float, metric: str, value: float, truth: float = 0.0) -> Response:
    return Response(damage, strength, metric, "nonocc", value, truth, value - truth)


@pytest.fixture
def study() -> Study:
    responses = [
        response("blur", 0.4, "mae", 3.0, 0.5),
        response("blur", 0.1, "mae", 1.0, 0.5),
        response("holes", 0.2, "mae", math.nan),
        response("staircase", 1.0, "mae", 0.51, 0.5),
    ]
    return Study("hand", responses, "abc")


@pytest.fixture
def matrix() -> Sensitivity:
    values = np.array([[2.0, 1.0, np.nan], [0.0, 4.0, 2.0]])
    return Sensitivity(("d-fat", "mae:nonocc"), ("fatten-foreground", "blur", "holes"), values)


def test_a_panel_has_a_curve_for_each_damage_from_the_truth_upwards(study: Study) -> None:
    (panel,) = response_curves_data(study).panels
    assert panel.label == "mae:nonocc [px]"
    blur = next(curve for curve in panel.curves if curve.damage == "blur")
    assert blur.strengths == (0.0, 0.1, 0.4)
    assert blur.relative == (0.0, 0.25, 1.0)
    assert blur.values == (0.5, 1.0, 3.0)


def test_only_curves_that_get_somewhere_are_coloured(study: Study) -> None:
    (panel,) = response_curves_data(study).panels
    coloured = {curve.damage for curve in panel.curves if curve.colour}
    assert coloured == {"blur"}
    assert [curve.rank for curve in panel.curves if curve.damage == "blur"] == [0]


def test_the_named_damage_is_marked(matrix: Sensitivity) -> None:
    data = sensitivity_data(matrix, selective=False)
    assert data.marked == ((0, 0),)
    assert data.values[1].tolist() == [0.0, 1.0, 0.5]
    assert data.damages == ("fattened foreground", "blur", "holes")


def test_both_renderers_draw_both_figures(study: Study, matrix: Sensitivity) -> None:
    curves, heat = response_curves_data(study), sensitivity_data(matrix)
    assert mpl.encoded(mpl.draw(curves), "svg").startswith(b"<?xml")
    assert mpl.encoded(mpl.draw(heat), "png")[1:4] == b"PNG"
    interactive = plotly.draw(curves)
    assert [trace.name for trace in interactive.data][-1] == "blur"
    interactive = plotly.draw(heat)
    assert list(interactive.data[0].y) == list(matrix.metrics)
    assert len(interactive.layout.shapes) == 1


def test_the_square_of_named_damages_leaves_the_others_out(matrix: Sensitivity) -> None:
    square = matrix.named()
    assert square is not None
    assert (square.metrics, square.damages) == (("d-fat",), ("fatten-foreground",))
    assert Sensitivity(("mae:nonocc",), ("blur",), np.ones((1, 1))).named() is None
