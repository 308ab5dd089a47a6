"""`compare` on a pair of maps of 12000 × 8400 pixels: time and memory of the whole command.

The maps take 0.4 GB each. There is no peer: limits are half of what version 0.2 took, and 4 GB.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import cv2
import numpy as np

from benchmarks.bench_geometry import NINE
from benchmarks.command import Cost, stereogauge
from benchmarks.report import Report
from benchmarks.scenes import motorcycle
from benchmarks.timing import Times
from stereogauge.io import write_disparity

SIZE = (12_000, 8_400)
MEMORY_LIMIT = 4.0  # GB
PIXELWISE_LIMIT, GEOMETRY_LIMIT = 19.5, 40.0  # seconds
ROUNDS = 2


def write_pair(folder: Path, size: tuple[int, int]) -> tuple[Path, Path]:
    """Ground truth enlarged from Motorcycle, and an estimate with noise that repeats every 1000 pixels.

    The truth is another one every time, so that nothing about it is in a cache.
    """
    _, _, small = motorcycle()
    folder.mkdir()
    factor = np.float32(np.random.default_rng().uniform(1, 1.01) * size[0] / small.shape[1])
    truth = cv2.resize(small, size, interpolation=cv2.INTER_NEAREST) * factor
    random = np.random.default_rng(0)
    tile = (0.7 * random.standard_t(2, (1000, 1000))).astype(np.float32)
    tile[random.random(tile.shape) < 0.04] = np.nan
    noise = np.tile(tile, (-(-size[1] // 1000), -(-size[0] // 1000)))[: size[1], : size[0]]
    write_disparity(folder / "gt.pfm", truth)
    write_disparity(folder / "estimate.pfm", np.abs(np.where(np.isfinite(truth), truth, 50) + noise))
    return folder / "gt.pfm", folder / "estimate.pfm"


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="stereogauge-bench-") as name:
        geometry = ("--metrics", ",".join(NINE))
        small = write_pair(Path(name) / "small", (600, 420))
        stereogauge("compare", *small)  # compiles the kernels where that was not done yet
        stereogauge("compare", *small, *geometry)
        costs: dict[str, list[Cost]] = {"default metrics": [], "nine geometry metrics": []}
        for round_ in range(ROUNDS):
            pair = write_pair(Path(name) / f"large {round_}", SIZE)
            costs["default metrics"].append(stereogauge("compare", *pair))
            costs["nine geometry metrics"].append(stereogauge("compare", *pair, *geometry))
    for (work, found), limit in zip(costs.items(), (PIXELWISE_LIMIT, GEOMETRY_LIMIT), strict=True):
        text = f"`compare` at {SIZE[0]} × {SIZE[1]}, {work}"
        report.limit(text, Times(tuple(cost.seconds for cost in found)), limit)
        memory = Times(tuple(cost.memory / 1e9 for cost in found))
        report.limit(f"{text}, memory", memory, MEMORY_LIMIT, unit="GB")
