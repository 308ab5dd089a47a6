"""All pixel-wise metrics on eight regions at full size, against tidy NumPy and against memory bandwidth."""

from __future__ import annotations

from collections.abc import Mapping

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Report
from benchmarks.scenes import motorcycle_full, noisy_estimate
from benchmarks.threads import on_threads
from benchmarks.timing import interleave
from stereogauge.masks.labels import pack_regions
from stereogauge.masks.scene_regions import range_in_front
from stereogauge.metrics.statistics import PassRequest, PixelStatistics

THRESHOLDS = (0.5, 1.0, 2.0, 3.0, 4.0)
QUANTILES = (0.5, 0.9, 0.95, 0.99)
FOCAL_BASELINE, DOFFS, MU = 771.0, 131.0, 1e-6


def regions(image: NDArray[np.uint8], truth: NDArray[np.float32]) -> dict[str, NDArray[np.bool_]]:
    filled = np.nan_to_num(truth)
    gradient = np.abs(cv2.Sobel(filled, cv2.CV_32F, 1, 0))
    edge = cv2.dilate((gradient > 8).astype(np.uint8), np.ones((9, 9))) > 0
    texture = cv2.blur(np.abs(cv2.Sobel(image.astype(np.float32), cv2.CV_32F, 1, 0)), (15, 15))
    return {
        "all": np.isfinite(truth),
        "edge": edge,
        "interior": ~edge,
        "textureless": texture < 8,
        "textured": texture >= 8,
        "far": filled < 100,
        "near": filled >= 100,
        "rim": cv2.dilate((gradient > 20).astype(np.uint8), np.ones((3, 3))) > 0,
    }


def plain(
    estimate: NDArray[np.float32], truth: NDArray[np.float32], masks: Mapping[str, NDArray[np.bool_]]
) -> dict[str, list[float]]:
    """What people write: boolean indexing and one expression per metric."""
    known, given = np.isfinite(truth), np.isfinite(estimate)
    scores = {}
    for name, mask in masks.items():
        inside = mask & known
        both = inside & given
        d, e = truth[both], estimate[both]
        error = np.abs(e - d)
        depth = np.abs(FOCAL_BASELINE / (d + DOFFS + MU) - FOCAL_BASELINE / (e + DOFFS + MU))
        scores[name] = [
            inside.sum(), (inside & ~given).sum(),
            *(np.sum(v, dtype=np.float64) for v in (e - d, error, error**2, error / d, depth)),
            *((error > t).sum() for t in THRESHOLDS),
            ((error > 3) & (error > 0.05 * d)).sum(),
            *np.quantile(error, QUANTILES),
        ]  # fmt: skip
    return scores


def run(report: Report) -> None:
    left, _, truth = motorcycle_full()
    estimate = noisy_estimate(truth)
    masks = regions(left, truth)
    (labels,) = pack_regions({name: mask & np.isfinite(truth) for name, mask in masks.items()})
    in_front = range_in_front(truth, DOFFS)  # once per scene, as regions are
    same_bytes = np.ones((estimate.nbytes + truth.nbytes + labels.slots.nbytes) // 4, np.float32)

    def ours() -> list[list[float]]:
        statistics = PixelStatistics(
            estimate, truth, labels, focal_baseline=FOCAL_BASELINE, doffs=DOFFS, mu=MU,
            request=PassRequest(THRESHOLDS, QUANTILES, depth=True), in_front=in_front,
        )  # fmt: skip
        return [
            [
                statistics.depth(name).total,
                *(statistics.above(name, threshold) for threshold in THRESHOLDS),
                *(statistics.quantile(name, quantile) for quantile in QUANTILES),
            ]
            for name in labels.names
        ]

    times = interleave(
        {
            "one": on_threads(1, ours),
            "two": on_threads(2, ours),
            "numpy": lambda: plain(estimate, truth, masks),
            "reduce": lambda: np.add.reduce(same_bytes),
        }
    )
    work = "pixel-wise metrics × 8 regions with exact quantiles"
    report.row(f"{work}, 1 thread", times["one"], times["numpy"], "NumPy", 0.045)
    report.row(f"{work}, 1 thread", times["one"], times["reduce"], "np.add.reduce over the same bytes", 7.0)
    report.row(f"{work}, 2 threads", times["two"], times["numpy"], "NumPy", 0.045)
