"""A small benchmark in files: Middlebury's layout, made-up scenes, maps of some algorithms with different errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from stereogauge import Dataset, Protocol, load_dataset, open_store, write_disparity
from stereogauge.datasets.results.find import find_results
from stereogauge.evaluation.run import Plan, make_plan
from stereogauge.store import Store

SCENES = ("Barn", "Fence", "Hill")
ALGORITHMS = ("near", "far", "holes")


class Benchmark:
    """`root` is the dataset's folder, `results` holds a folder an algorithm."""

    def __init__(
        self, folder: Path, scenes: tuple[str, ...], algorithms: tuple[str, ...], size: tuple[int, int]
    ) -> None:
        self.root = folder / "data"
        self.results = folder / "results"
        self.scenes = scenes
        self.algorithms = algorithms
        numbers = np.random.default_rng(1)
        for scene in scenes:
            self._make_scene(self.root / "trainingQ" / scene, numbers, size)
        for place, algorithm in enumerate(algorithms):
            self.add_algorithm(algorithm, error=0.4 + 0.6 * place, seed=place)

    def _make_scene(self, folder: Path, numbers: np.random.Generator, size: tuple[int, int]) -> None:
        folder.mkdir(parents=True)
        height, width = size
        truth = np.full(size, 4, np.float32)
        truth[height // 4 : height // 2, width // 4 : width // 2] = 9
        truth += numbers.random(size, np.float32)
        truth[0, :3] = np.nan
        write_disparity(folder / "disp0GT.pfm", truth)
        left = numbers.integers(0, 255, (height, width, 3), np.uint8)
        for name in ("im0.png", "im1.png"):
            cv2.imwrite(str(folder / name), left)
        mask = np.where(numbers.random(size) < 0.8, 255, 128).astype(np.uint8)
        cv2.imwrite(str(folder / "mask0nocc.png"), mask)
        calibration = {"cam0": f"[800 0 {width / 2}; 0 800 {height / 2}; 0 0 1]", "doffs": 1, "baseline": 100}
        calibration |= {"cam1": calibration["cam0"], "width": width, "height": height, "ndisp": 16}
        text = "\n".join(f"{key}={value}" for key, value in calibration.items())
        (folder / "calib.txt").write_text(text + "\n", encoding="ascii")

    def dataset(self) -> Dataset:
        """The dataset as the loader lists it."""
        return load_dataset("middlebury-v3:Q", self.root)

    def plan(self, store: Store, protocol: Protocol, **options: Any) -> Plan:
        """What the store lacks of all results under a protocol."""
        dataset = self.dataset()
        return make_plan(store, dataset, find_results(self.results, dataset).results, protocol, **options)

    def add_algorithm(self, name: str, *, error: float, seed: int) -> None:
        """Write maps whose error is up to `error`, with some pixels missing."""
        folder = self.results / name
        folder.mkdir(parents=True, exist_ok=True)
        for place, scene in enumerate(self.scenes):
            truth = self.dataset()[scene].gt
            numbers = np.random.default_rng([seed, place])
            estimate = truth + error * numbers.standard_normal(truth.shape, np.float32)
            estimate[numbers.random(truth.shape) < 0.05] = np.nan
            write_disparity(folder / f"{scene}.pfm", estimate)


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return Benchmark(tmp_path, SCENES, ALGORITHMS, (24, 32))


@pytest.fixture(scope="session")
def large_benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Enough work that a kill finds something to interrupt."""
    scenes = tuple(f"Scene{number:02d}" for number in range(12))
    algorithms = tuple(f"method{number}" for number in range(6))
    return Benchmark(tmp_path_factory.mktemp("large"), scenes, algorithms, (120, 160))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "scores.sqlite") as opened:
        yield opened
