"""Parts of one computation in threads that stay."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from stereogauge.kernels.threads import in_threads


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
