"""Who runs which trial: whoever asks the study first, and nobody else.

Every trial has a place, 0 (the default parameters) to trials − 1: the number of trials asked for before it. A trial
whose process is gone becomes a failed one without a reason, and waits again under its place with the same parameters.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState

PLACE, OWNER, FAILURE, ATTEMPT = "place", "owner", "failure", "attempt"
BEAT = 20.0
"""Seconds between two signs of life of a running trial."""
GRACE = 300.0
"""Seconds without a sign of life after which a trial of another machine is lost."""
MOST_ATTEMPTS = 3
DISCARDED = -1
FINISHED_BY_OTHERS = (ValueError, UpdateFinishedTrialError)


def attempt_of(trial: FrozenTrial) -> int:
    """1 for a trial that nobody has tried before."""
    return int(trial.user_attrs.get(ATTEMPT, 1))


def is_lost(trial: FrozenTrial) -> bool:
    """Whether the trial ended with its process rather than by itself, and is to be tried again."""
    ended = trial.state == TrialState.FAIL and FAILURE not in trial.user_attrs
    return bool(ended and attempt_of(trial) < MOST_ATTEMPTS)


def place_of(trials: Sequence[FrozenTrial], trial: FrozenTrial) -> int:
    """A trial's place: as it was written, or else how many were asked for before it.

    Numbers are given out one at a time, so that two processes that ask at once find different places.
    """
    if PLACE in trial.user_attrs:
        return int(trial.user_attrs[PLACE])
    return sum(_is_new(other) and other.number < trial.number for other in trials)


def _is_new(trial: FrozenTrial) -> bool:
    return attempt_of(trial) == 1 and trial.user_attrs.get(PLACE) != DISCARDED


def counted(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """One trial for each place, in that order: the first that is not lost."""
    found: dict[int, FrozenTrial] = {}
    for trial in trials:
        if int(trial.user_attrs.get(PLACE, DISCARDED)) != DISCARDED and not is_lost(trial):
            found.setdefault(int(trial.user_attrs[PLACE]), trial)
    return [found[place] for place in sorted(found)]


def take_ticket(study: optuna.Study, distributions: dict[str, Any], planned: int) -> optuna.Trial | None:
    """The next trial with its parameters, owned by this process; None when all that were planned are taken."""
    trials = study.get_trials(deepcopy=False)
    waiting = any(trial.state == TrialState.WAITING for trial in trials)
    if not waiting and sum(map(_is_new, trials)) >= planned:
        return None
    trial = study.ask(distributions)
    known = study.get_trials(deepcopy=False)
    place = place_of(known, known[trial.number])
    if place >= planned:
        # Somebody else took the last place between our look and our asking.
        trial.set_user_attr(FAILURE, "no place was left")
        trial.set_user_attr(PLACE, DISCARDED)
        study.tell(trial, state=TrialState.FAIL)
        return None
    trial.set_user_attr(PLACE, place)
    trial.set_user_attr(OWNER, _sign_of_life())
    return trial


def give_back(study: optuna.Study, trial: FrozenTrial) -> bool:
    """End a running trial as lost and let it wait again; False when somebody else did, or it ended meanwhile."""
    place = place_of(study.get_trials(deepcopy=False), trial)
    try:
        study.tell(trial.number, state=TrialState.FAIL)
    except FINISHED_BY_OTHERS:
        return False
    attempt = attempt_of(trial)
    if attempt < MOST_ATTEMPTS:
        # Without an owner it ended while it was still being drawn, and some parameters may be lacking.
        point = dict(trial.params) if OWNER in trial.user_attrs else {}
        study.enqueue_trial(point, user_attrs={PLACE: place, ATTEMPT: attempt + 1})
    return True


def recover(study: optuna.Study) -> int:
    """Give back every running trial whose process is gone; returns how many.

    A trial that has lost its process several times is probably the reason for it and fails for good.
    """
    recovered = 0
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if not _alive(trial):
            recovered += give_back(study, trial)
    return recovered


def _sign_of_life() -> dict[str, Any]:
    return {"host": socket.gethostname(), "process": os.getpid(), "seen": time.time()}


def _alive(trial: FrozenTrial) -> bool:
    owner = trial.user_attrs.get(OWNER)
    if owner is None:
        started = trial.datetime_start.timestamp() if trial.datetime_start else 0.0
        return time.time() - started < BEAT
    if owner["host"] == socket.gethostname() and not _process_exists(int(owner["process"])):
        return False
    return time.time() - float(owner["seen"]) < GRACE


def _process_exists(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Pulse:
    """A thread that gives signs of life for the trials that run here."""

    def __init__(self) -> None:
        self._running: dict[int, optuna.Trial] = {}
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()

    def add(self, trial: optuna.Trial) -> None:
        """Watch over a trial."""
        with self._lock:
            self._running[trial.number] = trial

    def remove(self, trial: optuna.Trial) -> None:
        """The trial is about to end."""
        with self._lock:
            self._running.pop(trial.number, None)

    def _beat(self) -> None:
        while not self._end.wait(BEAT):
            with self._lock:
                for trial in self._running.values():
                    trial.set_user_attr(OWNER, _sign_of_life())
