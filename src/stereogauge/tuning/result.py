"""The result of a tuning: one object, its one form as plain values (`to_dict`), and its tables. Studies of a store."""

from __future__ import annotations

import functools
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast, get_args

import numpy as np
import optuna
import pandas as pd
import tomli_w
from msgspec import Struct
from msgspec.structs import replace
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from stereogauge.errors import unknown_name
from stereogauge.matching.declaration import Value
from stereogauge.matching.run import matcher_text, value_text
from stereogauge.ranking.models.pareto import dominance
from stereogauge.scores.cube import Values
from stereogauge.tables.table import Cell, Table, number, share, table
from stereogauge.text import WrittenAsCsv, WrittenAsJson, json_value
from stereogauge.tuning.definition import BASELINE, HELD_OUT, Definition, definition_of, fold_name, scene_groups
from stereogauge.tuning.objectives import Improvement, ObjectiveFunction, Scores, improvement, score_matrix
from stereogauge.tuning.storage import FAILURE, POSITION, SCORES, SECONDS, counted_trials, read_studies

State = Literal["complete", "pruned", "failed", "running", "waiting"]


class Trial(Struct, frozen=True):
    """One parameter set and its outcome; `values` are those of the objectives, None unless it is complete.

    `position` counts trials in the order in which they were started, 0 being the default parameters. `scores` holds
    the scenes that were run.
    """

    number: int
    position: int
    state: State
    parameters: Mapping[str, Value]
    values: tuple[float, ...] | None
    seconds: float
    failure: str
    scores: Scores


class Fold(Struct, frozen=True):
    """A search that did not see the scenes `held_out`: its best parameters, and their scores on those scenes."""

    held_out: tuple[str, ...]
    trials: tuple[Trial, ...]
    best: Trial | None
    scores: Scores


