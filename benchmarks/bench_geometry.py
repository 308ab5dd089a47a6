"""The geometry sets of a scene and the nine metrics of one estimate at full size, against plain NumPy and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import geometry_numpy
from benchmarks.report import Report
from benchmarks.scenes import motorcycle_full, noisy_estimate
from benchmarks.timing import interleave
from stereogauge.masks.geometry.sets import geometry_sets
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.registry import parse_metric
from stereogauge.model import Scene
from stereogauge.protocol import GeometryParameters, Protocol

NINE = ("d-fat", "d-thin", "d-fuz", "p-bump", "p-off", "p-mis", "f-por", "f-frag", "f-fat")


def run(report: Report) -> None:
    _, _, truth = motorcycle_full()
    estimate = noisy_estimate(truth)
    parameters = GeometryParameters()
    base = np.zeros(truth.shape, bool)
    base[30:-30, 30:-30] = True
    scene = Scene("motorcycle", gt=truth, masks={"nonocc": np.ones(truth.shape, bool)}, resolution=1.0)
    scene_regions = SceneRegions(scene, Protocol())
    metrics = [parse_metric(name) for name in NINE]
    scene_regions.__dict__["geometry"] = geometry_sets(truth, base, 1.0, parameters)
    plain_sets = geometry_numpy.geometry_sets(truth, base, 1.0, parameters)

    def ours() -> list[Any]:
        measurement = Measurement(estimate, scene_regions)
        return [metric.measure(measurement, str(metric.metric.region)) for metric in metrics]

    times = interleave(
        {"ours": ours, "scipy": lambda: geometry_numpy.metrics(estimate, truth, plain_sets, 1.0, parameters)}, rounds=6
    )
    report.row("nine geometry metrics of one estimate", times["ours"], times["scipy"], "SciPy/NumPy", 0.055)
    times = interleave(
        {
            "ours": lambda: geometry_sets(truth, base, 1.0, parameters),
            "scipy": lambda: geometry_numpy.geometry_sets(truth, base, 1.0, parameters),
        },
        rounds=4,
    )
    report.row("geometry sets of a scene", times["ours"], times["scipy"], "SciPy/NumPy", 0.11)
