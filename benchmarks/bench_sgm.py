"""Census SGM against OpenCV's fastest exact 8-path form, at both sizes; and the memory that it takes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2

from benchmarks.report import Report
from benchmarks.scenes import motorcycle, motorcycle_full
from benchmarks.timing import interleave
from stereogauge.matching.sgm import Workspace, semi_global_matching

PEER = "OpenCV SGBM HH, full width"
GIBIBYTE = 2**30


def opencv(left: Any, right: Any, ndisp: int) -> Callable[[], Any]:
    """SGBM MODE_HH on images continued to the left, so that it matches every column.

    It keeps its buffers, and has one thread.
    """
    matcher = cv2.StereoSGBM.create(0, ndisp, 1, P1=20, P2=100, mode=cv2.STEREO_SGBM_MODE_HH)
    padded = [cv2.copyMakeBorder(image, 0, 0, ndisp, 0, cv2.BORDER_REPLICATE) for image in (left, right)]
    return lambda: matcher.compute(*padded)


def ours(workspace: Workspace, left: Any, right: Any, ndisp: int, **parameters: Any) -> Callable[[], Any]:
    """Both views by one aggregation; the volume is kept between calls, as the peer keeps its buffers."""
    options = {"right_view": "diagonal", "keep": "nothing", **parameters}
    return lambda: semi_global_matching(left, right, ndisp, workspace=workspace, **options)


def run(report: Report) -> None:
    left, right, _ = motorcycle()
    workspace = Workspace()
    for ndisp in (64, 80):
        seconds = interleave(
            {
                "peer": opencv(left, right, ndisp),
                "one": ours(workspace, left, right, ndisp, threads=1),
                "two": ours(workspace, left, right, ndisp, threads=2),
                "fresh": ours(workspace, left, right, ndisp, threads=2, keep="costs"),
                "second run": ours(workspace, left, right, ndisp, threads=2, right_view="second-run"),
            }
        )
        work = f"census SGM 7×7, 8 paths, both views, Motorcycle D = {ndisp}"
        report.row(f"{work}, 1 thread", seconds["one"], seconds["peer"], PEER, 0.35)
        report.row(f"{work}, 2 threads", seconds["two"], seconds["peer"], PEER, 0.22)
        report.row(f"{work}, 2 threads, costs kept", seconds["fresh"], seconds["peer"], PEER, 0.35, "volume allocated")
        report.row(f"{work}, 2 threads, right map by a second run", seconds["second run"], seconds["peer"], PEER, 0.45)
    large_left, large_right, _ = motorcycle_full()
    seconds = interleave(
        {
            "peer": opencv(large_left, large_right, 288),
            "one": ours(workspace, large_left, large_right, 280, threads=1),
            "two": ours(workspace, large_left, large_right, 280, threads=2),
            "streaming": ours(workspace, large_left, large_right, 280, threads=2, memory_limit=1.0),
        },
        rounds=2,
    )
    del workspace
    work = "census SGM at 2964 × 1988, D = 280"
    report.row(f"{work}, 1 thread", seconds["one"], seconds["peer"], PEER, 0.2)
    report.row(f"{work}, 2 threads", seconds["two"], seconds["peer"], PEER, 0.12)
    report.row(f"{work}, 2 threads, streaming", seconds["streaming"], seconds["peer"], PEER, 0.2)
    for limit, goal in ((4.0, 4.0), (1.0, 1.0)):
        used = peak_memory(limit) / GIBIBYTE
        report.row(f"{work}, memory limit {limit:g} GiB, GiB instead of seconds", used, goal, "limit", 1.0)


def peak_memory(limit: float) -> float:
    """Bytes that a match takes above what the process had before it, in a process of its own."""
    code = f"from benchmarks.bench_sgm import metric_memory; metric_memory({limit})"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return float(output)


def measure_memory(limit: float) -> None:
    left, right, _ = motorcycle_full()
    semi_global_matching(left[:64, :600], right[:64, :600], 280, keep="summary", memory_limit=limit)
    before = _largest_memory()
    semi_global_matching(left, right, 290, memory_limit=limit)
    print(_largest_memory() - before)


def _largest_memory() -> int:
    """Of this process alone: getrusage would also count what its parent held when it started it."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
