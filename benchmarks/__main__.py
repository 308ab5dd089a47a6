"""Run all benchmarks, or those whose names are given: `python -m benchmarks pixelwise sgm`."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

from benchmarks.report import Report


def main() -> None:
    names = [m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if m.name.startswith("bench_")]
    wanted = [f"bench_{word.removeprefix('bench_')}" for word in sys.argv[1:]] or names
    report = Report()
    for name in wanted:
        print(f"— {name.removeprefix('bench_')}", flush=True)
        importlib.import_module(f"benchmarks.{name}").run(report)
    report.close()


main()
