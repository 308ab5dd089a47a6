"""`tune` as a whole, on scenes of a few pixels and matchers that are formulas."""

from __future__ import annotations

import json
import math
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import stereogauge as sg
from stereogauge.errors import MatcherError, StoreError, UnknownNameError
from stereogauge.evaluation.matchers import wanted_matcher
from stereogauge.figures.chart import around
from stereogauge.matching.declaration import MatcherParameter
from stereogauge.matching.run import matcher_text, parse_matcher
from stereogauge.tuning import TuningResult, load_result, studies, study_summary
from stereogauge.tuning.figures import figures_of, gains_data, history_data, slices_data, trade_off_data

SPACE = [
    MatcherParameter("level", "float", 1.0, low=0.0, high=15.0, step=0.25),
    MatcherParameter("tilt", "float", 0.0, low=-2.0, high=2.0, step=0.25),
    MatcherParameter("kind", "choice", "plain", choices=("plain", "rough")),
]
WEIGHTS = {"mae": 1, "bad@1": 1}


def scenes(count: int = 4) -> list[sg.Scene]:
    found = []
    for number in range(count):
        truth = np.full((12, 16), 4.0 + number, np.float32)
        image = np.full((12, 16), number, np.uint8)
        calibration = sg.Calibration(ndisp=16)
        found.append(sg.Scene(f"scene{number}", gt=truth, left=image, right=image, calibration=calibration))
    return found


def constant(left: Any, right: Any, ndisp: int, *, level: float, tilt: float, kind: str) -> Any:
    rough = 3.0 * (np.arange(left.shape[1]) % 2) if kind == "rough" else 0.0
    return np.zeros(left.shape, np.float32) + level + np.linspace(0, tilt, left.shape[1]) + rough


def fragile(left: Any, right: Any, ndisp: int, **parameters: Any) -> Any:
    if parameters["level"] > 5:
        raise ValueError("too high")
    return constant(left, right, ndisp, **parameters)


def tuned(matcher: Any = constant, count: int = 4, trials: int = 25, **options: Any) -> TuningResult:
    options.setdefault("profile", WEIGHTS if "objectives" not in options else None)
    options.setdefault("folds", 0)
    return sg.tune(matcher, scenes(count), trials=trials, space=SPACE, protocol="default", **options)


@pytest.mark.parametrize("sampler", ["tpe", "random", "nsga2"])
def test_the_same_seed_gives_the_same_result_and_another_seed_another(sampler: str) -> None:
    first, second = tuned(sampler=sampler, seed=5), tuned(sampler=sampler, seed=5)
    assert [t.parameters for t in first.trials] == [t.parameters for t in second.trials]
    assert [t.values for t in first.trials] == [t.values for t in second.trials]
    other = tuned(sampler=sampler, seed=6)
    assert [t.parameters for t in first.trials] != [t.parameters for t in other.trials]


def test_the_defaults_run_first_and_the_best_is_never_worse() -> None:
    result = tuned()
    assert result.baseline is not None
    assert result.best is not None
    assert result.trials[0].parameters == {"level": 1.0, "tilt": 0.0, "kind": "plain"}
    assert result.best.values is not None
    assert result.baseline.values is not None
    assert result.best.values[0] < result.baseline.values[0]
    assert abs(result.best.parameters["level"] - 5.5) < 2


def test_no_point_is_tried_twice_and_a_small_space_is_tried_once_over() -> None:
    space = [MatcherParameter("level", "int", 1, low=1, high=6), MatcherParameter("kind", "bool", False)]

    def stepped(left: Any, right: Any, ndisp: int, *, level: int, kind: bool) -> Any:
        return np.full(left.shape, level + kind, np.float32)

    result = sg.tune(stepped, scenes(), WEIGHTS, 50, space=space, protocol="default", folds=0, prune=False)
    points = [json.dumps(dict(trial.parameters)) for trial in result.trials]
    assert len(points) == len(set(points)) == 12


def test_a_trial_that_raises_has_failed_and_the_run_goes_on() -> None:
    result = tuned(fragile)
    failed = [trial for trial in result.trials if trial.state == "failed"]
    assert failed
    assert all("ValueError: too high" in trial.failure and trial.values is None for trial in failed)
    assert len(result.trials) == 25
    assert result.best is not None


