"""Evaluating into a store: what it lacks for exactly these inputs is planned, computed by an executor, and stored.

Groups of cells are stored as they come; a lost worker costs only its cells.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor, Future
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from stereogauge.confidence_measures.files import every_confidence
from stereogauge.datasets.plausibility import Finding
from stereogauge.errors import StereogaugeError, Unreachable
from stereogauge.evaluation.evaluate import SceneEstimate, check_names
from stereogauge.evaluation.executors import InProcess, TaskOutcome, Tasks, worker_count
from stereogauge.evaluation.fingerprints import ContentHashes, fingerprint, scene_contents
from stereogauge.evaluation.progress import Progress
from stereogauge.evaluation.worker import CellGroup, GroupResult, PlannedCell, evaluate_group
from stereogauge.io.files import content_hash
from stereogauge.io.remote import is_remote
from stereogauge.model import Dataset, ResultSet, Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.column import columns_of_scene, confidence_columns, declared_columns
from stereogauge.scores.score import Failure
from stereogauge.store import Store
from stereogauge.store.sources import confidence_text, paths_of, source_of_text, source_text
from stereogauge.store.write import MapRecord

LARGEST_GROUP = 32
"""The most cells of one task, so that an interruption costs little."""
TASKS_PER_WORKER = 4
"""The fewest tasks per worker where there are enough cells, so that all workers end at about the same time."""


class Plan(Struct, frozen=True):
    """What to compute, scene by scene.

    `stored` counts the cells that the store holds already; `gaps` are (algorithm, scene) without a map; `unreadable`
    are cells whose files cannot be read.
    """

    dataset: Dataset
    protocol: Protocol
    results: tuple[ResultSet, ...]
    contents: Mapping[str, str]
    scenes: tuple[CellGroup, ...]
    stored: int
    gaps: tuple[tuple[str, str], ...]
    unreadable: tuple[Failure, ...]

    @property
    def cells(self) -> int:
        """How many cells must be computed."""
        return sum(len(group.cells) for group in self.scenes)

    @property
    def scores(self) -> int:
        """How many scores that will give."""
        return sum(len(cell.columns) for group in self.scenes for cell in group.cells)

    def groups(self, workers: int) -> list[CellGroup]:
        """The work in tasks of one scene each, small enough that `workers` end together."""
        size = (
            max(1, min(LARGEST_GROUP, math.ceil(self.cells / (workers * TASKS_PER_WORKER))))
            if workers > 1
            else LARGEST_GROUP
        )
        return [
            replace(group, cells=group.cells[start : start + size])
            for group in self.scenes
            for start in range(0, len(group.cells), size)
        ]


def make_plan(
    store: Store,
    dataset: Dataset,
    results: Iterable[ResultSet],
    protocol: Protocol,
    *,
    resize: bool = False,
    hashes: ContentHashes | None = None,
) -> Plan:
    """Compare what is wanted with what `store` holds; a file that cannot be read does not stop the others."""
    sets = tuple(results)
    further = every_confidence(sets)
    check_names([*sets, *further], dataset.ids)
    declared = declared_columns(protocol)
    wanted = {scene.id: columns_of_scene(declared, scene, dataset) for scene in dataset}
    of_confidence = set(confidence_columns(declared)) if further else set()
    further = further if of_confidence else []
    names = {result.name for result in further}
    hashes = hashes or ContentHashes(store)
    contents = scene_contents([scene for scene in dataset if any(scene.id in r.maps for r in sets)], hashes)
    own = [column.column for column in declared]
    cells = [
        (scene, SceneEstimate.of(result, scene, own))
        for scene in dataset
        for result in (*sets, *further)
        if scene.id in result.maps
    ]
    sources = [_sources(scene, cell) for scene, cell in cells]
    hashed = iter(hashes.of([source for parts in sources for source in parts.values()]))
    stored = store.stored(dataset.name, protocol.scoring_hash)
    work: dict[str, list[PlannedCell]] = {}
    unreadable: list[Failure] = []
    done = 0
    for (scene, cell), parts in zip(cells, sources, strict=True):
        whole, content = contents[scene.id], {part: next(hashed) for part in parts}
        problems = [answer for answer in (whole, *content.values()) if not isinstance(answer, str)]
        if problems:
            unreadable.append(Failure(dataset.name, scene.id, cell.algorithm, protocol.scoring_hash, str(problems[0])))
            continue
        confidence = cell.confidence
        further_inputs = [] if confidence is None else [content["confidence"], confidence.better, confidence.kind]
        further_inputs += [content[part] for part in ("next", "next truth") if part in content]
        inputs = fingerprint([whole, content["map"], content.get("right", ""), cell.extras, resize, *further_inputs])
        columns = wanted[scene.id]
        if cell.algorithm in names:
            columns = tuple(column for column in columns if column in of_confidence)
        missing = stored.missing(scene.id, cell.algorithm, inputs, columns)
        if not missing:
            done += 1
            continue
        planned = PlannedCell(**asdict(cell), columns=missing, inputs=inputs, content=str(content["map"]))
        work.setdefault(scene.id, []).append(planned)
    return Plan(
        dataset=dataset,
        protocol=protocol,
        results=sets,
        contents={name: answer for name, answer in contents.items() if isinstance(answer, str)},
        scenes=tuple(CellGroup(dataset[name], protocol, tuple(cells), resize) for name, cells in work.items()),
        stored=done,
        gaps=tuple((result.name, scene.id) for result in sets for scene in dataset if scene.id not in result.maps),
        unreadable=tuple(unreadable),
    )


def _sources(scene: Scene, cell: SceneEstimate) -> dict[str, Any]:
    """What a cell reads beside its scene."""
    found = {
        "map": cell.estimate,
        "right": cell.right_estimate,
        "confidence": None if cell.confidence is None else cell.confidence.source,
        "next": cell.next_estimate,
        "next truth": None if cell.next_estimate is None else scene.source("gt_next"),
    }
    return {part: source for part, source in found.items() if source is not None}


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


class Summary(Struct):
    """The outcome of a run.

    `seconds` is computing time summed over workers; `interrupted` means that cells remain to be done. `gaps` holds,
    per metric, how many scores have no value and the reason of the first. `doubts` are inputs that look misread.
    """

    done: int = 0
    stored: int = 0
    failures: list[Failure] = field(default_factory=list)
    retried: int = 0
    seconds: float = 0.0
    interrupted: bool = False
    gaps: dict[str, tuple[int, str]] = field(default_factory=dict)
    doubts: list[Finding] = field(default_factory=list)

    def add(self, result: GroupResult) -> None:
        """Count what came of a group."""
        self.done += len(result.cells)
        self.failures += result.failures
        self.seconds += result.seconds
        self.doubts += [doubt for doubt in result.doubts if doubt not in self.doubts]
        for cell in result.cells:
            for place, note in cell.notes.items():
                if math.isnan(cell.values[place]):
                    metric = cell.columns[place].metric
                    count, first = self.gaps.get(metric, (0, note))
                    self.gaps[metric] = (count + 1, first)


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

    def submit(group: CellGroup) -> Future[GroupResult]:
        progress.scene(group.scene.id)
        return executor.submit(evaluate_group, group)

    def keep(outcomes: Iterable[TaskOutcome[CellGroup, GroupResult]]) -> None:
        for outcome in outcomes:
            if isinstance(outcome.problem, Unreachable):
                raise outcome.problem
            group, result = outcome.task, outcome.answer
            if result is None:
                result = GroupResult((), tuple(group.failure(cell, outcome.reason) for cell in group.cells), 0.0)
            # One transaction: all cells and failures of a group are stored, or none.
            store.write(result.cells, maps=_map_records(group, result), failures=result.failures, run=run)
            summary.add(result)
            progress.advance(len(result.cells), len(result.failures))
        summary.retried = tasks.retried

    tasks = Tasks(submit, executor, plan.groups(worker_count(executor)), again=CellGroup.split)
    progress.start(plan.cells, plan.stored)
    try:
        if plan.unreadable:
            store.write([], failures=plan.unreadable, run=run)
            summary.failures += plan.unreadable
            progress.advance(0, len(plan.unreadable))
        keep(tasks.outcomes())
        store.finish_run(run)
    except KeyboardInterrupt:
        summary.interrupted = True
        keep(tasks.finished_outcomes())
    except Unreachable:
        keep(tasks.finished_outcomes())
        raise
    finally:
        progress.finish()
    return summary


def _map_records(group: CellGroup, result: GroupResult) -> list[MapRecord]:
    """Where the maps of the computed cells came from."""
    planned = {cell.algorithm: cell for cell in group.cells}
    return [
        MapRecord(
            dataset=group.scene.dataset,
            scene=group.scene.id,
            algorithm=cell.algorithm,
            content=cell.content,
            source=source_text(cell.estimate),
            right_source=source_text(cell.right_estimate),
            extras=dict(cell.extras),
            confidence=confidence_text(cell.confidence),
        )
        for cell in (planned[done.algorithm] for done in result.cells)
    ]
