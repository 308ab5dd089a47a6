"""Made-up scores for stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from stereogauge.evaluation.run import Plan
from stereogauge.model import Dataset, ResultSet, Scene
from stereogauge.protocol import load_protocol
from stereogauge.scores.column import VersionedColumn
from stereogauge.scores.score import CellScores
from stereogauge.store import Store, open_store

REGIONS = ("all", "nonocc", "disc")


def columns(count: int) -> tuple[VersionedColumn, ...]:
    """So many pixel-wise columns."""
    return tuple(VersionedColumn(f"bad@{place // 3 + 1}", 1, REGIONS[place % 3], 1) for place in range(count))


def made_cells(
    scene: str, algorithms: int, wanted: tuple[VersionedColumn, ...], protocol: str, random: np.random.Generator
) -> list[CellScores]:
    """One cell per algorithm on a scene."""
    width = len(wanted)
    pixels, missing = np.full(width, 100_000), np.zeros(width, np.int64)
    return [
        CellScores(
            "made", scene, f"algorithm {place}", protocol, wanted, random.random(width), random.random(width),
            pixels, missing, inputs=1,
        )
        for place in range(algorithms)
    ]  # fmt: skip


def write_small_store(path: Path, algorithms: int = 20, scenes: int = 10, width: int = 12) -> None:
    """A store as a first evaluation leaves it behind."""
    random = np.random.default_rng(0)
    protocol = load_protocol("default")
    names = [f"scene {place}" for place in range(scenes)]
    dataset = Dataset("made", [Scene(name, dataset="made") for name in names])
    results = [ResultSet(f"algorithm {place}", {}) for place in range(algorithms)]
    with open_store(path) as store:
        store.register(dataset, {}, results, protocol)
        run = store.begin_run()
        for name in names:
            store.write(made_cells(name, algorithms, columns(width), protocol.scoring_hash, random), run=run)


def planned_cells(plan: Plan) -> Iterator[list[CellScores]]:
    """Zeros for every cell of a plan, scene by scene."""
    for group in plan.scenes:
        yield [
            CellScores(
                plan.dataset.name, group.scene.id, cell.algorithm, plan.protocol.scoring_hash, cell.columns,
                np.zeros(len(cell.columns)), np.zeros(len(cell.columns)), np.zeros(len(cell.columns), np.int64),
                np.zeros(len(cell.columns), np.int64), inputs=cell.inputs,
            )
            for cell in group.cells
        ]  # fmt: skip


def store_everything(plan: Plan, store: Store) -> None:
    """Made-up scores for every cell of a plan."""
    store.register(plan.dataset, plan.contents, plan.results, plan.protocol)
    run = store.begin_run()
    for cells in planned_cells(plan):
        store.write(cells, run=run)