def test_defaults_that_fail_are_an_error_since_nothing_could_be_compared() -> None:
    def broken(left: Any, right: Any, ndisp: int, **parameters: Any) -> Any:
        raise ValueError("always")

    with pytest.raises(MatcherError, match=r"default parameters.*scene0: ValueError: always"):
        tuned(broken)


def test_losing_trials_are_ended_before_their_last_scene() -> None:
    result = tuned(count=6, trials=30)
    ended = [trial for trial in result.trials if trial.state == "pruned"]
    assert ended
    assert all(0 < len(trial.scores) < 6 for trial in ended)
    assert all(len(trial.scores) == 6 for trial in result.complete)
    assert not [trial for trial in tuned(count=6, trials=30, prune=False).trials if trial.state == "pruned"]


@pytest.mark.parametrize("invalid", ["count", "fill"])
def test_a_search_makes_the_score_better_that_the_ranking_orders_by(invalid: str) -> None:
    def with_holes(left: Any, right: Any, ndisp: int, *, level: float, tilt: float, kind: str) -> Any:
        found = constant(left, right, ndisp, level=level, tilt=tilt, kind="plain")
        found[:, : 12 if kind == "rough" else 2] = np.nan
        return found

    protocol = sg.load_protocol("default").replace(invalid=invalid)
    weights = {"rms:all": 3, "mae:all": 2, "d-fat": 2, "d-thin": 1, "bad@2:all": 1}
    result = sg.tune(with_holes, scenes(), weights, 8, space=SPACE, protocol=protocol, folds=0, prune=False, seed=3)
    maps = {
        str(trial.number): {scene.id: with_holes(scene.gt, None, 16, **trial.parameters) for scene in scenes()}
        for trial in result.complete
    }
    scores = sg.evaluate(maps, scenes(), list(result.definition.columns), protocol=protocol)
    ranked = sg.rank(scores, model="weighted", weights=weights, least_support=0, least_coverage=0).to_pandas()
    order = dict(zip(ranked["algorithm"], ranked["value"], strict=True))
    found = {str(trial.number): trial.values[0] for trial in result.complete if trial.values}
    assert found == pytest.approx(order, rel=1e-4)
    assert min(order.values()) < max(order.values())


def test_scenes_of_one_place_are_never_in_two_folds() -> None:
    places = {"a": {"site": "yard"}, "Piano": {}, "b": {}, "c": {"site": "yard"}, "PianoL": {}, "d": {}}
    listed = [
        sg.Scene(name, gt=one.gt, left=one.left, right=one.right, calibration=one.calibration, tags=tags)
        for one, (name, tags) in zip(scenes(6), places.items(), strict=True)
    ]
    result = sg.tune(constant, listed, WEIGHTS, 2, space=SPACE, protocol="default", folds=3)
    assert result.to_dict()["groups"] == [["a", "c"], ["Piano", "PianoL"], ["b"], ["d"]]
    for fold in result.folds:
        assert ("a" in fold.held_out) == ("c" in fold.held_out)
        assert ("Piano" in fold.held_out) == ("PianoL" in fold.held_out)


def test_held_out_scenes_are_scored_with_parameters_that_never_saw_them() -> None:
    result = tuned(folds=2)
    assert len(result.folds) == 2
    assert sorted(scene for fold in result.folds for scene in fold.held_out) == list(result.definition.scenes)
    for fold in result.folds:
        seen = {scene for trial in fold.trials for scene in trial.scores}
        assert not seen & set(fold.held_out)
        assert fold.best is not None
        for scene in fold.held_out:
            truth = 4.0 + int(scene[-1])
            place = result.definition.columns.index("mae:all")
            flat = np.linspace(0, fold.best.parameters["tilt"], 16) + 3.0 * (np.arange(16) % 2) * (
                fold.best.parameters["kind"] == "rough"
            )
            error = np.abs(fold.best.parameters["level"] + flat - truth).mean()
            assert fold.scores[scene][place] == pytest.approx(error, rel=1e-5)
    assert [found.goal for found in result.held_out] == ["weights"]


