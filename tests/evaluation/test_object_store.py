"""Datasets and results in an object store: the same scores, bit for bit, as from files, whatever fails on the way."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cells import same_scores
from tests.evaluation.conftest import Benchmark
from tests.object_store import BUCKET, ObjectStore, free_port

from stereogauge import Protocol, load_dataset, open_store
from stereogauge.datasets import open_dataset
from stereogauge.datasets.results.find import find_results
from stereogauge.datasets.validation import validate_results
from stereogauge.errors import FileError, StoreError, Unreachable
from stereogauge.evaluation import matchers
from stereogauge.evaluation.executors import InProcess
from stereogauge.evaluation.fingerprints import ContentHashes
from stereogauge.evaluation.progress import Progress
from stereogauge.evaluation.run import Plan, check_origins, make_plan, run_plan
from stereogauge.io import remote
from stereogauge.io.remote import file_cache, place
from stereogauge.scores.score import CellScores
from stereogauge.store import Store

PROTOCOL = Protocol(metrics=("bad@1", "mae", "quantile@95"), regions=("all", "nonocc", "disc"))


def planned(store: Store, root: str | Path, results: str | Path) -> Plan:
    dataset = load_dataset("middlebury-v3:Q", root)
    return make_plan(store, dataset, find_results(results, dataset).results, PROTOCOL)


def identical(found: list[CellScores], wanted: list[CellScores]) -> int:
    """How many scores are the same, bit for bit, with the same inputs; all must be."""
    assert [(cell.scene, cell.algorithm) for cell in found] == [(cell.scene, cell.algorithm) for cell in wanted]
    for left, right in zip(found, wanted, strict=True):
        assert same_scores(left, right), (left, right)
        assert left.inputs == right.inputs
    return sum(len(cell.columns) for cell in found)


@pytest.fixture
def uploaded(object_store: ObjectStore, benchmark: Benchmark) -> str:
    """The address of a folder that holds `data` and `results` as the local benchmark does."""
    top = uuid.uuid4().hex
    object_store.put_folder(benchmark.root, f"{top}/data")
    object_store.put_folder(benchmark.results, f"{top}/results")
    return f"s3://{BUCKET}/{top}"


def test_scores_from_an_object_store_and_from_files_are_the_same_and_stand_for_each_other(
    uploaded: str, benchmark: Benchmark, store: Store, tmp_path: Path
) -> None:
    summary = run_plan(planned(store, f"{uploaded}/data", f"{uploaded}/results"), store)
    assert (summary.done, summary.failures) == (9, [])
    with open_store(tmp_path / "local.sqlite") as local:
        run_plan(planned(local, benchmark.root, benchmark.results), local)
        assert identical(store.cells(), local.cells()) == 81
        assert planned(local, f"{uploaded}/data", f"{uploaded}/results").cells == 0
    assert planned(store, benchmark.root, benchmark.results).cells == 0
    check_origins(store, benchmark.dataset(), find_results(benchmark.results, benchmark.dataset()).results)


def test_a_second_look_at_an_unchanged_object_store_fetches_no_map(
    uploaded: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_plan(planned(store, f"{uploaded}/data", f"{uploaded}/results"), store)
    shutil.rmtree(file_cache().folder)
    fetched: list[str] = []
    whole = remote.download
    monkeypatch.setattr(remote, "download", lambda url, *rest: (fetched.append(url), whole(url, *rest)))
    assert planned(store, f"{uploaded}/data", f"{uploaded}/results").cells == 0
    assert not [url for url in fetched if url.endswith(".pfm")], "images give the size of a scene, maps are not needed"


def test_a_zip_of_results_a_folder_without_a_name_and_validation(
    uploaded: str, object_store: ObjectStore, benchmark: Benchmark, store: Store
) -> None:
    packed = benchmark.results.parent / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in benchmark.results.rglob("*.pfm"):
            archive.write(path, path.relative_to(benchmark.results))
    key = uploaded.removeprefix(f"s3://{BUCKET}/")
    object_store.put({f"{key}/packed.zip": packed.read_bytes()})
    run_plan(planned(store, benchmark.root, benchmark.results), store)
    assert planned(store, f"{uploaded}/data", f"{uploaded}/packed.zip").cells == 0
    dataset = open_dataset(f"{uploaded}/data")
    assert dataset.ids == benchmark.dataset().ids
    remote, local = (validate_results(results, dataset) for results in (f"{uploaded}/results", str(benchmark.results)))
    assert [finding.kind for finding in remote.findings] == [finding.kind for finding in local.findings]
    assert (remote.maps, remote.algorithms) == (local.maps, local.algorithms)


def test_a_server_that_stops_answering_ends_the_run_and_the_next_one_goes_on(
    uploaded: str, benchmark: Benchmark, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(store, f"{uploaded}/data", f"{uploaded}/results")
    shutil.rmtree(file_cache().folder)
    whole = remote.download

    def stop(url: str, *rest: object) -> None:
        if "Hill" in url:
            raise Unreachable(f"{url}: no server answers.")
        whole(url, *rest)

    monkeypatch.setattr(remote, "download", stop)
    with pytest.raises(Unreachable, match="no server answers"):
        run_plan(plan, store)
    assert store.failures() == []
    assert 0 < store.counts()["cells"] < 9
    monkeypatch.undo()
    run_plan(planned(store, f"{uploaded}/data", f"{uploaded}/results"), store)
    with open_store(tmp_path / "local.sqlite") as local:
        run_plan(planned(local, benchmark.root, benchmark.results), local)
        assert identical(store.cells(), local.cells()) == 81


def test_a_map_that_changes_after_planning_is_a_failure_of_its_cell_only(
    uploaded: str, object_store: ObjectStore, store: Store
) -> None:
    plan = planned(store, f"{uploaded}/data", f"{uploaded}/results")
    shutil.rmtree(file_cache().folder)
    key = uploaded.removeprefix(f"s3://{BUCKET}/")
    object_store.put({f"{key}/results/near/Barn.pfm": b"something else"})
    summary = run_plan(plan, store)
    assert summary.done == 8
    [failure] = summary.failures
    assert (failure.algorithm, failure.scene) == ("near", "Barn")
    assert "changed during the run" in failure.reason


def test_matchers_keep_their_maps_in_the_object_store(uploaded: str, store: Store) -> None:
    dataset = load_dataset("middlebury-v3:Q", f"{uploaded}/data")
    wanted = [matchers.wanted_matcher("opencv-bm")]

    def made(executor: InProcess) -> matchers.MatchedResults:
        folder = place(f"{uploaded}/maps")
        return matchers.make_maps(wanted, dataset, folder, executor, Progress(), hashes=ContentHashes(store))

    class Idle(InProcess):
        def submit(self, *arguments: object, **options: object):
            raise AssertionError("the maps are there already")

    first, again = made(InProcess()), made(Idle())
    assert first.failures == again.failures == ()
    assert first.results[0].runs == again.results[0].runs
    assert next(str(path) for path in again.results[0].maps.values()).startswith(f"{uploaded}/maps/")
    assert make_plan(store, dataset, first.results, PROTOCOL).cells == 3
    with pytest.raises(FileError, match="no such bucket"):
        place("s3://no-such-bucket/maps")


class Machines:
    """A Dask scheduler and workers as processes; each worker has a folder and a cache of its own, and no data."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = {**os.environ, **environment}
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self.port = free_port()

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self, workers: int = 2) -> None:
        self.scheduler = self._start("scheduler", "--port", str(self.port), "--no-dashboard", folder="scheduler")
        for _ in range(workers):
            self.add_worker()

    def add_worker(self) -> None:
        words = ("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        self.workers.append(self._start(*words, folder=f"machine-{len(self.workers)}"))

    def _start(self, *words: str, folder: str) -> subprocess.Popen[bytes]:
        home = self.folder / folder
        home.mkdir(parents=True, exist_ok=True)
        own = {"STEREOGAUGE_CACHE": str(home / "cache"), "HOME": str(home), "TMPDIR": str(home)}
        with open(home / "log", "ab") as log:
            command = [sys.executable, "-m", "dask", *words]
            return subprocess.Popen(command, cwd=home, env={**self.environment, **own}, stdout=log, stderr=log)

    def kill(self) -> None:
        for process in [*self.workers, *([self.scheduler] if self.scheduler else [])]:
            process.kill()
            process.wait()

    def fetched(self) -> dict[str, int]:
        """The bytes of the copies that each worker made."""
        found = {}
        for home in sorted(self.folder.glob("machine-*")):
            copies = [path for path in (home / "cache" / "remote").rglob("*") if path.is_file()]
            found[home.name] = sum(path.stat().st_size for path in copies)
        return found


@pytest.fixture
def machines(object_store: ObjectStore, tmp_path: Path) -> Iterator[Machines]:
    started = Machines(tmp_path / "machines", object_store.environment)
    yield started
    started.kill()


def wait_for(done: Callable[[], bool], seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.3)


def stored(url: str) -> int:
    try:
        with open_store(url, read_only=True) as opened:
            return opened.counts()["cells"]
    except StoreError:
        return 0


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.postgres
def test_machines_without_a_shared_disk_lose_a_worker_the_object_store_and_the_scheduler(
    machines: Machines, postgres_url: str, tmp_path: Path
) -> None:
    scenes = tuple(f"Scene{number:02d}" for number in range(12))
    benchmark = Benchmark(tmp_path / "here", scenes, tuple(f"method{n}" for n in range(5)), (240, 320))
    with open_store(tmp_path / "local.sqlite") as local:
        run_plan(planned(local, benchmark.root, benchmark.results), local)
        wanted = local.cells()
    assert len(wanted) == 60
    server = ObjectStore()
    machines.environment |= server.environment

    def upload() -> int:
        return server.put_folder(benchmark.root, "data") + server.put_folder(benchmark.results, "results")

    size = upload()
    hidden = benchmark.root.parent.rename(tmp_path / "elsewhere")  # no process finds a file by its local path
    words = [sys.executable, "-m", "stereogauge", "evaluate", f"middlebury-v3:Q:s3://{BUCKET}/data"]
    words += [f"s3://{BUCKET}/results", "--store", postgres_url, "--cluster", machines.address]
    words += ["--metrics", ",".join(PROTOCOL.metrics), "--regions", ",".join(PROTOCOL.regions)]

    def evaluate() -> subprocess.Popen[str]:
        empty = tmp_path / "command"
        empty.mkdir(exist_ok=True)
        own = {"STEREOGAUGE_CACHE": str(empty / "cache")}
        environment = {**machines.environment, **own}
        return subprocess.Popen(words, cwd=empty, env=environment, stderr=subprocess.PIPE, text=True)

    def end(process: subprocess.Popen[str]) -> tuple[int, str]:
        _, errors = process.communicate(timeout=300)
        assert "Traceback" not in errors, errors
        return process.returncode, errors

    seen: list[int] = []
    started = time.monotonic()
    machines.start()
    try:
        first = evaluate()
        wait_for(lambda: stored(postgres_url) > 0)
        machines.workers[0].send_signal(signal.SIGKILL)
        machines.add_worker()
        wait_for(lambda: stored(postgres_url) >= 15)
        server.kill()
        code, errors = end(first)
        seen.append(stored(postgres_url))
        assert code == 2, errors
        assert f"no server answers at {server.url}" in errors

        server = ObjectStore(server.port)
        hidden.rename(benchmark.root.parent)
        upload()
        benchmark.root.parent.rename(hidden)
        second = evaluate()
        wait_for(lambda: stored(postgres_url) >= seen[0] + 8)
        machines.kill()
        code, errors = end(second)
        seen.append(stored(postgres_url))
        assert code == 2, errors
        assert "The Dask scheduler does not answer any more" in errors

        machines.workers.clear()
        machines.start()
        code, errors = end(evaluate())
        assert code == 0, errors
    finally:
        server.kill()
    assert 0 < seen[0] < seen[1] < 60
    with open_store(postgres_url) as store:
        assert store.failures() == []
        same = identical(store.cells(), wanted)
        hidden.rename(benchmark.root.parent)
        assert planned(store, benchmark.root, benchmark.results).cells == 0
    fetched = machines.fetched()
    assert len(fetched) == 3
    assert all(0 < amount <= size for amount in fetched.values())
    seconds = time.monotonic() - started
    figures = (
        f"{same} scores identical, {seen} of 60 cells stored at the kills, {size} bytes, {fetched}, {seconds:.0f} s"
    )
    logging.getLogger(__name__).info(figures)
