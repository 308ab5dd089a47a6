"""Census SGM on Motorcycle at quarter size against OpenCV's fastest exact 8-path form.

Goals are about the fastest of fifteen runs.
"""

from __future__ import annotations

from benchmarks.matchers import PEER, opencv, ours
from benchmarks.report import Report
from benchmarks.scenes import motorcycle
from benchmarks.timing import interleave
from stereogauge.matching.sgm import Workspace

ROUNDS = 15


def run(report: Report) -> None:
    left, right, _ = motorcycle()
    workspace = Workspace()
    for ndisp in (64, 80):
        times = interleave(
            {
                "peer": opencv(left, right, ndisp),
                "one": ours(workspace, left, right, ndisp, threads=1),
                "two": ours(workspace, left, right, ndisp, threads=2),
                "fresh": ours(workspace, left, right, ndisp, threads=2, keep="costs"),
                "second run": ours(workspace, left, right, ndisp, threads=2, right_view="second-run"),
            },
            rounds=ROUNDS,
        )
        work, peer = f"census SGM 7×7, 8 paths, both views, D = {ndisp}", times["peer"]
        report.row(f"{work}, 1 thread", times["one"], peer, PEER, 0.18, by="fastest")
        report.row(f"{work}, 2 threads", times["two"], peer, PEER, 0.12, by="fastest")
        note = "volume allocated"
        report.row(f"{work}, 2 threads, costs kept", times["fresh"], peer, PEER, 0.35, note, by="fastest")
        second = f"{work}, 2 threads, right map by a second run"
        report.row(second, times["second run"], peer, PEER, 0.45, by="fastest")
