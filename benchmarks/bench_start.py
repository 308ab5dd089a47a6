"""What commands cost from start to finish: against the bare imports that they cannot do without, warm and first ever.

A first run has an empty cache of kernels; the files of the system stay in memory.
"""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.command import Cost, imported, python, stereogauge
from benchmarks.report import Report
from benchmarks.scenes import motorcycle, noisy_estimate
from benchmarks.store_cells import write_small_store
from benchmarks.timing import Times, amounts, interleave
from stereogauge.io import write_disparity

HEAVY = ("numba", "cv2", "pandas")
WARMUP_LIMIT = 12.0  # seconds of processor time
RANK_LIMIT = 1.0


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="stereogauge-bench-") as name:
        folder = Path(name)
        _, _, truth = motorcycle()
        write_disparity(folder / "gt.pfm", truth)
        write_disparity(folder / "estimate.pfm", np.abs(noisy_estimate(truth)))
        write_small_store(folder / "small.sqlite")
        warm_commands(report, folder)
        first_commands(report, folder)


def warm_commands(report: Report, folder: Path) -> None:
    """Commands whose kernels lie in the cache."""
    compare = ("compare", folder / "gt.pfm", folder / "estimate.pfm")
    rank = ("rank", folder / "small.sqlite")
    times = interleave(
        {
            "help": lambda: stereogauge("--help"),
            "typer": lambda: python("-c", "import typer"),
            "compare": lambda: stereogauge(*compare),
            "numba, cv2": lambda: python("-c", "import numba, cv2"),
            "rank": lambda: stereogauge(*rank),
        }
    )
    found = imported("--help", among=HEAVY)
    note = f"imports {', '.join(found) or 'none of Numba, OpenCV and pandas'}"
    report.row("`stereogauge --help`", times["help"], times["typer"], "import typer", 2.0, note)
    work = "`compare`, two maps of quarter size, default metrics, warm"
    report.row(work, times["compare"], times["numba, cv2"], "import numba, cv2", 1.5)
    report.limit("`rank` of a small store, start to finish", times["rank"], RANK_LIMIT)
    for words in (rank, ("metrics",), ("report", "--help")):
        found = imported(*words, among=("numba", "cv2"))
        shown = " ".join(str(word) for word in words if not isinstance(word, Path))
        work, note = f"`{shown}`: imports of Numba and OpenCV", ", ".join(found)
        report.row(work, len(found), 1, "one such import", 0.0, note, unit="imports")


def first_commands(report: Report, folder: Path) -> None:
    """Commands of a new user: nothing is compiled yet."""
    fresh = (folder / f"cache {number}" for number in itertools.count())
    compare = ("compare", folder / "gt.pfm", folder / "estimate.pfm", "--metrics", "bad@1,rms")

    def first(*words: str | Path) -> Cost:
        return stereogauge(*words, environment={"STEREOGAUGE_CACHE": str(next(fresh))})

    stereogauge(*compare)
    times = amounts({"first": lambda: first(*compare).seconds, "warm": lambda: stereogauge(*compare).seconds}, rounds=3)
    report.row("first `compare` ever (bad@1, rms), no kernel compiled", times["first"], times["warm"], "warm", 2.5)
    for words, what in ((("warmup",), "kernels of all usual choices"), (("warmup", "--all"), "all kernels")):
        costs = [first(*words) for _ in range(2)]
        processor = Times(tuple(cost.processor for cost in costs))
        wall = min(cost.seconds for cost in costs)
        note = f"{wall:.1f} s on the clock"
        report.limit(f"`{' '.join(words)}`, {what} from nothing, processor time", processor, WARMUP_LIMIT, note)
