"""Census SGM at full size against OpenCV, and the memory that it takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.matchers import PEER, opencv, ours
from benchmarks.report import Report
from benchmarks.scenes import motorcycle_full
from benchmarks.timing import Times, interleave
from stereogauge.matching.sgm import Workspace, semi_global_matching

NDISP = 280
PEER_NDISP = 288  # a multiple of 16
LIMITS = (4.0, 1.0)  # GiB that a match may take


def run(report: Report) -> None:
    left, right, _ = motorcycle_full()
    workspace = Workspace()
    times = interleave(
        {
            "peer": opencv(left, right, PEER_NDISP),
            "one": ours(workspace, left, right, NDISP, threads=1),
            "two": ours(workspace, left, right, NDISP, threads=2),
            "streaming": ours(workspace, left, right, NDISP, threads=2, memory_limit=1.0),
        },
        rounds=3,
    )
    del workspace
    work, peer = f"census SGM at 2964 × 1988, D = {NDISP}", times["peer"]
    report.row(f"{work}, 1 thread", times["one"], peer, PEER, 0.11)
    report.row(f"{work}, 2 threads", times["two"], peer, PEER, 0.065)
    report.row(f"{work}, 2 threads, streaming", times["streaming"], peer, PEER, 0.075)
    for limit in LIMITS:
        note = "streaming" if limit == min(LIMITS) else "with the volume"
        report.limit(f"{work}, memory, {note}", peak_memory(limit), limit, unit="GB")


def peak_memory(limit: float) -> Times:
    """GB (10⁹ bytes) that a match takes above what the process had before it, in processes of their own."""
    code = f"from benchmarks.bench_sgm_full import measure_memory; measure_memory({limit})"
    outputs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    return Times(tuple(float(output) / 1e9 for output in outputs))


def measure_memory(limit: float) -> None:
    """Print the bytes that one match takes."""
    left, right, _ = motorcycle_full()
    semi_global_matching(left[:64, :600], right[:64, :600], NDISP, keep="summary", memory_limit=limit)
    before = _largest_memory()
    semi_global_matching(left, right, NDISP, memory_limit=limit)
    print(_largest_memory() - before)


def _largest_memory() -> int:
    """Of this process alone: getrusage would also count what its parent held when it started it."""
    return int(Path("/proc/self/status").read_text(encoding="utf-8").split("VmHWM:")[1].split()[0]) * 1024
