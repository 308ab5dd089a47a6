"""Studies in a store: killed runs go on, and processes share a study without repeating a trial."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from stereogauge.tuning import storage
from stereogauge.tuning.storage import (
    POSITION,
    Heartbeat,
    claim_trial,
    counted_trials,
    open_storage,
    quiet,
    recover_trials,
    release_trial,
)

PROGRAM = Path(__file__).with_name("study_process.py")
SPACE = {"x": optuna.distributions.FloatDistribution(0, 1)}


def start(store: Path, log: Path, trials: int, seconds: float) -> subprocess.Popen[str]:
    words = [sys.executable, str(PROGRAM), str(store), str(log), str(trials), str(seconds)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    return out.splitlines()


def wait_for_lines(log: Path, count: int) -> None:
    for _ in range(1200):
        if log.exists() and len(log.read_text().splitlines()) >= count:
            return
        time.sleep(0.1)
    raise AssertionError(f"{log} never reached {count} lines")


def test_a_run_killed_in_the_middle_goes_on_to_the_result_of_one_that_was_not(tmp_path: Path) -> None:
    whole = finish(start(tmp_path / "whole.sqlite", tmp_path / "whole.log", 12, 0.0))
    plain = optuna.load_study(study_name="shared", storage=f"sqlite:///{tmp_path / 'whole.sqlite'}")
    assert len(plain.trials) == 12, "Optuna and its dashboard read the store as it is"
    killed = start(tmp_path / "killed.sqlite", tmp_path / "killed.log", 12, 0.05)
    wait_for_lines(tmp_path / "killed.log", 14)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    before = (tmp_path / "killed.log").read_text().splitlines()

    resumed = finish(start(tmp_path / "killed.sqlite", tmp_path / "killed.log", 12, 0.0))

    assert resumed == whole
    after = (tmp_path / "killed.log").read_text().splitlines()[len(before) :]
    finished = before[: 3 * ((len(before) - 1) // 3)]  # a trial is finished for sure once the next one has begun
    assert not set(finished) & set(after), "a trial that was finished before the kill was run again"


def test_two_processes_share_a_study_without_repeating_a_trial(tmp_path: Path) -> None:
    logs = [tmp_path / "one.log", tmp_path / "two.log"]
    processes = [start(tmp_path / "shared.sqlite", log, 16, 0.1) for log in logs]

    answers = [finish(process) for process in processes]

    assert answers[0] == answers[1], "both read the same study at the end"
    assert len(answers[0]) == 16
    assert all(" complete " in line for line in answers[0])
    runs = [log.read_text().splitlines() for log in logs]
    default = {line for lines in runs for line in lines if line.endswith("1.0 0.0")}
    shared = (set(runs[0]) & set(runs[1])) - default
    assert not shared, "both processes ran the same point"
    assert all(len(set(lines)) == len(lines) for lines in runs)
    assert all(len(lines) > 3 for lines in runs), "one process did all the work"


class Shared:
    """A study in a store, and the trials that this process claims in it."""

    def __init__(self, storage: optuna.storages.BaseStorage) -> None:
        sampler = optuna.samplers.RandomSampler(seed=0)
        self.study = optuna.create_study(storage=storage, study_name="shared", sampler=sampler)
        self.heartbeat = Heartbeat(self.study, storage)

    def claim(self, planned: int) -> optuna.Trial | None:
        return claim_trial(self.study, self.heartbeat, SPACE, planned)

    def states(self) -> list[TrialState]:
        return [trial.state for trial in counted_trials(self.study.get_trials())]


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shared]:
    monkeypatch.setattr(storage, "HEARTBEAT", 1)
    monkeypatch.setattr(storage, "GRACE", 2)
    with quiet(), open_storage(tmp_path / "shared.sqlite") as opened:
        yield Shared(opened)


def test_a_released_trial_keeps_its_position_and_its_parameters(shared: Shared) -> None:
    first = shared.claim(planned=2)
    assert first is not None
    release_trial(shared.study, 0)
    again = shared.claim(planned=2)
    assert again is not None
    assert again.user_attrs[POSITION] == 0
    assert again.params == first.params
    second = shared.claim(planned=2)
    assert second is not None
    assert second.user_attrs[POSITION] == 1
    assert shared.claim(planned=2) is None


def test_a_trial_of_a_dead_process_waits_again_and_fails_in_the_end(shared: Shared) -> None:
    for _ in range(3):
        assert shared.claim(planned=1) is not None
        recover_trials(shared.study)
        assert shared.states() == [TrialState.RUNNING], "the heartbeat is new"
        time.sleep(3.5)
        recover_trials(shared.study)
    assert shared.claim(planned=1) is None
    assert shared.states() == [TrialState.FAIL]


def test_a_trial_of_a_living_process_is_left_alone(shared: Shared) -> None:
    shared.claim(planned=1)
    with shared.heartbeat:
        time.sleep(3.5)
        recover_trials(shared.study)
    assert shared.states() == [TrialState.RUNNING]


def test_a_process_that_died_while_it_drew_parameters_is_not_waited_for(shared: Shared) -> None:
    shared.study.ask(SPACE)
    recover_trials(shared.study)
    assert shared.study.trials[0].state == TrialState.RUNNING
    time.sleep(2.5)
    recover_trials(shared.study)
    assert shared.study.trials[0].state == TrialState.FAIL
    again = shared.claim(planned=1)
    assert again is not None
    assert again.user_attrs[POSITION] == 0


def test_studies_of_earlier_versions_go_on(shared: Shared) -> None:
    lost = shared.study.ask(SPACE)
    lost.set_user_attr(POSITION, 0)
    shared.study.tell(lost, state=TrialState.FAIL)
    shared.study.enqueue_trial(lost.params, user_attrs={POSITION: 0, "attempt": 2})
    again = shared.claim(planned=2)
    assert again is not None
    assert again.user_attrs[POSITION] == 0
    left = shared.study.ask(SPACE)
    left.set_user_attr(POSITION, 1)
    left.set_user_attr("owner", {"host": "elsewhere", "process": 1, "seen": 0})
    with shared.heartbeat:
        time.sleep(2.5)
        recover_trials(shared.study)
    assert shared.states() == [TrialState.RUNNING, TrialState.WAITING]
