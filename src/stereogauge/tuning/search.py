"""One search: trials run scene by scene, several at once, and are reported to Optuna in the order of their start.

A trial is reported once all earlier ones are, and a new one starts right after each report. So the drawn parameters do
not depend on which trial happens to end first: the same seed and number of workers give the same trials. The parameters
of a trial are drawn by Optuna's samplers, restricted to admissible points not tried before; a draw depends on the seed,
the trial's position and the trials reported before it only, so a study that was stopped continues as it would have.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
import optuna
from msgspec import Struct, field
from optuna.pruners import WilcoxonPruner
from optuna.storages import BaseStorage
from optuna.trial import TrialState, create_trial

from stereogauge.errors import MatcherError, StereogaugeError
from stereogauge.evaluation.evaluate import SceneEstimate, evaluate_cell
from stereogauge.evaluation.executors import TaskOutcome, Tasks, worker_count
from stereogauge.evaluation.processes import LocalProcesses, TimeLimitExceeded, WorkerDied
from stereogauge.evaluation.progress import Progress
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.matching.declaration import Value
from stereogauge.matching.run import as_matcher, match
from stereogauge.scores.aggregation import charged
from stereogauge.scores.cube import Values
from stereogauge.scores.facts import SceneFacts
from stereogauge.scores.table import ScoreTable
from stereogauge.tuning.definition import Prepared, PreparedScene
from stereogauge.tuning.objectives import ObjectiveFunction, Scores, score_matrix
from stereogauge.tuning.space import Parameters
from stereogauge.tuning.storage import (
    ENDED_BY_OTHERS,
    FAILURE,
    GRACE,
    HEARTBEAT,
    SCORES,
    SECONDS,
    Heartbeat,
    claim_trial,
    counted_trials,
    recover_trials,
    release_trial,
)

DIGITS = 6
KEPT_SCENES = 64
"""Scenes whose images, regions and geometry sets a process keeps for the next trials."""


class SceneOutcome(Struct, frozen=True):
    """Scores in the order of the scene's columns, None where there is none, or the reason why there are none at all."""

    values: tuple[float | None, ...] = ()
    seconds: float = 0.0
    failure: str = ""


@functools.lru_cache(maxsize=KEPT_SCENES)
def _regions(prepared: PreparedScene) -> SceneRegions:
    return SceneRegions(prepared.scene, prepared.protocol)


def forget_scenes() -> None:
    """Free the scenes that this process kept."""
    _regions.cache_clear()


def score_scene(prepared: PreparedScene, matcher: Any, parameters: dict[str, Value]) -> SceneOutcome:
    """Match a scene with these parameters and measure; a failure of the matcher is an outcome, not an exception."""
    started, failure = time.perf_counter(), ""
    values: tuple[float | None, ...] = ()
    try:
        values = _scores(prepared, matcher, parameters)
    except StereogaugeError as problem:
        failure = str(problem)
    except MemoryError:
        failure = "there was not enough memory"
    except Exception as problem:  # a matcher of the user's may raise anything
        failure = f"{type(problem).__name__}: {problem}"
    return SceneOutcome(values, time.perf_counter() - started, failure)


def _scores(prepared: PreparedScene, matcher: Any, parameters: dict[str, Value]) -> tuple[float | None, ...]:
    """The scores to six digits.

    Porosity has been seen to differ by 1e-10 between processes for one and the same map; a search must not.
    """
    scene_regions = _regions(prepared)
    scene = scene_regions.scene
    result = match(scene.left, scene.right, matcher, ndisp=prepared.ndisp, **parameters)
    seconds = {"seconds": result.seconds, "cpu_seconds": result.cpu_seconds}
    cell = SceneEstimate("", result.disparity, result.right_disparity, extras=seconds)
    scores = evaluate_cell(cell, scene_regions, prepared.columns)
    facts = {(scene.dataset, scene.id): SceneFacts.of_scene(scene)}
    values = charged(ScoreTable(scores, prepared.protocol, facts).cube).values.ravel().tolist()
    return tuple(float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None for value in values)


