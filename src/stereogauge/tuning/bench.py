"""Where trials run: an executor, the scenes, and every score that is known already."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stereogauge.errors import MatcherError, StereogaugeError
from stereogauge.evaluation.evaluate import evaluate_cell
from stereogauge.evaluation.executors import TaskOutcome, Tasks, worker_count
from stereogauge.evaluation.processes import LocalProcesses, TimeLimitExceeded
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.matching.declaration import Matcher, Value
from stereogauge.matching.run import as_matcher, match
from stereogauge.model import Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.charges import charged
from stereogauge.scores.column import Column
from stereogauge.scores.cube import Values
from stereogauge.scores.facts import SceneFacts
from stereogauge.scores.table import ScoreTable
from stereogauge.tuning.objectives import Scores, score_matrix
from stereogauge.tuning.space import Parameters, SearchSpace

KEPT_SCENES = 64
"""Scenes whose images, regions and geometry sets a process keeps for the next trials."""


@dataclass(frozen=True)
class PreparedScene:
    """A scene under a protocol, as all trials use it. `token` identifies its content."""

    token: str
    scene: Scene = field(compare=False, repr=False)
    protocol: Protocol = field(compare=False, repr=False)
    columns: tuple[Column, ...]
    ndisp: int


@dataclass(frozen=True)
class SceneTask:
    """Parameters to try on a scene."""

    scene: PreparedScene
    matcher: Any
    parameters: dict[str, Value]


@dataclass(frozen=True)
class SceneOutcome:
    """Scores in the order of the scene's columns, or the reason why there are none."""

    values: tuple[float, ...] = ()
    seconds: float = 0.0
    failure: str = ""


@functools.lru_cache(maxsize=KEPT_SCENES)
def _regions(prepared: PreparedScene) -> SceneRegions:
    return SceneRegions(prepared.scene, prepared.protocol)


def forget_scenes() -> None:
    """Free the scenes that this process kept."""
    _regions.cache_clear()


def score_scene(task: SceneTask) -> SceneOutcome:
    """Match and measure; a failure of the matcher is an outcome, not an exception."""
    started, failure = time.perf_counter(), ""
    values: tuple[float, ...] = ()
    try:
        values = _scores(task)
    except StereogaugeError as problem:
        failure = str(problem)
    except MemoryError:
        failure = "there was not enough memory"
    except Exception as problem:  # a matcher of the user's may raise anything
        failure = f"{type(problem).__name__}: {problem}"
    return SceneOutcome(values, time.perf_counter() - started, failure)


def _scores(task: SceneTask) -> tuple[float, ...]:
    prepared = task.scene
    scene_regions = _regions(prepared)
    scene = scene_regions.scene
    result = match(scene.left, scene.right, task.matcher, ndisp=prepared.ndisp, **task.parameters)
    scores = evaluate_cell(
        result.disparity,
        scene_regions,
        prepared.columns,
        algorithm="",
        right_estimate=result.right_disparity,
        extras={"seconds": result.seconds, "cpu_seconds": result.cpu_seconds},
    )
    facts = {(scene.dataset, scene.id): SceneFacts.of_scene(scene)}
    return tuple(charged(ScoreTable(scores, prepared.protocol, facts).cube).values.ravel().tolist())


MARGIN = 5.0
"""Seconds beyond the limit after which a worker is ended although its matcher has a time limit of its own."""
DIGITS = 6


class Bench:
    """Runs points of a space on scenes; a point that was run on a scene before, in whatever search, is looked up."""

    def __init__(
        self,
        matcher: Any,
        space: SearchSpace,
        scenes: Sequence[PreparedScene],
        executor: Executor,
        time_limit: float | None,
    ) -> None:
        self.space = space
        self.scenes = tuple(scenes)
        self.time_limit = time_limit
        self.executor = executor
        self.workers = worker_count(executor)
        self._matcher = matcher
        declared: Matcher = as_matcher(matcher)[0]
        self._limits_itself = any(parameter.name == "time_limit" for parameter in declared.parameters)
        self._threads = {"threads": 1} if any(p.name == "threads" for p in declared.parameters) else {}
        self._known: dict[tuple[str, str], tuple[float, ...]] = {}

    @property
    def scene_ids(self) -> tuple[str, ...]:
        """Ids of all scenes."""
        return tuple(prepared.scene.id for prepared in self.scenes)

    @property
    def work(self) -> Values:
        """Pixels × disparities of each scene."""
        return np.array([math.prod(prepared.scene.shape) * prepared.ndisp for prepared in self.scenes], np.float64)

    def remember(self, point: Parameters, scores: Scores) -> None:
        """Keep scores that were computed before."""
        for scene, values in scores.items():
            self._known[self.space.key(point), scene] = tuple(math.nan if v is None else v for v in values)

    def submit(self, point: Parameters, scene: int, seconds_left: float | None) -> Future[SceneOutcome]:
        """Run a point on a scene, or look it up."""
        prepared = self.scenes[scene]
        known = self._known.get((self.space.key(point), prepared.scene.id))
        if known is not None:
            found: Future[SceneOutcome] = Future()
            found.set_result(SceneOutcome(known))
            return found
        parameters = {**self._threads, **self.space.fixed, **point}
        limit = seconds_left
        if limit is not None and self._limits_itself:
            parameters["time_limit"] = max(0.01, min(limit, float(parameters.get("time_limit", limit))))
            limit += MARGIN
        task = SceneTask(prepared, self._matcher, parameters)
        if isinstance(self.executor, LocalProcesses):
            return self.executor.submit_limited(limit, score_scene, task)
        return self.executor.submit(score_scene, task)

    def scene_outcome(self, outcome: TaskOutcome[Any, SceneOutcome]) -> SceneOutcome:
        """What came of a run; a worker that was lost is a failure of the point that it worked on."""
        if outcome.answer is not None:
            return outcome.answer
        if isinstance(outcome.problem, TimeLimitExceeded):
            return SceneOutcome(failure=self.too_long)
        if outcome.lost or outcome.problem is None:
            return SceneOutcome(failure=outcome.reason)
        raise outcome.problem

    @property
    def too_long(self) -> str:
        """The reason of a trial that exceeded its time."""
        return f"it took longer than the time limit of {self.time_limit:g} s"

    def scores(self, point: Parameters, scenes: Sequence[int]) -> dict[str, list[float | None]]:
        """Scores of a point on several scenes at once; a failure is an error here."""
        tasks = Tasks(lambda scene: self.submit(point, scene, self.time_limit), self.workers, scenes)
        values: dict[int, tuple[float, ...]] = {}
        for done in tasks.outcomes():
            outcome = self.scene_outcome(done)
            if outcome.failure:
                name = self.scenes[done.task].scene.id
                raise MatcherError(f"{name}: {outcome.failure.rstrip('.')} (with the parameters {point}).")
            values[done.task] = outcome.values
        found = {self.scenes[scene].scene.id: plain_scores(values[scene]) for scene in scenes}
        self.remember(point, found)
        return found

    def matrix(self, scores: Scores) -> Values:
        """Scores as (scenes, columns) over all scenes; NaN where a scene or column has none."""
        return score_matrix(scores, self.scene_ids, len(self.scenes[0].columns))


def plain_scores(values: Sequence[float]) -> list[float | None]:
    """Scores as JSON can hold them, to six digits.

    Porosity has been seen to differ by 1e-10 between processes for one and the same map; a search must not.
    """
    return [float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None for value in values]
