"""Optuna's tables beside ours in one database, and which process runs which trial of a study.

A study can be read while it still runs, and opens in optuna-dashboard. Every trial has a position, 0 (the default
parameters) to trials − 1: the number of trials that were created before it. Every trial is claimed by one process.
Optuna's heartbeat tells which processes are alive. A trial whose process died is failed and queued again with the same
position and parameters by Optuna's retry callback; one that lost three processes is probably the cause, and fails.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import optuna
import sqlalchemy as sql
from optuna.exceptions import ExperimentalWarning, StorageInternalError, UpdateFinishedTrialError
from optuna.storages import (
    BaseStorage,
    InMemoryStorage,
    RDBStorage,
    RetryHeartbeatStaleTrialCallback,
    fail_stale_trials,
)
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from stereogauge.errors import StoreError
from stereogauge.store import open_store
from stereogauge.store.engine import Database, database_url

SCORES, SECONDS, POSITION, FAILURE = "scores", "seconds", "position", "failure"
ATTEMPT, OWNER = "attempt", "owner"
"""What versions before Optuna's heartbeat stored: that a trial is a repetition, and the process that ran it."""
HEARTBEAT = 3
"""Seconds between two heartbeats of a running trial."""
GRACE = 15
"""Seconds without a heartbeat after which a trial is lost."""
DISCARDED = -1
ENDED_BY_OTHERS = (ValueError, UpdateFinishedTrialError)

with warnings.catch_warnings():
    warnings.simplefilter("ignore", ExperimentalWarning)
    retry = RetryHeartbeatStaleTrialCallback(max_retry=2)

ATTEMPTS = 5
WAIT = 60
"""Seconds to wait for another writer."""


@contextmanager
def open_storage(location: str | os.PathLike[str] | None) -> Iterator[BaseStorage]:
    """Optuna's storage in the store at `location`, both made where they are absent; in memory without a location."""
    if location is None:
        yield InMemoryStorage()
        return
    with open_store(location):
        pass  # our own tables first, so that the file is a store from its beginning
    url = database_url(location)
    storage, attempt = None, 1
    try:
        while storage is None:
            try:
                storage = _storage(url)
            except (SQLAlchemyError, StorageInternalError):
                # Two programs that make the tables at once: the second finds them when it looks again.
                if attempt == ATTEMPTS:
                    raise
                time.sleep(0.2 * attempt)
                attempt += 1
        yield storage
    except (SQLAlchemyError, StorageInternalError) as problem:
        raise _store_error(location, problem) from problem
    finally:
        _close(storage)


def _storage(url: sql.URL) -> RDBStorage:
    """A storage whose running trials have heartbeats, and are queued again where these end."""
    is_file = url.get_backend_name() == "sqlite"
    storage = RDBStorage(
        url.render_as_string(hide_password=False),
        {"connect_args": {"timeout": WAIT}} if is_file else {"pool_pre_ping": True},
        heartbeat_interval=HEARTBEAT,
        grace_period=GRACE,
        heartbeat_stale_trial_callback=retry,
    )
    if is_file:
        _take_turns(storage.engine)
    return storage


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


def _store_error(location: str | os.PathLike[str], problem: BaseException) -> StoreError:
    """The sentence for what went wrong in the database."""
    cause: BaseException = problem
    while cause.__cause__ is not None:
        cause = cause.__cause__
    database = Database(location, read_only=True, timeout=WAIT)
    sentence = database.sentence(getattr(cause, "orig", None) or cause)
    database.close()
    return StoreError(sentence)


@contextmanager
def read_studies(location: str | os.PathLike[str]) -> Iterator[BaseStorage | None]:
    """Optuna's storage of an existing store, to read from; None where it holds no studies yet."""
    database = Database(location, read_only=True, timeout=WAIT)
    try:
        with database.reading() as connection:
            present = sql.inspect(connection).has_table("studies")
    finally:
        database.close()
    with quiet():
        storage = RDBStorage(database.url.render_as_string(hide_password=False)) if present else None
        try:
            yield storage
        finally:
            _close(storage)


def _close(storage: RDBStorage | None) -> None:
    if storage is not None:
        storage.remove_session()
        storage.engine.dispose()


