"""Matching with the five confidence measures of the paper against CNES Pandora's census, SGM and confidence measures.

Pandora runs in an environment of its own, in a process that stays, so that both alternate; its kernels are compiled
before anything counts.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2

from benchmarks.report import Report
from benchmarks.scenes import motorcycle
from benchmarks.timing import interleave
from stereogauge.confidence_measures.measures import confidence
from stereogauge.confidence_measures.paper import PAPER
from stereogauge.matching.run import match

NDISP = 64
PANDORA = "STEREOGAUGE_PANDORA_PYTHON"
WORK = "SGM and five confidence measures, Motorcycle, D = 64"
HOW = (
    f"Pandora is not installed; scripts/pandora-environment.sh FOLDER makes an environment, {PANDORA} names its python"
)
SERVER = Path(__file__).with_name("pandora_server.py")


class Pandora:
    """A process with Pandora that computes once per call."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write("run\n")
        stdin.flush()
        # It may print warnings before.
        if not any(line.startswith("seconds") for line in iter(stdout.readline, "")):
            raise RuntimeError(f"Pandora ended without an answer; run {SERVER.name} by itself to see why")


@contextmanager
def pandora(interpreter: str, left: Any, right: Any) -> Iterator[Pandora]:
    """Pandora on this pair."""
    with tempfile.TemporaryDirectory() as folder:
        cv2.imwrite(f"{folder}/left.png", left)
        cv2.imwrite(f"{folder}/right.png", right)
        command = [interpreter, str(SERVER), folder, str(NDISP)]
        # Of our paths it must see none: the packages in them belong to another environment.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        ) as process:
            yield Pandora(process)
            assert process.stdin is not None
            process.stdin.close()


def run(report: Report) -> None:
    interpreter = os.environ.get(PANDORA, "")
    if not Path(interpreter).is_file():
        report.miss(WORK, HOW)
        return
    left, right, _ = motorcycle()
    with pandora(interpreter, left, right) as theirs:
        times = interleave(
            {
                "pandora": theirs,
                "ours": lambda: confidence(
                    match(left, right, "sgm", NDISP, right_view="diagonal"), (*PAPER, "product")
                ),
            },
            rounds=4,
        )
    ratio = times["pandora"].median / times["ours"].median
    note = f"{ratio:.0f} × faster; goal 150 ×"
    report.row(WORK, times["ours"], times["pandora"], "Pandora", 1 / 150, note)
