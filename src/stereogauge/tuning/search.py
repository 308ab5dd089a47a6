"""One search: trials run scene by scene, several at once, and are reported to Optuna in the order of their start.

A trial is reported once all earlier ones are, and a new one starts right after each report. So the drawn parameters do
not depend on which trial happens to end first: the same seed and number of workers give the same trials. The parameters
of a trial are drawn by Optuna's samplers, restricted to admissible points not tried before; a draw depends on the seed,
the trial's position and the trials reported before it only, so a study that was stopped continues as it would have.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.pruners import WilcoxonPruner
from optuna.samplers import BaseSampler, NSGAIISampler, RandomSampler, TPESampler
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState, create_trial

from stereogauge.errors import unknown_name
from stereogauge.evaluation.executors import Tasks
from stereogauge.evaluation.progress import Progress
from stereogauge.scores.cube import Values
from stereogauge.tuning.bench import Bench, SceneOutcome, plain_scores
from stereogauge.tuning.objectives import ObjectiveFunction
from stereogauge.tuning.space import Parameters, SearchSpace
from stereogauge.tuning.trials import (
    ENDED_BY_OTHERS,
    FAILURE,
    GRACE,
    HEARTBEAT,
    Heartbeat,
    claim_trial,
    counted_trials,
    position_of,
    recover_trials,
    release_trial,
)

SCORES, SECONDS = "scores", "seconds"
POLL = 0.2
ENOUGH_TRIALS = 8
"""Complete trials that it takes to know which scenes are informative."""
SIGNIFICANT = 0.1


def scene_order(work: Values, history: Values) -> tuple[int, ...]:
    """Scenes in the order in which a trial visits them.

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


class Race:
    """The best complete trial when a new one started, which the new one has to keep up with scene by scene.

    `best` is its cost on each scene. `bounded`: no scene lowers a cost, so that a trial whose sum exceeds the whole
    cost of the best has lost.
    """

    def __init__(self, best: Values, bounded: bool) -> None:
        self._best, self._bounded = best, bounded
        self._pruner = WilcoxonPruner(p_threshold=SIGNIFICANT)
        # A study of its own: trials that end meanwhile must not change who is pruned.
        self._study = optuna.create_study()
        self._study.add_trial(create_trial(value=float(best.mean()), intermediate_values=_steps(best)))

    def is_lost(self, shares: Values) -> bool:
        """Whether a trial with these shares (NaN = scene not visited) need not go on.

        Either its sum exceeds the best trial's already, or it is worse by Optuna's `WilcoxonPruner` (signed-rank test
        on the visited scenes, one-sided, p < 0.1, which takes at least four).
        """
        done = np.isfinite(shares)
        if done.all() or not done.any():
            return False
        if self._bounded and shares[done].sum() > self._best.sum():
            return True
        trial = create_trial(state=TrialState.RUNNING, intermediate_values=_steps(shares))
        return bool(self._pruner.prune(self._study, trial))


def _steps(shares: Values) -> dict[int, float]:
    return {index: float(share) for index, share in enumerate(shares) if np.isfinite(share)}