MARGIN = 5.0
"""Seconds beyond the limit after which a worker is ended although its matcher has a time limit of its own."""


class Bench:
    """Runs points of a space on scenes; a point that was run on a scene before, in whatever search, is looked up."""

    def __init__(self, prepared: Prepared, executor: Executor) -> None:
        self.prepared, self.executor = prepared, executor
        self.space, self.scenes = prepared.space, prepared.scenes
        self.time_limit = prepared.definition.time_limit
        self.workers = worker_count(executor)
        declared = {parameter.name for parameter in as_matcher(prepared.matcher)[0].parameters}
        self._limits_itself = "time_limit" in declared
        self._threads = {"threads": 1} if "threads" in declared else {}
        self._known: dict[tuple[str, str], tuple[float | None, ...]] = {}

    def remember(self, point: Parameters, scores: Scores) -> None:
        """Keep scores that were computed before."""
        for scene, values in scores.items():
            self._known[self.space.key(point), scene] = tuple(values)

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
        arguments = prepared, self.prepared.matcher, parameters
        if isinstance(self.executor, LocalProcesses):
            return self.executor.submit_limited(limit, score_scene, *arguments)
        return self.executor.submit(score_scene, *arguments)

    def scene_outcome(self, outcome: TaskOutcome[Any, SceneOutcome]) -> SceneOutcome:
        """What came of a run; a worker that was lost is a failure of the point that it worked on."""
        if outcome.answer is not None:
            return outcome.answer
        if isinstance(outcome.problem, TimeLimitExceeded):
            return SceneOutcome(failure=self.too_long)
        if isinstance(outcome.problem, WorkerDied) or outcome.problem is None:
            return SceneOutcome(failure=outcome.reason)
        raise outcome.problem

    @property
    def too_long(self) -> str:
        """The reason of a trial that exceeded its time."""
        return f"it took longer than the time limit of {self.time_limit:g} s"

    def scores(self, point: Parameters, scenes: Sequence[int]) -> dict[str, list[float | None]]:
        """Scores of a point on several scenes at once; a failure is an error here."""
        tasks = Tasks(lambda scene: self.submit(point, scene, self.time_limit), self.executor, scenes)
        found: dict[str, list[float | None]] = {self.scenes[scene].scene.id: [] for scene in scenes}
        for done in tasks.outcomes():
            outcome, name = self.scene_outcome(done), self.scenes[done.task].scene.id
            if outcome.failure:
                raise MatcherError(f"{name}: {outcome.failure.rstrip('.')} (with the parameters {point}).")
            found[name] = list(outcome.values)
        self.remember(point, found)
        return found

    def matrix(self, scores: Scores) -> Values:
        """Scores as (scenes, columns) over all scenes; NaN where a scene or column has none."""
        return score_matrix(scores, self.prepared.definition.scenes, len(self.scenes[0].columns))


POLL = 0.2
ENOUGH_TRIALS = 8
"""Complete trials that it takes to know which scenes are informative."""
SIGNIFICANT = 0.1


def scene_order(work: Values, history: Values) -> tuple[int, ...]:
    """Places of scenes in the order in which a trial visits them.

    `work` is pixels × disparities of each scene, `history` (trials, scenes) the share of each scene in the cost of the
    complete trials. At first the cheapest come first; later those whose share correlates best with the whole cost
    (Spearman's ρ), relative to their work.
    """
    from scipy.stats import rankdata

    if len(history) < ENOUGH_TRIALS:
        return tuple(int(index) for index in np.argsort(work, kind="stable"))
    ranks = rankdata(np.column_stack([history, history.sum(axis=1)]), axis=0)
    centred = ranks - ranks.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=0))
    agreement = (centred[:, :-1] * centred[:, -1:]).sum(axis=0) / np.maximum(spread[:-1] * spread[-1], 1e-12)
    informative = np.maximum(agreement, 0.0) / work
    return tuple(int(index) for index in np.argsort(-informative, kind="stable"))


