"""Which process runs which trial: every trial of a study is claimed by exactly one.

Every trial has a position, 0 (the default parameters) to trials − 1: the number of trials claimed before it. A trial
whose process has died becomes a failed one without a reason, and waits again at its position with the same parameters.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState

POSITION, OWNER, FAILURE, ATTEMPT = "position", "owner", "failure", "attempt"
INTERVAL = 20.0
"""Seconds between two heartbeats of a running trial."""
TIMEOUT = 300.0
"""Seconds without a heartbeat after which a trial of another machine counts as lost."""
MOST_ATTEMPTS = 3
DISCARDED = -1
FINISHED_BY_OTHERS = (ValueError, UpdateFinishedTrialError)


def attempt_of(trial: FrozenTrial) -> int:
    """How many times the trial was started, itself included."""
    return int(trial.user_attrs.get(ATTEMPT, 1))


def is_lost(trial: FrozenTrial) -> bool:
    """Whether the trial ended because its process died, and is to be tried again."""
    ended = trial.state == TrialState.FAIL and FAILURE not in trial.user_attrs
    return bool(ended and attempt_of(trial) < MOST_ATTEMPTS)


def position_of(trials: Sequence[FrozenTrial], trial: FrozenTrial) -> int:
    """A trial's position: the stored one, or else how many trials were created before it.

    Optuna numbers trials one at a time, so that two processes at the same moment get different positions.
    """
    if POSITION in trial.user_attrs:
        return int(trial.user_attrs[POSITION])
    return sum(_is_new(other) and other.number < trial.number for other in trials)


def _is_new(trial: FrozenTrial) -> bool:
    return attempt_of(trial) == 1 and trial.user_attrs.get(POSITION) != DISCARDED


def counted_trials(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """One trial per position, in that order: the first that is not lost."""
    found: dict[int, FrozenTrial] = {}
    for trial in trials:
        if int(trial.user_attrs.get(POSITION, DISCARDED)) != DISCARDED and not is_lost(trial):
            found.setdefault(int(trial.user_attrs[POSITION]), trial)
    return [found[position] for position in sorted(found)]


def claim_trial(study: optuna.Study, distributions: dict[str, Any], planned: int) -> optuna.Trial | None:
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
    trial.set_user_attr(POSITION, position)
    trial.set_user_attr(OWNER, _heartbeat())
    return trial


def release_trial(study: optuna.Study, trial: FrozenTrial) -> bool:
    """End a running trial as lost and queue it again; False when another process did, or it ended meanwhile."""
    position = position_of(study.get_trials(deepcopy=False), trial)
    try:
        study.tell(trial.number, state=TrialState.FAIL)
    except FINISHED_BY_OTHERS:
        return False
    attempt = attempt_of(trial)
    if attempt < MOST_ATTEMPTS:
        # Without an owner it ended while its parameters were drawn, and some may be missing.
        point = dict(trial.params) if OWNER in trial.user_attrs else {}
        study.enqueue_trial(point, user_attrs={POSITION: position, ATTEMPT: attempt + 1})
    return True


def recover_trials(study: optuna.Study) -> int:
    """Release every running trial whose process has died; the number of them.

    A trial whose process died several times is probably the cause, and fails for good.
    """
    recovered = 0
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if not _alive(trial):
            recovered += release_trial(study, trial)
    return recovered


def is_drawing(study: optuna.Study) -> bool:
    """Whether the parameters of a trial are being drawn, by a process that lives or by one that died meanwhile."""
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    return any(OWNER not in trial.user_attrs for trial in running)


def _heartbeat() -> dict[str, Any]:
    return {"host": socket.gethostname(), "process": os.getpid(), "seen": time.time()}


def _alive(trial: FrozenTrial) -> bool:
    owner = trial.user_attrs.get(OWNER)
    if owner is None:
        started = trial.datetime_start.timestamp() if trial.datetime_start else 0.0
        return time.time() - started < INTERVAL
    if owner["host"] == socket.gethostname() and not _process_exists(int(owner["process"])):
        return False
    return time.time() - float(owner["seen"]) < TIMEOUT


def _process_exists(number: int) -> bool:
    """Whether a process of this machine runs; on Windows, where asking would end it, the heartbeat alone decides."""
    if os.name == "nt":
        return True
    try:
        os.kill(number, 0)
    except OSError as problem:  # that of another user may not be asked
        return not isinstance(problem, ProcessLookupError)
    return True


class Heartbeat:
    """A thread that regularly records that the trials of this process still run."""

    def __init__(self) -> None:
        self._running: dict[int, optuna.Trial] = {}
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._end.set()
        self._thread.join()

    def add(self, trial: optuna.Trial) -> None:
        """Record heartbeats of a trial from now on."""
        with self._lock:
            self._running[trial.number] = trial

    def remove(self, trial: optuna.Trial) -> None:
        """Stop the heartbeats of a trial, which is about to end."""
        with self._lock:
            self._running.pop(trial.number, None)

    def _beat(self) -> None:
        while not self._end.wait(INTERVAL):
            with self._lock:
                for trial in self._running.values():
                    trial.set_user_attr(OWNER, _heartbeat())
