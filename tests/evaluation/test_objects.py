"""Scores by object: each plane, fine structure and foreground object on its own."""

from __future__ import annotations

import numpy as np
import pytest
from tests.metrics.test_where import damaged, truth

import stereogauge as sg
from stereogauge.errors import UnknownNameError
from stereogauge.evaluation.evaluate import measure
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.measurement import Measurement
from stereogauge.scores.column import Column, columns_of
from stereogauge.tables.score_table import object_tables

METRICS = ["d-fat", "d-thin", "d-fuz", "p-off", "p-mis", "f-por", "f-frag", "f-missing", "f-fat"]


@pytest.fixture(scope="module")
def scene() -> sg.Scene:
    return sg.Scene("yard", gt=truth(), resolution=0.25)


@pytest.fixture(scope="module")
def table(scene: sg.Scene) -> sg.ScoreTable:
    return sg.evaluate({"rough": damaged(truth()), "exact": truth()}, scene, METRICS, by="object")


def test_every_pole_is_a_row_with_its_place(table: sg.ScoreTable) -> None:
    poles = table.to_pandas().query("metric == 'f-frag' and algorithm == 'rough'").sort_values("x")
    assert poles["x"].tolist() == [110, 122, 134, 146]
    assert poles["width"].tolist() == [3] * 4
    assert (poles["count"] == 1).all()
    assert poles["value"].tolist() == pytest.approx([0.5, 0.5, 0.5, 1.0])  # three are cut in two, the last is lost
    assert set(poles["region"]) == {f"fine&structure@{number}" for number in range(1, 5)}


def test_objects_add_up_to_the_scene(table: sg.ScoreTable, scene: sg.Scene) -> None:
    whole = sg.evaluate(damaged(truth()), scene, METRICS)
    for metric in METRICS:
        parts = [score for score in table if score.metric == metric and score.algorithm == "rough"]
        score = whole.score(metric)
        assert sum(part.count for part in parts) == pytest.approx(score.count, abs=0.03 * score.count)
        assert sum(part.sum for part in parts) == pytest.approx(score.sum, rel=0.05, abs=1.0)


def test_scores_of_all_objects_at_once_are_those_of_their_regions(table: sg.ScoreTable, scene: sg.Scene) -> None:
    assert table.protocol is not None
    measurement = Measurement(damaged(truth()), SceneRegions(scene, table.protocol))
    for score in (score for score in table if score.algorithm == "rough"):
        alone = measure(measurement, Column(score.metric, score.region))
        assert (alone.count, alone.missing) == (score.count, score.missing), score
        assert alone.sum == pytest.approx(score.sum, rel=1e-5)


def test_an_object_is_a_region_like_any_other(scene: sg.Scene) -> None:
    (column,) = columns_of(["p-off:plane@1"], ["all"])
    assert str(column) == "p-off:planar&plane@1"
    masks = sg.regions(scene, ["plane@1", "structure@2", "object@1", "planar-plane@1"])
    assert all(mask.any() for mask in masks.values() if mask is not masks["planar-plane@1"])
    assert not (masks["plane@1"] & masks["planar-plane@1"]).any()
    gap = sg.evaluate(truth(), scene, ["mae"], ["plane@99"]).score("mae")
    assert np.isnan(gap.value)
    assert "found the number 99" in gap.note


def test_the_ground_truth_has_no_fault_on_any_object(table: sg.ScoreTable) -> None:
    for score in table:
        if score.algorithm == "exact" and score.metric[0] in "df" and score.count:
            assert score.value == 0.0


def test_metrics_without_pixels_of_their_own_are_measured_on_every_object(scene: sg.Scene) -> None:
    table = sg.evaluate(truth() + 1, scene, ["mae"], by="object")
    assert {region.partition("@")[0] for region in table.regions} == {"plane", "structure", "object"}
    assert {score.value for score in table} == {1.0}


def test_one_table_per_kind_with_the_largest_first(table: sg.ScoreTable) -> None:
    tables = object_tables(table)
    assert [one.name for one in tables] == ["planes", "structures", "objects"]
    for one in tables:
        pixels = [row[5].value for row in one.rows]
        assert pixels == sorted(pixels, reverse=True)
    assert [head.line for head in tables[0].header][6:8] == ["p-off:rough [px]", "p-off:exact [px]"]


def test_another_division_is_refused(scene: sg.Scene) -> None:
    with pytest.raises(UnknownNameError, match="division of the scores 'pixel'"):
        sg.evaluate(truth(), scene, by="pixel")  # type: ignore[arg-type]
