"""A run stores what it computes, whatever computes it, and goes on when a cell fails."""

from __future__ import annotations

import io
from concurrent.futures import Executor, Future

import numpy as np
import pytest
from tests.cells import same_scores

import stereogauge as sg
from stereogauge import Dataset, Protocol, ResultSet, Scene, open_store, write_disparity
from stereogauge.datasets.results.find import find_results
from stereogauge.errors import StoreError
from stereogauge.evaluation.executors import InProcess
from stereogauge.evaluation.memory import BYTES_PER_PIXEL, BYTES_PER_WORKER, fitting_workers, free_memory, largest_scene
from stereogauge.evaluation.processes import LocalProcesses, WorkerDied
from stereogauge.evaluation.progress import Lines, Reading
from stereogauge.evaluation.run import make_plan, run_plan
from stereogauge.scores.score import cells_of_scores

PROTOCOL = Protocol(metrics=("bad@1", "mae", "seconds"), regions=("all", "nonocc"))


def test_a_run_stores_what_evaluate_returns(benchmark, store):
    summary = run_plan(benchmark.plan(store, PROTOCOL), store, command="the command")
    assert (summary.done, summary.failures, summary.interrupted) == (9, [], False)
    dataset = benchmark.dataset()
    table = sg.evaluate(find_results(benchmark.results, dataset).results, dataset, protocol=PROTOCOL)
    expected = {(cell.scene, cell.algorithm): cell for cell in cells_of_scores(table)}
    found = {(cell.scene, cell.algorithm): cell for cell in store.cells()}
    assert found.keys() == expected.keys()
    assert all(same_scores(found[key], expected[key]) for key in expected)
    assert store.runs()[0].command == "the command"
    assert store.runs()[0].finished is not None
    assert [entry.name for entry in store.datasets()] == [dataset.name]


def test_maps_and_scenes_can_be_found_after_a_run(benchmark, store):
    run_plan(benchmark.plan(store, PROTOCOL), store)
    name = benchmark.dataset().name
    again = store.scene(name, "Barn")
    np.testing.assert_array_equal(again.gt, benchmark.dataset()["Barn"].gt)
    np.testing.assert_array_equal(
        sg.read_disparity(store.map_source("far", name, "Hill").path),
        sg.read_disparity(benchmark.results / "far/Hill.pfm"),
    )


def test_a_cell_that_fails_is_recorded_and_tried_again_next_time(benchmark, store):
    path = benchmark.results / "far" / "Hill.pfm"
    good = path.read_bytes()
    write_disparity(path, np.ones((5, 5), np.float32))
    summary = run_plan(benchmark.plan(store, PROTOCOL), store)
    assert summary.done == 8
    (failure,) = store.failures()
    assert (failure.algorithm, failure.scene) == ("far", "Hill")
    assert "5 × 5 pixels" in failure.reason
    path.write_bytes(good)
    assert run_plan(benchmark.plan(store, PROTOCOL), store).done == 1
    assert store.failures() == []


class Fragile(Executor):
    """Loses the worker of every group that holds the map `far` on Hill, the first `times` times."""

    workers = 2

    def __init__(self, times: int) -> None:
        self.times = times
        self.groups: list[list[tuple[str, str]]] = []

    def submit(self, function, /, *arguments, **options):
        (group,) = arguments
        self.groups.append([(group.scene.id, cell.algorithm) for cell in group.cells])
        if ("Hill", "far") in self.groups[-1] and self.times > 0:
            self.times -= 1
            future: Future[object] = Future()
            future.set_exception(WorkerDied("the worker process was killed"))
            return future
        return InProcess().submit(function, *arguments)


def test_the_cells_of_a_lost_worker_are_tried_once_more_alone(benchmark, store):
    executor = Fragile(times=1)
    summary = run_plan(benchmark.plan(store, PROTOCOL), store, executor=executor)
    assert (summary.done, summary.failures) == (9, [])
    lost = next(group for group in executor.groups if ("Hill", "far") in group)
    assert summary.retried == len(lost)
    assert [group for group in executor.groups if ("Hill", "far") in group] == [lost, [("Hill", "far")]]


def test_a_cell_that_loses_two_workers_has_failed_and_the_rest_goes_on(benchmark, store):
    summary = run_plan(benchmark.plan(store, PROTOCOL), store, executor=Fragile(times=2))
    assert summary.done == 8
    assert [(failure.algorithm, failure.scene, failure.reason) for failure in store.failures()] == [
        ("far", "Hill", "the worker process was killed, twice")
    ]


