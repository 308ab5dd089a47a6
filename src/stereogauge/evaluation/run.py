"""Carrying out a plan: groups go to an executor, what comes back is stored group by group, a lost worker costs only its
cells.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stereogauge.evaluation.executors import InProcess, is_lost_worker
from stereogauge.evaluation.plan import Group, Plan
from stereogauge.evaluation.progress import Progress, Silent
from stereogauge.evaluation.worker import GroupResult, Trouble, evaluate_group

if TYPE_CHECKING:
    from stereogauge.scores.cell import CellScores
    from stereogauge.store import Store
    from stereogauge.store.write import Failure, MapRecord

AHEAD = 2
"""Tasks that are handed out per worker before the first answer."""


@dataclass
class Summary:
    """What a run came to. `seconds` is computing time summed over workers; `interrupted` says that the rest is still to
    be done. `gaps` tells by metric how many scores have no value, and the reason of the first.
    """

    done: int = 0
    stored: int = 0
    failures: list[Failure] = field(default_factory=list)
    retried: int = 0
    seconds: float = 0.0
    interrupted: bool = False
    gaps: dict[str, tuple[int, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """A group on its way; `alone` when it is the second try of a single cell."""

    group: Group
    alone: bool = False


def run_plan(
    plan: Plan,
    store: Store,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
    command: str = "",
) -> Summary:
    """Compute and store everything in `plan`. After Ctrl-C the finished cells are stored and the summary says so."""
    executor = executor or InProcess()
    progress = progress or Silent()
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
        runner.work()
        store.finish_run(run)
    except KeyboardInterrupt:
        summary.interrupted = True
        runner.keep_finished()
    finally:
        progress.finish()
    return summary


class _Runner:
    def __init__(
        self, plan: Plan, store: Store, executor: Executor, progress: Progress, summary: Summary, run: int
    ) -> None:
        self.plan, self.store, self.executor = plan, store, executor
        self.progress, self.summary, self.run = progress, summary, run
        self.workers: int = getattr(executor, "workers", 1)
        self.waiting = deque(Task(group) for group in plan.groups(self.workers))
        self.running: dict[Future[GroupResult], Task] = {}

    def work(self) -> None:
        while self.waiting or self.running:
            while self.waiting and len(self.running) < AHEAD * self.workers:
                task = self.waiting.popleft()
                self.progress.scene(task.group.scene.id)
                self.running[self.executor.submit(evaluate_group, task.group)] = task
            for future in wait_for_some(self.running):
                self.take(future)

    def keep_finished(self) -> None:
        """Store what was finished when the interruption came."""
        for future in [future for future in self.running if future.done() and not future.cancelled()]:
            if future.exception() is None:
                self.take(future)

    def take(self, future: Future[GroupResult]) -> None:
        task = self.running.pop(future)
        try:
            result = future.result()
        except (Exception, CancelledError) as problem:
            self.lost(task, problem)
            return
        self.summary.seconds += result.seconds
        cells = [cell for _, cell in result.cells]
        maps = [_map_record(task.group, place) for place, _ in result.cells]
        self.record(cells, maps, [_failure(task.group, trouble) for trouble in result.troubles])

    def lost(self, task: Task, problem: BaseException) -> None:
        """Try the cells of a lost worker once more, each alone; a cell that loses another one has failed."""
        gone = is_lost_worker(problem) or isinstance(problem, CancelledError)
        if gone and not task.alone:
            self.summary.retried += len(task.group.cells)
            self.waiting.extendleft(Task(group, alone=True) for group in reversed(task.group.split()))
            return
        reason = str(problem) or type(problem).__name__
        reason = f"{reason}, twice" if gone else f"{type(problem).__name__}: {reason}"
        troubles = [Trouble(place, reason) for place in range(len(task.group.cells))]
        self.record((), (), [_failure(task.group, trouble) for trouble in troubles])

    def _count_gaps(self, cell: CellScores) -> None:
        for place, note in cell.notes.items():
            if math.isnan(cell.values[place]):
                metric = cell.columns[place].metric
                count, first = self.summary.gaps.get(metric, (0, note))
                self.summary.gaps[metric] = (count + 1, first)

    def record(self, cells: Iterable[CellScores], maps: Iterable[MapRecord], failures: Iterable[Failure]) -> None:
        """One transaction: these cells are there, or none of them."""
        done, failed = list(cells), list(failures)
        if not done and not failed:
            return
        self.store.write(done, maps=list(maps), failures=failed, run=self.run)
        self.summary.done += len(done)
        for cell in done:
            self._count_gaps(cell)
        self.summary.failures += failed
        self.progress.advance(len(done), len(failed))


def wait_for_some(running: Iterable[Future[Any]]) -> list[Future[Any]]:
    """The futures that are done, once at least one is; works for the futures of a cluster too."""
    futures = list(running)
    finished = [future for future in futures if future.done()]
    if finished or not futures:
        return finished
    return list(wait(futures, return_when=FIRST_COMPLETED).done)


def _map_record(group: Group, place: int) -> MapRecord:
    from stereogauge.store.sources import source_text
    from stereogauge.store.write import MapRecord

    cell = group.cells[place]
    return MapRecord(
        dataset=group.scene.dataset,
        scene=group.scene.id,
        algorithm=cell.algorithm,
        content=cell.content,
        source=source_text(cell.estimate),
        right_source=source_text(cell.right_estimate),
        extras=dict(cell.extras),
    )


def _failure(group: Group, trouble: Trouble) -> Failure:
    from stereogauge.store.write import Failure

    return Failure(
        dataset=group.scene.dataset,
        scene=group.scene.id,
        algorithm=group.cells[trouble.place].algorithm,
        protocol=group.protocol.scoring_hash,
        reason=trouble.reason,
        detail=trouble.detail,
    )