def test_several_objectives_give_a_front_that_nothing_dominates_and_the_profile_picks_from_it() -> None:
    result = tuned(objectives=["mae:all", "bad@1:all"], profile={"bad@1:all": 1}, trials=40, prune=False)
    values = np.array([trial.values for trial in result.complete])
    for trial in result.front:
        worse = (values <= np.array(trial.values)).all(axis=1) & (values < np.array(trial.values)).any(axis=1)
        assert not worse.any()
    assert result.best in result.front
    assert result.best is not None
    assert result.best.values is not None
    assert result.best.values[1] == min(trial.values[1] for trial in result.front if trial.values)
    assert [found.goal for found in result.seen] == ["mae:all", "bad@1:all", "weights"]


@pytest.mark.parametrize("sampler", ["grid", "sweep"])
def test_grids_and_sweeps_run_their_points_and_the_defaults(sampler: str) -> None:
    result = tuned(sampler=sampler, trials=30, prune=False)
    assert 10 < len(result.trials) <= 30
    assert {trial.state for trial in result.trials} == {"complete"}
    if sampler == "sweep":
        for trial in result.trials[1:]:
            assert sum(trial.parameters[p.name] != p.default for p in SPACE) == 1


def test_a_store_keeps_the_study_and_a_second_call_computes_nothing(tmp_path: Path) -> None:
    calls: list[float] = []

    def counted(left: Any, right: Any, ndisp: int, *, level: float, tilt: float, kind: str) -> Any:
        calls.append(level)
        return constant(left, right, ndisp, level=level, tilt=tilt, kind=kind)

    store = tmp_path / "store.sqlite"
    first = tuned(counted, trials=12, folds=2, store=store)
    done = len(calls)
    second = tuned(counted, trials=12, folds=2, store=store)
    assert len(calls) == done
    assert second.to_json() == first.to_json() == load_result(store, first.name).to_json()
    more = tuned(counted, trials=15, folds=2, store=store)
    assert len(more.trials) == 15
    assert [trial.parameters for trial in more.trials[:12]] == [trial.parameters for trial in first.trials]


def test_a_name_that_belongs_to_another_tuning_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    tuned(trials=3, store=store, name="mine")
    with pytest.raises(StoreError, match="another seed"):
        tuned(trials=3, store=store, name="mine", seed=9)


