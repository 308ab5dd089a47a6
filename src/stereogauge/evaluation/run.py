"""Carrying out a plan: groups go to an executor, what comes back is stored group by group, a lost worker costs only its
cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field

from stereogauge.errors import Unreachable
from stereogauge.evaluation.executors import InProcess
from stereogauge.evaluation.groups import Group
from stereogauge.evaluation.plan import Plan
from stereogauge.evaluation.progress import Progress
from stereogauge.evaluation.tasks import Outcome, Tasks, alive_check, worker_count
from stereogauge.evaluation.worker import Doubt, GroupResult, Trouble, evaluate_group
from stereogauge.scores.cell import CellScores
from stereogauge.store import Store
from stereogauge.store.sources import confidence_text, source_text
from stereogauge.store.write import Failure, MapRecord


@dataclass
class Summary:
    """What a run came to.

    `seconds` is computing time summed over workers; `interrupted` says that the rest is still to be done. `gaps` holds,
    per metric, how many scores have no value and the reason of the first. `doubts` are inputs that look misread.
    """

    done: int = 0
    stored: int = 0
    failures: list[Failure] = field(default_factory=list)
    retried: int = 0
    seconds: float = 0.0
    interrupted: bool = False
    gaps: dict[str, tuple[int, str]] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)


def run_plan(
    plan: Plan,
    store: Store,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
    command: str = "",
) -> Summary:
    """Compute and store everything in `plan`. After Ctrl-C the finished cells are stored and the summary says so.

    Where the server of the inputs does not answer any more, the finished cells are stored and `Unreachable` is raised.
    """
    executor = executor or InProcess()
    progress = progress or Progress()
    summary = Summary(stored=plan.stored)
    if not plan.cells and not plan.unreadable:
        progress.start(0, plan.stored)
        progress.finish()
        return summary
    store.check_writable()
    run = store.begin_run(command)
    store.register(plan.dataset, plan.contents, plan.results, plan.protocol)
    runner = _Runner(plan, store, executor, progress, summary, run)
    progress.start(plan.cells, plan.stored)
    try:
        runner.record((), (), plan.unreadable)
        runner.store_all(runner.tasks.outcomes())
        store.finish_run(run)
    except KeyboardInterrupt:
        summary.interrupted = True
        runner.store_all(runner.tasks.finished_outcomes())
    except Unreachable:
        runner.store_all(runner.tasks.finished_outcomes())
        raise
    finally:
        progress.finish()
    return summary


class _Runner:
    def __init__(
        self, plan: Plan, store: Store, executor: Executor, progress: Progress, summary: Summary, run: int
    ) -> None:
        self.store, self.executor, self.progress, self.summary, self.run = store, executor, progress, summary, run
        workers = worker_count(executor)
        alive = alive_check(executor)
        self.tasks = Tasks(
            self.submit,
            lambda: worker_count(executor),
            plan.groups(workers),
            again=Group.split,
            check_alive=alive,
        )

    def submit(self, group: Group) -> Future[GroupResult]:
        self.progress.scene(group.scene.id)
        return self.executor.submit(evaluate_group, group)

    def store_all(self, outcomes: Iterable[Outcome[Group, GroupResult]]) -> None:
        for outcome in outcomes:
            group, result = outcome.task, outcome.answer
            if isinstance(outcome.problem, Unreachable):
                raise outcome.problem
            if result is None:
                troubles = tuple(Trouble(index, outcome.reason) for index in range(len(group.cells)))
                result = GroupResult((), troubles, 0.0)
            self.summary.seconds += result.seconds
            self.summary.doubts += [doubt for doubt in result.doubts if doubt not in self.summary.doubts]
            self.record(
                [cell for _, cell in result.cells],
                [_map_record(group, index) for index, _ in result.cells],
                [_failure(group, trouble) for trouble in result.troubles],
            )
        self.summary.retried = self.tasks.retried

    def _count_gaps(self, cell: CellScores) -> None:
        for index, note in cell.notes.items():
            if math.isnan(cell.values[index]):
                metric = cell.columns[index].metric
                count, first = self.summary.gaps.get(metric, (0, note))
                self.summary.gaps[metric] = (count + 1, first)

    def record(self, cells: Iterable[CellScores], maps: Iterable[MapRecord], failures: Iterable[Failure]) -> None:
        """Store cells and failures in one transaction: all of them are there, or none."""
        done, failed = list(cells), list(failures)
        if not done and not failed:
            return
        self.store.write(done, maps=list(maps), failures=failed, run=self.run)
        self.summary.done += len(done)
        for cell in done:
            self._count_gaps(cell)
        self.summary.failures += failed
        self.progress.advance(len(done), len(failed))


def _map_record(group: Group, index: int) -> MapRecord:
    cell = group.cells[index]
    return MapRecord(
        dataset=group.scene.dataset,
        scene=group.scene.id,
        algorithm=cell.algorithm,
        content=cell.content,
        source=source_text(cell.estimate),
        right_source=source_text(cell.right_estimate),
        extras=dict(cell.extras),
        confidence=confidence_text(cell.confidence),
    )


def _failure(group: Group, trouble: Trouble) -> Failure:
    return Failure(
        dataset=group.scene.dataset,
        scene=group.scene.id,
        algorithm=group.cells[trouble.index].algorithm,
        protocol=group.protocol.scoring_hash,
        reason=trouble.reason,
        detail=trouble.detail,
    )
