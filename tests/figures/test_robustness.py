"""The chart of robustness: one panel per condition, gaps as gaps."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.figures.chart import Chart
from stereogauge.study.figures import robustness_data
from stereogauge.study.robustness import change_picture, robustness_table


@pytest.fixture
def data() -> Chart:
    one, two = np.ones((2, 4), np.float32), np.full((2, 4), 3, np.float32)
    results = [sg.ResultSet("steady", {"a": one, "b": one, "c": one}), sg.ResultSet("nervous", {"a": one, "b": two})]
    return robustness_data(robustness_table(results, {"light": ("a", "b"), "time": ("a", "c")}), threshold=1.0)


def test_there_is_one_value_per_condition_algorithm_and_series(data: Chart) -> None:
    values = {(row["condition"], row["algorithm"], row["series"]): row["value"] for row in data.rows}
    assert values["light: a → b", "steady", "changed"] == 0.0
    assert values["light: a → b", "nervous", "changed"] == 100.0
    assert values["time: a → c", "steady", "changed"] == 0.0
    assert math.isnan(values["time: a → c", "nervous", "changed"])


def test_the_chart_shows_a_dash_where_there_is_no_value(data: Chart) -> None:
    drawn = data.encoded("svg").decode()
    assert ">–<" in drawn
    assert all(text in drawn for text in ("steady", "nervous", "light: a → b", "time: a → c"))


def test_the_picture_of_a_change_marks_what_only_one_map_has() -> None:
    first = np.array([[1.0, 1.0, np.nan, np.nan]], np.float32)
    second = np.array([[1.0, 4.0, 2.0, np.nan]], np.float32)
    shown = change_picture(first, second)
    assert shown.values[0, :2].tolist() == [0.0, 3.0]
    assert shown.missing is not None
    assert shown.missing[0].tolist() == [False, False, True, False]
