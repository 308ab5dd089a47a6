"""One search: trials run scene by scene, several at once, and are reported to Optuna in the order of their start.

A trial is reported once all earlier ones are, and a new one starts right after each report. So the drawn parameters do
not depend on which trial happens to end first: the same seed and number of workers give the same trials.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optuna
from optuna.trial import FrozenTrial, TrialState

from stereogauge.evaluation.executors import Tasks
from stereogauge.evaluation.progress import Progress
from stereogauge.scores.cube import Values
from stereogauge.tuning.bench import Bench, plain_scores
from stereogauge.tuning.claims import (
    FAILURE,
    INTERVAL,
    Heartbeat,
    claim_trial,
    counted_trials,
    is_drawing,
    recover_trials,
    release_trial,
)
from stereogauge.tuning.objectives import ObjectiveFunction
from stereogauge.tuning.racing import Race, scene_order
from stereogauge.tuning.scoring import SceneOutcome
from stereogauge.tuning.space import Parameters

SCORES, SECONDS = "scores", "seconds"
POLL = 0.2


@dataclass(eq=False)
class Running:
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


class Search:
    """The trials of one study on some of the bench's scenes."""

    def __init__(
        self,
        study: optuna.Study,
        bench: Bench,
        functions: Sequence[ObjectiveFunction],
        scenes: Sequence[int],
        *,
        trials: int,
        prune: bool,
        progress: Progress,
        heartbeat: Heartbeat,
    ) -> None:
        self._study, self._bench, self._functions, self._scenes = study, bench, tuple(functions), tuple(scenes)
        self._trials = trials
        self._prune = prune and len(self._functions) == 1
        self._progress, self._heartbeat = progress, heartbeat
        self._window = bench.workers + (bench.workers > 1)
        self._active: list[Running] = []
        self._tasks: Tasks[Running, SceneOutcome] = Tasks(self._submit, bench.workers)
        self._shares: dict[int, Values] = {}
        self._distributions = bench.space.distributions

    def run(self) -> None:
        """Run until no trial waits or runs, here or in another process; an interruption releases unfinished ones."""
        self._recover()
        try:
            while self._fill() or self._others():
                self._advance()
                self._settle()
        except BaseException:
            self._release()
            raise

    def _recover(self) -> None:
        """Queue trials of dead processes again, before any new one: later draws depend on them."""
        recover_trials(self._study)
        until = time.monotonic() + INTERVAL
        while is_drawing(self._study) and time.monotonic() < until:
            self._progress.scene("waiting for a trial that was about to start")
            time.sleep(POLL)
            recover_trials(self._study)

    def _fill(self) -> bool:
        while len(self._active) < self._window and self._start():
            pass
        return bool(self._active)

    def _start(self) -> bool:
        trial = claim_trial(self._study, self._distributions, self._trials)
        if trial is None:
            return False
        self._heartbeat.add(trial)
        history = self._history()
        work = self._bench.work[list(self._scenes)]
        matrix = np.stack(list(history.values())) if history else np.empty((0, len(self._scenes)))
        order = scene_order(work, matrix) if self._prune else range(len(self._scenes))
        running = Running(trial, dict(trial.params), [self._scenes[index] for index in order], self._race(matrix))
        self._active.append(running)
        self._next_scene(running)
        return True

    def _history(self) -> dict[int, Values]:
        """The share of every scene in the cost of every complete trial, by trial number."""
        if not self._prune:
            return {}
        complete = [t for t in counted_trials(self._study.get_trials(deepcopy=False)) if t.state == TrialState.COMPLETE]
        for trial in complete:
            if trial.number not in self._shares:
                self._shares[trial.number] = self._trial_shares(trial.user_attrs[SCORES])
        return {trial.number: self._shares[trial.number] for trial in complete}

    def _trial_shares(self, scores: dict[str, Any]) -> Values:
        shares = self._functions[0].shares(self._bench.matrix(scores), self._scenes)
        return shares[list(self._scenes)]

    def _race(self, history: Values) -> Race | None:
        if not len(history):
            return None
        return Race(history[int(np.argmin(history.sum(axis=1)))], self._functions[0].bounded)

    def _others(self) -> bool:
        """Whether another process still runs trials of this study; those of dead processes are queued again."""
        recover_trials(self._study)
        states = (TrialState.RUNNING, TrialState.WAITING)
        found = bool(self._study.get_trials(deepcopy=False, states=states))
        if found:
            time.sleep(POLL)
        return found

    def _submit(self, running: Running) -> Future[SceneOutcome]:
        self._progress.scene(f"trial {running.trial.number} on {self._bench.scene_ids[running.scene]}")
        return self._bench.submit(running.point, running.scene, running.seconds_left)

    def _next_scene(self, running: Running) -> None:
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

    def _record(self, running: Running, outcome: SceneOutcome) -> None:
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
            self._heartbeat.remove(running.trial)
            failed = self._report(running)
            self._progress.advance(int(not failed), int(failed))
            self._start()

    def _report(self, running: Running) -> bool:
        running.trial.set_user_attr(SCORES, running.scores)
        running.trial.set_user_attr(SECONDS, running.seconds)
        if not running.failure and not running.pruned:
            values = [function.value(self._bench.matrix(running.scores), self._scenes) for function in self._functions]
            if np.isfinite(values).all():
                self._study.tell(running.trial, values)
                return False
            running.failure = "its score is not a number"
        if running.failure:
            running.trial.set_user_attr(FAILURE, running.failure)
            self._study.tell(running.trial, state=TrialState.FAIL)
            return True
        self._study.tell(running.trial, state=TrialState.PRUNED)
        return False

    def _release(self) -> None:
        frozen: dict[int, FrozenTrial] = {t.number: t for t in self._study.get_trials(deepcopy=False)}
        for running in self._active:
            self._heartbeat.remove(running.trial)
            release_trial(self._study, frozen[running.trial.number])
