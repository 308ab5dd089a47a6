"""The store and the runs that fill it.

- Reading a cube of 100 algorithms × 200 scenes × 60 columns (1.2 million scores), against a table with a row per score.
- 200 cells at quarter size in two worker processes, against one.
- What plan and store cost beside the computing.
- The whole command when 20 000 cells are stored and nothing is to be done.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.command import python, stereogauge
from benchmarks.report import Report
from benchmarks.scenes import motorcycle, noisy_estimate
from benchmarks.store_cells import columns, made_cells, store_everything
from benchmarks.timing import Times, interleave
from stereogauge.datasets import load_dataset
from stereogauge.datasets.results.find import find_results
from stereogauge.evaluation.processes import LocalProcesses
from stereogauge.evaluation.run import make_plan, run_plan
from stereogauge.io import write_disparity
from stereogauge.model import Dataset, ResultSet, Scene
from stereogauge.protocol import load_protocol
from stereogauge.scores.score import CellScores
from stereogauge.store import open_store

ALGORITHMS, SCENES = 100, 200
COLUMNS = columns(60)
LIMIT = 2.0  # seconds: reading a cube; finding that nothing is to be done
OLD = 10**18
PROTOCOL = load_protocol("default").replace(
    metrics=["bad@0.5", "bad@1", "bad@2", "bad@4", "mae", "rms", "mre", "quantile@50", "quantile@95", "invalid"],
    regions=["all", "nonocc", "disc"],
)


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="stereogauge-bench-") as folder:
        read_cube(report, Path(folder))
        two_processes(report, Path(folder))
        nothing_to_do(report, Path(folder))


def kept(times: Times) -> str:
    """Whether the limit in seconds was kept too."""
    return f"limit {LIMIT:g} s {'kept' if times.median <= LIMIT else 'missed'}"


def score_rows(scene: int, cells: list[CellScores]) -> list[tuple[float, ...]]:
    """Cells as rows (algorithm, scene, column, value, sum, count, missing)."""
    return [
        (place, scene, column, *values)
        for place, cell in enumerate(cells)
        for column, values in enumerate(np.stack([cell.values, cell.sums, cell.counts, cell.missing], axis=1).tolist())
    ]


def read_cube(report: Report, folder: Path) -> None:
    random = np.random.default_rng(0)
    narrow = sqlite3.connect(folder / "narrow.sqlite")
    narrow.execute(
        "CREATE TABLE score (algorithm INT, scene INT, col INT, value REAL, sum REAL, count INT, missing INT, "
        "PRIMARY KEY (algorithm, scene, col)) WITHOUT ROWID"
    )
    with open_store(folder / "cube.sqlite") as store:
        run_id = store.begin_run()
        for scene in range(SCENES):
            cells = made_cells(f"scene {scene}", ALGORITHMS, COLUMNS, "scoring", random)
            store.write(cells, run=run_id)
            narrow.executemany("INSERT INTO score VALUES (?, ?, ?, ?, ?, ?, ?)", score_rows(scene, cells))
        narrow.commit()

        def narrow_cube() -> NDArray[Any]:
            rows = np.array(narrow.execute("SELECT * FROM score").fetchall())
            cube = np.full((4, ALGORITHMS, SCENES, len(COLUMNS)), np.nan)
            places = rows[:, :3].astype(np.intp)
            cube[:, places[:, 0], places[:, 1], places[:, 2]] = rows[:, 3:].T
            return cube

        times = interleave({"ours": lambda: store.cube(), "narrow": narrow_cube}, rounds=4)
    narrow.close()
    work = "reading 1.2 million scores"
    report.row(work, times["ours"], times["narrow"], "SQLite, a row per score", 0.5, kept(times["ours"]))


def quarter_size(folder: Path) -> tuple[Dataset, list[ResultSet]]:
    """Ten scenes of Motorcycle's size, twenty estimates each, in files."""
    _, _, truth = motorcycle()
    (folder / "maps").mkdir()
    write_disparity(folder / "maps" / "truth.pfm", truth)
    for place in range(20):
        write_disparity(folder / "maps" / f"{place}.pfm", noisy_estimate(truth, place))
    names = [f"scene {number}" for number in range(10)]
    scenes = [Scene(name, gt=folder / "maps" / "truth.pfm", dataset="quarter") for name in names]
    results = [ResultSet(f"a{place}", dict.fromkeys(names, folder / "maps" / f"{place}.pfm")) for place in range(20)]
    return Dataset("quarter", scenes), results