@contextmanager
def quiet() -> Iterator[None]:
    """Optuna without its own log lines, and without warnings that heartbeats and pruners are experimental."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            warnings.filterwarnings("ignore", "Heartbeat of storage")  # `Heartbeat` records them
            yield
    finally:
        optuna.logging.set_verbosity(before)


def position_of(trials: Sequence[FrozenTrial], trial: FrozenTrial) -> int:
    """A trial's position: the stored one, or else how many trials were created before it.

    Optuna numbers trials one at a time, so that two processes at the same moment get different positions.
    """
    if POSITION in trial.user_attrs:
        return int(trial.user_attrs[POSITION])
    first = RetryHeartbeatStaleTrialCallback.retried_trial_number(trial)
    number = trial.number if first is None else first
    return sum(_is_new(other) and other.number < number for other in trials)


def _is_new(trial: FrozenTrial) -> bool:
    repeated = RetryHeartbeatStaleTrialCallback.retried_trial_number(trial) is not None or ATTEMPT in trial.user_attrs
    return not repeated and trial.user_attrs.get(POSITION) != DISCARDED


def counted_trials(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """One trial per position, in that order: the last attempt."""
    found = {int(trial.user_attrs.get(POSITION, DISCARDED)): trial for trial in trials}
    return [found[position] for position in sorted(found) if position != DISCARDED]


def claim_trial(
    study: optuna.Study, heartbeat: Heartbeat, distributions: dict[str, Any], planned: int
) -> optuna.Trial | None:
    """The next trial with its parameters, claimed by this process; None when all planned trials are claimed."""
    trials = study.get_trials(deepcopy=False)
    waiting = any(trial.state == TrialState.WAITING for trial in trials)
    if not waiting and sum(map(_is_new, trials)) >= planned:
        return None
    trial = study.ask(distributions)
    known = study.get_trials(deepcopy=False)
    position = position_of(known, known[trial.number])
    if position >= planned:
        # Another process claimed the last position between our look and our claim.
        trial.set_user_attr(FAILURE, "another process claimed the last trial")
        trial.set_user_attr(POSITION, DISCARDED)
        study.tell(trial, state=TrialState.FAIL)
        return None
    heartbeat.add(trial.number)
    trial.set_user_attr(POSITION, position)
    return trial


def release_trial(study: optuna.Study, number: int) -> None:
    """Fail a running trial and queue it again, unless it ended meanwhile."""
    try:
        lost = study.tell(number, state=TrialState.FAIL)
    except ENDED_BY_OTHERS:
        return
    retry(study, lost)


def recover_trials(study: optuna.Study) -> None:
    """Release every running trial whose process has died."""
    fail_stale_trials(study)
    oldest = datetime.now() - timedelta(seconds=GRACE)
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        # Optuna takes a trial without any heartbeat for a living one.
        watched = POSITION in trial.user_attrs and OWNER not in trial.user_attrs
        if not watched and (trial.datetime_start is None or trial.datetime_start < oldest):
            release_trial(study, trial.number)


class Heartbeat:
    """A thread that regularly records that the trials of this process still run, where the storage is shared.

    Optuna starts such threads only in `Study.optimize`, which decides itself which trial runs when.
    """

    def __init__(self, study: optuna.Study, storage: BaseStorage) -> None:
        self._storage = storage if isinstance(storage, RDBStorage) else None
        self._study = storage.get_study_id_from_name(study.study_name)
        self._running: dict[int, int] = {}
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._end.set()
        self._thread.join()

    def add(self, number: int) -> None:
        """Record heartbeats of a trial from now on."""
        if self._storage is None:
            return
        with self._lock:
            identifier = self._storage.get_trial_id_from_study_id_trial_number(self._study, number)
            self._storage.record_heartbeat(identifier)
            self._running[number] = identifier

    def remove(self, number: int) -> None:
        """Stop the heartbeats of a trial, which is about to end."""
        with self._lock:
            self._running.pop(number, None)

    def _beat(self) -> None:
        while self._storage is not None and not self._end.wait(HEARTBEAT):
            with self._lock:
                for identifier in self._running.values():
                    self._storage.record_heartbeat(identifier)
