"""What a tuning came to, read back from the studies of a store: usable without the scenes and while it still runs."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import optuna
from optuna.trial import FrozenTrial, TrialState

from stereogauge.matching.declaration import Value
from stereogauge.scores.cube import Values
from stereogauge.tuning.definition import Definition
from stereogauge.tuning.folds import scene_groups
from stereogauge.tuning.goals import Goal
from stereogauge.tuning.improvement import Improvement, improvement
from stereogauge.tuning.search import SCORES, SECONDS
from stereogauge.tuning.tickets import FAILURE, PLACE, counted

if TYPE_CHECKING:
    import pandas as pd

State = Literal["complete", "pruned", "failed", "running", "waiting"]
STATES: Mapping[TrialState, State] = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "running",
    TrialState.WAITING: "waiting",
}
GONE = "the process that ran it ended, three times"


@dataclass(frozen=True)
class Trial:
    """One parameter set and what came of it; `values` are those of the objectives, None unless it is complete.

    `scores` holds, for each scene that was run, the value of every column; None where there was none.
    """

    number: int
    place: int
    state: State
    parameters: Mapping[str, Value]
    values: tuple[float, ...] | None
    seconds: float
    failure: str
    scores: Mapping[str, Sequence[float | None]]


@dataclass(frozen=True)
class Fold:
    """A search that did not see the scenes `held_out`: its best parameters, and their scores on those scenes."""

    held_out: tuple[str, ...]
    trials: tuple[Trial, ...]
    best: Trial | None
    scores: Mapping[str, Sequence[float | None]]


@dataclass(frozen=True, eq=False)
class TuningResult:
    """Trials of the search on all scenes, and the folds that say how well the search does on scenes it has not seen."""

    name: str
    definition: Definition
    trials: tuple[Trial, ...]
    folds: tuple[Fold, ...]
    baseline_scores: Mapping[str, Sequence[float | None]]
    front_numbers: frozenset[int]
    importance: Mapping[str, Mapping[str, float]]

    @property
    def complete(self) -> tuple[Trial, ...]:
        """The trials that ran on every scene."""
        return tuple(trial for trial in self.trials if trial.state == "complete")

    @property
    def baseline(self) -> Trial | None:
        """The default parameters."""
        return next((trial for trial in self.complete if trial.place == 0), None)

    @property
    def best(self) -> Trial | None:
        """The recommended parameters: best by the objective, or by the judge among those that none dominates."""
        return best_trial(self.complete, self.front_numbers, self)

    @property
    def front(self) -> tuple[Trial, ...]:
        """The complete trials that no other dominates, by the first objective."""
        found = [trial for trial in self.complete if trial.number in self.front_numbers]
        return tuple(sorted(found, key=lambda trial: trial.values or ()))

    @property
    def parameters(self) -> dict[str, Value]:
        """The recommended parameters with the fixed ones: what to give to the matcher."""
        best = self.best
        searched = {} if best is None else dict(best.parameters)
        return {**self.definition.space["fixed"], **searched}

    @property
    def matcher(self) -> str:
        """The matcher with the recommended parameters, as `--matcher` and `match` take it."""
        from stereogauge.tuning.export import matcher_text

        return matcher_text(self.definition.matcher, self.parameters)

    def matrix(self, scores: Mapping[str, Sequence[float | None]]) -> Values:
        """Scores as (scenes, columns); NaN where there is none."""
        result = np.full((len(self.definition.scenes), len(self.definition.columns)), np.nan)
        for place, scene in enumerate(self.definition.scenes):
            if scene in scores:
                result[place] = [math.nan if value is None else value for value in scores[scene]]
        return result

    @functools.cached_property
    def goals(self) -> tuple[Goal, ...]:
        """The objectives, then the judge where it is none of them."""
        wishes = list(self.definition.wishes)
        if self.definition.judge is not None and self.definition.judge not in wishes:
            wishes.append(self.definition.judge)
        return tuple(Goal(wish, self.definition.column_list, self.matrix(self.baseline_scores)) for wish in wishes)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Places of scenes that share a ground truth."""
        return scene_groups(self.definition.truths)

    @property
    def seen(self) -> tuple[Improvement, ...]:
        """Improvement on the scenes that the search saw, for each objective and the judge; an optimistic figure."""
        return () if self.best is None else self._improvements(self.best.scores)

    @property
    def held_out(self) -> tuple[Improvement, ...]:
        """Improvement on scenes that the search did not see: every scene with the parameters of its own fold.

        Empty without folds, or while one of them is unfinished.
        """
        scores = {scene: values for fold in self.folds for scene, values in fold.scores.items()}
        if not self.folds or set(scores) != set(self.definition.scenes):
            return ()
        return self._improvements(scores)

    def _improvements(self, scores: Mapping[str, Sequence[float | None]]) -> tuple[Improvement, ...]:
        before, after = self.matrix(self.baseline_scores), self.matrix(scores)
        seed = self.definition.seed
        return tuple(improvement(goal, before, after, self.definition.scenes, self.groups, seed) for goal in self.goals)

    def to_toml(self) -> str:
        """The recommended parameters as a file that `match` and `evaluate` take."""
        from stereogauge.tuning.export import parameters_toml

        return parameters_toml(self)

    def to_plain(self) -> dict[str, Any]:
        """Everything as plain values; see `stereogauge.tuning.study_summary`."""
        from stereogauge.tuning.export import plain_result

        return plain_result(self)

    def to_json(self) -> str:
        """`to_plain` as one document; NaN is null."""
        from stereogauge.tuning.export import json_text

        return json_text(self)

    def to_pandas(self) -> pd.DataFrame:
        """One row a trial: number, state, values, seconds, parameters, failure."""
        from stereogauge.tuning.export import trial_table

        return trial_table(self)