def two_processes(report: Report, folder: Path) -> None:
    dataset, results = quarter_size(folder)
    overheads: list[float] = []
    computing: list[float] = []

    def evaluate(executor: LocalProcesses) -> None:
        path = folder / f"{time.time_ns()}.sqlite"
        with open_store(path) as store:
            started = time.process_time()
            plan = make_plan(store, dataset, results, PROTOCOL)
            summary = run_plan(plan, store, executor=executor)
            # The main process does nothing but planning, handing out, taking in and storing.
            overheads.append(time.process_time() - started)
            computing.append(summary.seconds)
            assert summary.done == 200

    with LocalProcesses(1) as one, LocalProcesses(2) as two:
        times = interleave({"two": lambda: evaluate(two), "one": lambda: evaluate(one)}, rounds=4)
    cores = len(os.sched_getaffinity(0))
    width = len(PROTOCOL.metrics) * len(PROTOCOL.regions)
    note = f"200 cells × {width} columns, {cores} cores"
    report.row("two worker processes", times["two"], times["one"], "one worker process", 1 / 1.7, note)
    spent, worked = Times(tuple(overheads[2:])), Times(tuple(computing[2:]))
    report.row(f"plan and store, {width} pixel-wise columns", spent, worked, "computing", 0.04)


def many_small_files(folder: Path) -> tuple[Path, Path]:
    """200 scenes in Middlebury's layout and 100 algorithms with a map for each."""
    root, results = folder / "many", folder / "results"
    tiny = np.full((6, 8), 3, np.float32)
    write_disparity(folder / "tiny.pfm", tiny)
    data = (folder / "tiny.pfm").read_bytes()
    text = "cam0=[100 0 4; 0 100 3; 0 0 1]\ncam1=[100 0 4; 0 100 3; 0 0 1]\ndoffs=0\nbaseline=100\n"
    text += "width=8\nheight=6\nndisp=16\n"
    for scene in range(SCENES):
        place = root / "trainingQ" / f"S{scene:03d}"
        place.mkdir(parents=True)
        (place / "calib.txt").write_text(text, encoding="ascii")
        (place / "disp0GT.pfm").write_bytes(data)
        (place / "im0.png").symlink_to(folder / "image.png")
        (place / "im1.png").symlink_to(folder / "image.png")
    cv2.imwrite(str(folder / "image.png"), np.zeros((6, 8), np.uint8))
    for algorithm in range(ALGORITHMS):
        (results / f"A{algorithm:03d}").mkdir(parents=True)
        for scene in range(SCENES):
            path = results / f"A{algorithm:03d}" / f"S{scene:03d}.pfm"
            path.write_bytes(data)
            os.utime(path, ns=(OLD, OLD))
    return root, results


def nothing_to_do(report: Report, folder: Path) -> None:
    root, results = many_small_files(folder)
    dataset = load_dataset("middlebury-v3:Q", root)
    path = folder / "many.sqlite"
    with open_store(path) as store:
        found = find_results(results, dataset).results
        store_everything(make_plan(store, dataset, found, load_protocol("default")), store)
    times = interleave(
        {
            "ours": lambda: stereogauge("evaluate", f"middlebury-v3:Q:{root}", results, "-s", path),
            "peer": lambda: python("-c", "import numpy, cv2, sqlalchemy, typer"),
        },
        rounds=4,
    )
    with open_store(path) as store:
        assert make_plan(store, dataset, found, load_protocol("default")).cells == 0
    work = "`evaluate`, 20 000 stored cells, nothing to do"
    report.row(work, times["ours"], times["peer"], "importing the libraries", 2.0, kept(times["ours"]))