@dataclass(eq=False)
class RunningTrial:
    """A trial that runs on one scene after the other."""

    trial: optuna.Trial
    point: Parameters
    waiting: list[int]
    race: Race | None
    scene: int = 0
    seconds_left: float | None = None
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
        *,
        trials: int,
        prune: bool,
        progress: Progress,
    ) -> None:
        self._study, self._bench, self._functions, self._scenes = study, bench, tuple(functions), tuple(scenes)
        self._trials = trials
        self._prune = prune and len(self._functions) == 1
        self._progress, self._heartbeat = progress, Heartbeat(study, storage)
        self._window = bench.workers + (bench.workers > 1)
        self._active: list[RunningTrial] = []
        self._tasks: Tasks[RunningTrial, SceneOutcome] = Tasks(self._submit, bench.workers)
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
        trial = claim_trial(self._study, self._heartbeat, self._distributions, self._trials)
        if trial is None:
            return False
        history = self._history()
        order = scene_order(self._bench.work[list(self._scenes)], history) if self._prune else range(len(self._scenes))
        best = history[int(np.argmin(history.sum(axis=1)))] if len(history) else None
        race = None if best is None else Race(best, self._functions[0].bounded)
        running = RunningTrial(trial, dict(trial.params), [self._scenes[index] for index in order], race)
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
        self._progress.scene(f"trial {running.trial.number} on {self._bench.scene_ids[running.scene]}")
        return self._bench.submit(running.point, running.scene, running.seconds_left)

    def _next_scene(self, running: RunningTrial) -> None:
        limit = self._bench.time_limit
        left = None if limit is None else limit - running.seconds
        if left is not None and left <= 0:
            running.failure = self._bench.too_long
        if running.failure or running.pruned or not running.waiting:
            running.ended = True
            return
        running.scene = running.waiting.pop(0)
        running.seconds_left = left
        self._tasks.add(running)

    def _advance(self) -> None:
        for done in self._tasks.next_outcomes():
            running, outcome = done.task, self._bench.scene_outcome(done)
            running.seconds += outcome.seconds
            scene = self._bench.scene_ids[running.scene]
            running.failure = f"{scene}: {outcome.failure}" if outcome.failure else ""
            if not running.failure:
                self._record(running, outcome)
            self._next_scene(running)

    def _record(self, running: RunningTrial, outcome: SceneOutcome) -> None:
        name = self._bench.scene_ids[running.scene]
        running.scores[name] = plain_scores(outcome.values)
        self._bench.remember(running.point, {name: running.scores[name]})
        if not self._prune:
            return
        shares = self._trial_shares(running.scores)
        index = self._scenes.index(running.scene)
        running.trial.report(float(shares[index]) * len(self._scenes), index)
        running.pruned = running.race is not None and running.race.is_lost(shares)

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


Sampler = Literal["tpe", "nsga2", "random", "grid", "sweep"]
ATTEMPTS = 20
POPULATION = (4, 50)


def sampler_name(text: str | None, objectives: int) -> Sampler:
    """The sampler that `text` names; by default TPE for one objective and NSGA-II for several."""
    if text is None:
        return "tpe" if objectives == 1 else "nsga2"
    if text not in get_args(Sampler):
        raise unknown_name("sampler", text, get_args(Sampler))
    return cast("Sampler", text)


def search_sampler(
    name: Sampler, space: SearchSpace, points: Sequence[Parameters], seed: int, trials: int
) -> BaseSampler:
    """The sampler of a study: first `points` (the defaults; all of a grid or sweep), then what it draws."""
    population = int(np.clip(trials // 5, *POPULATION))
    makers: dict[Sampler, Callable[[int], BaseSampler]] = {
        "tpe": lambda seed: TPESampler(seed=seed, multivariate=True),
        "nsga2": lambda seed: NSGAIISampler(seed=seed, population_size=population),
    }
    return DistinctSampler(space, points, seed, makers.get(name, lambda seed: RandomSampler(seed=seed)))


class DistinctSampler(BaseSampler):
    """Given points first, then those of another sampler, made admissible; a point that was tried is drawn again."""

    def __init__(
        self, space: SearchSpace, points: Sequence[Parameters], seed: int, make: Callable[[int], BaseSampler]
    ) -> None:
        self._space = space
        self._points = tuple(points)
        self._seed = seed
        self._make = make
        self._listener = make(seed)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The whole space: it is the same for every trial."""
        return self._space.distributions

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """A point that is new to the study, if one is found within some attempts."""
        trials = study.get_trials(deepcopy=False)
        position = position_of(trials, trial)
        if position < len(self._points):
            return self._points[position]
        seed = int(np.random.SeedSequence([self._seed, position]).generate_state(1)[0])
        tried = {
            self._space.key(other.params)
            for other in trials
            if other.number != trial.number and len(other.params) == len(search_space)
        }
        point: Parameters = {}
        for drawing in (self._make(seed), RandomSampler(seed=seed)):
            for _ in range(ATTEMPTS):
                point = self._space.admissible(_drawn(drawing, study, trial, search_space))
                if self._space.key(point) not in tried:
                    return point
        return point

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Never needed: every parameter is part of the whole space."""
        return self._listener.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Notify the other sampler."""
        self._listener.before_trial(study, trial)

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Notify the other sampler."""
        self._listener.after_trial(study, trial, state, values)


def _drawn(
    drawing: BaseSampler, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
) -> dict[str, Any]:
    several = {name: allowed for name, allowed in search_space.items() if not allowed.single()}
    values = drawing.sample_relative(study, trial, several)
    for name, allowed in search_space.items():
        if name not in values:
            values[name] = drawing.sample_independent(study, trial, name, allowed)
    return values
