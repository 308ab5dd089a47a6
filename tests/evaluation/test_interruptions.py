"""`kill -9`, twenty times: of the main process at random moments and of workers. Afterwards the store is as if nothing
had happened.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from stereogauge.datasets.results import find_results
from stereogauge.evaluation.cells import CellScores, same_scores
from stereogauge.evaluation.executors import LocalProcesses
from stereogauge.evaluation.plan import Plan, make_plan
from stereogauge.evaluation.run import run_plan
from stereogauge.protocol import Protocol
from stereogauge.store import Store, open_store

PROTOCOL = Protocol(metrics=("bad@1", "bad@2", "mae", "rms", "quantile@95"), regions=("all", "nonocc", "disc"))
KILLS_OF_MAIN = 12
KILLS_OF_WORKERS = 6
KILLS_OF_THE_COMMAND = 2


def planned(benchmark, store: Store) -> Plan:
    dataset = benchmark.dataset()
    return make_plan(store, dataset, find_results(benchmark.results, dataset).results, PROTOCOL)


@pytest.fixture(scope="module")
def undisturbed(large_benchmark, tmp_path_factory) -> tuple[list[CellScores], float]:
    """The cells of a run that nobody disturbs, and how long it takes once the kernels are compiled."""
    for name in ("first", "second"):
        with open_store(tmp_path_factory.mktemp(name) / "scores.sqlite") as store:
            started = time.monotonic()
            run_plan(planned(large_benchmark, store), store)
            duration = time.monotonic() - started
            cells = store.cells()
    return cells, duration


def check_equal(store: Store, cells: list[CellScores]) -> None:
    found = store.cells()
    assert [(cell.scene, cell.algorithm) for cell in found] == [(cell.scene, cell.algorithm) for cell in cells]
    assert all(
        same_scores(left, right) and left.inputs == right.inputs for left, right in zip(found, cells, strict=True)
    )
    assert store.failures() == []


def test_a_main_process_killed_at_random_moments(large_benchmark, undisturbed, tmp_path):
    cells, duration = undisturbed
    path = tmp_path / "scores.sqlite"
    moments = random.Random(5)
    seen: list[int] = []
    killed = 0

    def work() -> None:
        with open_store(path) as store:
            run_plan(planned(large_benchmark, store), store)

    for _ in range(KILLS_OF_MAIN):
        process = multiprocessing.get_context("fork").Process(target=work)
        process.start()
        process.join(moments.uniform(0, duration / 4))
        process.kill()
        process.join()
        killed += process.exitcode == -signal.SIGKILL
        with open_store(path) as store:
            known = {(cell.scene, cell.algorithm): cell for cell in cells}
            stored = store.cells() if store.counts()["cells"] else []
            assert all(same_scores(cell, known[cell.scene, cell.algorithm]) for cell in stored)
            seen.append(len(stored))
    assert killed >= KILLS_OF_MAIN // 2
    assert seen == sorted(seen)
    assert any(0 < amount < len(cells) for amount in seen)
    with open_store(path) as store:
        run_plan(planned(large_benchmark, store), store)
        check_equal(store, cells)


def test_workers_killed_at_random_moments(large_benchmark, undisturbed, tmp_path):
    cells, _ = undisturbed
    moments = random.Random(6)
    killed: list[int] = []
    with open_store(tmp_path / "scores.sqlite") as store:
        executor = LocalProcesses(2)
        finished = threading.Event()

        def kill() -> None:
            while len(killed) < KILLS_OF_WORKERS and not finished.wait(moments.uniform(0, 0.4)):
                alive = executor.process_ids
                if alive:
                    killed.append(moments.choice(alive))
                    os.kill(killed[-1], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        summary = run_plan(planned(large_benchmark, store), store, executor=executor)
        finished.set()
        killer.join()
        executor.shutdown()
        assert len(killed) >= 1
        assert summary.done + len(summary.failures) == len(cells)
        assert all("killed" in failure.reason for failure in store.failures())
        run_plan(planned(large_benchmark, store), store)
        check_equal(store, cells)


@pytest.mark.parametrize("number", range(KILLS_OF_THE_COMMAND))
def test_the_command_killed_leaves_no_worker_and_no_half(large_benchmark, undisturbed, tmp_path, number):
    cells, _ = undisturbed
    path = tmp_path / "scores.sqlite"
    words = [sys.executable, "-m", "stereogauge.cli", "evaluate", f"middlebury-v3:Q:{large_benchmark.root}"]
    words += [str(large_benchmark.results), "--store", str(path), "--jobs", "2"]
    words += ["--metrics", ",".join(PROTOCOL.metrics), "--regions", ",".join(PROTOCOL.regions)]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    workers = _workers(process.pid, path, wanted=number * len(cells) // 3)
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert alive == []
    with open_store(path) as store:
        run_plan(planned(large_benchmark, store), store)
        check_equal(store, cells)


def _workers(main: int, path: Path, wanted: int) -> list[psutil.Process]:
    """The worker processes, once they run and `wanted` cells are stored."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        workers = psutil.Process(main).children(recursive=True)
        if len(workers) >= 2 and (not wanted or _stored(path) >= wanted):
            return workers
        time.sleep(0.02)
    raise AssertionError("the command did not get that far")


def _stored(path: Path) -> int:
    with open_store(path, read_only=True) as store:
        return store.counts()["cells"]


def test_an_interrupt_from_the_keyboard_stores_what_is_finished_and_says_how_to_go_on(
    large_benchmark, undisturbed, tmp_path
):
    cells, _ = undisturbed
    path = tmp_path / "scores.sqlite"
    words = [sys.executable, "-m", "stereogauge.cli", "evaluate", f"middlebury-v3:Q:{large_benchmark.root}"]
    words += [str(large_benchmark.results), "--store", str(path), "--jobs", "2"]
    words += ["--metrics", ",".join(PROTOCOL.metrics), "--regions", ",".join(PROTOCOL.regions)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    workers = _workers(process.pid, path, wanted=5)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "the same command goes on from there" in errors
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert alive == []
    with open_store(path) as store:
        assert 5 <= store.counts()["cells"] < len(cells)
        run_plan(planned(large_benchmark, store), store)
        check_equal(store, cells)
