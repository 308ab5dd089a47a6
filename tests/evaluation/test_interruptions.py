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
from tests.cells import same_scores

from stereogauge import Protocol, open_store
from stereogauge.errors import StoreError
from stereogauge.evaluation.processes import LocalProcesses
from stereogauge.evaluation.run import Plan, Summary, run_plan
from stereogauge.scores.score import CellScores
from stereogauge.store import Store

PROTOCOL = Protocol(metrics=("bad@1", "bad@2", "mae", "rms", "quantile@95"), regions=("all", "nonocc", "disc"))
KILLS_OF_MAIN = 12
KILLS_OF_WORKERS = 6
KILLS_OF_THE_COMMAND = 2


@pytest.fixture(scope="module")
def undisturbed(large_benchmark, tmp_path_factory) -> list[CellScores]:
    """The cells of a run that nobody disturbs."""
    with open_store(tmp_path_factory.mktemp("undisturbed") / "scores.sqlite") as store:
        run_plan(large_benchmark.plan(store, PROTOCOL), store)
        return store.cells()


def check_equal(store: Store, cells: list[CellScores]) -> None:
    found = store.cells()
    assert [(cell.scene, cell.algorithm) for cell in found] == [(cell.scene, cell.algorithm) for cell in cells]
    assert all(
        same_scores(left, right) and left.inputs == right.inputs for left, right in zip(found, cells, strict=True)
    )
    assert store.failures() == []


def test_a_main_process_killed_at_random_moments(large_benchmark, undisturbed, tmp_path):
    cells = undisturbed
    known = {(cell.scene, cell.algorithm): cell for cell in cells}
    moments = random.Random(5)
    seen: list[int] = []
    killed = 0

    def work(path: Path) -> None:
        with open_store(path) as store:
            run_plan(large_benchmark.plan(store, PROTOCOL), store)

    path = tmp_path / "0.sqlite"
    while killed < KILLS_OF_MAIN:
        before = _stored(path)
        if before == len(cells):
            with open_store(path) as store:
                check_equal(store, cells)
            path = tmp_path / f"{killed}.sqlite"
            before = 0
        process = multiprocessing.get_context("fork").Process(target=work, args=(path,))
        process.start()
        wanted = before + moments.randint(0, 6)
        while process.is_alive() and _stored(path) < wanted:
            time.sleep(0.001)
        process.join(moments.uniform(0, 0.03))
        process.kill()
        process.join()
        killed += process.exitcode == -signal.SIGKILL
        with open_store(path) as store:
            stored = store.cells() if store.counts()["cells"] else []
        assert len(stored) >= before
        assert all(same_scores(cell, known[cell.scene, cell.algorithm]) for cell in stored)
        seen.append(len(stored))
    assert any(0 < amount < len(cells) for amount in seen)
    with open_store(path) as store:
        run_plan(large_benchmark.plan(store, PROTOCOL), store)
        check_equal(store, cells)


def test_workers_killed_at_random_moments(large_benchmark, undisturbed, tmp_path):
    moments = random.Random(6)
    killed: list[int] = []
    while len(killed) < KILLS_OF_WORKERS:
        with open_store(tmp_path / f"{len(killed)}.sqlite") as store, LocalProcesses(2) as executor:
            summary = _run_with_killer(large_benchmark.plan(store, PROTOCOL), store, executor, killed, moments)
            assert summary.done + len(summary.failures) == len(undisturbed)
            assert all("killed" in failure.reason for failure in store.failures())
            run_plan(large_benchmark.plan(store, PROTOCOL), store)
            check_equal(store, undisturbed)


def _run_with_killer(
    plan: Plan, store: Store, executor: LocalProcesses, killed: list[int], moments: random.Random
) -> Summary:
    """Carry out a plan while a thread kills workers now and then; what it killed is added to `killed`."""
    finished = threading.Event()

    def kill() -> None:
        while len(killed) < KILLS_OF_WORKERS and not finished.wait(moments.uniform(0, 0.4)):
            alive = multiprocessing.active_children()
            if alive:
                killed.append(moments.choice(alive).pid or 0)
                os.kill(killed[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        return run_plan(plan, store, executor=executor)
    finally:
        finished.set()
        killer.join()


@pytest.mark.parametrize("number", range(KILLS_OF_THE_COMMAND))
def test_the_command_killed_leaves_no_worker_and_no_half(large_benchmark, undisturbed, tmp_path, number):
    cells = undisturbed
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
        run_plan(large_benchmark.plan(store, PROTOCOL), store)
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
    """How many cells are stored; 0 while the store is still being made."""
    try:
        with open_store(path, read_only=True) as store:
            return store.counts()["cells"]
    except StoreError:
        return 0


def test_an_interrupt_from_the_keyboard_stores_what_is_finished_and_says_how_to_go_on(
    large_benchmark, undisturbed, tmp_path
):
    cells = undisturbed
    path = tmp_path / "scores.sqlite"
    words = [sys.executable, "-m", "stereogauge.cli", "evaluate", f"middlebury-v3:Q:{large_benchmark.root}"]
    words += [str(large_benchmark.results), "--store", str(path), "--jobs", "2"]
    words += ["--metrics", ",".join(PROTOCOL.metrics), "--regions", ",".join(PROTOCOL.regions)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    workers = _workers(process.pid, path, wanted=5)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "the same command continues from there" in errors
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert alive == []
    with open_store(path) as store:
        assert 5 <= store.counts()["cells"] < len(cells)
        run_plan(large_benchmark.plan(store, PROTOCOL), store)
        check_equal(store, cells)
