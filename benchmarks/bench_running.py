"""One validation image of a training loop: `sg.Running` against the three lines of NumPy that people write."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

import stereogauge as sg
from benchmarks.report import Report
from benchmarks.scenes import motorcycle, noisy_estimate
from benchmarks.threads import on_threads
from benchmarks.timing import interleave

SIZE = (1242, 375)
KNOWN = 0.19
"""The share of the pixels with ground truth in an image of KITTI."""


def by_hand(prediction: NDArray[np.float32], truth: NDArray[np.float32]) -> tuple[float, ...]:
    """EPE, bad pixels and D1 on the known pixels."""
    valid = np.isfinite(truth)
    error = np.abs(prediction - truth)
    wrong = error > 3
    return (
        float(error[valid].mean()),
        100 * float(wrong[valid].mean()),
        100 * float((wrong & (error > 0.05 * truth))[valid].mean()),
    )


def run(report: Report) -> None:
    dense = cv2.resize(motorcycle()[2], SIZE, interpolation=cv2.INTER_NEAREST)
    dense = np.where(np.isfinite(dense), dense, np.float32(30))
    prediction = np.nan_to_num(noisy_estimate(dense), nan=30.0)
    sparse = np.where(np.random.default_rng(1).random(dense.shape) < KNOWN, dense, np.float32(np.nan))
    running = sg.Running(["epe", "bad@3", "d1"], regions=["all"])
    for truth, name in ((sparse, "as sparse as KITTI's"), (dense, "dense")):
        times = interleave(
            {
                "ours": on_threads(1, lambda truth=truth: running.update(prediction, truth)),
                "numpy": lambda truth=truth: by_hand(prediction, truth),
            }
        )
        running.reset()
        work = f"EPE, bad@3 and D1 of one image of 1242 × 375, ground truth {name}"
        report.row(f"{work}, 1 thread", times["ours"], times["numpy"], "NumPy by hand", 1.0)