def is_lost(shares: Values, best: Values, *, bounded: bool) -> bool:
    """Whether a trial with these shares of the cost (NaN = scene not visited) need not go on.

    `best` are the shares of the best complete trial when it started. Either its sum exceeds theirs already, where no
    scene lowers a cost (`bounded`), or it is worse by Optuna's `WilcoxonPruner` (signed-rank test on the visited
    scenes, one-sided, p < 0.1, which takes at least four).
    """
    done = np.isfinite(shares)
    if done.all() or not done.any():
        return False
    if bounded and shares[done].sum() > best.sum():
        return True

    def steps(values: Values) -> dict[int, float]:
        return {index: float(share) for index, share in enumerate(values) if np.isfinite(share)}

    # A study of its own: trials that end meanwhile must not change who is pruned.
    study = optuna.create_study()
    study.add_trial(create_trial(value=float(best.mean()), intermediate_values=steps(best)))
    trial = create_trial(state=TrialState.RUNNING, intermediate_values=steps(shares))
    return bool(WilcoxonPruner(p_threshold=SIGNIFICANT).prune(study, trial))


class RunningTrial(Struct, eq=False):
    """A trial that runs on one scene after the other."""

    trial: optuna.Trial
    point: Parameters
    waiting: list[int]
    best: Values | None
    scene: int = 0
    ended: bool = False
    scores: dict[str, list[float | None]] = field(default_factory=dict)
    seconds: float = 0.0
    failure: str = ""
    pruned: bool = False


