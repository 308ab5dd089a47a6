"""Planned trials as a queue in the study: whoever takes a ticket runs it, and nobody else does.

Every ticket has a place, 0 (the default parameters) to trials − 1. A trial whose process is gone becomes a failed one
without a reason, and its ticket is written again with the same parameters.
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

from stereogauge.tuning.sampling import PLACE
from stereogauge.tuning.space import Parameters

OWNER, FAILURE, ATTEMPT = "owner", "failure", "attempt"
BEAT = 20.0
"""Seconds between two signs of life of a running trial."""
GRACE = 300.0
"""Seconds without a sign of life after which a trial of another machine is lost."""
MOST_ATTEMPTS = 3
DISCARDED = -1
FINISHED_BY_OTHERS = (ValueError, UpdateFinishedTrialError)


def is_lost(trial: FrozenTrial) -> bool:
    """Whether the trial ended with its process rather than by itself, and is to be tried again."""
    ended = trial.state == TrialState.FAIL and FAILURE not in trial.user_attrs
    return bool(ended and int(trial.user_attrs.get(ATTEMPT, 1)) < MOST_ATTEMPTS)


def counted(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """One trial for each place, in that order: the first that is not lost."""
    found: dict[int, FrozenTrial] = {}
    for trial in trials:
        if int(trial.user_attrs.get(PLACE, DISCARDED)) != DISCARDED and not is_lost(trial):
            found.setdefault(int(trial.user_attrs[PLACE]), trial)
    return [found[place] for place in sorted(found)]


def add_tickets(study: optuna.Study, trials: int, points: Sequence[Parameters]) -> None:
    """Write the tickets that are lacking; the first ones, as many as there are `points`, have their parameters."""
    present = {trial.user_attrs[PLACE] for trial in counted(study.get_trials(deepcopy=False))}
    for place in range(trials):
        if place not in present:
            _add_ticket(study, place, points[place] if place < len(points) else {})


def _add_ticket(study: optuna.Study, place: int, point: Parameters, attempt: int = 1) -> None:
    study.enqueue_trial(point, user_attrs={PLACE: place, ATTEMPT: attempt})


def take_ticket(study: optuna.Study, distributions: dict[str, Any]) -> optuna.Trial | None:
    """The next planned trial with its parameters, owned by this process; None when none is waiting."""
    while study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
        trial = study.ask(distributions)
        if PLACE not in trial.user_attrs:
            # Somebody took the last ticket between our look and our asking, and Optuna made a trial of its own.
            _discard(study, trial, "no ticket was left")
            return None
        place = trial.user_attrs[PLACE]
        twin = [t for t in study.get_trials(deepcopy=False) if t.user_attrs.get(PLACE) == place and not is_lost(t)]
        if twin[0].number != trial.number:
            _discard(study, trial, f"trial {twin[0].number} is the same ticket")
            continue
        trial.set_user_attr(OWNER, _sign_of_life())
        return trial
    return None


def _discard(study: optuna.Study, trial: optuna.Trial, reason: str) -> None:
    trial.set_user_attr(FAILURE, reason)
    trial.set_user_attr(PLACE, DISCARDED)
    study.tell(trial, state=TrialState.FAIL)


def give_back(study: optuna.Study, trial: FrozenTrial) -> bool:
    """End a running trial as lost and write its ticket again; False when somebody else did, or it ended meanwhile."""
    try:
        study.tell(trial.number, state=TrialState.FAIL)
    except FINISHED_BY_OTHERS:
        return False
    attempt = int(trial.user_attrs.get(ATTEMPT, 1))
    if attempt < MOST_ATTEMPTS:
        _add_ticket(study, int(trial.user_attrs[PLACE]), dict(trial.params), attempt + 1)
    return True


def recover(study: optuna.Study) -> int:
    """Give back every running trial whose process is gone; returns how many.

    A trial that has lost its process several times is probably the reason for it and fails for good.
    """
    recovered = 0
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if PLACE in trial.user_attrs and not _alive(trial):
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
