"""The store and the runs that fill it.

- Reading a cube of 100 algorithms × 200 scenes × 60 columns (1.2 million scores), against a table with a row a score.
- 200 cells at quarter size in two worker processes, against one.
- What plan and store cost beside the computing.
- The whole command when 20 000 cells are stored and nothing is to be done.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.report import Report
from benchmarks.scenes import motorcycle, noisy_estimate
from benchmarks.timing import interleave
from stereogauge.datasets import load_dataset
from stereogauge.datasets.results.find import find_results
from stereogauge.evaluation.executors import LocalProcesses
from stereogauge.evaluation.plan import Plan, make_plan
from stereogauge.evaluation.run import run_plan
from stereogauge.io import write_disparity
from stereogauge.model import Dataset, ResultSet, Scene
from stereogauge.protocol import load_protocol
from stereogauge.scores.cell import CellScores
from stereogauge.scores.column import VersionedColumn
from stereogauge.store import Store, open_store

ALGORITHMS, SCENES = 100, 200
COLUMNS = tuple(VersionedColumn(f"bad@{n}", 1, region, 1) for n in range(1, 21) for region in ("all", "nonocc", "disc"))
CUBE_LIMIT = 2.0
NOTHING_LIMIT = 2.0
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


def made_cells(scene: str, random: np.random.Generator) -> list[CellScores]:
    width = len(COLUMNS)
    return [
        CellScores(
            "made",
            scene,
            f"algorithm {place}",
            "scoring",
            COLUMNS,
            random.random(width),
            random.random(width),
            np.full(width, 100_000),
            np.zeros(width, np.int64),
            inputs=1,
        )
        for place in range(ALGORITHMS)
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
            cells = made_cells(f"scene {scene}", random)
            store.write(cells, run=run_id)
            narrow.executemany(
                "INSERT INTO score VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (place, scene, column, *values)
                    for place, cell in enumerate(cells)
                    for column, values in enumerate(
                        zip(
                            cell.values.tolist(),
                            cell.sums.tolist(),
                            cell.counts.tolist(),
                            cell.missing.tolist(),
                            strict=True,
                        )
                    )
                ],
            )
        narrow.commit()

        def narrow_cube() -> np.ndarray:
            rows = np.array(narrow.execute("SELECT * FROM score").fetchall())
            cube = np.full((4, ALGORITHMS, SCENES, len(COLUMNS)), np.nan)
            places = rows[:, :3].astype(np.intp)
            cube[:, places[:, 0], places[:, 1], places[:, 2]] = rows[:, 3:].T
            return cube

        times = interleave({"ours": lambda: store.cube(), "narrow": narrow_cube}, rounds=3)
    narrow.close()
    note = f"limit {CUBE_LIMIT} s {'kept' if times['ours'] <= CUBE_LIMIT else 'MISSED'}"
    report.row("reading 1.2 million scores", times["ours"], times["narrow"], "a row a score", 0.5, note)


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
        times = interleave({"two": lambda: evaluate(two), "one": lambda: evaluate(one)}, rounds=3)
    cores = len(os.sched_getaffinity(0))
    note = f"200 cells × {3 * len(PROTOCOL.metrics)} columns, {times['one'] / times['two']:.2f} × on {cores} cores"
    report.row("two worker processes", times["two"], times["one"], "one worker process", 1 / 1.7, note)
    report.row("plan and store", float(np.median(overheads)), float(np.median(computing)), "computing", 0.05)


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
    import cv2

    cv2.imwrite(str(folder / "image.png"), np.zeros((6, 8), np.uint8))
    for algorithm in range(ALGORITHMS):
        (results / f"A{algorithm:03d}").mkdir(parents=True)
        for scene in range(SCENES):
            path = results / f"A{algorithm:03d}" / f"S{scene:03d}.pfm"
            path.write_bytes(data)
            os.utime(path, ns=(OLD, OLD))
    return root, results


def store_everything(plan: Plan, store: Store) -> None:
    """Made-up scores for every cell of a plan."""
    store.register(plan.dataset, plan.contents, plan.results, plan.protocol)
    run_id = store.begin_run()
    for group in plan.scenes:
        cells = [
            CellScores(
                plan.dataset.name,
                group.scene.id,
                cell.algorithm,
                plan.protocol.scoring_hash,
                cell.columns,
                np.zeros(len(cell.columns)),
                np.zeros(len(cell.columns)),
                np.zeros(len(cell.columns), np.int64),
                np.zeros(len(cell.columns), np.int64),
                inputs=cell.inputs,
            )
            for cell in group.cells
        ]
        store.write(cells, run=run_id)


def nothing_to_do(report: Report, folder: Path) -> None:
    root, results = many_small_files(folder)
    dataset = load_dataset("middlebury-v3:Q", root)
    path = folder / "many.sqlite"
    with open_store(path) as store:
        store_everything(
            make_plan(store, dataset, find_results(results, dataset).results, load_protocol("default")), store
        )
    words = [
        sys.executable,
        "-m",
        "stereogauge.cli",
        "evaluate",
        f"middlebury-v3:Q:{root}",
        str(results),
        "-s",
        str(path),
    ]

    def command() -> None:
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        assert f"{ALGORITHMS * SCENES} cells are stored" in done.stderr, done.stderr

    peer = [sys.executable, "-c", "import numba, cv2, sqlalchemy, typer"]
    times = interleave({"ours": command, "peer": lambda: subprocess.run(peer, check=True)}, rounds=3)
    note = f"limit {NOTHING_LIMIT} s {'kept' if times['ours'] <= NOTHING_LIMIT else 'MISSED'}"
    report.row("20 000 stored cells, nothing to do", times["ours"], times["peer"], "importing the libraries", 2.0, note)