class TuningResult(WrittenAsJson, WrittenAsCsv, Struct, frozen=True, eq=False, dict=True):
    """Trials of the search on all scenes, and the folds that say how well the search does on scenes it has not seen."""

    name: str
    definition: Definition
    trials: tuple[Trial, ...]
    folds: tuple[Fold, ...]
    baseline_scores: Scores
    importance: Mapping[str, Mapping[str, float]]

    @property
    def complete(self) -> tuple[Trial, ...]:
        """The trials that ran on every scene."""
        return tuple(trial for trial in self.trials if trial.state == "complete")

    @property
    def baseline(self) -> Trial | None:
        """The trial with the default parameters."""
        return next((trial for trial in self.complete if trial.position == 0), None)

    @functools.cached_property
    def best(self) -> Trial | None:
        """The recommended parameters: best by the objective, or by the judge among those that none dominates."""
        return self.best_of(self.complete)

    @functools.cached_property
    def front(self) -> tuple[Trial, ...]:
        """The complete trials that no other dominates, by the first objective."""
        return tuple(sorted(self._not_dominated(self.complete), key=lambda trial: trial.values or ()))

    @property
    def parameters(self) -> dict[str, Value]:
        """The recommended parameters with the fixed ones: what to give to the matcher."""
        searched = {} if self.best is None else dict(self.best.parameters)
        return {**self.definition.space["fixed"], **searched}

    @property
    def matcher(self) -> str:
        """The matcher with the recommended parameters, as `--matcher` and `match` take it."""
        return matcher_text(self.definition.matcher, self.parameters)

    @property
    def algorithm_name(self) -> str:
        """What tables call the tuned matcher."""
        judge = self.definition.judge or self.definition.objectives[0]
        return f"{self.definition.matcher_name} tuned for {judge.name}"

    def matrix(self, scores: Scores) -> Values:
        """Scores as (scenes, columns); NaN where there is none."""
        return score_matrix(scores, self.definition.scenes, len(self.definition.columns))

    @functools.cached_property
    def functions(self) -> tuple[ObjectiveFunction, ...]:
        """The objectives as functions of scores, then the judge where it is none of them."""
        objectives = list(self.definition.objectives)
        if self.definition.judge is not None and self.definition.judge not in objectives:
            objectives.append(self.definition.judge)
        return self.definition.objective_functions(self.matrix(self.baseline_scores), objectives)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Indices of the scenes of each place."""
        return scene_groups(self.definition.truths)

    @functools.cached_property
    def seen(self) -> tuple[Improvement, ...]:
        """Improvement on the scenes that the search saw, for each objective and the judge; an optimistic figure."""
        return () if self.best is None else self._improvements(self.best.scores)

    @functools.cached_property
    def held_out(self) -> tuple[Improvement, ...]:
        """Improvement on scenes that the search did not see: every scene with the parameters of the fold without it.

        Empty without folds, or while one of them is unfinished.
        """
        scores = {scene: values for fold in self.folds for scene, values in fold.scores.items()}
        if not self.folds or set(scores) != set(self.definition.scenes):
            return ()
        return self._improvements(scores)

    def _improvements(self, scores: Scores) -> tuple[Improvement, ...]:
        before, after = self.matrix(self.baseline_scores), self.matrix(scores)
        scenes, seed = self.definition.scenes, self.definition.seed
        return tuple(improvement(function, before, after, scenes, self.groups, seed) for function in self.functions)

    def best_of(self, trials: Sequence[Trial]) -> Trial | None:
        """The trial that the judge prefers among those that none dominates; the first of equals.

        Without a judge, several objectives count alike, each relative to its value with the default parameters.
        """
        candidates = self._not_dominated(trials)
        if not candidates:
            return None
        multiplicity = np.array([[float(scene in candidates[0].scores) for scene in self.definition.scenes]])
        judge = self.definition.judge
        functions = [function for function in self.functions if judge is None or function.objective == judge]
        before = self.matrix(self.baseline_scores)
        references = [abs(function.costs(before, multiplicity)[0]) or 1.0 for function in functions]

        def badness(trial: Trial) -> float:
            after = self.matrix(trial.scores)
            costs = [function.costs(after, multiplicity)[0] for function in functions]
            return math.fsum(cost / reference for cost, reference in zip(costs, references, strict=True))

        return min(candidates, key=lambda trial: (badness(trial), trial.position))

    def _not_dominated(self, trials: Sequence[Trial]) -> list[Trial]:
        """The complete trials that no other dominates: at least as good everywhere and better somewhere."""
        complete = [trial for trial in trials if trial.values is not None]
        if not complete:
            return []
        signs = [-1.0 if objective.direction == "maximize" else 1.0 for objective in self.definition.objectives]
        costs = np.array([trial.values for trial in complete]) * signs
        dominated = np.asarray(dominance(costs).any(axis=0))
        return [trial for trial, lost in zip(complete, dominated, strict=True) if not lost]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON can hold; a number that does not exist is None.

        name matcher dataset scenes sampler seed prune protocol space   the request
        groups           scenes of one place, as lists of ids
        columns          "metric:region", the order of every list of scores
        objectives       [{name, unit, direction: minimize|maximize, terms: {metric: {weight, unit, origin}}}]
        judge            the profile that picks the best trial, or None
        states           {complete, pruned, failed, running, waiting}: counts
        baseline best    numbers of trials, or None while there is none
        parameters matcher_text toml                                    the recommended setting in three forms
        trials           [{number, position, state, parameters, values, seconds, failure,
                         scores: {scene: [one value per column]}}]
        front            numbers of the trials that none dominates
        importance       {objective: {parameter: share}}
        seen held_out    [{goal, unit, direction, default, tuned, difference, low, high, percent, level, draws,
                         better, compared, scenes, scene_default, scene_tuned}], one for each objective, then the
                         judge; [] while unknown
        folds            [{held_out: [scene], states, best: a trial or None}]
        """
        definition, best = self.definition, self.best
        plain: dict[str, Any] = json_value(
            {
                "name": self.name,
                **{key: getattr(definition, key) for key in ("matcher", "dataset", "scenes")},
                "groups": [[definition.scenes[index] for index in group] for group in self.groups],
                "columns": definition.columns,
                "objectives": [
                    {
                        "name": objective.name,
                        "unit": objective.unit,
                        "direction": objective.direction,
                        "terms": self.functions[index].scales if self.baseline_scores else {},
                    }
                    for index, objective in enumerate(definition.objectives)
                ],
                "judge": None if definition.judge is None else definition.judge.name,
                **{key: getattr(definition, key) for key in ("sampler", "seed", "prune", "protocol", "space")},
                "states": counted_states(self.trials),
                "baseline": None if self.baseline is None else self.baseline.number,
                "best": None if best is None else best.number,
                "parameters": None if best is None else self.parameters,
                "matcher_text": None if best is None else self.matcher,
                "toml": None if best is None else self.to_toml(),
                "trials": self.trials,
                "front": [trial.number for trial in self.front],
                "importance": self.importance,
                "seen": self.seen,
                "held_out": self.held_out,
                "folds": [
                    {"held_out": fold.held_out, "states": counted_states(fold.trials), "best": fold.best}
                    for fold in self.folds
                ],
            }
        )
        return plain

    def to_toml(self) -> str:
        """The recommended parameters as a file that `match` and `evaluate` take, with the facts of the tuning."""
        definition = self.definition
        facts: dict[str, Any] = {
            "study": self.name,
            "dataset": definition.dataset,
            "scenes": list(definition.scenes),
            "objectives": [objective.name for objective in definition.objectives],
            "sampler": definition.sampler,
            "seed": definition.seed,
            "trials": len(self.complete),
        }
        for found in (self.held_out or self.seen)[:1]:
            numbers = {"default": found.default, "tuned": found.tuned, "low": found.low, "high": found.high}
            known = {name: value for name, value in numbers.items() if math.isfinite(value)}
            facts["held_out" if self.held_out else "seen"] = {"goal": found.goal} | known
        content = {"name": self.algorithm_name, "matcher": self.matcher, "parameters": self.parameters}
        return tomli_w.dumps({**content, "tuning": facts})

    def to_pandas(self) -> pd.DataFrame:
        """One row per trial: number, state, values, seconds, parameters, failure."""
        names = [objective.name for objective in self.definition.objectives]
        rows = [
            {
                "trial": trial.number,
                "state": trial.state,
                **dict(zip(names, trial.values or [math.nan] * len(names), strict=True)),
                "seconds": trial.seconds,
                **trial.parameters,
                "failure": trial.failure,
            }
            for trial in self.trials
        ]
        return pd.DataFrame(rows)


