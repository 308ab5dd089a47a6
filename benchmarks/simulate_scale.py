"""A million cells of made-up scores through plan, store and ranking selection: `python -m benchmarks.simulate_scale
[cells]`.

The scenes and maps exist only by name, so that nothing is measured but what grows with a benchmark besides computing
itself. Each row of the table is the same store grown further; times are processor time of one process.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.fingerprints import ContentHashes
from stereogauge.evaluation.run import make_plan
from stereogauge.evaluation.worker import CellGroup
from stereogauge.model import Dataset, ResultSet, Scene
from stereogauge.protocol import load_protocol
from stereogauge.ranking import rank
from stereogauge.scores.score import CellScores
from stereogauge.store import Store, open_store
from stereogauge.store.sources import source_text
from stereogauge.store.write import MapRecord

ALGORITHMS = 1000
SELECTED = 100
STEPS = (0.01, 0.03, 0.1, 0.3, 1.0)
PROTOCOL = load_protocol("default")


class MadeUpHashes(ContentHashes):
    """Hashes of files that do not exist: their names."""

    def of(self, sources: Sequence[Any]) -> list[str | StereogaugeError]:
        return [str(source) for source in sources]


def measured(call: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of a call, and what it returns."""
    started = time.process_time()
    result = call()
    return time.process_time() - started, result


def made_up(group: CellGroup, random: np.random.Generator) -> tuple[list[CellScores], list[MapRecord]]:
    width = len(group.cells[0].columns)
    values = random.random((len(group.cells), width))
    counts = np.full(width, 300_000)
    missing = np.zeros(width, np.int64)
    scene, scoring = group.scene, group.protocol.scoring_hash
    cells = [
        CellScores(
            scene.dataset,
            scene.id,
            cell.algorithm,
            scoring,
            cell.columns,
            row,
            row * 300_000,
            counts,
            missing,
            inputs=cell.inputs,
            host="simulation",
        )
        for cell, row in zip(group.cells, values, strict=True)
    ]
    maps = [
        MapRecord(scene.dataset, scene.id, cell.algorithm, cell.content, source_text(cell.estimate))
        for cell in group.cells
    ]
    return cells, maps


def grow(store: Store, scenes: int, random: np.random.Generator) -> dict[str, float]:
    """Bring the store to `scenes` scenes; returns what each part cost."""
    names = [f"scene{number:05d}" for number in range(scenes)]
    dataset = Dataset("made", [Scene(name, gt=f"/truth/{name}.pfm", dataset="made") for name in names])
    results = [
        ResultSet(f"algorithm{place:04d}", {name: f"/maps/algorithm{place:04d}/{name}.pfm" for name in names})
        for place in range(ALGORITHMS)
    ]

    def plan() -> Any:
        return make_plan(store, dataset, results, PROTOCOL, hashes=MadeUpHashes(None))

    planning, found = measured(plan)
    store.register(dataset, found.contents, results, PROTOCOL)
    run = store.begin_run("simulation")
    writing = 0.0
    for group in found.scenes:
        cells, maps = made_up(group, random)
        writing += measured(lambda cells=cells, maps=maps: store.write(cells, maps=maps, run=run))[0]
    nothing, empty = measured(plan)
    assert empty.cells == 0
    chosen = [result.name for result in results[:SELECTED]]
    selecting, cube = measured(lambda: store.cube(dataset="made", algorithms=chosen, columns=["bad@1:all"]))
    ranking, _ = measured(lambda: rank(cube, "middlebury"))
    return {
        "new": found.cells,
        "plan": planning,
        "write": writing,
        "plan again": nothing,
        "select": selecting,
        "rank": ranking,
    }


def main(total: int) -> None:
    random = np.random.default_rng(0)
    print(f"{'cells':>9} {'plan':>8} {'write':>8} {'again':>8} {'select':>8} {'rank':>8} {'file':>9} {'bytes':>7}")
    print(f"{'':>9} {'µs/cell':>8} {'µs/cell':>8} {'µs/cell':>8} {'ms':>8} {'ms':>8} {'MB':>9} {'/cell':>7}")
    with tempfile.TemporaryDirectory(prefix="stereogauge-scale-") as folder:
        path = Path(folder) / "scale.sqlite"
        for step in STEPS:
            scenes = max(1, int(total * step) // ALGORITHMS)
            cells = scenes * ALGORITHMS
            with open_store(path) as store:
                cost = grow(store, scenes, random)
            size = path.stat().st_size
            print(
                f"{cells:>9} {cost['plan'] / cells * 1e6:>8.1f} {cost['write'] / max(1, cost['new']) * 1e6:>8.1f} "
                f"{cost['plan again'] / cells * 1e6:>8.1f} {cost['select'] * 1e3:>8.1f} {cost['rank'] * 1e3:>8.1f} "
                f"{size / 1e6:>9.1f} {size / cells:>7.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
