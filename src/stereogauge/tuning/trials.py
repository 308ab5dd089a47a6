"""Which process runs which trial: every trial of a study is claimed by one process, and run again if that one dies.

Every trial has a position, 0 (the default parameters) to trials − 1: the number of trials that were created before it.
Optuna's heartbeat tells which processes are alive. A trial whose process died is failed and queued again with the same
position and parameters by Optuna's retry callback; one that lost three processes is probably the cause, and fails.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning, UpdateFinishedTrialError
from optuna.storages import BaseStorage, RDBStorage, RetryHeartbeatStaleTrialCallback, fail_stale_trials
from optuna.trial import FrozenTrial, TrialState

POSITION, FAILURE = "position", "failure"
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
