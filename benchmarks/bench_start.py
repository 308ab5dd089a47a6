"""What commands and Python calls cost in a fresh process, against the imports that they cannot do without."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.command import Cost, imported, python, stereogauge
from benchmarks.report import Report
from benchmarks.scenes import motorcycle, noisy_estimate
from benchmarks.store_cells import write_small_store
from benchmarks.timing import interleave
from stereogauge.io import write_disparity

HEAVY = ("cv2", "scipy", "pandas")
RANK_LIMIT = 1.0
EVALUATE = """
import sys
import stereogauge as sg
truth, estimate = (sg.read_disparity(path) for path in sys.argv[1:])
sg.evaluate(estimate, sg.Scene("scene", gt=truth), metrics=["bad@1", "mae", "rms"])
"""


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="stereogauge-bench-") as name:
        folder = Path(name)
        _, _, truth = motorcycle()
        write_disparity(folder / "gt.pfm", truth)
        write_disparity(folder / "estimate.pfm", np.abs(noisy_estimate(truth)))
        write_small_store(folder / "small.sqlite")
        commands(report, folder)


def commands(report: Report, folder: Path) -> None:
    """Whole processes, those of a new user with an empty cache too."""
    fresh = (folder / f"cache {number}" for number in itertools.count())
    maps = (folder / "gt.pfm", folder / "estimate.pfm")
    rank = ("rank", folder / "small.sqlite")

    def first(*words: str | Path) -> Cost:
        return stereogauge(*words, environment={"STEREOGAUGE_CACHE": str(next(fresh))})

    imports = "import numpy, cv2, typer, rich.table"
    times = interleave(
        {
            "help": lambda: stereogauge("--help"),
            "typer": lambda: python("-c", "import typer"),
            "compare": lambda: stereogauge("compare", *maps),
            "first compare": lambda: first("compare", *maps),
            "imports": lambda: python("-c", imports),
            "evaluate": lambda: python("-c", EVALUATE, *map(str, maps)),
            "numpy, cv2": lambda: python("-c", "import numpy, cv2"),
            "rank": lambda: stereogauge(*rank),
        }
    )
    found = imported("--help", among=HEAVY)
    note = f"imports {', '.join(found) or 'none of OpenCV, SciPy and pandas'}"
    report.row("`stereogauge --help`", times["help"], times["typer"], "import typer", 2.0, note)
    work = "`compare`, two maps of quarter size, default metrics"
    report.row(work, times["compare"], times["imports"], imports, 1.5)
    report.row(f"{work}, first time ever", times["first compare"], times["imports"], imports, 1.5)
    work = "`sg.evaluate` of one pair in a fresh process"
    report.row(work, times["evaluate"], times["numpy, cv2"], "import numpy, cv2", 2.0)
    report.limit("`rank` of a small store, start to finish", times["rank"], RANK_LIMIT)
    for words in (rank, ("metrics",), ("report", "--help")):
        found = imported(*words, among=("cv2",))
        shown = " ".join(str(word) for word in words if not isinstance(word, Path))
        report.row(f"`{shown}`: imports of OpenCV", len(found), 1, "one such import", 0.0, unit="imports")
