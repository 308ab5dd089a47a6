"""The figure of robustness: one panel a condition, gaps as gaps, and both renderers draw it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stereogauge.figures import mpl, plotly
from stereogauge.figures.data.study import RobustnessBars, robustness_data
from stereogauge.model import ResultSet
from stereogauge.study.robustness import change_picture, robustness_table


@pytest.fixture
def data() -> RobustnessBars:
    one, two = np.ones((2, 4), np.float32), np.full((2, 4), 3, np.float32)
    results = [ResultSet("steady", {"a": one, "b": one, "c": one}), ResultSet("nervous", {"a": one, "b": two})]
    return robustness_data(robustness_table(results, {"light": ("a", "b"), "time": ("a", "c")}), threshold=1.0)


def test_panels_hold_one_value_an_algorithm_and_series(data: RobustnessBars) -> None:
    assert data.algorithms == ("steady", "nervous")
    light, time = data.panels
    assert light.label == "light: a → b"
    assert light.series[0].values == (0.0, 100.0)
    assert time.series[0].values[0] == 0.0
    assert math.isnan(time.series[0].values[1])


def test_both_renderers_draw_it(data: RobustnessBars) -> None:
    assert mpl.encoded(mpl.draw(data), "svg").startswith(b"<?xml")
    traces = plotly.draw(data).data
    assert len(traces) == 2 * 3
    assert list(traces[0].y) == ["steady", "nervous"]


def test_the_picture_of_a_change_marks_what_only_one_map_has() -> None:
    first = np.array([[1.0, 1.0, np.nan, np.nan]], np.float32)
    second = np.array([[1.0, 4.0, 2.0, np.nan]], np.float32)
    shown = change_picture(first, second)
    assert shown.values[0, :2].tolist() == [0.0, 3.0]
    assert shown.missing is not None
    assert shown.missing[0].tolist() == [False, False, True, False]
