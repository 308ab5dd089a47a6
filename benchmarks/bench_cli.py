"""What a command costs before it does anything: against the bare imports that it cannot do without."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.report import Report
from benchmarks.scenes import motorcycle, noisy_estimate
from benchmarks.timing import interleave


def python(*words: str) -> None:
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run(report: Report) -> None:
    from stereogauge.io import write_disparity

    _, _, truth = motorcycle()
    with tempfile.TemporaryDirectory() as folder:
        gt, estimate = Path(folder) / "gt.pfm", Path(folder) / "estimate.pfm"
        write_disparity(gt, truth)
        write_disparity(estimate, np.abs(noisy_estimate(truth)))
        times = interleave(
            {
                "help": lambda: python("-m", "stereogauge", "--help"),
                "typer": lambda: python("-c", "import typer"),
                "compare": lambda: python("-m", "stereogauge", "compare", str(gt), str(estimate)),
                "numba, cv2": lambda: python("-c", "import numba, cv2"),
            }
        )
    report.row("stereogauge --help", times["help"], times["typer"], "import typer", 2.0)
    report.row(
        "stereogauge compare, quarter size, warm", times["compare"], times["numba, cv2"], "import numba, cv2", 2.0
    )
