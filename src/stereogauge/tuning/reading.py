"""Studies of a store read back as results."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from stereogauge.errors import unknown_name
from stereogauge.tuning.definition import BASELINE, HELD_OUT, Definition, definition_of, fold_name
from stereogauge.tuning.result import Fold, Trial, TuningResult, best_trial, front_of, trials_of
from stereogauge.tuning.storage import close_storage, open_studies, quiet

FEWEST_FOR_IMPORTANCE = 8


def load_result(store: str | os.PathLike[str], name: str) -> TuningResult:
    """The tuning called `name` in a store, finished or not."""
    with reading(store) as storage:
        if storage is None:
            raise unknown_name("tuning study", name, ())
        return read_result(storage, name)


@contextmanager
def reading(store: str | os.PathLike[str]) -> Iterator[BaseStorage | None]:
    """The studies of a store, to look at; None when it holds none."""
    with quiet():
        storage = open_studies(store)
        try:
            yield storage
        finally:
            close_storage(storage)


def own_studies(storage: BaseStorage) -> dict[str, Definition]:
    """Definitions of the tunings in a storage by name, without the studies of their folds."""
    found = {}
    for name in optuna.get_all_study_names(storage):
        definition = definition_of(optuna.load_study(study_name=name, storage=storage))
        if definition is not None and not definition.held_out:
            found[name] = definition
    return found


def read_result(storage: BaseStorage, name: str) -> TuningResult:
    """The tuning called `name`."""
    known = own_studies(storage)
    if name not in known:
        raise unknown_name("tuning study", name, known)
    definition = known[name]
    study = optuna.load_study(study_name=name, storage=storage)
    directions = [wished.direction for wished in definition.wishes]
    trials = trials_of(study)
    bare = TuningResult(
        name=name,
        definition=definition,
        trials=trials,
        folds=(),
        baseline_scores=study.user_attrs.get(BASELINE, {}),
        front_numbers=front_of(trials, directions),
        importance=importances(study, definition),
    )
    present = set(optuna.get_all_study_names(storage))
    names = [fold_name(name, fold) for fold in range(1, len(definition.folds) + 1)]
    folds = tuple(_fold(storage, fold, bare, directions) for fold in names if fold in present)
    return replace(bare, folds=folds)


def _fold(storage: BaseStorage, name: str, result: TuningResult, directions: list[Any]) -> Fold:
    study = optuna.load_study(study_name=name, storage=storage)
    definition = definition_of(study)
    trials: tuple[Trial, ...] = trials_of(study)
    complete = [trial for trial in trials if trial.state == "complete"]
    best = best_trial(complete, front_of(trials, directions), result) if result.baseline_scores else None
    return Fold(
        held_out=() if definition is None else definition.held_out,
        trials=trials,
        best=best,
        scores=study.user_attrs.get(HELD_OUT, {}).get("scores", {}),
    )


def _cost(place: int, direction: str) -> Callable[[FrozenTrial], float]:
    sign = -1.0 if direction == "maximize" else 1.0
    return lambda trial: sign * float(trial.values[place])


def importances(study: optuna.Study, definition: Definition) -> dict[str, Mapping[str, float]]:
    """For each objective the share of every parameter in what made trials good (PED-ANOVA); empty below 8 trials.

    S. Watanabe, A. Bansal and F. Hutter, PED-ANOVA: efficiently quantifying hyperparameter importance in arbitrary
    subspaces, IJCAI 2023, as Optuna computes it.
    """
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len(complete) < FEWEST_FOR_IMPORTANCE:
        return {}
    found: dict[str, Mapping[str, float]] = {}
    for place, wished in enumerate(definition.wishes):
        if len({trial.values[place] for trial in complete}) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[wished.name] = optuna.importance.get_param_importances(study, target=_cost(place, wished.direction))
    return found
