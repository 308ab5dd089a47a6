"""Expensive questions: in turns, once, within a budget; and a visitor's table beside them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
from benchmarks.bench_web import served
from tests.web.small import serving

from stereogauge.errors import StereogaugeError
from stereogauge.store import Store
from stereogauge.web.app import create_app
from stereogauge.web.cache import RecentCache
from stereogauge.web.errors import BusyError
from stereogauge.web.load import Turns
from stereogauge.web.site import Site
from stereogauge.web.source import ProtocolRecord, StoreSource


def test_expensive_answers_take_turns_and_a_crowd_is_refused() -> None:
    inside, most = 0, 0
    lock = threading.Lock()

    def work() -> str:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.02)
        with lock:
            inside -= 1
        return "done"

    async def crowd() -> list[object]:
        turns = Turns(at_once=2, most_waiting=6)
        return list(await asyncio.gather(*(turns.run(work) for _ in range(20)), return_exceptions=True))

    answers = asyncio.run(crowd())
    assert answers.count("done") == 8
    assert sum(isinstance(answer, BusyError) for answer in answers) == 12
    assert most == 2


def test_identical_questions_are_answered_once() -> None:
    made: list[int] = []
    cache: RecentCache[int] = RecentCache(10)

    def make() -> int:
        time.sleep(0.05)
        made.append(1)
        return 7

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: cache.get("same", make), range(8))) == [7] * 8
    assert len(made) == 1


def test_a_failure_is_not_kept() -> None:
    cache: RecentCache[int] = RecentCache(10)
    with pytest.raises(ZeroDivisionError):
        cache.get("key", lambda: 1 // 0)
    assert cache.get("key", lambda: 3) == 3


def test_a_site_opens_with_its_store_read_or_without_scores(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    source = StoreSource(opened)
    with serving(create_app(Site(source))) as base:
        monkeypatch.setattr(opened, "cube", lambda **_: pytest.fail("read while a visitor waits"))
        assert httpx.get(f"{base}/api/v1/table", timeout=60).json()["algorithms"]

    def unreadable() -> tuple[ProtocolRecord, ...]:
        raise StereogaugeError("The store cannot be read.")

    monkeypatch.setattr(source, "protocols", unreadable)
    with serving(create_app(Site(source))) as base:
        assert httpx.get(base, timeout=60).status_code == 200


def test_draws_have_a_budget(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stereogauge.web.scores.rankings.MOST_DRAWN", 15_000)
    assert client.get("rank", params={"draws": 900}).status_code == 200
    refused = client.get("rank", params={"draws": 5000})
    assert refused.status_code == 422
    assert "At most" in refused.json()["detail"]


@pytest.mark.slow
def test_a_visitors_table_does_not_wait_behind_forty_bootstraps() -> None:
    """100 algorithms × 200 scenes × 60 columns; forty different questions with 5000 draws each."""
    stop = threading.Event()
    with served() as (base, _), ThreadPoolExecutor(40) as pool:
        api = f"{base}/api/v1/"
        assert httpx.get(api + "table", timeout=60).status_code == 200

        def expensive(number: int) -> None:
            params = {"model": "extended", "tau": 1 + number / 10, "draws": 5000}
            if not stop.is_set():
                with contextlib.suppress(httpx.TimeoutException):
                    httpx.get(api + "rank", params=params, timeout=30)

        for number in range(40):
            pool.submit(expensive, number)
        time.sleep(1.0)
        seconds = []
        for place in range(40):
            start = time.perf_counter()
            answer = httpx.get(api + "table", params={"metrics": "rms", "least_support": place}, timeout=60)
            seconds.append(time.perf_counter() - start)
            assert answer.status_code == 200
        stop.set()
    assert np.quantile(seconds, 0.95) < 1.0