class TrialSearch:
    """The trials of one study on some of the bench's scenes."""

    def __init__(
        self,
        study: optuna.Study,
        storage: BaseStorage,
        bench: Bench,
        functions: Sequence[ObjectiveFunction],
        scenes: Sequence[int],
        progress: Progress,
    ) -> None:
        self._study, self._bench, self._functions, self._scenes = study, bench, tuple(functions), tuple(scenes)
        self._prune = bench.prepared.definition.prune and len(self._functions) == 1
        self._progress, self._heartbeat = progress, Heartbeat(study, storage)
        self._window = bench.workers + (bench.workers > 1)
        self._active: list[RunningTrial] = []
        self._tasks: Tasks[RunningTrial, SceneOutcome] = Tasks(self._submit, bench.executor)
        self._shares: dict[int, Values] = {}
        self._distributions = bench.space.distributions

    def run(self) -> None:
        """Run until no trial waits or runs, here or in another process; an interruption releases unfinished ones."""
        self._recover()
        with self._heartbeat:
            try:
                while self._fill() or self._others():
                    self._advance()
                    self._settle()
            except BaseException:
                for running in self._active:
                    self._heartbeat.remove(running.trial.number)
                    release_trial(self._study, running.trial.number)
                raise

    def _unfinished(self, *states: TrialState) -> set[int]:
        return {trial.number for trial in self._study.get_trials(deepcopy=False, states=states)}

    def _recover(self) -> None:
        """Queue trials of dead processes again, before any new one: later draws depend on them."""
        found = self._unfinished(TrialState.RUNNING)
        until = time.monotonic() + GRACE + 2 * HEARTBEAT
        while found & self._unfinished(TrialState.RUNNING) and time.monotonic() < until:
            self._progress.scene("waiting for trials of other processes")
            time.sleep(POLL)
            recover_trials(self._study)

    def _fill(self) -> bool:
        while len(self._active) < self._window and self._start():
            pass
        return bool(self._active)

    def _start(self) -> bool:
        trial = claim_trial(self._study, self._heartbeat, self._distributions, self._bench.prepared.planned)
        if trial is None:
            return False
        history = self._history()
        scenes = [self._bench.scenes[index] for index in self._scenes]
        work = np.array([math.prod(one.scene.shape) * one.ndisp for one in scenes], np.float64)
        order = scene_order(work, history) if self._prune else range(len(scenes))
        best = history[int(np.argmin(history.sum(axis=1)))] if len(history) else None
        running = RunningTrial(trial, dict(trial.params), [self._scenes[index] for index in order], best)
        self._active.append(running)
        self._next_scene(running)
        return True

    def _history(self) -> Values:
        """The share of every scene in the cost of every complete trial; none where nothing is pruned."""
        complete = [t for t in counted_trials(self._study.get_trials(deepcopy=False)) if t.state == TrialState.COMPLETE]
        if not self._prune or not complete:
            return np.empty((0, len(self._scenes)))
        for trial in complete:
            if trial.number not in self._shares:
                self._shares[trial.number] = self._trial_shares(trial.user_attrs[SCORES])
        return np.stack([self._shares[trial.number] for trial in complete])

    def _trial_shares(self, scores: dict[str, Any]) -> Values:
        shares = self._functions[0].shares(self._bench.matrix(scores), self._scenes)
        return shares[list(self._scenes)]

    def _others(self) -> bool:
        """Whether another process still runs trials of this study; those of dead processes are queued again."""
        recover_trials(self._study)
        found = bool(self._unfinished(TrialState.RUNNING, TrialState.WAITING))
        if found:
            time.sleep(POLL)
        return found

    def _submit(self, running: RunningTrial) -> Future[SceneOutcome]:
        self._progress.scene(f"trial {running.trial.number} on {self._name(running)}")
        limit = self._bench.time_limit
        return self._bench.submit(running.point, running.scene, None if limit is None else limit - running.seconds)

    def _name(self, running: RunningTrial) -> str:
        """The scene on which a trial runs."""
        return self._bench.scenes[running.scene].scene.id

    def _next_scene(self, running: RunningTrial) -> None:
        limit = self._bench.time_limit
        if limit is not None and running.seconds >= limit:
            running.failure = self._bench.too_long
        running.ended = bool(running.failure) or running.pruned or not running.waiting
        if not running.ended:
            running.scene = running.waiting.pop(0)
            self._tasks.add(running)

    def _advance(self) -> None:
        for done in self._tasks.next_outcomes():
            running, outcome = done.task, self._bench.scene_outcome(done)
            running.seconds += outcome.seconds
            running.failure = f"{self._name(running)}: {outcome.failure}" if outcome.failure else ""
            if not running.failure:
                self._record(running, outcome)
            self._next_scene(running)

    def _record(self, running: RunningTrial, outcome: SceneOutcome) -> None:
        name = self._name(running)
        running.scores[name] = list(outcome.values)
        self._bench.remember(running.point, {name: running.scores[name]})
        if not self._prune:
            return
        shares = self._trial_shares(running.scores)
        index = self._scenes.index(running.scene)
        running.trial.report(float(shares[index]) * len(self._scenes), index)
        bounded = self._functions[0].bounded
        running.pruned = running.best is not None and is_lost(shares, running.best, bounded=bounded)

    def _settle(self) -> None:
        """Report finished trials to Optuna, oldest first; a new trial starts after each report."""
        while self._active and self._active[0].ended:
            running = self._active.pop(0)
            self._heartbeat.remove(running.trial.number)
            failed = self._report(running)
            self._progress.advance(int(not failed), int(failed))
            self._start()

    def _report(self, running: RunningTrial) -> bool:
        """Tell Optuna what came of a trial; whether it failed. A trial that was declared lost is another's."""
        values: list[float] | None = None
        state = TrialState.PRUNED if running.pruned else TrialState.FAIL
        if not running.failure and not running.pruned:
            values = [function.value(self._bench.matrix(running.scores), self._scenes) for function in self._functions]
            if np.isfinite(values).all():
                state = TrialState.COMPLETE
            else:
                values, running.failure = None, "its score is not a number"
        try:
            running.trial.set_user_attr(SCORES, running.scores)
            running.trial.set_user_attr(SECONDS, running.seconds)
            if running.failure:
                running.trial.set_user_attr(FAILURE, running.failure)
            self._study.tell(running.trial, values, TrialState.FAIL if running.failure else state)
        except ENDED_BY_OTHERS:
            return True
        return bool(running.failure)
