"""Optuna's tables beside ours in one database: studies are kept, shared, resumed and read back as results.

A tuning can be read while it still runs, and opens in optuna-dashboard.
"""

from __future__ import annotations

import os
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import optuna
import sqlalchemy as sql
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, InMemoryStorage, RDBStorage
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from stereogauge.errors import StoreError, unknown_name
from stereogauge.store import open_store
from stereogauge.store.engine import Database, database_url
from stereogauge.tuning.definition import BASELINE, HELD_OUT, Definition, definition_of, fold_name
from stereogauge.tuning.result import Fold, State, Trial, TuningResult
from stereogauge.tuning.search import SCORES, SECONDS
from stereogauge.tuning.trials import FAILURE, GRACE, HEARTBEAT, POSITION, counted_trials, retry

ATTEMPTS = 5
WAIT = 60
"""Seconds to wait for another writer."""


def open_storage(location: str | os.PathLike[str] | None) -> BaseStorage:
    """Optuna's storage in the store at `location`, both made where they are absent; in memory without a location."""
    if location is None:
        return InMemoryStorage()
    with open_store(location):
        pass  # our own tables first, so that the file is a store from its beginning
    url = database_url(location)
    for attempt in range(ATTEMPTS):
        try:
            return _storage(url)
        except (SQLAlchemyError, StorageInternalError) as problem:
            # Two programs that make the tables at once: the second finds them when it looks again.
            if attempt + 1 == ATTEMPTS:
                raise store_error(location, problem) from problem
            time.sleep(0.2 * (attempt + 1))
    raise StoreError(f"{os.fsdecode(location)}: the tables of tuning studies could not be made.")


def _storage(url: sql.URL) -> RDBStorage:
    text = url.render_as_string(hide_password=False)
    if url.get_backend_name() != "sqlite":
        return _watched(text, {"pool_pre_ping": True})
    storage = _watched(text, {"connect_args": {"timeout": WAIT}})
    _take_turns(storage.engine)
    return storage


def _watched(url: str, options: dict[str, Any]) -> RDBStorage:
    """A storage whose running trials have heartbeats, and are queued again where these end."""
    return RDBStorage(
        url,
        options,
        heartbeat_interval=HEARTBEAT,
        grace_period=GRACE,
        heartbeat_stale_trial_callback=retry,
    )


def _take_turns(engine: sql.Engine) -> None:
    """Let every transaction of a SQLite file hold the write lock from its start.

    Optuna reads a trial's state and then writes it; PostgreSQL locks the row in between, SQLite does not, and two
    processes would take the same trial.
    """
    engine.dispose()

    @sql.event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA synchronous = NORMAL")

    @sql.event.listens_for(engine, "begin")
    def begin(connection: sql.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def store_error(location: str | os.PathLike[str], problem: BaseException) -> StoreError:
    """The sentence for what went wrong in the database."""
    cause: BaseException = problem
    while cause.__cause__ is not None:
        cause = cause.__cause__
    database = Database(location, read_only=True, timeout=WAIT)
    sentence = database.sentence(getattr(cause, "orig", None) or cause)
    database.close()
    return StoreError(sentence)


def open_studies(location: str | os.PathLike[str]) -> BaseStorage | None:
    """Optuna's storage of an existing store, to read from; None where it holds no studies yet."""
    database = Database(location, read_only=True, timeout=WAIT)
    try:
        with database.reading() as connection:
            present = sql.inspect(connection).has_table("studies")
    finally:
        database.close()
    return RDBStorage(database.url.render_as_string(hide_password=False)) if present else None


def close_storage(storage: BaseStorage | None) -> None:
    """Close the database's connections."""
    if isinstance(storage, RDBStorage):
        storage.remove_session()
        storage.engine.dispose()


@contextmanager
def quiet() -> Iterator[None]:
    """Optuna without its own log lines, and without warnings that heartbeats and pruners may change."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            warnings.filterwarnings("ignore", "Heartbeat of storage")  # `trials.Heartbeat` records them
            yield
    finally:
        optuna.logging.set_verbosity(before)


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