def counted_states(trials: Sequence[Trial]) -> dict[str, int]:
    """How many trials are in each state."""
    return {state: sum(trial.state == state for trial in trials) for state in get_args(State)}


FEWEST_FOR_IMPORTANCE = 8
PROCESS_DIED = "the process that ran it died, three times"
LISTED = ("name", "matcher", "dataset", "judge", "states", "baseline", "best", "matcher_text")


def studies(store: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Every tuning of a store in short: name, matcher, dataset, objectives, judge, scenes, folds, counted states."""
    with read_studies(store) as storage:
        found = [] if storage is None else [read_result(storage, name).to_dict() for name in _tunings(storage)]
    return [
        {
            **{key: plain[key] for key in LISTED},
            "objectives": [objective["name"] for objective in plain["objectives"]],
            "scenes": len(plain["scenes"]),
            "folds": len(plain["folds"]),
        }
        for plain in found
    ]


def study_summary(store: str | os.PathLike[str], name: str) -> dict[str, Any]:
    """One tuning in full: `TuningResult.to_dict`."""
    return load_result(store, name).to_dict()


def load_result(store: str | os.PathLike[str], name: str) -> TuningResult:
    """The tuning called `name` in a store, finished or not."""
    with read_studies(store) as storage:
        if storage is None:
            raise unknown_name("tuning study", name, ())
        return read_result(storage, name)


def _tunings(storage: BaseStorage) -> dict[str, Definition]:
    """Definitions of the tunings in a storage by name, without the studies of their folds."""
    found = {}
    for name in optuna.get_all_study_names(storage):
        definition = definition_of(optuna.load_study(study_name=name, storage=storage))
        if definition is not None and not definition.held_out:
            found[name] = definition
    return found


def read_result(storage: BaseStorage, name: str) -> TuningResult:
    """The tuning called `name`."""
    known = _tunings(storage)
    if name not in known:
        raise unknown_name("tuning study", name, known)
    definition = known[name]
    study = optuna.load_study(study_name=name, storage=storage)
    result = TuningResult(
        name=name,
        definition=definition,
        trials=trials_of(study),
        folds=(),
        baseline_scores=study.user_attrs.get(BASELINE, {}),
        importance=_importances(study, definition),
    )
    present, folds = set(optuna.get_all_study_names(storage)), []
    for fold, held_out in enumerate(definition.folds, 1):
        if fold_name(name, fold) in present:
            study = optuna.load_study(study_name=fold_name(name, fold), storage=storage)
            trials = trials_of(study)
            best = result.best_of(trials) if result.baseline_scores else None
            folds.append(Fold(held_out, trials, best, study.user_attrs.get(HELD_OUT, {}).get("scores", {})))
    return replace(result, folds=tuple(folds))


def trials_of(study: optuna.Study) -> tuple[Trial, ...]:
    """The trials of a study by position, without those that wait to be repeated."""
    return tuple(_trial(trial) for trial in counted_trials(study.get_trials(deepcopy=False)))


def _trial(frozen: FrozenTrial) -> Trial:
    attributes = frozen.user_attrs
    failed = frozen.state == TrialState.FAIL
    return Trial(
        number=frozen.number,
        position=int(attributes[POSITION]),
        state=cast("State", "failed" if failed else frozen.state.name.lower()),
        parameters=dict(frozen.params),
        values=tuple(float(value) for value in frozen.values) if frozen.state == TrialState.COMPLETE else None,
        seconds=float(attributes.get(SECONDS, 0.0)),
        failure=str(attributes.get(FAILURE, PROCESS_DIED)) if failed else "",
        scores=attributes.get(SCORES, {}),
    )


def _importances(study: optuna.Study, definition: Definition) -> dict[str, Mapping[str, float]]:
    """For each objective the share of every parameter in what made trials good (PED-ANOVA); empty below 8 trials.

    S. Watanabe, A. Bansal and F. Hutter, PED-ANOVA: efficiently quantifying hyperparameter importance in arbitrary
    subspaces, IJCAI 2023, as Optuna computes it.
    """
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len(complete) < FEWEST_FOR_IMPORTANCE:
        return {}
    found: dict[str, Mapping[str, float]] = {}
    for index, objective in enumerate(definition.objectives):
        if len({trial.values[index] for trial in complete}) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cost = _cost(index, objective.direction)
            found[objective.name] = optuna.importance.get_param_importances(study, target=cost)
    return found


def _cost(index: int, direction: str) -> Callable[[FrozenTrial], float]:
    sign = -1.0 if direction == "maximize" else 1.0
    return lambda trial: sign * float(trial.values[index])


DIGITS = 4


def gain_table(result: TuningResult) -> Table:
    """Default against tuned per objective, on held-out scenes where there are folds, and on the scenes searched on."""
    header = ("goal", "scenes", "default", "tuned", "better by", "95 % interval", "scenes better")
    rows = [
        [
            one.goal,
            where,
            number(one.default, DIGITS),
            number(one.tuned, DIGITS),
            Cell(one.difference, f"{one.difference:+.4g} ({one.percent:+.1f} %)"),
            Cell() if math.isnan(one.low) else f"{one.low:+.4g} … {one.high:+.4g}",
            f"{one.better} of {one.compared}",
        ]
        for where, found in (("held out", result.held_out), ("searched on", result.seen))
        for one in found
    ]
    return table("gains", "", header, rows)


def parameter_table(result: TuningResult) -> Table:
    """Each searched parameter: default, tuned, its importance, and the choices of the folds."""
    shares = next(iter(result.importance.values()), {})
    rows = [
        [
            name,
            value_text(declared["default"]),
            Cell() if result.best is None else value_text(result.best.parameters[name]),
            share(shares[name]) if name in shares else Cell(),
            ", ".join(value_text(fold.best.parameters[name]) for fold in result.folds if fold.best is not None),
        ]
        for name, declared in result.definition.space["parameters"].items()
    ]
    return table("parameters", "", ("parameter", "default", "tuned", "importance", "in the folds"), rows)


def state_words(result: TuningResult) -> str:
    """How many trials are in which state."""
    return ", ".join(f"{count} {state}" for state, count in counted_states(result.trials).items() if count)


def gain_words(result: TuningResult) -> list[str]:
    """How to read the gain, where it could be overestimated."""
    if not result.held_out:
        return ["no scene was held out: the gain is on the scenes that were searched on, and overstates the tuning"]
    found = result.held_out[0]
    if math.isnan(found.low):
        return ["all scenes share one ground truth, so there is no interval"]
    if found.low > 0:
        return [f"better on held-out scenes: the interval of the gain in {found.goal} lies above 0"]
    if found.high < 0:
        return [
            f"worse on held-out scenes than the defaults in {found.goal}: the search has over-fitted; do not use it"
        ]
    return [f"no clear gain on held-out scenes in {found.goal}: the interval includes 0; try more trials or scenes"]
