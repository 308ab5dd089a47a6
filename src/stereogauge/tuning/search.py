"""One search: trials are run scene by scene, several at once, and told in the order in which they were asked for.

The draw of each depends only on those whose results had to be there: a trial is told when all before it are, and a new
one starts right after. The same seed and number of workers give the same trials.
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

from stereogauge.evaluation.progress import Progress
from stereogauge.evaluation.tasks import Tasks
from stereogauge.scores.cube import Values
from stereogauge.tuning.bench import Bench, plain_scores
from stereogauge.tuning.goals import Goal
from stereogauge.tuning.racing import Race, scene_order
from stereogauge.tuning.scoring import SceneOutcome
from stereogauge.tuning.space import Parameters
from stereogauge.tuning.tickets import FAILURE, Pulse, counted, give_back, recover, take_ticket

SCORES, SECONDS = "scores", "seconds"
POLL = 0.2


@dataclass(eq=False)
class Running:
    """A trial on its way through the scenes."""

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
        goals: Sequence[Goal],
        scenes: Sequence[int],
        *,
        trials: int,
        prune: bool,
        progress: Progress,
        pulse: Pulse,
    ) -> None:
        self._study, self._bench, self._goals, self._scenes = study, bench, tuple(goals), tuple(scenes)
        self._trials = trials
        self._prune = prune and len(self._goals) == 1
        self._progress, self._pulse = progress, pulse
        self._window = bench.workers + (bench.workers > 1)
        self._active: list[Running] = []
        self._tasks: Tasks[Running, SceneOutcome] = Tasks(self._submit, bench.workers)
        self._shares: dict[int, Values] = {}
        self._distributions = bench.space.distributions

    def run(self) -> None:
        """Run until no trial waits or runs, here or in another process; after an interruption, give back the rest."""
        recover(self._study)
        try:
            while self._fill() or self._others():
                self._advance()
                self._settle()
        except BaseException:
            self._give_back()
            raise

    def _fill(self) -> bool:
        while len(self._active) < self._window and self._start():
            pass
        return bool(self._active)

    def _start(self) -> bool:
        trial = take_ticket(self._study, self._distributions, self._trials)
        if trial is None:
            return False
        self._pulse.add(trial)
        history = self._history()
        work = self._bench.work[list(self._scenes)]
        matrix = np.stack(list(history.values())) if history else np.empty((0, len(self._scenes)))
        order = scene_order(work, matrix) if self._prune else range(len(self._scenes))
        running = Running(trial, dict(trial.params), [self._scenes[place] for place in order], self._race(matrix))
        self._active.append(running)
        self._next_scene(running)
        return True

    def _history(self) -> dict[int, Values]:
        """What the scenes added to the cost of every complete trial, by trial number."""
        if not self._prune:
            return {}
        complete = [t for t in counted(self._study.get_trials(deepcopy=False)) if t.state == TrialState.COMPLETE]
        for trial in complete:
            if trial.number not in self._shares:
                self._shares[trial.number] = self._trial_shares(trial.user_attrs[SCORES])
        return {trial.number: self._shares[trial.number] for trial in complete}

    def _trial_shares(self, scores: dict[str, Any]) -> Values:
        shares = self._goals[0].shares(self._bench.matrix(scores), self._scenes)
        return shares[list(self._scenes)]

    def _race(self, history: Values) -> Race | None:
        if not len(history):
            return None
        return Race(history[int(np.argmin(history.sum(axis=1)))], self._goals[0].bounded)

    def _others(self) -> bool:
        """Whether another process still runs trials of this study; those of dead processes are taken over."""
        recover(self._study)
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
            running.failure = _located(outcome.failure, self._bench.scene_ids[running.scene])
            if not running.failure:
                self._take(running, outcome)
            self._next_scene(running)

    def _take(self, running: Running, outcome: SceneOutcome) -> None:
        name = self._bench.scene_ids[running.scene]
        running.scores[name] = plain_scores(outcome.values)
        self._bench.remember(running.point, {name: running.scores[name]})
        if not self._prune:
            return
        shares = self._trial_shares(running.scores)
        place = self._scenes.index(running.scene)
        running.trial.report(float(shares[place]) * len(self._scenes), place)
        running.pruned = running.race is not None and running.race.is_lost(shares)

    def _settle(self) -> None:
        """Tell finished trials, oldest first; each makes room for a new one before the next is told."""
        while self._active and self._active[0].ended:
            running = self._active.pop(0)
            self._pulse.remove(running.trial)
            failed = self._tell(running)
            self._progress.advance(int(not failed), int(failed))
            self._start()

    def _tell(self, running: Running) -> bool:
        running.trial.set_user_attr(SCORES, running.scores)
        running.trial.set_user_attr(SECONDS, running.seconds)
        if not running.failure and not running.pruned:
            values = [goal.value(self._bench.matrix(running.scores), self._scenes) for goal in self._goals]
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

    def _give_back(self) -> None:
        frozen: dict[int, FrozenTrial] = {t.number: t for t in self._study.get_trials(deepcopy=False)}
        for running in self._active:
            self._pulse.remove(running.trial)
            give_back(self._study, frozen[running.trial.number])


def _located(failure: str, scene: str) -> str:
    return f"{scene}: {failure}" if failure else ""
