"""Running a plan: groups go to an executor, results are stored group by group, a lost worker costs only its cells."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

from stereogauge.datasets.plausibility import Doubt
from stereogauge.errors import StereogaugeError, Unreachable
from stereogauge.evaluation.executors import InProcess, TaskOutcome, Tasks, alive_check, worker_count
from stereogauge.evaluation.plan import Plan
from stereogauge.evaluation.progress import Progress
from stereogauge.evaluation.worker import CellGroup, GroupResult, Trouble, evaluate_group
from stereogauge.io.files import content_hash
from stereogauge.io.remote import is_remote
from stereogauge.model import Dataset, ResultSet
from stereogauge.scores.score import CellScores
from stereogauge.store import Store
from stereogauge.store.sources import confidence_text, paths_of, source_of_text, source_text
from stereogauge.store.write import Failure, MapRecord


def check_origins(store: Store, dataset: Dataset, results: Iterable[ResultSet]) -> None:
    """Refuse results of another folder under the name of a stored algorithm, unless their content is the same."""
    known = store.map_origins(dataset.name)
    for result in results:
        for scene, source in result.maps.items():
            text, content = known.get((result.name, scene), ("", ""))
            if not text or text == source_text(source):
                continue
            before, now = _folder(source_of_text(text)), _folder(source)
            if before is None or now is None or before == now:
                continue
            if content_hash(source) != content:
                raise StereogaugeError(
                    f"The store holds an algorithm called {result.name!r} from {before}, and these results of the same "
                    f"name lie in {now}; name them otherwise, or replace the others with --replace."
                )


def _folder(source: Any) -> str | None:
    """The folder of a map; None where it came from no file."""
    paths = paths_of(source) if source is not None else ()
    if not paths:
        return None
    path = os.fspath(paths[0]) if is_remote(paths[0]) else os.path.abspath(paths[0])
    return os.path.dirname(path)


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
            again=CellGroup.split,
            check_alive=alive,
        )

    def submit(self, group: CellGroup) -> Future[GroupResult]:
        self.progress.scene(group.scene.id)
        return self.executor.submit(evaluate_group, group)

    def store_all(self, outcomes: Iterable[TaskOutcome[CellGroup, GroupResult]]) -> None:
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

    def record(self, cells: Iterable[CellScores], maps: Iterable[MapRecord], failures: Iterable[Failure]) -> None:
        """Store cells and failures in one transaction: all of them are there, or none."""
        done, failed = list(cells), list(failures)
        if not done and not failed:
            return
        self.store.write(done, maps=list(maps), failures=failed, run=self.run)
        self.summary.done += len(done)
        gaps = [
            (cell.columns[k].metric, note)
            for cell in done
            for k, note in cell.notes.items()
            if math.isnan(cell.values[k])
        ]
        for metric, note in gaps:
            count, first = self.summary.gaps.get(metric, (0, note))
            self.summary.gaps[metric] = (count + 1, first)
        self.summary.failures += failed
        self.progress.advance(len(done), len(failed))


def _map_record(group: CellGroup, index: int) -> MapRecord:
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


def _failure(group: CellGroup, trouble: Trouble) -> Failure:
    return Failure(
        dataset=group.scene.dataset,
        scene=group.scene.id,
        algorithm=group.cells[trouble.index].algorithm,
        protocol=group.protocol.scoring_hash,
        reason=trouble.reason,
        detail=trouble.detail,
    )
