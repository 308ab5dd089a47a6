"""Charts of a study: what they show."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stereogauge.study.figures import response_curves_data, sensitivity_data
from stereogauge.study.run import Response, Sensitivity, Study


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


def test_there_is_a_curve_for_each_damage_from_the_truth_upwards(study: Study) -> None:
    blur = [row for row in response_curves_data(study).rows if row["damage"] == "blur"]
    assert [row["strength"] for row in blur] == [0.0, 0.1, 0.4]
    assert [row["relative"] for row in blur] == [0.0, 0.25, 1.0]
    assert [row["value"] for row in blur] == [0.5, 1.0, 3.0]


def test_only_curves_that_get_somewhere_are_coloured(study: Study) -> None:
    rows = response_curves_data(study).rows
    assert {row["damage"] for row in rows if row["coloured"]} == {"blur"}
    assert {row["rank"] for row in rows if row["damage"] == "blur"} == {0}


def test_the_named_damage_is_marked(matrix: Sensitivity) -> None:
    rows = sensitivity_data(matrix, selective=False).rows
    assert [(row["row"], row["column"]) for row in rows if row["marked"]] == [("d-fat", "fattened foreground")]
    assert [row["value"] for row in rows if row["row"] == "mae:nonocc"] == [0.0, 1.0, 0.5]
    assert [row["column"] for row in rows[:3]] == ["fattened foreground", "blur", "holes"]


def test_the_drawn_charts_name_metrics_and_damages(study: Study, matrix: Sensitivity) -> None:
    curves = response_curves_data(study).encoded("svg").decode()
    assert all(text in curves for text in ("mae:nonocc [px]", "blur", "relative strength"))
    heat = sensitivity_data(matrix).encoded("svg").decode()
    assert all(text in heat for text in (*matrix.metrics, "fattened foreground", "relative response"))
    assert heat.count('stroke="#D55E00"') == 1


def test_the_square_of_named_damages_leaves_the_others_out(matrix: Sensitivity) -> None:
    square = matrix.named()
    assert square is not None
    assert (square.metrics, square.damages) == (("d-fat",), ("fatten-foreground",))
    assert Sensitivity(("mae:nonocc",), ("blur",), np.ones((1, 1))).named() is None
