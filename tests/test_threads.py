"""Parts of one computation in threads that stay."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from stereogauge.kernels.threads import WORTH_A_THREAD, at_once_with, in_threads


def allowed_processors() -> set[int]:
    """Those on which the calling thread may run; none where the system does not tell."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def test_results_are_in_the_order_of_the_parts() -> None:
    def part(number: int) -> Callable[[], int]:
        def work() -> int:
            time.sleep(0.001 * (number % 3))
            return number

        return work

    assert in_threads([part(number) for number in range(20)], 4) == list(range(20))


def test_threads_are_not_started_anew() -> None:
    def name() -> str:
        time.sleep(0.01)
        return threading.current_thread().name

    in_threads([name] * 4, 2)
    before = threading.active_count()
    for _ in range(10):
        assert len(set(in_threads([name] * 4, 2))) <= 2
    assert threading.active_count() == before


def test_parts_may_have_parts_in_threads() -> None:
    """More parts that wait than there are threads do not wait for each other."""

    def inner() -> int:
        return sum(in_threads([lambda: time.sleep(0.001) or 1] * 6, 4))

    assert in_threads([inner] * 30, 8) == [6] * 30


@pytest.mark.parametrize("failing", [0, 5])
def test_an_error_of_a_part_reaches_the_caller_when_all_threads_have_stopped(failing: int) -> None:
    running: set[int] = set()

    def part(number: int) -> Callable[[], None]:
        def work() -> None:
            running.add(number)
            time.sleep(0.002)
            running.discard(number)
            if number == failing:
                raise ValueError("no such part")

        return work

    with pytest.raises(ValueError, match="no such part"):
        in_threads([part(number) for number in range(6)], 3)
    assert not running


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork processes")
def test_a_forked_process_has_threads_of_its_own() -> None:
    """Those that the parent has started do not live on in it."""
    in_threads([lambda: time.sleep(0.001)] * 4, 2)
    child = multiprocessing.get_context("fork").Process(target=_names_in_threads)
    child.start()
    child.join(20)
    assert child.exitcode == 0


def _names_in_threads() -> None:
    names = in_threads([lambda: time.sleep(0.02) or threading.current_thread().name] * 6, 2)
    raise SystemExit(0 if len(set(names)) == 2 else 1)


def test_a_workspace_belongs_to_one_part_at_a_time_and_there_is_one_per_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stereogauge.kernels.threads.thread_count", lambda: 3)

    def part(done: list[int]) -> None:
        before = len(done)
        time.sleep(0.001)
        assert len(done) == before
        done.append(1)

    made = at_once_with(list, [part] * 20, WORTH_A_THREAD)
    assert 1 <= len(made) <= 3
    assert sum(map(len, made)) == 20


@pytest.mark.skipif(len(allowed_processors()) < 2, reason="needs Linux and two processors")
def test_other_threads_are_kept_off_the_processor_of_the_one_that_asks() -> None:
    """Linux leaves two threads on one processor for longer than a pass takes, though another has nothing to do."""

    def where() -> tuple[str, set[int]]:
        time.sleep(0.01)
        return threading.current_thread().name, allowed_processors()

    found = dict(in_threads([where] * 100, 2))  # a busy machine starts the other thread late
    asking = threading.current_thread().name
    others = [allowed for name, allowed in found.items() if name != asking]
    assert others
    assert all(len(allowed_processors() - allowed) == 1 for allowed in others)
    assert found[asking] == allowed_processors()


@pytest.mark.skipif(not allowed_processors(), reason="needs Linux")
def test_threads_work_where_a_process_may_use_one_processor_only() -> None:
    alone = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from stereogauge.kernels.threads import in_threads\n"
        "print(in_threads([lambda: 1] * 5, 3))"
    )
    run = subprocess.run([sys.executable, "-c", alone], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "[1, 1, 1, 1, 1]"
