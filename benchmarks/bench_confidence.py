"""The pass over the costs that all confidence measures share, against plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import wide
from benchmarks.report import Report
from benchmarks.scenes import motorcycle
from benchmarks.timing import interleave
from stereogauge.confidence_measures.evidence import summarise
from stereogauge.kernels.cost_summary import Scales
from stereogauge.matching.run import match

NDISP = 64


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
    times = interleave(
        {
            "numpy": lambda: numpy_measures(costs, 100, 100),
            "one": lambda: summarise(costs, winners, scales, threads=1),
            "two": lambda: summarise(costs, winners, scales, threads=2),
        }
    )
    goals = (0.03, 0.03) if wide() else (0.06, 0.035)
    note = f"goal of a processor {'with' if wide() else 'without'} AVX-512; ours also gives the further measures' sums"
    work = "confidence pass, Motorcycle, D = 64"
    report.row(f"{work}, 1 thread", times["one"], times["numpy"], "NumPy", goals[0], note)
    report.row(f"{work}, 2 threads", times["two"], times["numpy"], "NumPy", goals[1], note)
