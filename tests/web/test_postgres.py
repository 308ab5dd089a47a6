"""The site on a PostgreSQL server answers as it does on a file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.postgres import PostgresServer
from tests.web import uploads
from tests.web.small import make_store, serving_store
from tests.web.submitters import benchmark_on

from stereogauge import open_store
from stereogauge.store import Store
from stereogauge.web.source import StoreSource

pytestmark = pytest.mark.postgres

QUESTIONS = (
    "datasets", "scenes", "algorithms", "table", "table?regions=nonocc&column=rms:nonocc", "rank", "rank?draws=50",
    "rank?model=weighted&profile=balanced", "rank?model=middlebury&metrics=bad@1", "rank.csv?model=extended",
    "significance?first=good&second=rough&column=rms:all", "correlation?scatter=rms:all~bad@1:all",
    "histogram?metric=rms:all", "stability", "scenes/alpha/about", "scenes/alpha/layers/error.png?algorithm=good",
    "scenes/alpha/pixel?x=9&y=9&algorithms=good", "scenes/alpha/blocks?algorithm=rough&metric=rms", "confidence",
    "scenes/beta/layers/truth.png", "rank?scenes=nowhere",
)  # fmt: skip


@pytest.fixture
def store(postgres_url: str, tmp_path: Path) -> Iterator[Store]:
    make_store(tmp_path, postgres_url)
    with open_store(postgres_url) as opened:
        yield opened


def test_every_answer_is_that_of_a_file(store: Store, client: httpx.Client) -> None:
    with serving_store(store, hidden=["beta"]) as base:
        for question in QUESTIONS:
            answer, expected = httpx.get(f"{base}/api/v1/{question}", timeout=60), client.get(question)
            assert answer.status_code == expected.status_code, question
            assert answer.content == expected.content, question


def test_an_upload_is_evaluated_published_replaced_and_withdrawn(store: Store, tmp_path: Path) -> None:
    with benchmark_on(store, tmp_path / "submissions") as bench:

        def published(error: float) -> tuple[str, float]:
            done = bench.outcome(uploads.good(error), "mine")
            assert done["state"] == "done", done
            bench.call("POST", f"submissions/{done['id']}/publish").raise_for_status()
            table = bench.client.get("table?regions=all&metrics=rms&aggregation=mean").json()
            return done["id"], table["values"][table["algorithms"].index("mine")][0]

        first, value = published(0.1)
        assert value == pytest.approx(0.1, abs=1e-6)
        assert bench.client.get("rank?regions=all&metrics=rms").json()["rows"][0]["algorithm"] == "mine"
        second, value = published(1.5)
        assert value == pytest.approx(1.5, abs=1e-6)
        assert bench.call("GET", f"submissions/{first}").status_code == 404
        assert bench.call("DELETE", f"submissions/{second}").status_code == 204
        assert "mine" not in bench.client.get("table").json()["algorithms"]


@pytest.mark.slow
def test_an_outage_of_the_server_loses_and_fails_no_submission(
    store: Store, postgres: PostgresServer, tmp_path: Path
) -> None:
    with benchmark_on(store, tmp_path / "submissions") as bench:
        for place in range(4):
            bench.tokens[f"owner {place}"] = bench.taken.tokens.issue(f"owner {place}")
        errors = {f"owner {place}": 0.1 + 0.2 * place for place in range(4)}
        ids = {who: bench.upload(uploads.good(error), who, who).json()["id"] for who, error in errors.items()}
        postgres.stop()
        try:
            end = time.monotonic() + 60
            while bench.client.get("health").json()["status"] != "waiting":
                assert time.monotonic() < end
                time.sleep(0.2)
            assert bench.upload(uploads.good(), "not now").status_code == 503
            assert bench.client.get("table?regions=nonocc").status_code in (200, 503)
            time.sleep(3.0)
        finally:
            postgres.start()
        for who, identifier in ids.items():
            done = bench.finished(identifier, who)
            assert done["state"] == "done", done
            rms = next(row["value"] for row in done["scores"] if row["column"] == "rms:all")
            assert rms == pytest.approx(errors[who], abs=0.01)
        last = ids["owner 3"]
        bench.call("POST", f"submissions/{last}/publish", "owner 3").raise_for_status()
        assert "owner 3" in bench.client.get("table").json()["algorithms"]
        assert bench.client.get("health").json() == {"status": "ok", "reason": "", "waiting": 0}


def test_a_reader_sees_what_another_program_writes(store: Store, postgres_url: str, client: httpx.Client) -> None:
    with open_store(postgres_url, read_only=True) as reader:
        source = StoreSource(reader, clock=iter(range(1000)).__next__)
        before = source.version()
        assert source.version() == before
        store.delete_algorithm("rough")
        after = source.version()
        assert after != before
        assert "rough" not in [record.name for record in source.algorithms()]
        store.describe_algorithm("good", description="the best", link="")
        assert source.version() != after


def test_a_server_without_studies_has_none_and_shows_them_once_there_are(
    store: Store, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stereogauge.web.tuning.SECONDS_KEPT", 1e-6)
    with serving_store(store, store_url=postgres_url) as base:
        assert httpx.get(f"{base}/api/v1/tuning").json() == []
        # A study changes no table of scores: an answer that is kept for long would hide it.
        monkeypatch.setattr("stereogauge.tuning.studies", lambda url: [{"name": "new"}])
        assert httpx.get(f"{base}/api/v1/tuning").json() == [{"name": "new"}]
