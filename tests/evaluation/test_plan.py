"""A plan holds exactly what the store lacks."""

from __future__ import annotations

import os

import numpy as np
import pytest
from msgspec.structs import replace

from stereogauge import Dataset, Protocol, ResultSet, Scene, StereogaugeError, write_disparity
from stereogauge.datasets.results.find import find_results
from stereogauge.evaluation import fingerprints
from stereogauge.evaluation.fingerprints import ContentHashes
from stereogauge.evaluation.run import LARGEST_GROUP, Plan, make_plan, run_plan
from stereogauge.metrics import registry
from stereogauge.scores.column import declared_columns

PROTOCOL = Protocol(metrics=("bad@1", "mae"), regions=("all", "nonocc"))


def cells(plan: Plan) -> set[tuple[str, str]]:
    return {(group.scene.id, cell.algorithm) for group in plan.scenes for cell in group.cells}


def columns(plan: Plan) -> set[str]:
    return {str(column) for group in plan.scenes for cell in group.cells for column in cell.columns}


@pytest.fixture
def evaluated(benchmark, store):
    """The benchmark, everything in the store."""
    plan = benchmark.plan(store, PROTOCOL)
    assert plan.cells == 9
    assert plan.scores == 36
    run_plan(plan, store)
    return benchmark


def test_nothing_is_planned_twice(evaluated, store):
    again = evaluated.plan(store, PROTOCOL)
    assert (again.cells, again.stored) == (0, 9)


def test_a_new_algorithm_costs_only_itself(evaluated, store):
    evaluated.add_algorithm("new", error=0.1, seed=9)
    assert cells(evaluated.plan(store, PROTOCOL)) == {(scene, "new") for scene in evaluated.scenes}


def test_a_new_metric_costs_only_itself(evaluated, store):
    plan = evaluated.plan(store, PROTOCOL.replace(metrics=["bad@1", "rms", "mae"]))
    assert plan.cells == 9
    assert columns(plan) == {"rms:all", "rms:nonocc"}


def test_a_new_region_costs_only_itself(evaluated, store):
    assert columns(evaluated.plan(store, PROTOCOL.replace(regions=["all", "disc"]))) == {"bad@1:disc", "mae:disc"}


def test_another_scoring_choice_costs_everything(evaluated, store):
    assert evaluated.plan(store, PROTOCOL.replace(invalid="exclude")).cells == 9


def test_another_selection_under_the_same_scoring_costs_nothing(evaluated, store):
    assert evaluated.plan(store, PROTOCOL.replace(metrics=["mae"], aggregation="pooled")).cells == 0


def test_a_changed_map_costs_its_cell(evaluated, store):
    write_disparity(evaluated.results / "far" / "Hill.pfm", np.ones((24, 32), np.float32))
    assert cells(evaluated.plan(store, PROTOCOL)) == {("Hill", "far")}


def test_a_changed_ground_truth_costs_its_scene(evaluated, store):
    write_disparity(evaluated.root / "trainingQ" / "Barn" / "disp0GT.pfm", np.ones((24, 32), np.float32))
    assert cells(evaluated.plan(store, PROTOCOL)) == {("Barn", algorithm) for algorithm in evaluated.algorithms}


def test_a_changed_calibration_or_mask_costs_its_scene(evaluated, store):
    path = evaluated.root / "trainingQ" / "Barn" / "calib.txt"
    path.write_text(path.read_text(encoding="ascii").replace("baseline=100", "baseline=101"), encoding="ascii")
    mask = evaluated.root / "trainingQ" / "Hill" / "mask0nocc.png"
    mask.write_bytes((evaluated.root / "trainingQ" / "Barn" / "mask0nocc.png").read_bytes())
    assert {scene for scene, _ in cells(evaluated.plan(store, PROTOCOL))} == {"Barn", "Hill"}


def test_a_touched_but_equal_file_costs_nothing(evaluated, store):
    path = evaluated.results / "far" / "Hill.pfm"
    os.utime(path, ns=(0, 10**18))
    assert evaluated.plan(store, PROTOCOL).cells == 0


def test_a_higher_version_of_a_metric_costs_that_metric(evaluated, store, monkeypatch):
    known = dict(registry.metrics())
    known["mae"] = replace(known["mae"], version=known["mae"].version + 1)
    monkeypatch.setattr(registry, "metrics", lambda: known)
    plan = evaluated.plan(store, PROTOCOL)
    assert columns(plan) == {"mae:all", "mae:nonocc"}
    run_plan(plan, store)
    assert evaluated.plan(store, PROTOCOL).cells == 0
    assert len(store.cube().columns) == 4


