"""Confidence measures against plain NumPy, and the whole of matching and confidence against CNES Pandora.

Pandora lives in an environment of its own; its row appears where STEREOGAUGE_PANDORA_PYTHON names that environment's
interpreter.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Report
from benchmarks.scenes import motorcycle
from benchmarks.timing import interleave
from stereogauge.confidence.evidence import summarise
from stereogauge.confidence.measures import PAPER, confidence
from stereogauge.kernels.confidence import Scales
from stereogauge.matching.run import match

NDISP = 64
PANDORA = "STEREOGAUGE_PANDORA_PYTHON"


def numpy_measures(costs: NDArray[np.uint16], sigma: float, temperature: float) -> list[NDArray[Any]]:
    """Γ0 to Γ3 as one would write them: whole arrays, float32."""
    values = costs.astype(np.float32)
    winner = values.argmin(axis=2)[..., None]
    lowest = np.take_along_axis(values, winner, 2)
    below = np.take_along_axis(values, np.where(winner > 0, winner - 1, 1), 2)
    above = np.take_along_axis(values, np.where(winner + 1 < values.shape[2], winner + 1, winner - 1), 2)
    curvature = 1 / np.maximum(below - 2 * lowest + above, 1)
    difference = values - lowest
    perturbation = np.exp(-((difference / sigma) ** 2)).sum(axis=2) - 1
    weights = np.exp(-difference / temperature)
    probability = weights / weights.sum(axis=2, keepdims=True)
    entropy = -(probability * np.log(np.maximum(probability, 1e-37))).sum(axis=2)
    padded = np.pad(values, ((0, 0), (0, 0), (1, 1)), constant_values=np.inf)
    minima = (values <= padded[:, :, :-2]) & (values < padded[:, :, 2:])
    np.put_along_axis(minima, winner, False, 2)
    second = np.where(minima, values, np.inf).min(axis=2)
    return [curvature, perturbation, (lowest[..., 0] + 1) / (second + 1), entropy]


def run(report: Report) -> None:
    left, right, _ = motorcycle()
    result = match(left, right, "sgm", NDISP, right_view="diagonal")
    assert result.costs is not None
    assert result.winners is not None
    costs, winners = result.costs, result.winners
    scales = Scales.of(100, 100, 800)
    seconds = interleave(
        {
            "numpy": lambda: numpy_measures(costs, 100, 100),
            "one": lambda: summarise(costs, winners, scales, threads=1),
            "two": lambda: summarise(costs, winners, scales, threads=2),
            "both": lambda: confidence(match(left, right, "sgm", NDISP, right_view="diagonal"), (*PAPER, "product")),
        },
        rounds=5,
    )
    note = "ours also gives the further measures' sums"
    report.row("confidence pass, Motorcycle, 1 thread", seconds["one"], seconds["numpy"], "NumPy", 0.04, note)
    report.row("confidence pass, Motorcycle, 2 threads", seconds["two"], seconds["numpy"], "NumPy", 0.04, note)
    interpreter = os.environ.get(PANDORA)
    if interpreter:
        theirs = pandora_seconds(interpreter, left, right)
        report.row("SGM and five confidence measures, Motorcycle", seconds["both"], theirs, "Pandora", 0.01)
    else:
        print(f"     SGM and five measures: {seconds['both'] * 1e3:.0f} ms; set {PANDORA} to compare with Pandora")


PANDORA_PROGRAM = """
import json, sys, time
import numpy as np, pandora
from pandora.img_tools import create_dataset_from_inputs
from pandora.state_machine import PandoraMachine
folder, ndisp = sys.argv[1], int(sys.argv[2])
images = [
    create_dataset_from_inputs({"img": f"{folder}/{name}.png", "disp": disp, "nodata": -9999, "mask": None})
    for name, disp in (("left", [-ndisp + 1, 0]), ("right", [0, ndisp - 1]))
]
measures = {
    "cost_volume_confidence.ambiguity": {"confidence_method": "ambiguity", "eta_max": 0.7, "eta_step": 0.01},
    "cost_volume_confidence.risk": {"confidence_method": "risk", "eta_max": 0.7, "eta_step": 0.01},
    "cost_volume_confidence.intensity": {"confidence_method": "std_intensity"},
}
pipeline = {
    "matching_cost": {"matching_cost_method": "census", "window_size": 5, "subpix": 1},
    **measures,
    "optimization": {"optimization_method": "sgm", "penalty": {"penalty_method": "sgm_penalty", "P1": 20, "P2": 100}},
    "disparity": {"disparity_method": "wta", "invalid_disparity": -9999},
    "refinement": {"refinement_method": "vfit"},
}
configuration = {"pipeline": pipeline}
machine = PandoraMachine()
pandora.import_plugin()
times = []
for turn in range(2):
    start = time.perf_counter()
    pandora.run(machine, *images, configuration)
    times.append(time.perf_counter() - start)
print(json.dumps({"seconds": min(times)}))
"""


def pandora_seconds(interpreter: str, left: NDArray[Any], right: NDArray[Any]) -> float:
    """Seconds of Pandora's census, SGM and confidence measures on the same pair, its kernels compiled."""
    with tempfile.TemporaryDirectory() as folder:
        cv2.imwrite(f"{folder}/left.png", left)
        cv2.imwrite(f"{folder}/right.png", right)
        program = Path(folder) / "run.py"
        program.write_text(PANDORA_PROGRAM)
        command = [interpreter, str(program), folder, str(NDISP)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(json.loads(output.strip().splitlines()[-1])["seconds"])
