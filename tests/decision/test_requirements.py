"""Requirements: the arithmetic of the camera, who meets them, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import stereogauge as sg
from stereogauge.decision.requirements import Camera, camera_limits, fulfilment, load_requirements, required_columns
from stereogauge.decision.words import sentences
from stereogauge.scores.cube import ScoreCube

Build = Callable[..., ScoreCube]
WANTED: dict[str, Any] = {
    "name": "Robot",
    "camera": {"focal": 1000, "baseline": 0.2, "width": 1280, "height": 960},
    "distances": {"near": 1.0, "far": 5.0},
    "tolerance": {"depth": 0.1, "at": 4.0, "wrong": 0.1},
    "time": {"seconds": 2.0},
}
COLUMNS = ["bad-z@0.1:depth@1,4", "seconds:scene"]


def changed(**tables: Any) -> dict[str, Any]:
    return {**WANTED, **tables}


def test_the_depth_step_by_hand() -> None:
    """f·B = 200 px·m: at 4 m the disparity is 50 px, and a quarter pixel less is 200 / 49.75 = 4.0201 m."""
    camera = Camera(1000, 0.2, 1280, 960)
    assert camera.disparity(4) == 50
    assert camera.depth_step(4) == pytest.approx(200 / 49.75 - 4)
    assert camera.depth_step(camera.reach(0.1)) == pytest.approx(0.1)
    step = Camera(1000, camera.baseline_for(4, 0.01), 1280, 960).depth_step(4)
    assert step == pytest.approx(0.01)
    assert camera.pixels(0.02, 4) == pytest.approx(5)
    assert camera.depth_step(900) == float("inf")


def test_requirements_become_columns() -> None:
    wanted = load_requirements(changed(object={"size": 0.01, "at": 2.0}, completeness={"share": 0.95}))
    found = {one.column: one for one in required_columns(wanted)}
    assert list(found) == ["bad-z@0.1:depth@1,4", "f-missing", "seconds:scene", "invalid:all"]
    assert found["bad-z@0.1:depth@1,4"].limit == 10
    assert found["f-missing"].settings == "geometry.fine_width=5"
    assert "covers 1000·0.01/2 = 5 px at 2 m" in found["f-missing"].arithmetic
    assert found["invalid:all"].limit == pytest.approx(5)


def test_the_protocols_own_width_of_structures_needs_no_other_evaluation() -> None:
    wanted = load_requirements(changed(object={"size": 0.024, "at": 2.0}))
    protocol = sg.load_protocol("default")
    lost = {one.column: one for one in required_columns(wanted, protocol, 0.25)}["f-missing"]
    assert protocol.geometry.at(0.25).fine_width == 12
    assert lost.settings == ""


def test_who_meets_all_of_it_wins(cube_of: Build) -> None:
    values = [[[5.0, 1.0]] * 4, [[20.0, 0.5]] * 4, [[4.0, 9.0]] * 4]
    found = sg.answer(cube_of(values, COLUMNS), requirements=WANTED)
    assert found.winner == "A"
    assert found.statement.headline == "For Robot, take A."
    (claim,) = found.claims
    assert claim.kind == "take-required"
    assert claim.numbers == {"margin": 0.5, "lacking": 0, "scenes": 4, "alone": 0, "certainty": 1}
    held = found.requirements
    assert held is not None
    assert held.margins[0].tolist() == [0.5, 0.5]
    assert [(claim.texts["column"], claim.numbers) for claim in held.failures("B")] == [
        (COLUMNS[0], {"value": 20, "limit": 10})
    ]
    assert sentences(held.failures("C")) == ("The run time of C is 9.00 s; the limit is 2.00 s.",)


def test_several_that_meet_it_leave_the_choice_open(cube_of: Build) -> None:
    found = sg.answer(cube_of([[[5.0, 1.0]] * 4, [[2.0, 0.5]] * 4], COLUMNS), requirements=WANTED)
    assert found.winner is None
    assert found.leader == "B"
    assert found.claims[0].kind == "several-meet"
    assert found.claims[0].names == ("B", "A")
    assert found.claims[0].numbers["margin"] == 0.75


def test_weights_choose_among_those_that_meet_it(cube_of: Build) -> None:
    values = [[[5.0, 1.0, 9.0 + 0.1 * k] for k in range(8)], [[2.0, 0.5, 20.0 + 0.2 * k] for k in range(8)]]
    values.append([[50.0, 0.5, 0.1]] * 8)
    found = sg.answer(cube_of(values, [*COLUMNS, "bad@1:all"]), requirements=WANTED, weights={"bad@1": 1})
    assert found.winner == "A"
    assert [claim.kind for claim in found.claims[:2]] == ["weights-choose", "take"]
    assert found.sentence.startswith("B and A meet every requirement. With these weights, take A.")


def test_weights_name_nobody_while_a_requirement_is_not_measured(cube_of: Build) -> None:
    values = [[[5.0, 9.0 + 0.1 * k] for k in range(8)], [[2.0, 20.0 + 0.2 * k] for k in range(8)]]
    cube = cube_of(values, [COLUMNS[0], "bad@1:all"])
    found = sg.answer(cube, requirements=WANTED, weights={"bad@1": 1})
    assert found.winner is None
    assert [claim.kind for claim in found.claims] == ["weights-cannot-choose", "not-checked"]
    assert found.claims[0].texts == {"leader": "A"}
    assert found.claims[1].names == ("run time",)


def test_another_width_of_structures_asks_for_everything_under_one_protocol(cube_of: Build) -> None:
    wanted = changed(object={"size": 0.01, "at": 2.0})
    found = sg.answer(cube_of([[[5.0, 1.0]] * 4], COLUMNS), requirements=wanted)
    assert found.not_measured[0].command.endswith(
        "--metrics bad-z@0.1,f-missing,seconds --regions depth@1,4 --set geometry.fine_width=5"
    )


def test_nobody_meets_it(cube_of: Build) -> None:
    found = sg.answer(cube_of([[[50.0, 1.0]] * 4, [[12.0, 0.5]] * 4], COLUMNS), requirements=WANTED)
    assert found.winner is None
    assert [claim.kind for claim in found.claims] == ["none-meets", "misses"]
    assert found.claims[0].names == ("B",)
    assert found.claims[1].numbers == {"value": 12, "limit": 10}


def test_what_is_not_measured_is_not_checked_and_carries_no_winner(cube_of: Build) -> None:
    found = sg.answer(cube_of([[[5.0]] * 4, [[20.0]] * 4], COLUMNS[:1]), requirements=WANTED)
    assert found.winner is None
    assert [claim.kind for claim in found.claims] == ["meets", "not-checked"]
    assert found.statement.headline == "For Robot, only A meets every requirement that is measured."
    assert found.not_measured[0].command.endswith("--metrics seconds")


def test_scenes_of_one_place_are_one_scene(cube_of: Build) -> None:
    """Two exposures of one scene do not show that the requirements would be met on another."""
    cube = cube_of([[[5.0, 1.0]] * 2, [[20.0, 0.5]] * 2], COLUMNS)
    assert sg.answer(cube, requirements=WANTED).winner == "A"
    exposures = replace(cube, scenes=("Motorcycle", "MotorcycleE"))
    found = sg.answer(exposures, requirements=WANTED)
    assert found.winner is None
    assert found.requirements is not None
    assert found.requirements.scenes == 1


def test_scenes_that_disagree_carry_no_winner(cube_of: Build) -> None:
    values = [[[3.0 if k % 2 else 15.0, 1.0] for k in range(4)], [[40.0, 1.0]] * 4]
    found = sg.answer(cube_of(values, COLUMNS), requirements=WANTED)
    assert found.winner is None
    assert found.claims[0].kind == "meets"
    assert found.claims[0].numbers["certainty"] < 0.95


def test_what_the_camera_cannot_reach_is_said_first(cube_of: Build) -> None:
    hard = changed(tolerance={"depth": 0.01, "at": 4.0})
    found = sg.answer(cube_of([[[0.0, 0.1]] * 4], ["bad-z@0.01:depth@1,4", "seconds:scene"]), requirements=hard)
    assert found.winner is None
    (claim,) = found.claims
    assert claim.kind == "out-of-reach"
    assert claim.numbers["reach"] == pytest.approx(2.82, abs=0.01)
    assert claim.numbers["baseline"] == pytest.approx(0.401, abs=0.001)
    assert found.statement.headline == "For Robot, no algorithm can keep 0.01 m at 4 m with this camera."


def test_what_the_camera_allows_is_stated() -> None:
    claims = camera_limits(load_requirements(changed(object={"size": 0.001, "at": 4.0})))
    assert [claim.kind for claim in claims] == ["depth-step", "within-reach", "below-a-pixel"]
    assert sentences(claims)[0].startswith("One step of 0.25 px of disparity at 5 m is 0.0314 m of depth")


def test_run_times_are_scaled_to_the_camera(cube_of: Build) -> None:
    """The camera has 1280·960 px, 4 times those of the runs: 0.4 s there are 1.6 s, and 0.6 s are too slow."""
    cube = cube_of([[[0.0, 0.4]] * 4, [[0.0, 0.6]] * 4], COLUMNS)
    wanted = load_requirements(WANTED)
    plain = fulfilment(cube, wanted)
    assert plain.values[:, 1].tolist() == pytest.approx([0.4, 0.6])
    assert "not scaled to 1280×960 px" in plain.requirements[1].arithmetic
    note = "640×480, 64 disparities, 1 thread, X1"
    scaled = fulfilment(replace(cube, runs={("A", scene): note for scene in cube.scenes}), wanted)
    assert scaled.values[:, 1].tolist() == pytest.approx([1.6, 2.4])
    assert scaled.fulfilling == cube.algorithms[:1]
    assert "2 s per pair of 1280×960 px; measured on 640×480 px" in scaled.requirements[1].arithmetic
    assert fulfilment(replace(cube, runs={("A", cube.scenes[0]): note}), wanted).values[0, 1] == 0.4


def test_completeness_of_a_smaller_region_is_not_that_of_all_pixels(cube_of: Build) -> None:
    lost = np.full((2, 4, 1), 100.0)
    cube = cube_of([[[5.0]] * 4, [[6.0]] * 4], ["bad@1:nonocc"], lost)
    wanted = {key: WANTED[key] for key in ("name", "camera", "distances")} | {"completeness": {"share": 0.95}}
    held = sg.answer(cube, requirements=wanted).requirements
    assert held is not None
    (required,) = held.to_dict()["requirements"]
    assert (required["column"], required["measured"]) == ("invalid:all", False)
    assert np.isnan(held.values).all()


def test_completeness_is_read_from_the_scores(cube_of: Build) -> None:
    lost = np.zeros((2, 4, 2))
    lost[0, :, 0] = 100
    cube = cube_of([[[5.0, 1.0]] * 4, [[6.0, 1.0]] * 4], ["bad@1:all", "seconds:scene"], lost)
    wanted = load_requirements(
        {key: WANTED[key] for key in ("name", "camera", "distances")} | {"completeness": {"share": 0.95}}
    )
    held = fulfilment(cube, wanted)
    assert held.values[:, 0].tolist() == pytest.approx([10, 0])
    assert held.fulfilling == ("B",)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            {"camera": {"baseline": 0.2, "width": 1, "height": 1}},
            r"needs camera.focal, a number greater than 0 in px \(focal length\)",
        ),
        ({"distances": {"near": 5.0, "far": 1.0}}, "near must be smaller than far; found near = 5 m"),
        ({"tolerance": {"depth": 0.1, "at": 40.0}}, r"tolerance.at must lie within the distances 1 to 5 m"),
        ({"tolerance": {"depth": -0.1}}, r"tolerance.depth must be a number greater than 0 .*; found -0.1"),
        (
            {"tolerance": {"depth": 0.1, "wrong": 7}},
            r"tolerance.wrong must be a number from 0 to 1 .*; found 7",
        ),
        ({"tolerance": {"dept": 0.1}}, r"entry of The requirements 'tolerance.dept'.* Did you mean 'tolerance.depth'"),
        ({"speed": {"seconds": 1}}, r"entry of The requirements 'speed'; known are: camera"),
        ({"time": 3}, r"time must be a table with seconds; found 3"),
        ({"time": {"seconds": True}}, "time.seconds must be a number greater than 0 .*; found True"),
        ({"camera": {"focal": 1e6, "baseline": 2, "width": 99, "height": 9}}, "no less than the image width of 99 px"),
    ],
)
def test_bad_requirements_get_one_sentence(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(sg.StereogaugeError, match=message) as refused:
        load_requirements(changed(**tables))
    assert str(refused.value).count("\n") == 0


def test_a_table_that_is_needed_is_named() -> None:
    with pytest.raises(sg.StereogaugeError, match="needs camera, a table with focal, baseline, width, height"):
        load_requirements({"distances": {"near": 1, "far": 2}})


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "requirements.toml"
    with pytest.raises(sg.StereogaugeError, match="No requirements at"):
        load_requirements(path)
    path.write_text("camera = [", encoding="utf-8")
    with pytest.raises(sg.StereogaugeError, match="is not valid TOML"):
        load_requirements(path)
    path.write_text(
        "[camera]\nfocal = 1000\nbaseline = 0.2\nwidth = 1280\nheight = 960\n[distances]\nnear = 1\nfar = 5\n",
        encoding="utf-8",
    )
    assert load_requirements(path).name == "requirements"


def test_scores_without_calibration_measure_nothing_of_it() -> None:
    truth = np.tile(np.float32([4, 4, 8, 8]), (20, 10))
    scores = sg.evaluate({"A": truth}, sg.Scene("flat", gt=truth), ["bad-z@0.1:depth@1,4"])
    wanted = {key: WANTED[key] for key in ("name", "camera", "distances", "tolerance")}
    found = sg.answer(scores, requirements=wanted)
    assert found.winner is None
    assert found.claims[0].kind == "requirements-unmeasured"


def test_a_calibrated_scene_is_held_against_the_requirements() -> None:
    """f·B = 200 px·m: the truths lie at about 2 m; one map is right, the other off by 0.5 m."""
    camera = sg.Calibration(focal=1000, baseline=0.2)
    scenes = [sg.Scene(f"s{k}", gt=np.full((40, 60), 100 + k, np.float32), calibration=camera) for k in range(3)]
    maps = {"right": {s.id: s.gt for s in scenes}, "off": {s.id: s.gt * 0.8 for s in scenes}}
    scores = sg.evaluate(maps, scenes, ["bad-z@0.1:depth@1,4", "invalid:all"])
    wanted = {key: WANTED[key] for key in ("name", "camera", "distances", "tolerance")}
    assert sg.answer(scores, requirements=wanted).winner == "right"
