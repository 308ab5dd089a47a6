"""The regression gate: limits, verdicts, and the files for continuous integration."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest
from msgspec.structs import replace

import stereogauge as sg
from stereogauge.decision.gate import Gate, gate, parse_limit
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.facts import SceneFacts
from stereogauge.tables.decision_tables import gate_table

Build = Callable[..., ScoreCube]


@pytest.mark.parametrize(
    ("text", "kind", "amount"),
    [("bad@1:nonocc=+0.1", "absolute", 0.1), ("bad@1=+5%", "relative", 0.05), ("rms:all=12", "value", 12.0)],
)
def test_limits_as_they_are_written(text: str, kind: str, amount: float) -> None:
    limit = parse_limit(text)
    assert (limit.column, limit.kind, limit.amount) == (text.partition("=")[0], kind, amount)
    assert limit.text == text.partition("=")[2]


@pytest.mark.parametrize("text", ["bad@1", "bad@1=", "bad@1=-3", "bad@1=5%", "bad@1=+x"])
def test_a_limit_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(sg.StereogaugeError, match="A limit is written METRIC:REGION=\\+AMOUNT"):
        parse_limit(text)


def checked(cube_of: Build, old: object, new: object, limit: str, column: str = "bad@1:all", **options: bool) -> Gate:
    before, after = (cube_of([[[value] for value in values]], [column]) for values in (old, new))  # type: ignore[attr-defined]
    return gate(after, before, [parse_limit(limit)], **options)


def test_a_rise_beyond_the_limit_fails(cube_of: Build) -> None:
    assert checked(cube_of, [10, 20], [10.1, 20.1], "bad@1:all=+0.1").passed
    found = checked(cube_of, [10, 20], [10.1, 20.3], "bad@1:all=+0.1")
    assert not found.passed
    assert found.sentence == "1 of 1 checks failed: A by bad@1:all."
    assert gate_table(found).rows[0][-1].value == "worse"
    assert found.checks[0].new - found.checks[0].old == pytest.approx(0.2)


def test_relative_limits_and_values(cube_of: Build) -> None:
    assert checked(cube_of, [10, 20], [10.5, 21.0], "bad@1=+5%").passed
    assert not checked(cube_of, [10, 20], [10.5, 21.2], "bad@1=+5%").passed
    assert checked(cube_of, [10, 20], [30, 30], "bad@1=30").passed
    assert not checked(cube_of, [10, 20], [30, 30.2], "bad@1=30").passed


def test_where_higher_is_better_a_fall_fails(cube_of: Build) -> None:
    assert checked(cube_of, [30, 30], [31, 31], "psnr:all=+0.1", "psnr:all").passed
    assert not checked(cube_of, [30, 30], [29.5, 29.5], "psnr:all=+0.1", "psnr:all").passed
    assert checked(cube_of, [30, 30], [29, 29], "psnr:all=28", "psnr:all").passed
    assert not checked(cube_of, [30, 30], [27, 27], "psnr:all=28", "psnr:all").passed


def test_single_scenes_are_checked_on_request(cube_of: Build) -> None:
    assert checked(cube_of, [10, 20], [12, 17], "bad@1=+0.5").passed
    found = checked(cube_of, [10, 20], [12, 17], "bad@1=+0.5", per_scene=True)
    assert [(check.where, check.failed) for check in found.checks] == [
        ("all scenes", False), ("scene0", True), ("scene1", False),
    ]  # fmt: skip


def test_a_rise_within_chance_passes_where_significance_is_asked_for(cube_of: Build) -> None:
    old, new = [10.0] * 8, [9.0, 9.5, 9.2, 9.1, 12.0, 12.5, 11.0, 11.5]
    assert not checked(cube_of, old, new, "bad@1=+0.1").passed
    found = checked(cube_of, old, new, "bad@1=+0.1", significant=True)
    assert found.passed
    assert found.checks[0].chance
    worse = [10.5 + 0.1 * k for k in range(8)]
    assert not checked(cube_of, old, worse, "bad@1=+0.1", significant=True).passed


def test_scenes_of_one_place_are_one_in_the_test_of_chance(cube_of: Build) -> None:
    """Six scenes that became worse are not chance (p = 1/32); as variants of three places they may be (p = 1/4)."""
    before, after = (cube_of([[[10.0 + more * place] for place in range(1, 7)]]) for more in (0.0, 1.0))
    limit = [parse_limit("bad@1=+0.1")]
    assert not gate(after, before, limit, significant=True).passed
    names = ("Piano", "PianoL", "Motorcycle", "MotorcycleE", "Playtable", "PlaytableP")
    before, after = (replace(cube, scenes=names) for cube in (before, after))
    found = gate(after, before, limit, significant=True)
    assert found.checks[0].p_value == pytest.approx(0.25)
    assert found.passed


def test_a_scene_that_was_lost_fails(cube_of: Build) -> None:
    found = checked(cube_of, [10, 20], [10, float("nan")], "bad@1=+1")
    assert [(check.where, check.note) for check in found.checks if check.failed] == [("scene1", "lost")]
    assert "scene1: there is no score; it was 20\n" in found.annotations()


def test_leaving_pixels_out_does_not_pass(cube_of: Build) -> None:
    old = cube_of([[[4.0], [5.0]]], ["rms:all"])
    new = cube_of([[[1.0], [1.0]]], ["rms:all"], 300.0)
    found = gate(new, old, [parse_limit("rms:all=+0.1")])
    assert not found.passed
    assert found.checks[0].note == "covers 70 %, was 100 %"


def test_a_changed_name_is_paired(cube_of: Build) -> None:
    old = cube_of([[[4.0]]], algorithms=["v1"])
    new = cube_of([[[3.0]]], algorithms=["v2"])
    assert gate(new, old, [parse_limit("bad@1=+0")], names={"v2": "v1"}).passed
    with pytest.raises(sg.StereogaugeError, match="No algorithm is in both stores: v2 here, v1 in the baseline"):
        gate(new, old, [parse_limit("bad@1=+0")])


def test_columns_and_scenes_that_are_missing_are_named(cube_of: Build) -> None:
    cube = cube_of([[[4.0]]])
    with pytest.raises(sg.StereogaugeError, match="The baseline has no scores of rms:all; it has bad@1:all"):
        gate(cube, cube, [parse_limit("rms:all=+1")])
    two = cube_of([[[4.0], [5.0]]])
    found = gate(cube, two, [parse_limit("bad@1=+1")])
    assert found.left_out == ("scene1",)
    assert "only the baseline has them: scene1" in found.sentence


def test_junit_names_every_check(cube_of: Build) -> None:
    found = checked(cube_of, [10, 20], [12, 17], "bad@1=+0.5", per_scene=True)
    suite = ElementTree.fromstring(found.junit())[0]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed == ["scene0"]
    assert np.all([case.get("classname") == "A.bad@1:all" for case in suite])


def test_what_is_gone_fails_by_name(cube_of: Build) -> None:
    old = cube_of([[[4.0], [5.0]], [[4.0], [5.0]]], algorithms=["kept", "gone"])
    new = cube_of([[[4.0]]], algorithms=["kept"])
    found = gate(new, old, [parse_limit("bad@1=+1")], failures={("kept", "scene0"): "the file is empty"})
    assert not found.passed
    for said in ("gone: gone from the store", "scene1: the scene is gone", "kept on scene0: failed: the file is empty"):
        assert said in found.sentence
        assert f"::error title={said.replace(':', '%3A')}" in found.annotations()
    assert found.annotations().count("::error") == 3
    assert found.junit().count("<failure") == 3
    allowed = gate(new, old, [parse_limit("bad@1=+1")], allow_missing=True)
    assert allowed.passed
    assert {check.verdict for check in allowed.checks} >= {"gone from the store (allowed)", "kept"}


def test_changed_ground_truth_fails(cube_of: Build) -> None:
    cube = cube_of([[[4.0], [5.0]]])
    old, new = (replace(cube, facts=(SceneFacts(truth="a"), SceneFacts(truth=second))) for second in ("b", "c"))
    found = gate(new, old, [parse_limit("bad@1=+1")])
    assert [check.subject for check in found.checks if check.failed] == ["scene1: its ground truth changed"]
    assert gate(old, old, [parse_limit("bad@1=+1")]).passed
