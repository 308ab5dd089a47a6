"""Tasks on their way through an executor."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, CancelledError, Future

import pytest

from stereogauge import StereogaugeError
from stereogauge.evaluation.executors import AHEAD, Tasks, is_lost_worker
from stereogauge.evaluation.processes import TimeLimitExceeded, WorkerDied


class Office:
    """An executor whose futures the test itself finishes.

    `answers` by task are an exception or a value each time it is asked.
    """

    def __init__(self, answers=None, workers=1):
        self.answers = answers or {}
        self.workers = workers
        self.submitted = []
        self.futures = {}

    def submit(self, task):
        self.submitted.append(task)
        future = self.futures[task] = Future()
        if task in self.answers:
            answer = self.answers[task].pop(0)
            (future.set_exception if isinstance(answer, BaseException) else future.set_result)(answer)
        return future


def test_only_a_few_tasks_are_handed_out_before_the_first_answer():
    office = Office({0: ["zero"]}, workers=2)
    tasks = Tasks(office.submit, office, range(10))
    assert [(one.task, one.answer) for one in tasks.next_outcomes()] == [(0, "zero")]
    assert office.submitted == list(range(2 * AHEAD))


def test_workers_that_come_later_get_tasks_too(monkeypatch):
    monkeypatch.setattr("stereogauge.evaluation.executors.LOOK_EVERY", 0.01)
    office = Office()

    def look():
        office.workers = 3
        office.futures[0].done() or office.futures[0].set_result("zero")

    office.check_alive = look
    tasks = Tasks(office.submit, office, range(10))
    assert [one.task for one in tasks.next_outcomes()] == [0]
    assert office.submitted == list(range(3 * AHEAD))


def test_a_task_that_loses_its_worker_is_tried_once_more_in_parts():
    office = Office({"ab": [WorkerDied("gone")], "a": ["A"], "b": [WorkerDied("gone")], "c": ["C"]})
    tasks = Tasks(office.submit, office, ["ab", "c"], again=list)
    found = {one.task: one.answer or one.reason for one in tasks.outcomes()}
    assert found == {"a": "A", "b": "gone, twice", "c": "C"}
    assert tasks.retried == 2


def test_a_mistake_of_the_task_itself_is_not_tried_again():
    office = Office({1: [ValueError("no")], 2: [TimeLimitExceeded("too long")]})
    outcomes = list(Tasks(office.submit, office, [1, 2], again=lambda task: [task]).outcomes())
    assert [one.reason for one in outcomes] == ["ValueError: no", "too long"]
    assert not any(isinstance(one.problem, WorkerDied) for one in outcomes)
    assert office.submitted == [1, 2]


def test_without_a_second_try_a_lost_worker_is_the_outcome():
    office = Office({1: [BrokenExecutor("gone")]})
    (outcome,) = Tasks(office.submit, office, [1]).outcomes()
    assert isinstance(outcome.problem, WorkerDied)
    assert outcome.reason == "gone"


def test_after_an_interruption_what_is_finished_is_kept_and_nothing_is_waited_for():
    office = Office({0: ["zero"]}, workers=2)
    tasks = Tasks(office.submit, office, range(4))
    next(tasks.outcomes())
    office.futures[2].set_result("two")
    office.futures[3].cancel()
    assert [(one.task, one.answer) for one in tasks.finished_outcomes()] == [(2, "two")]


def test_a_task_may_be_added_while_others_run():
    office = Office({0: ["zero"], 1: ["one"]})
    tasks = Tasks(office.submit, office, [0])
    found = []
    for outcome in tasks.outcomes():
        found.append(outcome.task)
        if outcome.task == 0:
            tasks.add(1)
            assert office.submitted == [0, 1]
    assert found == [0, 1]


@pytest.mark.cluster
def test_the_errors_of_a_cluster_that_lost_a_worker_are_known():
    distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    assert is_lost_worker(distributed.scheduler.KilledWorker("task", None, 3))
    assert is_lost_worker(distributed.comm.CommClosedError())
    assert is_lost_worker(distributed.client.FutureCancelledError("key", "lost dependencies"))


def test_what_counts_as_a_lost_worker():
    class KilledWorker(Exception):  # noqa: N818 - somebody else's class that only has the name
        pass

    assert all(map(is_lost_worker, (WorkerDied("gone"), BrokenExecutor(), CancelledError())))
    assert not any(map(is_lost_worker, (KilledWorker(), StereogaugeError("no"), TimeLimitExceeded("late"), OSError())))