def test_the_columns_of_a_protocol_are_those_declared_now():
    assert [str(column) for column in declared_columns(PROTOCOL)] == [
        "bad@1:all",
        "bad@1:nonocc",
        "mae:all",
        "mae:nonocc",
    ]


def test_a_stated_run_time_is_part_of_the_inputs(evaluated, store):
    dataset = evaluated.dataset()
    results = find_results(evaluated.results, dataset).results
    timed = [replace(result, seconds={"Hill": 2.0}) for result in results]
    assert {scene for scene, _ in cells(make_plan(store, dataset, timed, PROTOCOL))} == {"Hill"}


def test_asking_for_resize_is_part_of_the_inputs(evaluated, store):
    assert evaluated.plan(store, PROTOCOL, resize=True).cells == 9


def test_a_map_that_is_missing_is_a_gap(benchmark, store):
    (benchmark.results / "near" / "Hill.pfm").unlink()
    plan = benchmark.plan(store, PROTOCOL)
    assert plan.gaps == (("near", "Hill"),)
    assert plan.cells == 8


def test_a_file_that_cannot_be_read_does_not_stop_the_others(benchmark, store):
    path = benchmark.results / "near" / "Hill.pfm"
    path.unlink()
    path.symlink_to(path.with_name("nowhere.pfm"))
    plan = benchmark.plan(store, PROTOCOL)
    assert [(failure.algorithm, failure.scene) for failure in plan.unreadable] == [("near", "Hill")]
    assert "no such file" in plan.unreadable[0].reason
    assert plan.cells == 8


def test_a_mask_that_only_some_scenes_have_is_a_gap_in_the_others(store):
    truth = np.ones((4, 4), np.float32)
    scenes = [
        Scene("with", gt=truth, masks={"sky": np.ones((4, 4), bool)}, dataset="d"),
        Scene("without", gt=truth, dataset="d"),
    ]
    dataset = Dataset("d", scenes)
    results = [ResultSet("A", {"with": truth, "without": truth})]
    plan = make_plan(store, dataset, results, Protocol(metrics=("bad@1",), regions=("all", "sky")))
    assert {group.scene.id: len(group.cells[0].columns) for group in plan.scenes} == {"with": 2, "without": 1}
    with pytest.raises(StereogaugeError, match="region 'sea'"):
        make_plan(store, dataset, results, Protocol(metrics=("bad@1",), regions=("sea",)))


def test_two_algorithms_of_one_name_are_an_error(store):
    truth = np.ones((4, 4), np.float32)
    dataset = Dataset("d", [Scene("s", gt=truth, dataset="d")])
    with pytest.raises(StereogaugeError, match="algorithm name 'A'"):
        make_plan(store, dataset, [ResultSet("A", {"s": truth}), ResultSet("A", {"s": truth})], PROTOCOL)


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_groups_hold_every_cell_once_and_one_scene_each(benchmark, store, workers):
    plan = benchmark.plan(store, PROTOCOL)
    groups = plan.groups(workers)
    found = [(group.scene.id, cell.algorithm) for group in groups for cell in group.cells]
    assert sorted(found) == sorted(cells(plan))
    assert all(len(group.cells) <= LARGEST_GROUP for group in groups)
    assert len(groups) >= min(workers, plan.cells)


def test_an_unchanged_file_is_read_once(benchmark, store, monkeypatch):
    path = benchmark.results / "near" / "Hill.pfm"
    os.utime(path, ns=(10**18, 10**18))
    read: list[object] = []
    hashed = fingerprints.content_hash
    monkeypatch.setattr(fingerprints, "content_hash", lambda source: read.append(source) or hashed(source))
    first = ContentHashes(store).of([path, str(path)])
    assert ContentHashes(store).of([path]) == first[:1] == first[1:]
    assert len(read) == 1


def test_a_file_that_was_just_written_is_not_trusted_by_its_time(benchmark, store):
    path = benchmark.results / "near" / "Hill.pfm"
    before = ContentHashes(store).of([path])
    time = path.stat().st_mtime_ns
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(time, time))
    assert ContentHashes(store).of([path]) != before


def test_hashes_of_arrays_and_of_objects_elsewhere(store):
    import fsspec

    with fsspec.open("memory://maps/one.bin", "wb") as file:
        file.write(b"content")
    first = ContentHashes(store).of(["memory://maps/one.bin", np.arange(4.0)])
    assert first == ContentHashes(store).of(["memory://maps/one.bin", np.arange(4.0)])
    assert first[0] != first[1]