def test_an_interruption_keeps_what_was_finished(benchmark, store):
    class Impatient(InProcess):
        calls = 0

        def submit(self, function, /, *arguments, **options):
            self.calls += 1
            if self.calls == 3:
                raise KeyboardInterrupt
            return super().submit(function, *arguments)

    summary = run_plan(benchmark.plan(store, PROTOCOL), store, executor=Impatient())
    assert summary.interrupted
    assert summary.done == store.counts()["cells"] == 6
    assert store.runs()[0].finished is None
    assert run_plan(benchmark.plan(store, PROTOCOL), store).done == 3


def test_a_store_that_cannot_be_written_stops_before_anything_is_computed(benchmark, tmp_path):
    class Never(InProcess):
        def submit(self, function, /, *arguments, **options):
            raise AssertionError("computed in vain")

    with open_store(tmp_path / "s.sqlite"):
        pass
    with open_store(tmp_path / "s.sqlite", read_only=True) as reader, pytest.raises(StoreError, match="read-only"):
        run_plan(benchmark.plan(reader, PROTOCOL), reader, executor=Never())


def test_processes_give_the_same_scores_bit_for_bit(benchmark, store, tmp_path):
    run_plan(benchmark.plan(store, PROTOCOL), store)
    with open_store(tmp_path / "other.sqlite") as other, LocalProcesses(2) as executor:
        summary = run_plan(benchmark.plan(other, PROTOCOL), other, executor=executor)
        assert (summary.done, summary.retried) == (9, 0)
        pairs = zip(store.cells(), other.cells(), strict=True)
        assert all(same_scores(left, right) for left, right in pairs)


def test_lines_tell_cells_rate_and_scene():
    stream = io.StringIO()
    lines = Lines(stream, every=0.0)
    lines.start(10, 5)
    lines.scene("Hill")
    lines.advance(3, 1)
    lines.finish()
    first, second = stream.getvalue().splitlines()
    assert first == "10 cells to compute, 5 stored already"
    assert second.startswith("3/10 cells, 1 failed, ")
    assert second.endswith("at Hill")


def test_reading_is_reported_once_it_takes_a_while():
    stream = io.StringIO()
    at_once = Reading(Lines(stream, every=0.0, what="file", verb="read"), after=0.0)
    at_once(1, 4)
    at_once(3, 4)
    at_once.finish()
    assert stream.getvalue().splitlines()[0] == "4 files to read"
    assert stream.getvalue().splitlines()[-1].startswith("3/4 files, ")
    quiet = io.StringIO()
    Reading(Lines(quiet), after=1000.0)(1, 4)
    assert quiet.getvalue() == ""


def test_inputs_may_lie_on_any_address_that_fsspec_knows(benchmark, store):
    name = "Hill"
    truth = f"file://{benchmark.root}/trainingQ/{name}/disp0GT.pfm"
    maps = {name: f"file://{benchmark.results}/far/{name}.pfm"}
    dataset = Dataset("remote", [Scene(name, gt=truth, dataset="remote")])
    protocol = Protocol(metrics=("mae",), regions=("all",))
    assert run_plan(make_plan(store, dataset, [ResultSet("far", maps)], protocol), store).done == 1
    here = sg.evaluate(benchmark.results / "far" / "Hill.pfm", benchmark.dataset()[name], ["mae"], ["all"])
    assert store.scores().value("mae", "all") == here.value("mae", "all")
    assert store.map_source("far", "remote", name) == maps[name]
    assert make_plan(store, dataset, [ResultSet("far", maps)], protocol).cells == 0


def test_a_scene_that_cannot_be_read_does_not_stop_the_memory_guard():
    assert largest_scene([Scene("s", gt="/nowhere/at/all.pfm")]) == 0


def test_only_as_many_workers_as_fit_into_memory(benchmark):
    each = BYTES_PER_WORKER + BYTES_PER_PIXEL * 1000
    assert fitting_workers(8, 1000, 4 * each) == 3
    assert fitting_workers(2, 1000, 4 * each) == 2
    assert fitting_workers(8, 1000, each // 2) == 1
    assert fitting_workers(8, 1000, None) == 8
    assert largest_scene(list(benchmark.dataset())) == 24 * 32
    found = free_memory()
    assert found is None or found > 0
