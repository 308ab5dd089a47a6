"""From an upload to a published row, and everything that must not get through."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import httpx
import numpy as np
import pytest
from tests.web import uploads
from tests.web.small import PROTOCOL, SCENES, SHAPE
from tests.web.submitters import RULES, WAIT, Benchmark, SameProcess, benchmark_on, queue_upload

import stereogauge as sg
from stereogauge import open_store
from stereogauge.evaluation.processes import WorkerDied, WorkerProcess
from stereogauge.web.errors import RefusedError
from stereogauge.web.source import StoreSource
from stereogauge.web.submissions.api import HostedSubmissions
from stereogauge.web.submissions.jobs import Rules, Tokens

SETS = (None, "small")


@contextmanager
def benchmark_at(
    original: Path, folder: Path, rules: Rules = RULES, make_worker: Callable[..., Any] = WorkerProcess
) -> Iterator[Benchmark]:
    """A site on a copy of the store; the data stay where they are."""
    store_path = folder / "scores.sqlite"
    if not store_path.exists():
        shutil.copy(original, store_path)
    with open_store(store_path) as store, benchmark_on(store, folder / "submissions", rules, make_worker) as one:
        yield one


@pytest.fixture(scope="module")
def bench(small_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Benchmark]:
    with benchmark_at(small_store, tmp_path_factory.mktemp("benchmark")) as one:
        yield one


def test_a_submission_is_validated_evaluated_and_private_until_published(bench: Benchmark) -> None:
    accepted = bench.upload(uploads.good(), "private one", description="a <b>test</b>", link="https://example.org/x")
    assert accepted.status_code == 202
    identifier = accepted.json()["id"]
    done = bench.finished(identifier)
    assert done["state"] == "done", done
    scores = {row["column"]: row for row in done["scores"]}
    assert scores["bad@1:all"]["value"] == 0.0
    assert scores["bad@1:all"]["rank"] == 1
    assert scores["rms:all"]["value"] == pytest.approx(0.1, abs=1e-6)

    public = httpx.get(bench.base + "rank").json()
    assert "private one" not in json.dumps(public)
    own = bench.call("GET", "rank", params={"submission": identifier}).json()
    assert "private one" in [row["algorithm"] for row in own["rows"]]
    for stranger in ("bob", "sg_nonsense"):
        for path in (f"submissions/{identifier}", f"submissions/{identifier}/events", f"rank?submission={identifier}"):
            assert bench.call("GET", path, stranger).status_code in (401, 404)
    assert httpx.get(bench.base + f"table?submission={identifier}").status_code == 404

    assert bench.call("POST", f"submissions/{identifier}/publish").json()["state"] == "published"
    rows = [row["algorithm"] for row in httpx.get(bench.base + "rank").json()["rows"]]
    assert "private one" in rows
    picture = httpx.get(bench.base + "scenes/alpha/layers/estimate.png", params={"algorithm": "private one"})
    assert picture.headers["content-type"] == "image/png"
    entry = next(one for one in httpx.get(bench.base + "algorithms").json() if one["name"] == "private one")
    assert (entry["description"], entry["link"]) == ("a <b>test</b>", "https://example.org/x")

    assert bench.call("DELETE", f"submissions/{identifier}", "bob").status_code == 404
    assert bench.call("DELETE", f"submissions/{identifier}").status_code == 204
    assert "private one" not in [one["name"] for one in httpx.get(bench.base + "algorithms").json()]
    assert not (bench.taken.folder / identifier).exists()


def test_scores_of_a_submission_equal_those_of_the_library(bench: Benchmark) -> None:
    done = bench.outcome(uploads.good(0.3), "as evaluated")
    private = bench.taken.private_scores(done["id"])
    dataset = bench.taken.dataset()
    maps = {scene: bench.taken.folder / done["id"] / "maps" / f"{scene}.pfm" for scene in SCENES}
    expected = sg.evaluate({"as evaluated": maps}, dataset, protocol=PROTOCOL)
    for score in expected:
        found = private.score(score.metric, score.region, scene=score.scene, algorithm="as evaluated")
        assert found.value == pytest.approx(score.value, nan_ok=True)


def test_its_table_of_scores_is_that_of_the_leaderboard(bench: Benchmark) -> None:
    done = bench.outcome(uploads.good(0.7), "on the board")
    board = bench.call("GET", "table", params={"submission": done["id"]}).json()
    own = board["algorithms"].index("on the board")
    others = [row for place, row in enumerate(board["values"]) if place != own]
    assert len(done["scores"]) == len(board["columns"])
    for place, score in enumerate(done["scores"]):
        assert score["value"] == board["values"][own][place], score
        assert score["rank"] == board["ranks"][own][place], score
        assert score["best"] is None or score["best"] in [row[place] for row in others], score
        assert score["of"] == sum(row[place] is not None for row in board["ranks"]), score


@pytest.mark.parametrize("stated", ['better = "lower"\n', ""])
def test_standard_deviations_are_surer_where_they_are_lower(bench: Benchmark, stated: str) -> None:
    sigma = {f"confidence/{scene}.pfm": uploads.pfm(np.random.default_rng(0).random(SHAPE) + 0.1) for scene in SCENES}
    manifest = {"results.toml": f'[confidence]\nkind = "sigma"\n{stated}'.encode()}
    identifier = bench.outcome(uploads.zipped({**uploads.maps(), **sigma, **manifest}), "with deviations")["id"]
    written = sg.read_disparity(bench.taken.folder / identifier / "maps" / "confidence" / "alpha.pfm")
    np.testing.assert_allclose(written, -np.random.default_rng(0).random(SHAPE) - 0.1, rtol=1e-6)


def test_a_new_submission_of_the_same_name_replaces_the_old_one(bench: Benchmark) -> None:
    first = bench.outcome(uploads.good(0.5), "again")
    bench.call("POST", f"submissions/{first['id']}/publish")
    second = bench.outcome(uploads.good(0.2), "again")
    both = bench.call("GET", "rank", params={"submission": second["id"]}).json()
    assert {"again", "again (submitted)"} <= {row["algorithm"] for row in both["rows"]}
    assert bench.call("POST", f"submissions/{second['id']}/publish").status_code == 200
    table = httpx.get(bench.base + "table", params={"metrics": "rms", "regions": "all", "algorithms": "again"}).json()
    assert table["values"][0][0] == pytest.approx(0.2, abs=1e-6)
    assert bench.call("GET", f"submissions/{first['id']}").status_code == 404


def test_a_submission_that_is_published_after_the_scores_were_read_has_an_answer(
    bench: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    identifier = bench.outcome(uploads.good(0.6), "just published")["id"]
    source = bench.taken._source
    before = source.cube
    known = {(record.key, dataset): before(record.key, dataset) for record in source.protocols() for dataset in SETS}
    assert bench.call("POST", f"submissions/{identifier}/publish").status_code == 200
    monkeypatch.setattr(source, "cube", lambda key, dataset=None: known[key, dataset])
    monkeypatch.setattr(source, "version", lambda: "before")
    answer = bench.call("GET", f"submissions/{identifier}")
    assert answer.status_code == 200
    assert (answer.json()["state"], answer.json()["scores"]) == ("published", [])


@pytest.mark.parametrize("name", ["good", "rough"])
def test_names_of_others_are_taken(bench: Benchmark, name: str) -> None:
    assert bench.upload(uploads.good(), name).status_code == 409


@pytest.mark.parametrize("name", ["", " ", "a\nb\x00", "x" * 201, "nice (submitted)"])
def test_names_must_be_printable_and_short(bench: Benchmark, name: str) -> None:
    assert bench.upload(uploads.good(), name).status_code == 422


@pytest.mark.parametrize("link", ["javascript:alert(1)", "ftp://x", "https://a b", 'https://x"onclick='])
def test_links_are_plain_web_addresses(bench: Benchmark, link: str) -> None:
    answer = bench.upload(uploads.good(), link=link)
    assert answer.status_code == 422
    assert "http:// or https://" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: b"", "not a zip"),
        (lambda: b"hello" * 100, "not a zip"),
        (lambda: uploads.good()[:-30], "not a zip"),
        (lambda: uploads.zipped({}), "no files"),
        (lambda: uploads.zipped({"../../escape.pfm": b"x"}), "outside"),
        (lambda: uploads.zipped({"/etc/cron.d/x": b"x"}), "outside"),
        (lambda: uploads.zipped({"C:\\x.pfm": b"x"}), "outside"),
        (uploads.with_link, "link"),
        (uploads.bomb, "bytes"),
        (uploads.negative_places, "outside of the file"),
        (lambda: uploads.many_entries(10_000), "500 files"),
        (lambda: uploads.many_entries(501), "500"),
    ],
)
def test_hostile_archives_are_refused_at_once(bench: Benchmark, make: Callable[[], bytes], says: str) -> None:
    before = set(bench.taken.folder.iterdir())
    answer = bench.upload(make())
    assert answer.status_code == 422
    assert says in answer.json()["detail"]
    assert str(bench.taken.folder) not in answer.text
    assert set(bench.taken.folder.iterdir()) == before


@pytest.mark.parametrize(
    ("make", "scene", "says"),
    [
        (uploads.lying_pfm, "alpha", "alpha.pfm"),
        (uploads.lying_png, "alpha", "alpha.png"),
        (uploads.lying_sizes, "", "The zip"),
        (uploads.wrong_size, "alpha", "pixels"),
        (uploads.incomplete, "", "no map"),
        (uploads.negated, "alpha", "sign"),
        (lambda: uploads.zipped({"readme.txt": b"hello"}), "", "No result"),
        (
            lambda: uploads.zipped({**uploads.maps(), "other/alpha.pfm": uploads.maps()["alpha.pfm"]}),
            "",
            "2 algorithms",
        ),
        (lambda: uploads.zipped({**uploads.maps(), "results.toml": b"scale = ["}), "", "TOML"),
    ],
)
def test_bad_results_are_listed_before_anything_is_computed(
    bench: Benchmark, make: Callable[[], bytes], scene: str, says: str
) -> None:
    answer = bench.outcome(make(), "bad one")
    assert answer["state"] == "invalid"
    assert answer["scores"] == []
    assert says in json.dumps([finding["sentence"] for finding in answer["findings"]])
    assert not scene or scene in {finding["scene"] for finding in answer["findings"]}
    assert str(bench.taken.folder) not in json.dumps(answer)


def test_findings_on_a_hidden_scene_tell_nothing_of_its_truth(bench: Benchmark) -> None:
    findings = {one["scene"]: one["sentence"] for one in bench.outcome(uploads.negated(), "hidden")["findings"]}
    assert not any(letter.isdigit() for letter in findings["beta"])
    assert findings["beta"] != findings["alpha"]


def test_a_mistake_in_every_map_is_one_finding(bench: Benchmark) -> None:
    eight_bit = {f"{scene}.png": bytes(cv2.imencode(".png", np.full(SHAPE, 9, np.uint8))[1]) for scene in SCENES}
    answer = bench.outcome(uploads.zipped(eight_bit), "eight bit")
    (finding,) = answer["findings"]
    assert finding["scenes"] == list(SCENES)
    assert finding["sentence"].startswith("SCENE.png")
    assert answer["message"].startswith("1 problem found")


def test_a_name_that_only_contains_a_scene_is_not_its_map(bench: Benchmark) -> None:
    files = {f"scene_{name}": content for name, content in uploads.maps().items()}
    answer = bench.outcome(uploads.zipped(files), "prefixed")
    assert answer["state"] == "invalid"
    assert "No result" in answer["findings"][0]["sentence"]


def test_progress_is_streamed_to_the_end(bench: Benchmark) -> None:
    identifier = bench.upload(uploads.good(), "streamed").json()["id"]
    headers = {"Authorization": f"Bearer {bench.tokens['ada']}"}
    address = f"{bench.base}submissions/{identifier}/events"
    with httpx.stream("GET", address, headers=headers, timeout=WAIT) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        states = [json.loads(line[5:])["state"] for line in stream.iter_lines() if line.startswith("data:")]
    assert states[-1] == "done"
    assert set(states) <= {"queued", "validating", "evaluating", "done"}


def test_an_upload_over_the_limit_is_cut_off_while_it_streams(bench: Benchmark) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(400):
            sent += 1 << 18
            yield bytes(1 << 18)

    try:
        answer = bench.upload(endless())
    except (httpx.WriteError, httpx.ReadError):
        answer = None  # the server hung up before everything was sent
    assert answer is None or answer.status_code == 413
    assert sent < 100 << 20
    declared = bench.upload(bytes(5 << 20))
    assert declared.status_code == 413


def test_writes_from_another_site_are_refused(bench: Benchmark) -> None:
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        answer = bench.call("POST", "submissions", params={"name": "x"}, content=uploads.good(), headers=headers)
        assert answer.status_code == 403
        assert bench.call("DELETE", "submissions/x", headers=headers).status_code == 403


def test_without_a_token_nothing_is_taken(bench: Benchmark) -> None:
    answer = httpx.post(bench.base + "submissions", params={"name": "x"}, content=uploads.good())
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_tokens_are_kept_only_as_hashes(bench: Benchmark) -> None:
    data = b"".join(file.read_bytes() for file in bench.taken.folder.glob("submissions.sqlite*"))
    assert bench.tokens["ada"].encode() not in data
    assert b"ada" in data


def test_a_revoked_token_is_worthless(bench: Benchmark) -> None:
    bench.tokens["eve"] = bench.taken.tokens.issue("eve")
    assert bench.call("GET", "submissions", "eve").status_code == 200
    assert bench.taken.tokens.revoke("eve") == 1
    assert bench.call("GET", "submissions", "eve").status_code == 401


def test_guessing_tokens_is_stopped(small_store: Path, tmp_path: Path) -> None:
    with benchmark_at(small_store, tmp_path, Rules(failures_allowed=5, failure_seconds=600), SameProcess) as one:
        statuses = [one.call("GET", "submissions", f"sg_guess{place}").status_code for place in range(8)]
        assert statuses == [401] * 5 + [429] * 3
        blocked = one.call("GET", "submissions", "sg_guess8")
        assert int(blocked.headers["retry-after"]) > 500
        assert one.call("GET", "submissions", "ada").status_code == 200  # guesses of others lock nobody out


def test_an_address_may_try_again_after_a_while(bench: Benchmark) -> None:
    now = [0.0]
    tokens = Tokens(bench.taken._database, Rules(failures_allowed=2, failure_seconds=10.0), clock=lambda: now[0])

    def wait(client: str) -> float:
        with pytest.raises(RefusedError) as refused:
            tokens.submitter("Bearer sg_wrong", client)
        assert refused.value.status == (429 if refused.value.wait else 401)
        return refused.value.wait

    assert wait("a") == 0.0
    now[0] = 4.0
    assert wait("a") == 0.0
    assert wait("a") == 6.0
    assert wait("b") == 0.0
    now[0] = 10.5
    assert wait("a") == 0.0


def test_attempts_are_limited_and_withdrawing_gives_none_back(small_store: Path, tmp_path: Path) -> None:
    with benchmark_at(small_store, tmp_path, Rules(per_period=2), SameProcess) as one:
        first = one.upload(uploads.good(), "one").json()
        one.call("DELETE", f"submissions/{first['id']}")
        assert one.upload(uploads.good(), "two").status_code == 202
        refused = one.upload(uploads.good(), "three")
        assert refused.status_code == 429
        assert one.upload(b"junk", "bob's", who="bob").status_code == 422
        assert one.call("GET", "submissions", "bob").json()["left"] == 2


def test_what_is_found_invalid_does_not_count_but_only_so_often(small_store: Path, tmp_path: Path) -> None:
    with benchmark_at(small_store, tmp_path, Rules(per_period=2, free_invalid=2), SameProcess) as one:
        for place in range(2):
            done = one.outcome(uploads.wrong_size(), f"bad {place}")
            assert done["state"] == "invalid"
            assert "does not count" in done["message"]
            assert one.call("GET", "submissions").json()["left"] == 2
        third = one.outcome(uploads.wrong_size(), "bad again")
        assert "it counts" in third["message"]
        assert one.call("GET", "submissions").json()["left"] == 1
        assert one.outcome(uploads.good(), "in order")["state"] == "done"
        assert one.upload(uploads.good(), "one more").status_code == 429
        assert one.call("GET", "submissions", "bob").json()["left"] == 2


def test_an_evaluation_that_takes_too_long_is_stopped(small_store: Path, tmp_path: Path) -> None:
    with benchmark_at(small_store, tmp_path, Rules(seconds=0.0)) as one:
        done = one.finished(one.upload(uploads.good(), "slow").json()["id"])
        assert done["state"] == "failed"
        assert "longer than" in done["message"]


class Dying(SameProcess):
    def call(self, *arguments: Any, **options: Any) -> Any:
        raise WorkerDied("the worker process was killed (signal 9)")


def test_an_evaluation_whose_process_dies_is_held_and_costs_nothing(small_store: Path, tmp_path: Path) -> None:
    with benchmark_at(small_store, tmp_path, Rules(), Dying) as one:
        for name in ("first", "second"):
            done = one.finished(one.upload(uploads.good(), name).json()["id"])
            assert done["state"] == "held"
            assert "the host was informed" in done["message"]
            assert (one.taken.folder / done["id"] / "upload.zip").is_file()
        assert one.call("GET", "submissions").json()["left"] == 10


def test_jobs_survive_a_restart(small_store: Path, tmp_path: Path) -> None:
    with open_store(small_store, read_only=True) as store:
        taken = HostedSubmissions(store, StoreSource(store), tmp_path / "submissions", RULES)
        token = taken.tokens.issue("ada")
        identifier = queue_upload(taken, uploads.good(), "survivor")
        assert taken.jobs.take() is not None  # as if the server was killed in the middle
        assert taken.jobs.change(identifier, state="evaluating", progress=0.5)
        taken.stop()
    with benchmark_at(small_store, tmp_path) as one:
        one.tokens["ada"] = token
        assert one.finished(identifier)["state"] == "done"


def test_jobs_are_taken_in_order(small_store: Path, tmp_path: Path) -> None:
    with open_store(small_store, read_only=True) as store:
        taken = HostedSubmissions(store, StoreSource(store), tmp_path / "submissions", RULES)
        first = queue_upload(taken, uploads.good(), "first")
        queue_upload(taken, uploads.good(), "second")
        assert taken.state().waiting == 2
        following = taken.jobs.take()
        assert following is not None
        assert following.id == first
        taken.stop()


def test_a_directory_that_lies_about_its_length_is_refused(bench: Benchmark) -> None:
    data = bytearray(uploads.good())
    end = data.rfind(b"PK\x05\x06")
    data[end + 12 : end + 16] = (1 << 30).to_bytes(4, "little")
    refused = bench.upload(bytes(data))
    assert refused.status_code == 422
    assert "more than 500 files" in refused.json()["detail"]


def _survives(bench: Benchmark, count: int, seed: int) -> None:
    open_ones = []
    refused = 0
    for place, data in enumerate(uploads.malformed(count, seed)):
        answer = bench.upload(data, f"malformed {seed} {place}")
        assert answer.status_code in (202, 422), answer.text
        refused += answer.status_code == 422
        if answer.status_code == 202:
            open_ones.append(answer.json()["id"])
    states = [bench.finished(identifier)["state"] for identifier in open_ones]
    assert set(states) <= {"invalid", "failed", "done"}
    assert states.count("failed") == 0
    assert refused > count // 4
    assert httpx.get(bench.base + "rank").status_code == 200
    for identifier in open_ones:
        bench.call("DELETE", f"submissions/{identifier}")


def test_many_malformed_uploads_harm_nothing(small_store: Path, tmp_path: Path) -> None:
    with benchmark_at(small_store, tmp_path, Rules(per_period=10_000, most_waiting=10_000)) as one:
        _survives(one, 240, seed=1)


@pytest.mark.parametrize("text", ["a" * 60_000 + " = 1", '[confidence]\nbetter = "' + "a" * 60_000 + '"'])
def test_a_manifest_with_a_long_word_is_a_finding(bench: Benchmark, text: str) -> None:
    answer = bench.outcome(uploads.zipped({**uploads.maps(), "results.toml": text.encode()}), "long word")
    assert answer["state"] == "invalid"
    assert len(answer["findings"][0]["sentence"]) < 1000


@pytest.mark.slow
def test_two_thousand_malformed_uploads_harm_nothing(small_store: Path, tmp_path: Path) -> None:
    with benchmark_at(small_store, tmp_path, Rules(per_period=10_000, most_waiting=10_000)) as one:
        _survives(one, 2000, seed=2)


def test_the_store_and_submissions_are_apart(bench: Benchmark, tmp_path: Path) -> None:
    shutil.copy(bench.taken.folder / "submissions.sqlite", tmp_path / "copy.sqlite")
    from stereogauge.errors import StoreError

    with pytest.raises(StoreError):
        open_store(tmp_path / "copy.sqlite", read_only=True)
