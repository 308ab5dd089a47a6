"""Expensive questions: in turns, once, within a budget; and a visitor's table beside them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
from benchmarks.bench_web import served
from tests.web.small import serving, serving_store

from stereogauge import StereogaugeError
from stereogauge.stages import UsedUpError, checkpoint
from stereogauge.store import Store
from stereogauge.web.app import create_app
from stereogauge.web.cache import RecentCache
from stereogauge.web.errors import BusyError, RefusedError
from stereogauge.web.load import ConcurrencyLimit, LimitedCalls
from stereogauge.web.security import visitor_address
from stereogauge.web.site import PICTURES_AT_ONCE, Site
from stereogauge.web.source import ProtocolRecord, StoreSource


class Visitor:
    """A request from an address; `gone` says that nobody waits for its answer any more."""

    def __init__(self, host: str = "10.0.0.1") -> None:
        self.client = SimpleNamespace(host=host)
        self.gone = False

    async def is_disconnected(self) -> bool:
        return self.gone


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("10.0.0.1", "::ffff:10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("fe80::1%eth0", "fe80::2", True),
        ("", "x" * 100_000, False),
    ],
)
def test_a_network_of_one_visitor_is_one_address(first: str, second: str, same: bool) -> None:
    one, other = (visitor_address(Visitor(host)) for host in (first, second))
    assert (one == other) is same
    assert max(len(one), len(other)) < 100


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
        turns = ConcurrencyLimit(at_once=2, most_waiting=6)
        runs = (turns.run(Visitor(), work) for _ in range(20))
        return list(await asyncio.gather(*runs, return_exceptions=True))

    answers = asyncio.run(crowd())
    assert answers.count("done") == 8
    assert sum(isinstance(answer, BusyError) for answer in answers) == 12
    assert most == 2


def test_addresses_take_turns_and_the_one_that_asks_most_is_refused() -> None:
    order: list[str] = []

    async def crowd() -> tuple[list[object], list[object]]:
        turns = ConcurrencyLimit(at_once=1, most_waiting=10)

        def runs(host: str, count: int) -> list[asyncio.Task[None]]:
            one = Visitor(host)
            return [asyncio.create_task(turns.run(one, lambda: order.append(host))) for _ in range(count)]

        many = runs("10.0.0.1", 11)
        await asyncio.sleep(0)
        few = runs("10.0.0.2", 3)
        answers = await asyncio.gather(*many, return_exceptions=True), await asyncio.gather(*few)
        return answers[0], list(answers[1])

    many, few = asyncio.run(crowd())
    assert few == [None] * 3
    assert sum(isinstance(one, BusyError) for one in many) == 3
    assert order.index("10.0.0.2") <= 2
    assert [place for place, host in enumerate(order) if host == "10.0.0.2"][-1] <= 6


def test_work_ends_when_the_visitor_leaves_or_its_time_is_used_up() -> None:
    rounds = 0

    def endless() -> None:
        nonlocal rounds
        while True:
            checkpoint()
            rounds += 1
            time.sleep(0.001)

    async def leaves() -> None:
        visitor = Visitor()
        run = asyncio.create_task(ConcurrencyLimit(1, 1).run(visitor, endless))
        await asyncio.sleep(0.1)
        visitor.gone = True
        with pytest.raises(UsedUpError, match="cancelled"):
            await run

    async def too_long() -> None:
        with pytest.raises(UsedUpError, match="longer than"):
            await ConcurrencyLimit(1, 1, seconds=0.1).run(Visitor(), endless)

    asyncio.run(leaves())
    assert rounds > 0
    asyncio.run(too_long())


def test_who_leaves_while_waiting_takes_no_turn() -> None:
    async def crowd() -> list[object]:
        turns = ConcurrencyLimit(1, 10)
        waiting = Visitor("10.0.0.2")
        first = asyncio.create_task(turns.run(Visitor(), lambda: time.sleep(1.2)))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(turns.run(waiting, lambda: pytest.fail("computed")))
        await asyncio.sleep(0.05)
        waiting.gone = True
        third = asyncio.create_task(turns.run(Visitor(), lambda: "third"))
        return list(await asyncio.gather(first, second, third, return_exceptions=True))

    first, second, third = asyncio.run(crowd())
    assert (first, third) == (None, "third")
    assert isinstance(second, BusyError)


def test_an_answer_does_not_wait_behind_draws(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """101 questions with draws are pending, from the same address."""
    release = threading.Event()

    def slow(*_: object) -> dict[str, str]:
        release.wait(60)
        return {}

    monkeypatch.setattr("stereogauge.web.scores.api.rank_answer", slow)
    site = Site(StoreSource(opened))
    with serving(create_app(site)) as base, ThreadPoolExecutor(101) as pool:
        api = f"{base}/api/v1/"
        asked = [pool.submit(httpx.get, f"{api}rank?draws=5000&tau={place}", timeout=60) for place in range(101)]
        end = time.monotonic() + 30
        while site.statistics.waiting < 100 and time.monotonic() < end:
            time.sleep(0.05)
        answer = httpx.get(api + "answer", params={"profile": "balanced"}, timeout=20)
        assert answer.status_code == 200
        one_more = httpx.get(f"{api}rank?draws=5000&tau=1000", timeout=20)
        assert one_more.status_code == 503
        assert int(one_more.headers["retry-after"]) > 0
        release.set()
        assert {one.result().status_code for one in asked} <= {200, 503}


def test_the_values_of_a_pixel_take_turns_with_pictures(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one of a scene makes all of its regions."""
    inside, most, lock = 0, 0, threading.Lock()

    def slow(*_: object) -> dict[str, str]:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.1)
        with lock:
            inside -= 1
        return {}

    monkeypatch.setattr("stereogauge.web.scenes.api.pixel_answer", slow)
    with serving_store(opened) as base, ThreadPoolExecutor(16) as pool:
        address = f"{base}/api/v1/scenes/alpha/pixel?x=1&y="
        answers = list(pool.map(lambda row: httpx.get(f"{address}{row}", timeout=60).status_code, range(16)))
    assert answers == [200] * 16
    assert most <= PICTURES_AT_ONCE


