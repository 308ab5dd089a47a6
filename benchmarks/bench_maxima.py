"""Measure again what counts as 1 when scores are normalised, and how far effective weights are from declared ones.

`python -m benchmarks maxima` evaluates the matchers of `real_scores` on the real scenes, writes the quantiles of their
scores to `scores/maxima.toml`, and prints the total variation between declared and effective weights of every profile.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import tomli_w

from benchmarks.real_scores import read, real_store
from benchmarks.report import Report
from stereogauge.ranking.profile import shipped_profiles
from stereogauge.ranking.weighted_score import weigh
from stereogauge.scores.aggregation import usable_scores
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.facts import FILE, measured_maxima, scene_scale

QUANTILE = 0.95


def measured(cube: ScoreCube, quantile: float = QUANTILE) -> dict[str, float]:
    """The quantile of every metric's scores that may enter an order, each divided by the scale of its scene."""
    found = {}
    usable = usable_scores(cube).values
    pixels = np.fmax.reduce(cube.support, axis=0)
    for place, column in enumerate(cube.columns):
        scales = [scene_scale(column, one, pixels[scene, place]) for scene, one in enumerate(cube.facts)]
        values = np.abs(usable[:, :, place]) / np.array(scales)
        if np.isfinite(values).any():
            found[column.metric] = float(f"{np.quantile(values[np.isfinite(values)], quantile):.3g}")
    return found


def distances(cube: ScoreCube) -> dict[str, float]:
    """Total variation between declared and effective weights, by profile."""
    return {name: weigh(cube, profile=name)[0].weight_distance for name in shipped_profiles()}


def run(report: Report) -> None:
    """Measure, write and print."""
    with tempfile.TemporaryDirectory() as folder:
        dense = read(real_store(Path(folder) / "dense.sqlite", invalid="fill", say=report.say))
        holed = read(real_store(Path(folder) / "holed.sqlite", invalid="count", say=report.say))
    found = measured(dense)
    matchers = f"{len(dense.algorithms)} settings of SGM, SGBM and BM"
    text = f"{matchers} on {len(dense.scenes)} Middlebury scenes, holes filled"
    FILE.write_text(tomli_w.dumps({"measured_on": text, "quantile": QUANTILE, "maxima": found}), encoding="utf-8")
    measured_maxima.cache_clear()
    for metric, value in found.items():
        report.say(f"{metric:12s} {value:g}")
    for name, whole in distances(dense).items():
        report.say(f"{name:28s} weights differ by {whole:.2f}, with holes charged by {distances(holed)[name]:.2f}")
