"""The same plan on a real Dask cluster of processes, one of which is killed on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from tests.cells import same_scores

from stereogauge import Protocol, StereogaugeError, open_store
from stereogauge.evaluation.executors import Cluster
from stereogauge.evaluation.progress import Progress
from stereogauge.evaluation.run import run_plan

pytestmark = [
    pytest.mark.cluster,
    # Dask itself leaves sockets and loops to the garbage collector when a worker is killed.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

PROTOCOL = Protocol(metrics=("bad@1", "mae", "quantile@95"), regions=("all", "nonocc", "disc"))


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as opened:
        yield opened


class KillOnce(Progress):
    """Kills a worker when the first cells have arrived."""

    def __init__(self, pids: list[int]) -> None:
        self.pids = pids
        self.lock = threading.Lock()
        self.killed = False

    def advance(self, done: int, failed: int) -> None:
        with self.lock:
            if not self.killed:
                self.killed = True
                os.kill(self.pids[0], signal.SIGKILL)


def test_a_cluster_gives_the_same_scores_bit_for_bit_though_a_worker_is_killed(cluster, large_benchmark, tmp_path):
    with open_store(tmp_path / "here.sqlite") as here, open_store(tmp_path / "there.sqlite") as there:
        run_plan(large_benchmark.plan(here, PROTOCOL), here)
        executor = Cluster(cluster.scheduler_address)
        assert executor.workers == 2
        pids = list(executor._client.run(os.getpid).values())
        progress = KillOnce(pids)
        summary = run_plan(large_benchmark.plan(there, PROTOCOL), there, executor=executor, progress=progress)
        executor.shutdown()
        assert progress.killed
        assert (summary.done, summary.failures) == (72, [])
        pairs = list(zip(here.cells(), there.cells(), strict=True))
        assert all(same_scores(left, right) for left, right in pairs)


def test_an_address_where_nobody_answers_says_so(monkeypatch):
    monkeypatch.setattr("stereogauge.evaluation.executors.CONNECTING", 1)
    with pytest.raises(StereogaugeError, match="No Dask scheduler answers at 'tcp://127"):
        Cluster("tcp://127.0.0.1:1")


class KillAll(Progress):
    """Kills processes when the first cells have arrived."""

    def __init__(self, processes: list[subprocess.Popen[bytes]]) -> None:
        self.processes = processes

    def advance(self, done: int, failed: int) -> None:
        for process in self.processes:
            process.kill()


@pytest.fixture
def programs(tmp_path):
    """A scheduler and two workers as programs that nobody starts again; gives the address and the processes."""
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    place = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    dask = [sys.executable, "-m", "distributed.cli"]
    scheduler = [f"{dask[-1]}.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(place)]
    worker = [f"{dask[-1]}.dask_worker", "--scheduler-file", str(place), "--no-nanny", "--no-dashboard"]
    running = [subprocess.Popen([*dask[:2], *scheduler], **quiet)]
    try:
        end = time.monotonic() + 60
        while not place.is_file() or not place.read_text().strip():
            assert time.monotonic() < end
            time.sleep(0.1)
        running += [subprocess.Popen([*dask[:2], *worker, "--nthreads", "1"], **quiet) for _ in range(2)]
        yield json.loads(place.read_text())["address"], running
    finally:
        for process in running:
            process.kill()
            process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("dead", ["workers", "scheduler", "all"])
def test_a_cluster_that_dies_is_one_sentence_and_the_rest_is_computed_later(
    dead, programs, large_benchmark, tmp_path, monkeypatch
):
    address, running = programs
    executor = Cluster(address)
    executor._client.wait_for_workers(2, timeout=60)
    # Only now: a busy machine takes longer to start workers.
    monkeypatch.setattr("stereogauge.evaluation.executors.WITHOUT_WORKERS", 3.0)
    victims = {"workers": running[1:], "scheduler": running[:1], "all": running}[dead]
    start = time.monotonic()
    with open_store(tmp_path / "there.sqlite") as store:
        plan = large_benchmark.plan(store, PROTOCOL)
        with pytest.raises(StereogaugeError, match="Dask") as stopped:
            run_plan(plan, store, executor=executor, progress=KillAll(victims))
        executor.shutdown(wait=False, cancel_futures=True)
        assert "\n" not in str(stopped.value)
        assert time.monotonic() - start < 120
        stored = len(list(store.cells()))
        assert 0 < stored < 72
        summary = run_plan(large_benchmark.plan(store, PROTOCOL), store)
        assert summary.failures == []
        assert summary.done == 72 - stored