def trial_of(frozen: FrozenTrial) -> Trial:
    """A trial of Optuna as ours."""
    attributes = frozen.user_attrs
    complete = frozen.state == TrialState.COMPLETE
    failed = frozen.state == TrialState.FAIL
    return Trial(
        number=frozen.number,
        place=int(attributes[PLACE]),
        state=STATES[frozen.state],
        parameters=dict(frozen.params),
        values=tuple(float(value) for value in frozen.values) if complete else None,
        seconds=float(attributes.get(SECONDS, 0.0)),
        failure=str(attributes.get(FAILURE, GONE)) if failed else "",
        scores=attributes.get(SCORES, {}),
    )


def trials_of(study: optuna.Study) -> tuple[Trial, ...]:
    """The trials of a study by place, without those that lost their process."""
    return tuple(trial_of(trial) for trial in counted(study.get_trials(deepcopy=False)))


def front_of(trials: Sequence[Trial], directions: Sequence[str]) -> frozenset[int]:
    """Numbers of the complete trials that no other dominates: at least as good everywhere and better somewhere."""
    complete = [trial for trial in trials if trial.values is not None]
    if not complete:
        return frozenset()
    signs = np.array([-1.0 if direction == "maximize" else 1.0 for direction in directions])
    costs = np.array([trial.values for trial in complete]) * signs
    no_worse = (costs[:, None] <= costs[None]).all(axis=2)
    better = (costs[:, None] < costs[None]).any(axis=2)
    dominated = (no_worse & better).any(axis=0)
    return frozenset(trial.number for trial, lost in zip(complete, dominated, strict=True) if not lost)


def best_trial(trials: Sequence[Trial], front: frozenset[int], result: TuningResult) -> Trial | None:
    """The trial of the front that the judge prefers; the first of equals.

    Without a judge, several objectives count alike, each relative to its value with the default parameters.
    """
    candidates = [trial for trial in trials if trial.number in front]
    if not candidates:
        return None
    scenes = [place for place, scene in enumerate(result.definition.scenes) if scene in candidates[0].scores]
    multiplicity = np.zeros((1, len(result.definition.scenes)))
    multiplicity[0, scenes] = 1.0
    judge = result.definition.judge
    goals = [goal for goal in result.goals if judge is None or goal.wish == judge]
    before = result.matrix(result.baseline_scores)

    def badness(trial: Trial) -> float:
        after = result.matrix(trial.scores)
        costs = [(goal.costs(after, multiplicity)[0], abs(goal.costs(before, multiplicity)[0])) for goal in goals]
        return math.fsum(cost / (reference or 1.0) for cost, reference in costs)

    return min(candidates, key=lambda trial: (badness(trial), trial.place))
