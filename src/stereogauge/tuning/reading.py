"""Studies of a store read back as results; a tuning can be read while it still runs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from stereogauge.errors import unknown_name
from stereogauge.tuning.claims import FAILURE, POSITION, counted_trials
from stereogauge.tuning.definition import BASELINE, HELD_OUT, Definition, definition_of, fold_name
from stereogauge.tuning.result import Fold, State, Trial, TuningResult
from stereogauge.tuning.search import SCORES, SECONDS
from stereogauge.tuning.storage import close_storage, open_studies, quiet

FEWEST_FOR_IMPORTANCE = 8
PROCESS_DIED = "the process that ran it died, three times"
LISTED = ("name", "matcher", "dataset", "judge", "states", "baseline", "best", "matcher_text")


def studies(store: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Every tuning of a store in short: name, matcher, dataset, objectives, judge, scenes, folds, counted states."""
    with _reading(store) as storage:
        results = [] if storage is None else [read_result(storage, name) for name in _tunings(storage)]
    return [_entry(result.to_dict()) for result in results]


def _entry(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{key: plain[key] for key in LISTED},
        "objectives": [objective["name"] for objective in plain["objectives"]],
        "scenes": len(plain["scenes"]),
        "folds": len(plain["folds"]),
    }


def study_summary(store: str | os.PathLike[str], name: str) -> dict[str, Any]:
    """One tuning in full: `TuningResult.to_dict`."""
    return load_result(store, name).to_dict()


def load_result(store: str | os.PathLike[str], name: str) -> TuningResult:
    """The tuning called `name` in a store, finished or not."""
    with _reading(store) as storage:
        if storage is None:
            raise unknown_name("tuning study", name, ())
        return read_result(storage, name)


@contextmanager
def _reading(store: str | os.PathLike[str]) -> Iterator[BaseStorage | None]:
    """The studies of a store, to look at; None when it holds none."""
    with quiet():
        storage = open_studies(store)
        try:
            yield storage
        finally:
            close_storage(storage)


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
    present = set(optuna.get_all_study_names(storage))
    names = [fold_name(name, fold) for fold in range(1, len(definition.folds) + 1)]
    return replace(result, folds=tuple(_fold(storage, fold, result) for fold in names if fold in present))


def _fold(storage: BaseStorage, name: str, result: TuningResult) -> Fold:
    study = optuna.load_study(study_name=name, storage=storage)
    definition = definition_of(study)
    trials = trials_of(study)
    return Fold(
        held_out=() if definition is None else definition.held_out,
        trials=trials,
        best=result.best_of(trials) if result.baseline_scores else None,
        scores=study.user_attrs.get(HELD_OUT, {}).get("scores", {}),
    )


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