def test_summaries_are_plain_values_that_json_holds(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    with sg.open_store(store):
        assert studies(store) == []
    result = tuned(fragile, trials=14, folds=2, store=store)
    listed = studies(store)
    assert [entry["name"] for entry in listed] == [result.name]
    assert listed[0]["states"]["complete"] == len(result.complete)
    summary = study_summary(store, result.name)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["best"] == (result.best.number if result.best else None)
    assert [trial["number"] for trial in summary["trials"]] == [trial.number for trial in result.trials]
    with pytest.raises(UnknownNameError, match="tuning study"):
        study_summary(store, "nothing")


def test_reading_does_not_make_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such store"):
        studies(tmp_path / "absent.sqlite")
    assert not (tmp_path / "absent.sqlite").exists()


def test_the_tuned_matcher_is_a_text_and_a_file_that_match_takes(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    left = random.integers(0, 255, (40, 60), dtype=np.uint8)
    right = np.roll(left, -5, axis=1)
    truth = np.full((40, 60), 5.0, np.float32)
    scene = sg.Scene("s", gt=truth, left=left, right=right, calibration=sg.Calibration(ndisp=16))
    result = sg.tune("opencv-bm:uniqueness=3", [scene], {"bad@1": 1}, 6, protocol="default", folds=0)
    path = tmp_path / "best.toml"
    path.write_text(result.to_toml())
    assert tomllib.loads(path.read_text())["parameters"]["uniqueness"] == 3
    wanted = wanted_matcher(str(path))
    assert (wanted.name, wanted.text) == ("opencv-bm tuned for weights", result.matcher)
    assert wanted_matcher(f"mine={path}").name == "mine"
    by_text = sg.match(left, right, result.matcher, ndisp=16)
    by_file = sg.match(left, right, str(path), ndisp=16)
    np.testing.assert_array_equal(by_text.disparity, by_file.disparity)
    assert {name: by_text.parameters[name] for name in result.parameters} == result.parameters


def test_the_parameters_of_a_program_are_filled_into_its_template() -> None:
    text = matcher_text("cmd:./run {left} {right} {out} -s {smooth:.2f} {flag}", {"smooth": 2.2512, "flag": True})
    assert text == "cmd:./run {left} {right} {out} -s 2.25 true"
    assert parse_matcher(text)[1] == {}


def test_an_outside_program_is_tuned_through_its_template(tmp_path: Path) -> None:
    program = tmp_path / "constant.py"
    program.write_text(
        "import sys, numpy as np\n"
        "level = float(sys.argv[2])\n"
        "assert level < 9\n"
        "np.save(sys.argv[1], np.full((12, 16), level, np.float32))\n"
    )
    template = f"cmd:{sys.executable} {program} {{out}} {{level}} {{left}} {{right}}"
    space = {
        "parameters": {"level": {"default": 1.0, "low": 0.0, "high": 12.0}},
        "fixed": {"extension": "npy"},
    }
    result = sg.tune(template, scenes(2), WEIGHTS, 6, space=space, protocol="default", folds=0, sampler="sweep")
    assert result.best is not None
    assert 2 < result.best.parameters["level"] < 8
    assert [trial.state for trial in result.trials].count("failed") >= 1
    assert f"{result.best.parameters['level']:.10g} {{left}}" in result.matcher


def test_every_figure_shows_its_trials() -> None:
    result = tuned(objectives=["mae:all", "bad@1:all"], trials=20, folds=2)
    found = figures_of(result)
    names = ["gains", "history-mae-all", "slices-mae-all", "history-bad1-all", "slices-bad1-all", "importance", "front"]
    assert list(found) == names
    drawn = {name: chart.encoded("svg").decode() for name, chart in found.items()}
    assert all(chart.title.split(":")[0] in drawn[name].replace("</tspan>", " ") for name, chart in found.items())
    assert "mae:all [px]" in drawn["history-mae-all"]
    assert all(f">{name}<" in drawn["slices-mae-all"] for name in ("level", "tilt", "kind", "plain", "rough"))
    assert all(f">{name}<" in drawn["importance"] for name in ("level", "tilt", "kind"))
    assert all(f">{name}<" in drawn["gains"] for name in (*result.definition.scenes, "all scenes"))
    slices = [row for row in found["slices-mae-all"].rows if row["parameter"] == "level"]
    assert [row["setting"] for row in slices] == [trial.parameters["level"] for trial in result.complete]
    front = found["front"]
    assert len(front.rows) == len(result.complete)
    best = sorted(row["x"] for row in front.rows if row["front"])
    assert best == sorted(trial.values[0] for trial in result.front if trial.values)


def test_the_rows_of_figures_are_those_of_the_trials() -> None:
    result = tuned(fragile, trials=20)
    history = history_data(result)
    complete = [row for row in history.rows if row["state"] == "complete trial"]
    assert [row["value"] for row in complete] == [trial.values[0] for trial in result.complete if trial.values]
    assert (np.diff([row["best"] for row in complete]) <= 0).all()
    rules = [layer["data"]["values"] for layer in history.view["layer"] if layer["mark"]["type"] == "rule"]
    assert rules == [[{"value": complete[0]["value"]}]], "the value of the default parameters"
    assert history.column("state").count("failed") == sum(trial.state == "failed" for trial in result.trials)
    slices = slices_data(result)
    assert list(dict.fromkeys(slices.column("parameter"))) == ["level", "tilt", "kind"]
    assert {row["setting"] for row in slices.rows if row["parameter"] == "kind"} <= {"plain", "rough"}
    assert slices.caption.startswith("Darker points are earlier trials."), "colours are explained"
    gains = gains_data(result)
    assert gains.column("scene")[-1] == "all scenes"
    assert "on the scenes that were searched on" in gains.title
    assert "No score on" not in gains.caption
    first = replace(result.seen[0], scene_default=(math.nan, *result.seen[0].scene_default[1:]))
    vars(result)["seen"] = (first, *result.seen[1:])
    assert f"No score on {gains.column('scene')[0]}." in gains_data(result).caption, "an empty row is explained"
    with pytest.raises(sg.StereogaugeError, match="one objective"):
        trade_off_data(result)


def test_an_axis_with_one_value_names_it() -> None:
    """Vega rounds the label of the only tick of an empty range, so that 0.45 was drawn as 0."""
    assert around([0.45, 0.45])["domain"] == pytest.approx([0.405, 0.495])
    assert around([0.0, math.nan])["domain"] == [-1.0, 1.0]
    assert around([1.0, 2.0]) == {"zero": False}
