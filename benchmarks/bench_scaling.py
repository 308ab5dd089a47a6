"""How cost grows: with pixels, disparities, regions, algorithms, scenes and workers, each as curves of seconds."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks import bench_pixelwise as pixelwise
from benchmarks.bench_geometry import NINE
from benchmarks.bench_store import PROTOCOL
from benchmarks.curves import Curve, measure_curve
from benchmarks.matchers import ours as matcher
from benchmarks.report import Report
from benchmarks.scenes import motorcycle, noisy_estimate
from benchmarks.threads import on_threads
from benchmarks.timing import interleave
from stereogauge.confidence_measures.evidence import summarise
from stereogauge.evaluation.evaluate import evaluate
from stereogauge.evaluation.processes import LocalProcesses
from stereogauge.evaluation.run import make_plan, run_plan
from stereogauge.io import write_disparity
from stereogauge.kernels.cost_summary import Scales
from stereogauge.masks.labels import pack_regions
from stereogauge.matching.run import match
from stereogauge.matching.sgm import Workspace
from stereogauge.metrics.statistics import PassRequest, PixelStatistics
from stereogauge.model import Dataset, ResultSet, Scene
from stereogauge.ranking import Column, ScoreCube, rank
from stereogauge.store import open_store

MEGAPIXELS = (0.09, 0.37, 1.5, 5.9)
DISPARITIES = (32, 64, 128, 256)
REGIONS = (1, 2, 4, 8, 16)
ALGORITHMS = (4, 8, 16, 32)
RANKED = (100, 200, 400, 800)
SCENES = (2, 4, 8, 16)
WORKERS = tuple(2**power for power in range(max(2, (os.cpu_count() or 1).bit_length())))  # 1, 2, … up to the cores
PIXELWISE = ("bad@1", "bad@2", "mae", "rms", "quantile@95")


def run(report: Report) -> None:
    for measured in (pixels, disparities, regions, algorithms, scenes_and_workers):
        for curve in measured():
            report.curve(curve)


def enlarged(megapixels: float) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float32]]:
    """The Motorcycle pair at another size, its disparities scaled with the width."""
    left, right, truth = motorcycle()
    factor = (megapixels * 1e6 / truth.size) ** 0.5
    size = (round(truth.shape[1] * factor), round(truth.shape[0] * factor))
    images = [cv2.resize(image, size, interpolation=cv2.INTER_AREA) for image in (left, right)]
    scaled = cv2.resize(truth, size, interpolation=cv2.INTER_NEAREST) * np.float32(factor)
    return images[0], images[1], scaled


def statistics_pass(truth: NDArray[np.float32], masks: dict[str, NDArray[np.bool_]]) -> Callable[[], Any]:
    estimate, packed = noisy_estimate(truth), pack_regions(masks)
    request = PassRequest(pixelwise.THRESHOLDS, pixelwise.QUANTILES, depth=True)
    return on_threads(
        1,
        lambda: [
            PixelStatistics(estimate, truth, labels, focal_baseline=771.0, doffs=131.0, mu=1e-6, request=request)
            for labels in packed
        ],
    )


def pixels() -> list[Curve]:
    """Matching, the pixel-wise pass and the geometry metrics (with the sets of the scene) over megapixels."""
    workspace = Workspace()
    pairs = {size: enlarged(size) for size in MEGAPIXELS}

    def geometry_of(size: float) -> Callable[[], Any]:
        truth = pairs[size][2]
        estimate, scene = noisy_estimate(truth), Scene("scene", gt=truth, resolution=truth.shape[1] / 3000)
        return on_threads(1, lambda: evaluate(estimate, scene, NINE))

    def masks_of(size: float) -> Callable[[], Any]:
        left, _, truth = pairs[size]
        return statistics_pass(truth, pixelwise.regions(left, truth))

    def match_of(size: float) -> Callable[[], Any]:
        return matcher(workspace, *pairs[size][:2], 64, threads=1)

    over = "megapixels"
    return [
        measure_curve(over, "census SGM, D = 64, 1 thread", MEGAPIXELS, match_of),
        measure_curve(over, "pixel-wise pass, 8 regions, 1 thread", MEGAPIXELS, masks_of),
        measure_curve(over, "evaluate, nine geometry metrics, 1 thread", MEGAPIXELS, geometry_of),
    ]


def disparities() -> list[Curve]:
    """Matching and the confidence pass over the number of disparities."""
    left, right, _ = motorcycle()
    workspace = Workspace()
    scales = Scales.of(100, 100, 800)

    def summary_of(ndisp: int) -> Callable[[], Any]:
        result = match(left, right, "sgm", ndisp, right_view="diagonal")
        assert result.costs is not None
        assert result.winners is not None
        costs, winners = result.costs, result.winners
        return lambda: summarise(costs, winners, scales, threads=1)

    def match_of(ndisp: int) -> Callable[[], Any]:
        return matcher(workspace, left, right, ndisp, threads=1)

    return [
        measure_curve("disparities", "census SGM, 1 thread", DISPARITIES, match_of, rounds=5),
        measure_curve("disparities", "confidence pass, 1 thread", DISPARITIES, summary_of, rounds=5),
    ]


def regions() -> list[Curve]:
    """The pixel-wise pass over the number of regions: bands beside each other, and blocks that overlap at random."""
    truth = enlarged(1.5)[2]
    known, most = np.isfinite(truth), max(REGIONS)
    bands = np.arange(truth.shape[0])[:, None] * most // truth.shape[0]
    random = np.random.default_rng(0)
    blocks = [(random.random((25, 38)) < 0.5).astype(np.uint8) for _ in range(most)]
    overlapping = [cv2.resize(b, truth.shape[::-1], interpolation=cv2.INTER_NEAREST) > 0 for b in blocks]

    def beside(count: int) -> Callable[[], Any]:
        return statistics_pass(truth, {str(place): known & (bands % count == place) for place in range(count)})

    def overlaid(count: int) -> Callable[[], Any]:
        return statistics_pass(truth, {str(place): known & overlapping[place] for place in range(count)})

    return [
        measure_curve("regions", "pixel-wise pass, disjoint regions", REGIONS, beside, rounds=5),
        measure_curve("regions", "pixel-wise pass, regions that overlap at random", REGIONS, overlaid, rounds=5),
    ]


def algorithms() -> list[Curve]:
    """Evaluating so many estimates on a scene, and ranking so many algorithms."""
    _, _, truth = motorcycle()
    maps = {f"algorithm {place}": noisy_estimate(truth, place) for place in range(max(ALGORITHMS))}
    random = np.random.default_rng(0)

    def evaluate_of(count: int) -> Callable[[], Any]:
        some = dict(list(maps.items())[:count])
        scene = Scene("scene", gt=truth, resolution=0.25)
        return on_threads(1, lambda: evaluate(some, scene, PIXELWISE, ("all", "nonocc")))

    def rank_of(model: str) -> Callable[[int], Callable[[], Any]]:
        def work(count: int) -> Callable[[], Any]:
            cube = ScoreCube(
                algorithms=tuple(f"algorithm {place}" for place in range(count)),
                scenes=tuple(f"scene {place}" for place in range(50)),
                columns=(Column("bad@1", "all"), Column("rms", "all")),
                values=random.random((count, 50, 2)),
            )
            return lambda: rank(cube, model)

        return work

    over = "algorithms"
    return [
        measure_curve(over, "evaluate, 10 pixel-wise columns", ALGORITHMS, evaluate_of),
        measure_curve(over, "rank, weighted", RANKED, rank_of("weighted")),
        measure_curve(over, "rank, A*", RANKED, rank_of("a-star")),
    ]


def scenes_and_workers() -> list[Curve]:
    """Plan, workers and store over the number of scenes, and over that of workers."""
    _, _, truth = motorcycle()
    with tempfile.TemporaryDirectory(prefix="stereogauge-bench-") as name:
        folder = Path(name)
        write_disparity(folder / "truth.pfm", truth)
        for place in range(5):
            write_disparity(folder / f"{place}.pfm", noisy_estimate(truth, place))

        def evaluation(scenes: int, executor: LocalProcesses) -> Callable[[], Any]:
            names = [f"scene {number}" for number in range(scenes)]
            dataset = Dataset("made", [Scene(n, gt=folder / "truth.pfm", dataset="made") for n in names])
            maps = [ResultSet(f"a{k}", dict.fromkeys(names, folder / f"{k}.pfm")) for k in range(5)]

            def work() -> None:
                with open_store(folder / f"{time.time_ns()}.sqlite") as store:
                    summary = run_plan(make_plan(store, dataset, maps, PROTOCOL), store, executor=executor)
                    assert summary.done == 5 * scenes

            return work

        with ExitStack() as stack:
            pools = {count: stack.enter_context(LocalProcesses(count)) for count in WORKERS}
            over_scenes = measure_curve(
                "scenes", "plan, one worker, store; 5 maps each", SCENES, lambda count: evaluation(count, pools[1])
            )
            times = interleave({str(count): evaluation(max(SCENES), pools[count]) for count in WORKERS}, rounds=3)
    seconds = tuple(t.fastest for t in times.values())
    work = f"{max(SCENES)} scenes × 5 maps"
    return [over_scenes, Curve("workers", work, tuple(map(float, WORKERS)), seconds)]