def test_every_list_of_a_query_has_a_limit(client: httpx.Client) -> None:
    described = client.get("openapi.json").json()
    for path, calls in described["paths"].items():
        for parameter in calls.get("get", {}).get("parameters", ()):
            kinds = [parameter["schema"], *parameter["schema"].get("anyOf", ())]
            assert all("maxItems" in kind for kind in kinds if kind.get("type") == "array"), (path, parameter["name"])
    measures = ",".join(f"entropy@{place}" for place in range(2500))
    assert client.get("confidence", params={"sgm": measures, "scene": "alpha"}).status_code in (414, 422)
    some = ",".join(f"entropy@{place}" for place in range(1, 40))
    refused = client.get("confidence", params={"sgm": some, "scene": "alpha"})
    assert refused.status_code == 422
    assert "At most 16 measures" in refused.json()["detail"]
    assert client.get("table", params={"scenes": ["alpha"] * 1001}).status_code == 422
    assert client.get("table", params={"metrics": "x" * 40_000}).status_code == 414
    assert client.get("table", params={"metrics": f"bad@1.{'0' * 200}"}).status_code == 200
    assert client.get("table", params={"metrics": f"bad@1.{'0' * 1000}"}).status_code == 422


def test_caches_are_limited_by_the_bytes_that_they_hold(opened: Store) -> None:
    """Questions with subsets of weights once kept the costs of each, and long ones their own text."""
    site = Site(StoreSource(opened))
    site.scores._kept = RecentCache(1 << 20)
    site.answers._kept = RecentCache(1 << 20)
    with serving(create_app(site)) as base, httpx.Client(base_url=f"{base}/api/v1/", timeout=60) as client:
        for place in range(120):
            chosen = [name for bit, name in enumerate(("bad@1", "bad@2", "rms", "bias", "psnr")) if place >> bit & 1]
            weights = [f"{name}={place + 1}" for name in chosen or ["rms"]]
            params = {"model": "weighted", "weights": weights, "least_support": place, "second": "x" * 20_000}
            assert client.get("rank", params=params).status_code == 200
    for cache in (site.scores._kept, site.answers._kept):
        assert 0 < len(cache) < 120
        assert cache.used <= 1 << 20


def test_a_value_that_grows_counts_with_what_it_holds_now() -> None:
    cache: RecentCache[dict[int, np.ndarray]] = RecentCache(1 << 20)
    cache.get("first", dict)
    for place in range(10):
        cache.get("growing", dict)[place] = np.zeros(1 << 17, np.uint8)
        assert cache.used <= 1 << 20
    assert len(cache.get("growing", dict)) < 10


def test_a_match_ends_with_its_request_and_has_limited_memory() -> None:
    """One call of a kernel has no checkpoint: it runs in a process that is ended."""
    calls = LimitedCalls(memory_bytes=4 << 30)

    async def leaves() -> None:
        visitor = Visitor()
        run = asyncio.create_task(ConcurrencyLimit(1, 1).run(visitor, lambda: calls.call(time.sleep, 600)))
        while calls.process_id is None:
            await asyncio.sleep(0.05)
        visitor.gone = True
        with pytest.raises(UsedUpError, match="cancelled"):
            await run

    async def too_long() -> None:
        with pytest.raises(UsedUpError, match="longer than"):
            await ConcurrencyLimit(1, 1, seconds=0.5).run(Visitor(), lambda: calls.call(time.sleep, 600))

    try:
        for ending in (leaves, too_long):
            asyncio.run(ending())
            assert calls.process_id is None
        with pytest.raises(RefusedError, match="memory"):
            calls.call(bytearray, 64 << 30)
        assert calls.call(abs, -1) == 1
    finally:
        calls.end()


def test_identical_questions_are_answered_once() -> None:
    made: list[int] = []
    cache: RecentCache[int] = RecentCache(10_000)

    def make() -> int:
        time.sleep(0.05)
        made.append(1)
        return 7

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: cache.get("same", make), range(8))) == [7] * 8
    assert len(made) == 1


def test_a_failure_is_not_kept() -> None:
    cache: RecentCache[int] = RecentCache(10_000)
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
